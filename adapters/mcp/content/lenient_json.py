"""Parses text that is almost JSON: Python reprs, trailing commas, comments, bare keys, several values in a row.

Nothing is guessed: text that ends too early, or contains anything without a counterpart in JSON, raises an error, so
that a truncated result is never taken for a complete one.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time
from itertools import combinations
from typing import NoReturn

from adapters.base import Json, JsonObject
from adapters.json_text import fix_surrogates, fix_surrogates_in_text

_MAX_DEPTH = 100
_LEXEME = re.compile(
    r"""(?P<space>\s+|//[^\n]*|\#[^\n]*|/\*.*?\*/)
      |(?P<text>[bBuU]?(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))
      |(?P<number>[-+]?(?:\.\d|\d)[\w.]*(?:(?<=[eE])[-+]\d+)?)
      |(?P<word>[-+]?[A-Za-z_$][\w$.]*|<NA>|<class\ '[\w.]+'>)
      |(?P<member><[A-Za-z_]\w*(?:\.\w+)+:)
      |(?P<sign>[][{}():,=>])""",
    re.VERBOSE | re.DOTALL,
)
_UTC = "datetime.timezone.utc"
_LITERALS: dict[str, Json] = {
    "true": True, "True": True, "false": False, "False": False, "null": None, "None": None, "undefined": None,
    "nan": None, "NaN": None, "inf": None, "-inf": None, "Infinity": None, "-Infinity": None, "NaT": None,
    "<NA>": None, _UTC: "UTC",
}  # fmt: skip
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|(\r?\n)|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0", "a": "\a", "v": "\v"}
_DATETIME_TYPES: dict[str, Callable[..., date | time]] = {"datetime": datetime, "date": date, "time": time}
_CONSTRUCTORS = frozenset(
    {
        *_DATETIME_TYPES, "timedelta", "timezone", "set", "frozenset", "dict_values", "dict_keys", "array", "deque",
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
        "bool_", "str_", "datetime64", "mappingproxy", "defaultdict",
    }
)  # fmt: skip


class LenientParseError(ValueError):
    """The text is not a value, even by the lenient rules."""


def parse_lenient(text: str, start: int = 0) -> tuple[Json, int]:
    """The value that starts at `start`, and its end. Raises LenientParseError."""
    reader = _LenientReader(text, start)
    value = reader.value(0)
    return value, reader.end


class _LenientReader:
    """Parses one value; `end` is the position after its last lexeme."""

    def __init__(self, text: str, start: int) -> None:
        self.end = start
        self._lexemes = _lexemes(text, start)
        self._kind, self._lexeme, self._lexeme_end = "", "", start
        self._advance()

    def value(self, depth: int) -> Json:
        """The value that starts with the current lexeme."""
        if depth > _MAX_DEPTH:
            raise LenientParseError("nested too deeply")
        kind, lexeme = self._pop()
        if kind == "text":
            return self._joined_strings(_unquote(lexeme))
        if kind == "number":
            return _number(lexeme)
        if kind == "word":
            return self._word(lexeme, depth)
        if kind == "member":
            return self._enum_member(depth)
        if lexeme == "{":
            return self._object(depth)
        if lexeme in ("[", "("):
            return self._list("]" if lexeme == "[" else ")", depth)
        raise LenientParseError(f"'{lexeme}' does not start a value")

    def _word(self, lexeme: str, depth: int) -> Json:
        if self._lexeme == "(" and self._kind == "sign":
            self._pop()
            return _construct(lexeme, *self._arguments(depth))
        if lexeme not in _LITERALS and not lexeme.startswith("<class"):
            raise LenientParseError(f"'{lexeme}' is not a value")
        return _LITERALS.get(lexeme)

    def _enum_member(self, depth: int) -> Json:
        """The value in `<Status.OPEN: 'open'>`."""
        value = self.value(depth + 1)
        self._expect(">")
        return value

    def _joined_strings(self, text: str) -> str:
        """Adjacent strings are concatenated, as in Python."""
        while self._kind == "text":
            text += _unquote(self._pop()[1])
        return text

    def _list(self, closing: str, depth: int) -> list[Json]:
        items: list[Json] = []
        while self._lexeme != closing or self._kind != "sign":
            items.append(self.value(depth + 1))
            self._expect_separator(closing)
        self._pop()
        return items

    def _object(self, depth: int) -> Json:
        """An object, or a Python set, which becomes a list."""
        members: JsonObject = {}
        while self._lexeme != "}" or self._kind != "sign":
            first = self._kind, self._lexeme
            key = self._key()
            if not members and self._kind == "sign" and self._lexeme in (",", "}"):
                self._expect_separator("}")
                return [_number(key) if first[0] == "number" else key, *self._list("}", depth)]
            self._expect(":")
            members[key] = self.value(depth + 1)
            self._expect_separator("}")
        self._pop()
        return members

    def _key(self) -> str:
        kind, lexeme = self._pop()
        if kind == "sign":
            raise LenientParseError(f"'{lexeme}' is not a key")
        return _unquote(lexeme) if kind == "text" else lexeme

    def _arguments(self, depth: int) -> tuple[list[Json], JsonObject]:
        """The positional and keyword arguments of `Name(1, b=2)`."""
        args: list[Json] = []
        kwargs: JsonObject = {}
        while self._lexeme != ")" or self._kind != "sign":
            if self._kind == "word" and self._lexeme not in _LITERALS:
                name = self._pop()[1]
                if self._lexeme == "=" and self._kind == "sign":
                    self._pop()
                    kwargs[name] = self.value(depth + 1)
                else:
                    args.append(self._word(name, depth + 1))
            else:
                args.append(self.value(depth + 1))
            self._expect_separator(")")
        self._pop()
        return args, kwargs

    def _expect_separator(self, closing: str) -> None:
        if self._kind == "sign" and self._lexeme == closing:
            return
        self._expect(",")

    def _expect(self, sign: str) -> None:
        if self._kind != "sign" or self._lexeme != sign:
            raise LenientParseError(f"expected '{sign}', found '{self._lexeme}'")
        self._pop()

    def _pop(self) -> tuple[str, str]:
        current = self._kind, self._lexeme
        if not self._kind:
            raise LenientParseError("the text ends too early")
        self.end = self._lexeme_end
        self._advance()
        return current

    def _advance(self) -> None:
        self._kind, self._lexeme, self._lexeme_end = next(self._lexemes, ("", "", self._lexeme_end))


def _lexemes(text: str, start: int) -> Iterator[tuple[str, str, int]]:
    """Kind, text and end of every lexeme; stops at the first character that starts none."""
    match = _LEXEME.match(text, start)
    while match is not None:
        kind = match.lastgroup or ""
        if kind != "space":
            yield kind, match.group(), match.end()
        match = _LEXEME.match(text, match.end())


def _unquote(lexeme: str) -> str:
    body = lexeme.lstrip("bBuU")[1:-1]
    if "\\" not in body:
        return body
    return fix_surrogates_in_text(_ESCAPE.sub(_unescape, body))


def _unescape(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code:
        number = int(code, 16)
        return chr(number) if number <= 0x10FFFF else "�"
    return "" if match[4] else _ESCAPES.get(match[5], match[5])


def _number(lexeme: str) -> int | float:
    for base in (0, 10):
        with suppress(ValueError):
            return int(lexeme, base)
    try:
        number = float(lexeme)
    except ValueError:
        raise LenientParseError(f"'{lexeme}' is not a number") from None
    if number in (float("inf"), float("-inf")):
        raise LenientParseError(f"'{lexeme}' is beyond the range of a double")
    return number


def _construct(name: str, args: list[Json], kwargs: JsonObject) -> Json:
    """The value of `Name(…)`: a date, a number, an object of keyword arguments, or the only argument."""
    kind = name.rpartition(".")[2]
    if not kind[:1].isupper() and kind not in _CONSTRUCTORS:
        _reject(name)
    if kind in _DATETIME_TYPES and args and all(isinstance(part, int) for part in args):
        return _iso_datetime(kind, args, kwargs.pop("tzinfo", None))
    if kwargs and not args:
        return kwargs
    match kind, args:
        case "OrderedDict", [pairs] if _are_pairs(pairs):
            return {str(key): value for key, value in pairs}
        case "defaultdict", [_factory, members]:
            return members
        case "Decimal", [str(digits)] if not kwargs:
            return _number(digits) if digits not in _LITERALS else None
        case _, [value] if not kwargs:
            return value
        case _:
            return _reject(name)


def _are_pairs(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(item, list) and len(item) == 2 for item in value)


def _iso_datetime(kind: str, parts: list[Json], zone: Json) -> str:
    """A date or time in ISO 8601; only UTC and fixed offsets are supported as time zones."""
    try:
        text = _DATETIME_TYPES[kind](*parts).isoformat()
        match zone:
            case None:
                return text
            case "UTC" | {"key": "UTC"}:
                return f"{text}+00:00"
            case {"seconds": int(seconds)}:
                days = int(zone.get("days", 0))
                minutes = (days * 86_400 + seconds) // 60
                return f"{text}{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
            case _:
                return _reject(kind)
    except (ValueError, TypeError, OverflowError):
        return _reject(kind)


def _reject(name: str) -> NoReturn:
    raise LenientParseError(f"'{name}(…)' has no counterpart in JSON")


_ITEM_PREFIX = r"(?:[-*\u2022][ \t]+|\d{1,7}[.)][ \t]+|data:[ \t]*|\x1e)?"
_SEQUENCE_START = re.compile(rf"^[ \t]*{_ITEM_PREFIX}(?=[{{\[])", re.MULTILINE)
_VALUE_SEPARATOR = re.compile(
    rf"(?:[ \t\r,;]*\n(?:[ \t\r]*(?:-{{3,}}|,|;)?[ \t\r]*\n)*[ \t]*{_ITEM_PREFIX}|[ \t]*[,;\x1e]?[ \t]*)"
)
_OPENING_CHARS = ("{", "[")
_MAX_SURROUNDING_CHARS = 600
_MAX_MERGED_OBJECTS = 4
_MAX_INTEGER_DIGITS = 4000


@dataclass(frozen=True, slots=True)
class ValueSequence:
    """The values of a text, the text around them, and why the rest could not be parsed, if so."""

    values: tuple[Json, ...]
    surrounding: str
    flaw: str = ""


def parse_sequence(text: str) -> ValueSequence | None:
    """Two or more values in a row; None if the text is something else."""
    first = _SEQUENCE_START.search(text)
    if first is None or first.start() > _MAX_SURROUNDING_CHARS:
        return None
    values, end = _parse_values(text, first.end())
    if len(values) < 2 or not _are_data(values):
        return None
    rest = text[end:].strip(" \t\r\n,;\x1e")
    surrounding = f"{text[: first.start()].strip()}\n{rest}".strip()
    if rest.startswith(_OPENING_CHARS):
        flaw = f"value {len(values) + 1}, at character {end} of {len(text)}, is cut or broken, near {rest[:60]!r}"
        return ValueSequence(values, text[: first.start()].strip(), flaw)
    is_brief = len(rest) <= _MAX_SURROUNDING_CHARS and _SEQUENCE_START.search(rest) is None
    return ValueSequence(values, surrounding) if is_brief else None


def parse_value(text: str, start: int) -> tuple[Json, int]:
    """The JSON or almost-JSON value at `start`, and its end. Raises ValueError or RecursionError."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except ValueError:
        return parse_lenient(text, start)
    return (fix_surrogates(value) if text.find("\\u", start, end) >= 0 else value), end


def to_integer(digits: str) -> int | str:
    """The integer; more digits than Python parses stay a string."""
    return int(digits) if len(digits) <= _MAX_INTEGER_DIGITS else digits


_DECODER = json.JSONDecoder(strict=False, parse_int=to_integer, parse_constant=lambda _: None)


def combine_values(values: Sequence[Json]) -> Json:
    """Several values as one: objects without common keys are merged, lists are concatenated, else a list of the values.

    An object next to a single list is metadata about the list.
    """
    if len(values) == 1:
        return values[0]
    objects = [value for value in values if isinstance(value, dict)]
    lists = [value for value in values if isinstance(value, list)]
    if not lists:
        return _merge(objects) if len(objects) <= _MAX_MERGED_OBJECTS and _are_disjoint(objects) else list(values)
    if not objects:
        is_rows = all(not isinstance(item, dict | list) for value in lists for item in value)
        return list(values) if is_rows else [item for value in lists for item in value]
    if (
        len(lists) == 1
        and len(objects) <= _MAX_MERGED_OBJECTS
        and _are_disjoint(objects)
        and not any(map(_has_list, objects))
    ):
        return {**_merge(objects), "items": lists[0]}
    return list(values)


def _parse_values(text: str, start: int) -> tuple[tuple[Json, ...], int]:
    """The values from `start` on, and the end of the last one."""
    values: list[Json] = []
    end = start
    while text.startswith(_OPENING_CHARS, start):
        try:
            value, end = parse_value(text, start)
        except (ValueError, RecursionError):
            break
        values.append(value)
        between = _VALUE_SEPARATOR.match(text, end)
        start = between.end() if between is not None else end
    return tuple(values), end


def _are_data(values: Sequence[Json]) -> bool:
    """Whether the values are data, and not reference marks such as `[1]` in a sentence."""
    return any(
        bool(value) if isinstance(value, dict) else isinstance(value, list) and len(value) > 1 for value in values
    )


def _are_disjoint(objects: Sequence[JsonObject]) -> bool:
    return all(not one.keys() & other.keys() for one, other in combinations(objects, 2))


def _merge(objects: Sequence[JsonObject]) -> JsonObject:
    return {name: value for one in objects for name, value in one.items()}


def _has_list(value: JsonObject) -> bool:
    return any(isinstance(inner, list) for inner in value.values())
