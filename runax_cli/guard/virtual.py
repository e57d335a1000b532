"""A tool as the model sees it: its own parameters, and three virtual ones that say what the call is for.

Knows the virtual parameters, how they are named beside the API's own, and how they are taken off again. Knows nothing
of how a call runs, nor what the words in them mean.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from adapters.base import Effect, JsonObject, ToolSpec
from runax_cli.guard.brief import TOOL_CHARS, brief, briefly
from runax_cli.models.base import ToolSchema

Need: TypeAlias = Literal["read", "compute"]

_FOCUS: JsonObject = {"type": "string", "description": "all you need to learn from the records, in words"}
_NEED: JsonObject = {"type": "string", "enum": ["read", "compute"]}
_AT_MOST: JsonObject = {"type": "integer", "minimum": 1, "description": "only the first n records"}
_VIRTUAL: Mapping[str, JsonObject] = {"focus": _FOCUS, "need": _NEED, "at_most": _AT_MOST}
_CHANGES_DATA = " (Changes data: runs only with the user's approval.)"


@dataclass(frozen=True, slots=True)
class VisibleTool:
    """A tool and its schema for the model; `virtual` maps each virtual parameter to the name it has here."""

    spec: ToolSpec
    schema: ToolSchema
    virtual: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitArguments:
    """Arguments taken apart: `api` goes to the source, the rest tells the executor what the call is for."""

    api: JsonObject
    focus: str | None = None
    need: Need | None = None
    at_most: int | None = None


def visible(spec: ToolSpec) -> VisibleTool:
    """The tool for the model, in few words; virtual parameters only where the result may be many records.

    What these mean is said once, in the prompt of the main model, and not with every tool.
    """
    own: Mapping[str, Any] = spec.parameters.get("properties") or {}
    virtual = virtual_names(own) if spec.returns_many and spec.effect is Effect.READ else {}
    properties = dict(own) | {virtual[name]: schema for name, schema in _VIRTUAL.items() if name in virtual}
    parameters = briefly({"type": "object"} | spec.parameters | {"properties": properties})
    warning = "" if spec.effect is Effect.READ else _CHANGES_DATA
    description = brief(spec.description, TOOL_CHARS) + warning
    return VisibleTool(spec, ToolSchema(spec.name, description, parameters), virtual)


def virtual_names(own: Iterable[str]) -> dict[str, str]:
    """The name of each virtual parameter beside the API's `own`: its plain one, or one that is free."""
    taken = set(own)
    return {name: _free_name(name, taken) for name in _VIRTUAL}


def split(tool: VisibleTool, arguments: Mapping[str, Any]) -> SplitArguments:
    """Take the virtual arguments off. `arguments` must have been validated against the tool's schema."""
    names = tool.virtual
    hidden = set(names.values())
    focus = arguments.get(names.get("focus", "")) or None
    return SplitArguments(
        api={name: value for name, value in arguments.items() if name not in hidden},
        focus=focus.strip() if isinstance(focus, str) and focus.strip() else None,
        need=cast("Need | None", arguments.get(names.get("need", ""))),
        at_most=cast("int | None", arguments.get(names.get("at_most", ""))),
    )


def _free_name(name: str, taken: set[str]) -> str:
    candidate = name if name not in taken else f"call_{name}"
    while candidate in taken:
        candidate += "_"
    return candidate
