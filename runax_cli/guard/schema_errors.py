"""Describe JSON Schema violations: the path, what was expected, and the nearest valid name or value."""

import base64
import binascii
import ipaddress
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from difflib import get_close_matches
from typing import Any
from urllib.parse import urlsplit

from jsonschema import FormatChecker
from jsonschema.exceptions import ValidationError

_DATE_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)
_NAIVE = re.compile(r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2})(:\d{2}(?:\.\d+)?)?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)
_DURATION = re.compile(r"P(?!$)(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?)", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*", re.ASCII | re.IGNORECASE)


def _is_date(text: str) -> bool:
    return _DATE.fullmatch(text) is not None and _parses(date.fromisoformat, text)


def _is_date_time(text: str) -> bool:
    return _DATE_TIME.fullmatch(text) is not None and _parses(datetime.fromisoformat, text.upper())


def _is_uri(text: str) -> bool:
    return not re.search(r"\s", text) and _parses(urlsplit, text) and bool(urlsplit(text).scheme)


def _is_base64(text: str) -> bool:
    return _parses(lambda raw: base64.b64decode(raw, validate=True), text)


def _parses(parse: Callable[[str], Any], text: str) -> bool:
    try:
        parse(text)
    except (ValueError, binascii.Error):
        return False
    return True


def _guess_date_time(text: str) -> Iterator[str]:
    if _is_date(text):
        yield f"{text}T00:00:00Z"
    elif naive := _NAIVE.fullmatch(text):
        yield f"{naive[1]}T{naive[2]}{naive[3] or ':00'}Z"


def _guess_date(text: str) -> Iterator[str]:
    yield text[:10]
    if parts := re.fullmatch(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})", text):
        yield f"{parts[1]}-{int(parts[2]):02}-{int(parts[3]):02}"


def _no_guess(_text: str) -> Iterator[str]:
    return iter(())


@dataclass(frozen=True, slots=True)
class TextFormat:
    """A string format: its test, an example, and guesses at what a text that does not match was meant to be."""

    has: Callable[[str], bool]
    example: str
    guesses: Callable[[str], Iterator[str]] = _no_guess

    def nearest(self, text: str) -> str | None:
        """Return the first guess that has the format; None if there is none."""
        return next((guess for guess in self.guesses(text.strip()) if self.has(guess)), None)


FORMATS: Mapping[str, TextFormat] = {
    "date": TextFormat(_is_date, "2026-01-31", _guess_date),
    "date-time": TextFormat(_is_date_time, "2026-01-31T12:00:00Z", _guess_date_time),
    "time": TextFormat(lambda text: _TIME.fullmatch(text) is not None, "12:00:00Z"),
    "duration": TextFormat(lambda text: _DURATION.fullmatch(text) is not None, "P1DT12H"),
    "uuid": TextFormat(
        lambda text: _UUID.fullmatch(text) is not None,
        "123e4567-e89b-12d3-a456-426614174000",
        lambda text: iter((text.strip("{}"),)),
    ),
    "email": TextFormat(lambda text: _EMAIL.fullmatch(text) is not None, "name@example.com"),
    "hostname": TextFormat(lambda text: _HOST.fullmatch(text) is not None, "www.example.com"),
    "ipv4": TextFormat(lambda text: _parses(ipaddress.IPv4Address, text), "192.0.2.1"),
    "ipv6": TextFormat(lambda text: _parses(ipaddress.IPv6Address, text), "2001:db8::1"),
    "uri": TextFormat(_is_uri, "https://example.com/", lambda text: iter((f"https://{text}",))),
    "byte": TextFormat(_is_base64, "aGVsbG8="),
}
INTEGER_FORMATS: Mapping[str, int] = {"int32": 2**31, "int64": 2**63}
"""Integer formats: values are below this bound, and not below its negative."""


def format_checker() -> FormatChecker:
    """Create the checker of all formats."""
    checker = FormatChecker(formats=())
    for name, known in FORMATS.items():
        checker.checks(name)(lambda value, has=known.has: not isinstance(value, str) or has(value))
    for name, bound in INTEGER_FORMATS.items():
        checker.checks(name)(lambda value, bound=bound: not isinstance(value, int) or -bound <= value < bound)
    return checker


MAX_NAMES = 12
_MAX_ALTERNATIVES = 3
_NOTHING = object()


def describe_error(error: ValidationError) -> str:
    """Describe one violation, with its path."""
    path = ".".join(str(part) for part in error.absolute_path)
    describe = _DESCRIBERS.get(str(error.validator), _describe_plainly)
    return describe(error, path or "arguments")


def suggest_names(name: str, known: Sequence[str]) -> str:
    """Name the closest known names, or all of them if none is close."""
    if not known:
        return "no names are allowed here"
    folded = {candidate.casefold(): candidate for candidate in known}
    near = [folded[match] for match in get_close_matches(name.casefold(), folded, n=2, cutoff=0.5)]
    rest = "" if near or len(known) <= MAX_NAMES else ", …"
    return f"nearest: {quote_names(near)}" if near else f"known: {quote_names(known[:MAX_NAMES])}{rest}"


