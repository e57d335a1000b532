"""A tool as the model sees it: its own parameters, and three virtual ones that say what the call is for.

Knows the virtual parameters, how they are named beside the API's own, and how they are taken off again. Knows nothing
of how a call runs, nor what the words in them mean.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from adapters.base import Effect, JsonObject, ToolSpec
from runax_cli.models.base import ToolSchema

TOOL_CHARS = 300
ARGUMENT_CHARS = 160
_SENTENCE = re.compile(r"[.!?\u2026\u3002]+(?=\s|$)|[\u3002\uff01\uff1f]")
_FIRST_OF_NO_SPACES = 0x2E80
_KEPT_SHARE = 2
_NESTED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_COMBINED = ("anyOf", "oneOf", "allOf", "prefixItems")
_INNER = ("items", "additionalProperties", "not", "contains", "if", "then", "else", "propertyNames")


def shorten(text: str, most_chars: int) -> str:
    """The text on one line in at most so many characters.

    Cut after the last sentence that fits where that keeps half of them, else after the last word that fits, with an
    ellipsis. A first word that is longer than all of it leaves the ellipsis alone.
    """
    line = " ".join(text.split())
    if len(line) <= most_chars:
        return line
    ends = [match.end() for match in _SENTENCE.finditer(line) if match.end() <= most_chars]
    if ends and ends[-1] * _KEPT_SHARE >= most_chars:
        return line[: ends[-1]]
    cut = next((at for at in range(most_chars - 1, 0, -1) if _is_between_words(line, at)), 0)
    return line[:cut].rstrip(" ,;:(-") + "…" if most_chars > 0 else ""


def shorten_schema(schema: JsonObject, most_chars: int = ARGUMENT_CHARS, *, name: str | None = None) -> JsonObject:
    """The schema with every description in it, at any depth, in at most so many characters.

    The whole schema's title is left out, one beside a description, and one that only spells the schema's `name` again:
    generators write one for each argument.
    """
    out = {key: _inside(key, value, most_chars) for key, value in schema.items()}
    title = out.get("title")
    if isinstance(title, str) and ("description" in out or name is None or _letters(title) == _letters(name)):
        del out["title"]
    if isinstance(out.get("description"), str):
        out["description"] = shorten(out["description"], most_chars)
    return out


def _letters(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())


def _is_between_words(line: str, at: int) -> bool:
    return line[at] == " " or ord(line[at - 1]) >= _FIRST_OF_NO_SPACES


def _inside(key: str, value: Any, most_chars: int) -> Any:
    if key in _NESTED and isinstance(value, Mapping):
        return {name: _one(inner, most_chars, name=name) for name, inner in value.items()}
    if key in _COMBINED and isinstance(value, list):
        return [_one(inner, most_chars) for inner in value]
    return _one(value, most_chars) if key in _INNER else value


def _one(value: Any, most_chars: int, *, name: str = "") -> Any:
    return shorten_schema(value, most_chars, name=name) if isinstance(value, dict) else value


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


def visible_tool(spec: ToolSpec) -> VisibleTool:
    """The tool for the model, in few words; virtual parameters only where the result may be many records.

    What these mean is said once, in the prompt of the main model, and not with every tool.
    """
    own: Mapping[str, Any] = spec.parameters.get("properties") or {}
    virtual = virtual_parameter_names(own) if spec.returns_many and spec.effect is Effect.READ else {}
    properties = dict(own) | {virtual[name]: schema for name, schema in _VIRTUAL.items() if name in virtual}
    parameters = shorten_schema({"type": "object"} | spec.parameters | {"properties": properties})
    warning = "" if spec.effect is Effect.READ else _CHANGES_DATA
    description = shorten(spec.description, TOOL_CHARS) + warning
    return VisibleTool(spec, ToolSchema(spec.name, description, parameters), virtual)


def virtual_parameter_names(own: Iterable[str]) -> dict[str, str]:
    """The name of each virtual parameter beside the API's `own`: its plain one, or one that is free."""
    taken = set(own)
    return {name: _free_name(name, taken) for name in _VIRTUAL}


def split_virtual_arguments(tool: VisibleTool, arguments: Mapping[str, Any]) -> SplitArguments:
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
