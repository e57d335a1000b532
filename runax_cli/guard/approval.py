"""Decide whether a call that changes data may run.

A READ always runs. Other calls run if the user allowed them, by a rule for the tool or for the whole run
(`--allow-writes`), or if the approver approves this call. A rule that denies a tool takes precedence. Without a
terminal the approver is `AlwaysDeny`.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from adapters.base import ApprovalMode, Effect, RequestPreview, ToolSpec
from adapters.errors import SourceError

READ_ONLY_HINT = "If it only reads data, set `read: true` for it under `operations` of its source in runax.yaml."
PreviewCall: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[RequestPreview | None]]


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A call that would change data, as the approver sees it.

    `request` is what would be sent; None if its source does not know.
    """

    tool: ToolSpec
    arguments: Mapping[str, Any]
    request: RequestPreview | None = None


class Approver(Protocol):
    """Decides about one call that would change data."""

    async def approve(self, request: ApprovalRequest) -> bool:
        """Return whether the call may run. May wait for a person."""


class AlwaysDeny:
    """Denies every call, because there is no user to ask."""

    async def approve(self, request: ApprovalRequest) -> bool:  # noqa: ARG002 the answer is the same for every call
        """Return False."""
        return False


class AlwaysAllow:
    """Approves every call."""

    async def approve(self, request: ApprovalRequest) -> bool:  # noqa: ARG002 the answer is the same for every call
        """Return True."""
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePolicy:
    """What the user allowed, and the approver of everything else. `preview` returns the request of a call."""

    allow_writes: bool
    approver: Approver
    preview: PreviewCall | None = None

    async def permits(self, tool: ToolSpec, arguments: Mapping[str, Any]) -> bool:
        """Return whether this call may run."""
        if tool.effect is Effect.READ:
            return True
        if tool.approval is ApprovalMode.DENY:
            return False
        if self.allow_writes or tool.approval is ApprovalMode.ALLOW:
            return True
        return await self.approver.approve(ApprovalRequest(tool, arguments, await self._preview(tool, arguments)))

    async def _preview(self, tool: ToolSpec, arguments: Mapping[str, Any]) -> RequestPreview | None:
        """Return the request of a call; None if it is invalid, which the call itself will report."""
        if self.preview is None:
            return None
        try:
            return await self.preview(tool.name, arguments)
        except SourceError:
            return None
