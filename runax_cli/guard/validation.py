"""From the raw text of a requested call to arguments that fit the tool, or to what is wrong and where.

Knows JSON, JSON Schema and nearness of names. Knows no envelope and sends nothing. Codes are those of JSON-RPC.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import IntEnum
from typing import Any, NoReturn

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, UnknownType, ValidationError
from jsonschema.validators import extend
from referencing.exceptions import Unresolvable

from adapters.base import JsonObject
from runax_cli.guard.schema_errors import (
    MAX_NAMES,
    describe_error,
    format_checker,
    quote_names,
    suggest_names,
    type_name,
)
from runax_cli.guard.visible_tool import VisibleTool

MAX_VIOLATIONS = 8
MAX_DEPTH = 64
MAX_MATCHED_CHARS = 4096
_BROKEN_SCHEMA = (SchemaError, UnknownType, Unresolvable, re.error, LookupError, TypeError, ValueError, RecursionError)


class RejectionCode(IntEnum):
    """JSON-RPC codes of what can be wrong with a requested call."""

    NOT_JSON = -32700
    NO_SUCH_TOOL = -32601
    DOES_NOT_FIT = -32602


# A repeated group that is itself made of repetitions: such a pattern can take exponential time.
_EXPLODES = re.compile(r"\([^()]*[+*}][^()]*\)[+*{]")


@dataclass(frozen=True, slots=True)
class RejectedCall:
    """A requested call that cannot be made as it is; `message` says what to correct, by path."""

    fault: RejectionCode
    message: str


def find_tool(name: str, tools: Mapping[str, VisibleTool]) -> VisibleTool | RejectedCall:
    """The tool of that name, or which names are near."""
    if name in tools:
        return tools[name]
    near = get_close_matches(name, tools, n=3, cutoff=0.5)
    known = near or list(tools)[:MAX_NAMES]
    rest = "" if near or len(tools) <= MAX_NAMES else f" and {len(tools) - MAX_NAMES} more"
    label = "the nearest are" if near else "there are"
    return RejectedCall(RejectionCode.NO_SUCH_TOOL, f"there is no tool '{name}'; {label} {quote_names(known)}{rest}")


def parse_arguments(raw: str, tool: VisibleTool) -> JsonObject | RejectedCall:
    """The arguments in `raw`, checked against the tool's schema.

    No text at all is no arguments, and a null for an optional argument that knows no null was not given: models write
    both. Nothing else is bent to fit.
    """
    if not raw.strip():
        return _checked({}, tool)
    try:
        value = _loaded(raw)
    except (ValueError, RecursionError) as error:
        return RejectedCall(RejectionCode.NOT_JSON, f"the arguments of '{tool.spec.name}' are not JSON: {error}")
    if value is None:
        value = {}
    if not isinstance(value, dict):
        return RejectedCall(RejectionCode.DOES_NOT_FIT, f"the arguments must be an object and not {type_name(value)}")
    if _depth(value) > MAX_DEPTH:
        return RejectedCall(RejectionCode.DOES_NOT_FIT, f"the arguments are nested deeper than {MAX_DEPTH} levels")
    return _checked(value, tool)


def _loaded(raw: str) -> Any:
    """The value in `raw`. Half a character, which JSON can spell and no request can carry, is a ValueError."""
    value = json.loads(raw, parse_constant=_no_constant)
    json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def _checked(value: JsonObject, tool: VisibleTool) -> JsonObject | RejectedCall:
    schema = tool.schema.parameters
    given = _without_empty_nulls(value, schema)
    violations = [*_unknown_names(given, tool), *_violations(given, schema)]
    if not violations:
        return given
    more = len(violations) - MAX_VIOLATIONS
    listed = violations[:MAX_VIOLATIONS] + ([f"and {more} more"] if more > 0 else [])
    return RejectedCall(RejectionCode.DOES_NOT_FIT, "; ".join(listed))


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
            yield f"{name}: there is no such argument; {suggest_names(name, known)}"


def _violations(value: JsonObject, schema: JsonObject) -> Iterator[str]:
    for error in _errors(value, {k: v for k, v in schema.items() if k != "additionalProperties"}):
        yield describe_error(error)


def _errors(value: Any, schema: Mapping[str, Any]) -> Sequence[ValidationError]:
    """Violations, by path. A schema that is itself broken forbids nothing: the source will judge the request."""
    try:
        found = _VALIDATOR(dict(schema), format_checker=_FORMATS).iter_errors(value)
        return sorted(found, key=lambda error: [str(part) for part in error.absolute_path])
    except _BROKEN_SCHEMA:
        return ()


def _matches(_validator: Any, pattern: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    """A pattern in the dialect of another language, or one that could take for ever, forbids nothing."""
    if (
        not (isinstance(instance, str) and isinstance(pattern, str))
        or len(instance) > MAX_MATCHED_CHARS
        or _EXPLODES.search(pattern)
    ):
        return
    try:
        is_match = re.search(pattern, instance) is not None
    except (re.error, TypeError):
        return
    if not is_match:
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


_VALIDATOR = extend(Draft202012Validator, {"pattern": _matches})  # type: ignore[no-untyped-call]
_FORMATS = format_checker()


def _depth(value: Any) -> int:
    """How deep a value is nested, without recursion."""
    depth, level = 0, [value]
    while level:
        depth += 1
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
    return depth


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")
