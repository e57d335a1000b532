"""Build the tool schema that the model sees: the API's parameters, shortened, and three virtual ones.

The virtual parameters (`focus`, `need`, `at_most`) say what a call is for. They are split off again before the call.
The prompt of the main model explains them once; the tools only list them.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from adapters.base import Effect, JsonObject, ToolSpec
from runax_cli.guard.redundant_text import join_repeated, without_name
from runax_cli.models.base import ToolSchema

TOOL_CHARS = 300
ARGUMENT_CHARS = 160
_SENTENCE = re.compile(r"[.!?\u2026\u3002]+(?=\s|$)|[\u3002\uff01\uff1f]")
_FIRST_WITHOUT_SPACES = 0x2E80
_MIN_KEPT_DIVISOR = 2
_NESTED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_COMBINED = ("anyOf", "oneOf", "allOf", "prefixItems")
_INNER = ("items", "additionalProperties", "not", "contains", "if", "then", "else", "propertyNames")


def shorten(text: str, max_chars: int) -> str:
    """Shorten a text to one line of at most `max_chars` characters.

    It is cut after the last sentence that fits if that keeps half of the characters, else after the last word that
    fits, with an ellipsis. If the first word is longer, only the ellipsis is left.
    """
    line = " ".join(text.split())
    if len(line) <= max_chars:
        return line
    ends = [match.end() for match in _SENTENCE.finditer(line) if match.end() <= max_chars]
    if ends and ends[-1] * _MIN_KEPT_DIVISOR >= max_chars:
        return line[: ends[-1]]
    cut = next((at for at in range(max_chars - 1, 0, -1) if _is_between_words(line, at)), 0)
    return line[:cut].rstrip(" ,;:(-") + "…" if max_chars > 0 else ""


def shorten_schema(schema: JsonObject, max_chars: int = ARGUMENT_CHARS, *, name: str | None = None) -> JsonObject:
    """Shorten every description in a schema, at any depth, to at most `max_chars` characters.

    Redundant titles are removed: that of the whole schema, those next to a description, and those that only repeat the
    argument's `name`, which generators write.
    """
    out = {key: _shorten_member(key, value, max_chars) for key, value in schema.items()}
    title = out.get("title")
    if isinstance(title, str) and ("description" in out or name is None or _letters(title) == _letters(name)):
        del out["title"]
    if isinstance(out.get("description"), str):
        out["description"] = shorten(out["description"], max_chars)
    return out


def _letters(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())


def _is_between_words(line: str, at: int) -> bool:
    return line[at] == " " or ord(line[at - 1]) >= _FIRST_WITHOUT_SPACES


def _shorten_member(key: str, value: Any, max_chars: int) -> Any:
    if key in _NESTED and isinstance(value, Mapping):
        return {name: _shorten_inner(inner, max_chars, name=name) for name, inner in value.items()}
    if key in _COMBINED and isinstance(value, list):
        return [_shorten_inner(inner, max_chars) for inner in value]
    return _shorten_inner(value, max_chars) if key in _INNER else value


def _shorten_inner(value: Any, max_chars: int, *, name: str = "") -> Any:
    return shorten_schema(value, max_chars, name=name) if isinstance(value, dict) else value


Need: TypeAlias = Literal["read", "compute"]

_FOCUS: JsonObject = {"type": "string"}
_NEED: JsonObject = {"type": "string", "enum": ["read", "compute"]}
_AT_MOST: JsonObject = {"type": "integer", "minimum": 0}
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
    """Arguments split into those of the API (`api`) and the virtual ones."""

    api: JsonObject
    focus: str | None = None
    need: Need | None = None
    at_most: int | None = None


def visible_tool(spec: ToolSpec) -> VisibleTool:
    """Build the short schema of a tool; only tools that may return many records get virtual parameters.

    What the virtual parameters mean is explained once, in the prompt of the main model.
    """
    own: Mapping[str, Any] = spec.parameters.get("properties") or {}
    virtual = virtual_parameter_names(own) if spec.returns_many and spec.effect is Effect.READ else {}
    own, shared = join_repeated(own)
    properties = dict(own) | {virtual[name]: schema for name, schema in _VIRTUAL.items() if name in virtual}
    parameters = shorten_schema({"type": "object"} | spec.parameters | {"properties": properties})
    # Validation rejects unknown arguments anyway; the model is told when it uses one.
    if parameters.get("additionalProperties") is False:
        del parameters["additionalProperties"]
    warning = "" if spec.effect is Effect.READ else _CHANGES_DATA
    described = shorten(without_name(spec.description, spec.name), TOOL_CHARS)
    description = " ".join(part for part in (described, shared) if part) + warning
    return VisibleTool(spec, ToolSchema(spec.name, description.strip(), parameters), virtual)


def virtual_parameter_names(own: Iterable[str]) -> dict[str, str]:
    """Return the name of each virtual parameter: its own, or a free one if the API uses that name."""
    taken = set(own)
    return {name: _free_name(name, taken) for name in _VIRTUAL}


def split_virtual_arguments(tool: VisibleTool, arguments: Mapping[str, Any]) -> SplitArguments:
    """Split off the virtual arguments. `arguments` must be valid for the tool's schema."""
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
