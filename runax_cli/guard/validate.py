"""From the raw text of a requested call to arguments that fit the tool, or to what is wrong and where.

Knows JSON, JSON Schema and nearness of names. Knows no envelope and sends nothing. Codes are those of JSON-RPC.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import IntEnum
from typing import Any, NoReturn

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, UnknownType, ValidationError
from referencing.exceptions import Unresolvable

from adapters.base import JsonObject
from runax_cli.guard.virtual import VisibleTool

MAX_VIOLATIONS = 8
MAX_NAMES = 12
_BROKEN_SCHEMA = (SchemaError, UnknownType, Unresolvable, re.error, LookupError, TypeError, ValueError, RecursionError)


class Fault(IntEnum):
    """JSON-RPC codes of what can be wrong with a requested call."""

    NOT_JSON = -32700
    NO_SUCH_TOOL = -32601
    DOES_NOT_FIT = -32602


@dataclass(frozen=True, slots=True)
class Refused:
    """A requested call that cannot be made as it is; `message` says what to correct, by path."""

    fault: Fault
    message: str


def find_tool(name: str, tools: Mapping[str, VisibleTool]) -> VisibleTool | Refused:
    """The tool of that name, or which names are near."""
    if name in tools:
        return tools[name]
    near = get_close_matches(name, tools, n=3, cutoff=0.5)
    known = near or list(tools)[:MAX_NAMES]
    rest = "" if near or len(tools) <= MAX_NAMES else f" and {len(tools) - MAX_NAMES} more"
    label = "the nearest are" if near else "there are"
    return Refused(Fault.NO_SUCH_TOOL, f"there is no tool '{name}'; {label} {_quoted(known)}{rest}")


def arguments_of(raw: str, tool: VisibleTool) -> JsonObject | Refused:
    """The arguments in `raw`, checked against the tool's schema.

    No text at all is no arguments, and a null for an optional argument that knows no null was not given: models write
    both. Nothing else is bent to fit.
    """
    if not raw.strip():
        return _checked({}, tool)
    try:
        value = json.loads(raw, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        return Refused(Fault.NOT_JSON, f"the arguments of '{tool.spec.name}' are not JSON: {error}")
    if value is None:
        value = {}
    if not isinstance(value, dict):
        return Refused(Fault.DOES_NOT_FIT, f"the arguments must be an object and not {_type_name(value)}")
    return _checked(value, tool)


def _checked(value: JsonObject, tool: VisibleTool) -> JsonObject | Refused:
    schema = tool.schema.parameters
    given = _without_empty_nulls(value, schema)
    violations = [*_unknown_names(given, tool), *_violations(given, schema)]
    if not violations:
        return given
    more = len(violations) - MAX_VIOLATIONS
    listed = violations[:MAX_VIOLATIONS] + ([f"and {more} more"] if more > 0 else [])
    return Refused(Fault.DOES_NOT_FIT, "; ".join(listed))


def _without_empty_nulls(value: JsonObject, schema: JsonObject) -> JsonObject:
    properties, required = schema.get("properties") or {}, schema.get("required") or ()
    return {
        name: item
        for name, item in value.items()
        if item is not None or name in required or name not in properties or _fits(None, properties[name], schema)
    }


def _fits(value: Any, part: Any, schema: JsonObject) -> bool:
    definitions = {name: schema[name] for name in ("$defs", "definitions") if name in schema}
    return isinstance(part, dict) and not list(_errors(value, part | definitions))


def _unknown_names(value: JsonObject, tool: VisibleTool) -> Iterator[str]:
    """Names that the tool does not have, unless its schema says in so many words that others are welcome."""
    schema = tool.schema.parameters
    if schema.get("additionalProperties") not in (None, False) or schema.get("patternProperties"):
        return
    known = list(schema.get("properties") or {})
    for name in value:
        if name in tool.spec.pagination.hidden:
            yield f"{name}: leave it out, all pages are read for you"
        elif name not in known:
            yield f"{name}: there is no such argument; {_nearest(name, known)}"


def _violations(value: JsonObject, schema: JsonObject) -> Iterator[str]:
    for error in _errors(value, {k: v for k, v in schema.items() if k != "additionalProperties"}):
        yield _told(error)


def _errors(value: Any, schema: Mapping[str, Any]) -> Sequence[ValidationError]:
    """Violations, by path. A schema that is itself broken forbids nothing: the source will judge the request."""
    try:
        found = Draft202012Validator(schema).iter_errors(value)
        return sorted(found, key=lambda error: [str(part) for part in error.absolute_path])
    except _BROKEN_SCHEMA:
        return ()


def _told(error: ValidationError) -> str:
    path = ".".join(str(part) for part in error.absolute_path)
    tell = _TELLERS.get(str(error.validator), _tell_plainly)
    return tell(error, path or "arguments")


def _tell_plainly(error: ValidationError, path: str) -> str:
    return f"{path}: {_short(error.message)}"


def _tell_required(error: ValidationError, path: str) -> str:
    required: Any = error.validator_value
    instance: Any = error.instance
    missing = [name for name in required if name not in instance]
    prefix = "" if path == "arguments" else f"{path}."
    properties = _properties(error)
    return "; ".join(f"{prefix}{name}: is required{_wanted(properties.get(name))}" for name in missing)


def _tell_type(error: ValidationError, path: str) -> str:
    return (
        f"{path}: {_value(error.instance)} is {_type_name(error.instance)}; wanted is {_types(error.validator_value)}"
    )


def _tell_enum(error: ValidationError, path: str) -> str:
    values: Any = error.validator_value
    allowed = [str(value) for value in values]
    return f"{path}: {_value(error.instance)} is not allowed; {_nearest(str(error.instance), allowed)}"


def _tell_additional(error: ValidationError, path: str) -> str:
    known = list(_properties(error))
    instance: Any = error.instance
    unknown = [name for name in instance if name not in known]
    return "; ".join(f"{path}.{name}: there is no such member; {_nearest(name, known)}" for name in unknown)


def _properties(error: ValidationError) -> Mapping[str, Any]:
    schema: Any = error.schema
    return schema.get("properties") or {}


_TELLERS: Mapping[str, Callable[[ValidationError, str], str]] = {
    "required": _tell_required,
    "type": _tell_type,
    "enum": _tell_enum,
    "additionalProperties": _tell_additional,
}


def _nearest(name: str, known: Sequence[str]) -> str:
    if not known:
        return "it takes none"
    folded = {candidate.casefold(): candidate for candidate in known}
    near = [folded[match] for match in get_close_matches(name.casefold(), folded, n=2, cutoff=0.5)]
    rest = "" if near or len(known) <= MAX_NAMES else ", …"
    return f"nearest: {_quoted(near)}" if near else f"known: {_quoted(known[:MAX_NAMES])}{rest}"


def _wanted(schema: Any) -> str:
    kind = schema.get("type") if isinstance(schema, dict) else None
    return f" ({_types(kind)})" if kind else ""


def _types(kind: Any) -> str:
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _type_name(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"


def _value(value: Any) -> str:
    return _short(json.dumps(value, ensure_ascii=False))


def _short(text: str, limit: int = 120) -> str:
    return text if len(text) <= limit else text[:limit] + "…"


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")
