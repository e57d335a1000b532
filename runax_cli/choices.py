"""What a body of an event is, and those about choices: tools offered, calls asked for, what the guard says to them.

Knows their fields and meaning. Knows nothing of any other event.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class Body(BaseModel):
    """What happened; every body has a `type` from a closed list."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ToolsOffered(Body):
    """The tools that the main model has on its list, of `total`, and what they take in each of its requests."""

    type: Literal["tools.offered"] = "tools.offered"
    tools: tuple[str, ...]
    total: int
    tokens: int


class ToolSelected(Body):
    """The main model asked for a call."""

    type: Literal["tool.selected"] = "tool.selected"
    tool: str
    arguments: dict[str, Any]
    focus: str | None = None
    need: str | None = None


GuardCode = Literal[
    "run",
    "parallel",
    "deferred",
    "suppressed_duplicate",
    "read_again",
    "unknown_tool",
    "invalid_json",
    "invalid_arguments",
    "write_denied",
    "over_limit",
    "no_progress",
]


class GuardDecided(Body):
    """The guard decided what becomes of a requested call."""

    type: Literal["guard.decided"] = "guard.decided"
    tool: str
    code: GuardCode
    text: str
