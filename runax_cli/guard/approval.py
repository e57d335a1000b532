"""Who may let a call change data.

A READ always runs. Anything else runs where the user allowed it by a rule for the tool or for the whole run
(`--allow-writes`), or where the approver says yes to this one call; a rule that denies it goes before all that. Without
a terminal the approver is `AlwaysDeny`. Knows effects and approval. Knows no terminal.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from adapters.base import ApprovalMode, Effect, RequestPreview, ToolSpec
from adapters.errors import SourceError

READ_ONLY_HINT = "If it only reads, give it `read: true` under `operations` of its source in runax.yaml."
Shows: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[RequestPreview | None]]


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A call that would change data, as somebody who decides about it should see it.

    `request` is what would be sent; None where its source cannot say.
    """

    tool: ToolSpec
    arguments: Mapping[str, Any]
    request: RequestPreview | None = None


class Approver(Protocol):
    """Decides about one call that would change data."""

    async def approve(self, request: ApprovalRequest) -> bool:
        """Whether the call may be made. May wait for a person."""


class AlwaysDeny:
    """Nobody is there to ask."""

    async def approve(self, request: ApprovalRequest) -> bool:  # noqa: ARG002 the answer is the same for every call
        """No."""
        return False


class AlwaysAllow:
    """Everything was approved beforehand."""

    async def approve(self, request: ApprovalRequest) -> bool:  # noqa: ARG002 the answer is the same for every call
        """Yes."""
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePolicy:
    """What the user allowed, and whom to ask about the rest. `shows` tells what a call of a tool would send."""

    allow_writes: bool
    approver: Approver
    shows: Shows | None = None

    async def permits(self, tool: ToolSpec, arguments: Mapping[str, Any]) -> bool:
        """Whether this call may be made."""
        if tool.effect is Effect.READ:
            return True
        if tool.leave is ApprovalMode.DENY:
            return False
        if self.allow_writes or tool.leave is ApprovalMode.ALLOW:
            return True
        return await self.approver.approve(ApprovalRequest(tool, arguments, await self._shown(tool, arguments)))

    async def _shown(self, tool: ToolSpec, arguments: Mapping[str, Any]) -> RequestPreview | None:
        """What would be sent; None also where the call makes no request, which it will itself say."""
        if self.shows is None:
            return None
        try:
            return await self.shows(tool.name, arguments)
        except SourceError:
            return None