def quote_names(names: Iterable[str]) -> str:
    """Return names in quotes, separated by commas."""
    return ", ".join(f"'{name}'" for name in names)


def truncate(text: str, limit: int = 120) -> str:
    """Cut a text after `limit` characters, with an ellipsis."""
    return text if len(text) <= limit else text[:limit] + "…"


def type_name(value: Any) -> str:
    """Return the type of a JSON value with its article."""
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


def _describe_plainly(error: ValidationError, path: str) -> str:
    return f"{path}: {truncate(error.message)}"


def _describe_required(error: ValidationError, path: str) -> str:
    required: Any = error.validator_value
    instance: Any = error.instance
    missing = [name for name in required if name not in instance]
    prefix = "" if path == "arguments" else f"{path}."
    properties = _properties(error)
    return "; ".join(f"{prefix}{name}: is required{_expected_type(properties.get(name))}" for name in missing)


def _describe_type(error: ValidationError, path: str) -> str:
    kinds: Any = error.validator_value
    message = f"{path}: expected {_types(kinds)}, got {_value(error.instance)} ({type_name(error.instance)})"
    near = _convert(error.instance, kinds if isinstance(kinds, list) else [kinds])
    return message if near is _NOTHING else f"{message}; nearest: {_value(near)}"


def _convert(value: Any, kinds: Sequence[str]) -> Any:
    """Guess what a value of a wrong type was meant to be."""
    if isinstance(value, str):
        try:
            read = json.loads(value)
        except (ValueError, RecursionError):
            read = _NOTHING
        if read is not _NOTHING and any(_has_type(read, kind) for kind in kinds):
            return read
    if "string" in kinds and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if "integer" in kinds and isinstance(value, float) and math.isfinite(value):
        return round(value)
    return [value] if "array" in kinds and not isinstance(value, dict) and value is not None else _NOTHING


def _has_type(value: Any, kind: str) -> bool:
    match value:
        case bool():
            return kind == "boolean"
        case int():
            return kind in ("integer", "number")
        case float():
            return kind == "number"
        case list():
            return kind == "array"
        case dict():
            return kind == "object"
        case _:
            return False


def _describe_enum(error: ValidationError, path: str) -> str:
    values: Any = error.validator_value
    allowed = [str(value) for value in values]
    return f"{path}: {_value(error.instance)} is not allowed; {suggest_names(str(error.instance), allowed)}"


def _describe_bound(error: ValidationError, path: str) -> str:
    bound: Any = error.validator_value
    is_upper = "max" in str(error.validator).lower()
    is_open = str(error.validator).startswith("exclusive")
    word = ("below" if is_upper else "above") if is_open else ("at most" if is_upper else "at least")
    near = f"; nearest: {_value(bound)}" if not is_open else ""
    return f"{path}: {_value(error.instance)} is out of range; must be {word} {_value(bound)}{near}"


def _describe_format(error: ValidationError, path: str) -> str:
    name = str(error.validator_value)
    if name in INTEGER_FORMATS:
        return f"{path}: {_value(error.instance)} is out of the range of {name}"
    known = FORMATS[name]
    near = known.nearest(str(error.instance))
    hint = f"nearest: {_value(near)}" if near is not None else f"example: {_value(known.example)}"
    return f"{path}: {_value(error.instance)} is not a valid {name}; {hint}"


def _describe_pattern(error: ValidationError, path: str) -> str:
    return f"{path}: {_value(error.instance)} does not match the pattern {truncate(str(error.validator_value))}"


def _describe_alternatives(error: ValidationError, path: str) -> str:
    """Describe why none of several alternatives matches, or more than one does."""
    alternatives: list[ValidationError] = list(error.context or ())
    why = list(dict.fromkeys(describe_error(alternative) for alternative in alternatives))[:_MAX_ALTERNATIVES]
    return (
        f"{path}: {_value(error.instance)} matches none of the alternatives ({' | '.join(why)})"
        if why
        else _describe_plainly(error, path)
    )


def _describe_additional(error: ValidationError, path: str) -> str:
    known = list(_properties(error))
    instance: Any = error.instance
    unknown = [name for name in instance if name not in known]
    return "; ".join(f"{path}.{name}: unknown property; {suggest_names(name, known)}" for name in unknown)


def _properties(error: ValidationError) -> Mapping[str, Any]:
    schema: Any = error.schema
    return schema.get("properties") or {}


_DESCRIBERS: Mapping[str, Callable[[ValidationError, str], str]] = {
    "required": _describe_required,
    "type": _describe_type,
    "enum": _describe_enum,
    "format": _describe_format,
    "pattern": _describe_pattern,
    "anyOf": _describe_alternatives,
    "oneOf": _describe_alternatives,
    "additionalProperties": _describe_additional,
} | dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _describe_bound)


def _expected_type(schema: Any) -> str:
    kind = schema.get("type") if isinstance(schema, dict) else None
    return f" ({_types(kind)})" if kind else ""


def _types(kind: Any) -> str:
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _value(value: Any) -> str:
    return truncate(json.dumps(value, ensure_ascii=False))
