"""Who may let a call change data.

A READ always runs. Anything else runs where the user allowed writes for the whole run (`--allow-writes`), or where the
approver says yes to this one call; without a terminal the approver is `AlwaysDeny`. Knows effects and approval. Knows
no terminal.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from adapters.base import Effect, ToolSpec


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A call that would change data, as somebody who decides about it should see it."""

    tool: ToolSpec
    arguments: Mapping[str, Any]


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
    """What the user allowed, and whom to ask about the rest."""

    allow_writes: bool
    approver: Approver

    async def permits(self, tool: ToolSpec, arguments: Mapping[str, Any]) -> bool:
        """Whether this call may be made."""
        if tool.effect is Effect.READ or self.allow_writes:
            return True
        return await self.approver.approve(ApprovalRequest(tool, arguments))
