"""Validate a requested call: find its tool, parse its arguments, and check them against the tool's JSON Schema."""

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
    """JSON-RPC error codes of an invalid call."""

    NOT_JSON = -32700
    NO_SUCH_TOOL = -32601
    INVALID_ARGUMENTS = -32602


# A repeated group of repetitions: matching such a pattern can take exponential time.
_EXPONENTIAL = re.compile(r"\([^()]*[+*}][^()]*\)[+*{]")


@dataclass(frozen=True, slots=True)
class RejectedCall:
    """An invalid call; `message` lists what to correct, by path."""

    code: RejectionCode
    message: str


def find_tool(name: str, tools: Mapping[str, VisibleTool]) -> VisibleTool | RejectedCall:
    """Return the tool of that name, or a rejection that names the closest tools."""
    if name in tools:
        return tools[name]
    near = get_close_matches(name, tools, n=3, cutoff=0.5)
    listed = near or list(tools)[:MAX_NAMES]
    rest = "" if near or len(tools) <= MAX_NAMES else f" and {len(tools) - MAX_NAMES} more"
    label = "nearest" if near else "available"
    return RejectedCall(RejectionCode.NO_SUCH_TOOL, f"unknown tool '{name}'; {label}: {quote_names(listed)}{rest}")


def parse_arguments(raw: str, tool: VisibleTool) -> JsonObject | RejectedCall:
    """Parse the arguments in `raw` and check them against the tool's schema.

    Empty text means no arguments, and a null for an optional argument that does not accept null is dropped: models
    write both. Nothing else is corrected.
    """
    if not raw.strip():
        return _validate({}, tool)
    try:
        value = _load_json(raw)
    except (ValueError, RecursionError) as error:
        return RejectedCall(RejectionCode.NOT_JSON, f"the arguments of '{tool.spec.name}' are not JSON: {error}")
    if value is None:
        value = {}
    if not isinstance(value, dict):
        return RejectedCall(RejectionCode.INVALID_ARGUMENTS, f"the arguments must be an object, got {type_name(value)}")
    if _depth(value) > MAX_DEPTH:
        return RejectedCall(RejectionCode.INVALID_ARGUMENTS, f"the arguments are nested deeper than {MAX_DEPTH} levels")
    return _validate(value, tool)


def _load_json(raw: str) -> Any:
    """Parse JSON. A lone surrogate, which JSON can escape but UTF-8 cannot encode, is a ValueError."""
    value = json.loads(raw, parse_constant=_no_constant)
    json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def _validate(value: JsonObject, tool: VisibleTool) -> JsonObject | RejectedCall:
    schema = tool.schema.parameters
    given = _without_empty_nulls(value, schema)
    violations = [*_unknown_names(given, tool), *_violations(given, schema)]
    if not violations:
        return given
    more = len(violations) - MAX_VIOLATIONS
    listed = violations[:MAX_VIOLATIONS] + ([f"and {more} more"] if more > 0 else [])
    return RejectedCall(RejectionCode.INVALID_ARGUMENTS, "; ".join(listed))


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
    """Yield unknown argument names, unless the schema explicitly allows additional properties."""
    schema = tool.schema.parameters
    if schema.get("additionalProperties") not in (None, False) or schema.get("patternProperties"):
        return
    known = list(schema.get("properties") or {})
    for name in value:
        if name in tool.spec.pagination.hidden:
            yield f"{name}: leave it out, all pages are read automatically"
        elif name not in known:
            yield f"{name}: unknown argument; {suggest_names(name, known)}"


def _violations(value: JsonObject, schema: JsonObject) -> Iterator[str]:
    for error in _errors(value, {k: v for k, v in schema.items() if k != "additionalProperties"}):
        yield describe_error(error)


def _errors(value: Any, schema: Mapping[str, Any]) -> Sequence[ValidationError]:
    """Return violations sorted by path. A broken schema accepts everything: the source will check the request."""
    try:
        found = _VALIDATOR(dict(schema), format_checker=_FORMATS).iter_errors(value)
        return sorted(found, key=lambda error: [str(part) for part in error.absolute_path])
    except _BROKEN_SCHEMA:
        return ()


def _matches(_validator: Any, pattern: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    """Check a pattern. One that Python cannot compile, or that could take too long, accepts everything."""
    if (
        not (isinstance(instance, str) and isinstance(pattern, str))
        or len(instance) > MAX_MATCHED_CHARS
        or _EXPONENTIAL.search(pattern)
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
    """Return the nesting depth of a value, without recursion."""
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
    raise ValueError(f"{name} is not valid JSON")
