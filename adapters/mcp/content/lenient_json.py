"""Text that is almost JSON: the representation of Python values, trailing commas, comments, bare keys.

Knows the spellings of a value that programs print and people write. Knows no wire. It reads what is there and guesses
nothing: text that ends too early, or that holds anything without a counterpart in JSON, is refused, so that a cut
result is never taken for a whole one.
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

_DEPTH = 100
_MARK = re.compile(
    r"""(?P<space>\s+|//[^\n]*|\#[^\n]*|/\*.*?\*/)
      |(?P<text>[bBuU]?(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))
      |(?P<number>[-+]?(?:\.\d|\d)[\w.]*(?:(?<=[eE])[-+]\d+)?)
      |(?P<word>[-+]?[A-Za-z_$][\w$.]*|<NA>|<class\ '[\w.]+'>)
      |(?P<member><[A-Za-z_]\w*(?:\.\w+)+:)
      |(?P<sign>[][{}():,=>])""",
    re.VERBOSE | re.DOTALL,
)
_UTC = "datetime.timezone.utc"
_WORDS: dict[str, Json] = {
    "true": True, "True": True, "false": False, "False": False, "null": None, "None": None, "undefined": None,
    "nan": None, "NaN": None, "inf": None, "-inf": None, "Infinity": None, "-Infinity": None, "NaT": None,
    "<NA>": None, _UTC: "UTC",
}  # fmt: skip
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|(\r?\n)|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0", "a": "\a", "v": "\v"}
_MOMENTS: dict[str, Callable[..., date | time]] = {"datetime": datetime, "date": date, "time": time}
_MAKERS = frozenset(
    {
        *_MOMENTS, "timedelta", "timezone", "set", "frozenset", "dict_values", "dict_keys", "array", "deque",
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
        "bool_", "str_", "datetime64", "mappingproxy", "defaultdict",
    }
)  # fmt: skip


class LenientParseError(ValueError):
    """The text is no value, however far one looks away."""


def read_nearly(text: str, start: int = 0) -> tuple[Json, int]:
    """The value that begins at `start`, and where it ends. Raises LenientParseError."""
    reader = _LenientReader(text, start)
    value = reader.value(0)
    return value, reader.end


class _LenientReader:
    """Reads one value, mark by mark; `end` is behind the last mark that belongs to it."""

    def __init__(self, text: str, start: int) -> None:
        self.end = start
        self._marks = _marks(text, start)
        self._kind, self._mark, self._ends = "", "", start
        self._next()

    def value(self, depth: int) -> Json:
        """The value that begins with the current mark."""
        if depth > _DEPTH:
            raise LenientParseError("nested too deeply")
        kind, mark = self._take()
        if kind == "text":
            return self._joined(_text(mark))
        if kind == "number":
            return _number(mark)
        if kind == "word":
            return self._word(mark, depth)
        if kind == "member":
            return self._member(depth)
        if mark == "{":
            return self._members(depth)
        if mark in ("[", "("):
            return self._items("]" if mark == "[" else ")", depth)
        raise LenientParseError(f"'{mark}' begins no value")

    def _word(self, mark: str, depth: int) -> Json:
        if self._mark == "(" and self._kind == "sign":
            self._take()
            return _made(mark, *self._arguments(depth))
        if mark not in _WORDS and not mark.startswith("<class"):
            raise LenientParseError(f"'{mark}' is no value")
        return _WORDS.get(mark)

    def _member(self, depth: int) -> Json:
        """The value in `<Status.OPEN: 'open'>`."""
        value = self.value(depth + 1)
        self._expect(">")
        return value

    def _joined(self, text: str) -> str:
        """Python joins texts that stand side by side."""
        while self._kind == "text":
            text += _text(self._take()[1])
        return text

    def _items(self, closing: str, depth: int) -> list[Json]:
        items: list[Json] = []
        while self._mark != closing or self._kind != "sign":
            items.append(self.value(depth + 1))
            self._separated(closing)
        self._take()
        return items

    def _members(self, depth: int) -> Json:
        """An object, or a set of values in the same braces."""
        members: JsonObject = {}
        while self._mark != "}" or self._kind != "sign":
            first = self._kind, self._mark
            key = self._key()
            if not members and self._kind == "sign" and self._mark in (",", "}"):
                self._separated("}")
                return [_number(key) if first[0] == "number" else key, *self._items("}", depth)]
            self._expect(":")
            members[key] = self.value(depth + 1)
            self._separated("}")
        self._take()
        return members

    def _key(self) -> str:
        kind, mark = self._take()
        if kind == "sign":
            raise LenientParseError(f"'{mark}' is no key")
        return _text(mark) if kind == "text" else mark

    def _arguments(self, depth: int) -> tuple[list[Json], JsonObject]:
        """What stands in the parentheses of `Name(1, b=2)`: values without and with a name."""
        plain: list[Json] = []
        named: JsonObject = {}
        while self._mark != ")" or self._kind != "sign":
            if self._kind == "word" and self._mark not in _WORDS:
                name = self._take()[1]
                if self._mark == "=" and self._kind == "sign":
                    self._take()
                    named[name] = self.value(depth + 1)
                else:
                    plain.append(self._word(name, depth + 1))
            else:
                plain.append(self.value(depth + 1))
            self._separated(")")
        self._take()
        return plain, named

    def _separated(self, closing: str) -> None:
        if self._kind == "sign" and self._mark == closing:
            return
        self._expect(",")

    def _expect(self, sign: str) -> None:
        if self._kind != "sign" or self._mark != sign:
            raise LenientParseError(f"'{self._mark}' stands where '{sign}' should")
        self._take()

    def _take(self) -> tuple[str, str]:
        taken = self._kind, self._mark
        if not self._kind:
            raise LenientParseError("the text ends too early")
        self.end = self._ends
        self._next()
        return taken

    def _next(self) -> None:
        self._kind, self._mark, self._ends = next(self._marks, ("", "", self._ends))


def _marks(text: str, start: int) -> Iterator[tuple[str, str, int]]:
    """Kind, text and end of every mark; what is none ends the value, or spoils it."""
    match = _MARK.match(text, start)
    while match is not None:
        kind = match.lastgroup or ""
        if kind != "space":
            yield kind, match.group(), match.end()
        match = _MARK.match(text, match.end())


def _text(mark: str) -> str:
    body = mark.lstrip("bBuU")[1:-1]
    if "\\" not in body:
        return body
    return fix_surrogates_in_text(_ESCAPE.sub(_unescaped, body))


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code:
        number = int(code, 16)
        return chr(number) if number <= 0x10FFFF else "�"
    return "" if match[4] else _ESCAPED.get(match[5], match[5])


def _number(mark: str) -> int | float:
    for base in (0, 10):
        with suppress(ValueError):
            return int(mark, base)
    try:
        number = float(mark)
    except ValueError:
        raise LenientParseError(f"'{mark}' is no number") from None
    if number in (float("inf"), float("-inf")):
        raise LenientParseError(f"'{mark}' is beyond the range of a double")
    return number


def _made(name: str, plain: list[Json], named: JsonObject) -> Json:
    """The value of `Name(…)`: a moment, a number, an object with members, or what it was made from."""
    kind = name.rpartition(".")[2]
    if not kind[:1].isupper() and kind not in _MAKERS:
        _refuse(name)
    if kind in _MOMENTS and plain and all(isinstance(part, int) for part in plain):
        return _moment(kind, plain, named.pop("tzinfo", None))
    if named and not plain:
        return named
    if kind == "OrderedDict" and len(plain) == 1 and _are_pairs(plain[0]):
        return {str(key): value for key, value in plain[0]}
    if kind == "defaultdict" and len(plain) == len(("factory", "members")):
        return plain[1]
    if len(plain) != 1 or named:
        _refuse(name)
    if kind == "Decimal" and isinstance(plain[0], str):
        return _number(plain[0]) if plain[0] not in _WORDS else None
    return plain[0]


def _are_pairs(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(item, list) and len(item) == len("kv") for item in value)


def _moment(kind: str, parts: list[Json], zone: Json) -> str:
    """A moment in ISO 8601; of its zones, those are known that are a distance from UTC."""
    try:
        moment = _MOMENTS[kind](*parts).isoformat()
        match zone:
            case None:
                return moment
            case "UTC" | {"key": "UTC"}:
                return f"{moment}+00:00"
            case {"seconds": int(seconds)}:
                days = int(zone.get("days", 0))
                minutes = (days * 86_400 + seconds) // 60
                return f"{moment}{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
            case _:
                return _refuse(kind)
    except (ValueError, TypeError, OverflowError):
        return _refuse(kind)


def _refuse(name: str) -> NoReturn:
    raise LenientParseError(f"'{name}(…)' has no counterpart in JSON")


_LEAD = r"(?:[-*\u2022][ \t]+|\d{1,7}[.)][ \t]+|data:[ \t]*|\x1e)?"
_FIRST = re.compile(rf"^[ \t]*{_LEAD}(?=[{{\[])", re.MULTILINE)
_BETWEEN = re.compile(rf"(?:[ \t\r,;]*\n(?:[ \t\r]*(?:-{{3,}}|,|;)?[ \t\r]*\n)*[ \t]*{_LEAD}|[ \t]*[,;\x1e]?[ \t]*)")
_OPENING = ("{", "[")
_MOST_WORDS = 600
_FEW = 4
_LONGEST_INTEGER = 4000


@dataclass(frozen=True, slots=True)
class ValueSequence:
    """The values of a text, the words around them, and why what follows could not be read, if it could not."""

    values: tuple[Json, ...]
    words: str
    flaw: str = ""


def read_sequence(text: str) -> ValueSequence | None:
    """Two values or more; None where the text is something else."""
    first = _FIRST.search(text)
    if first is None or first.start() > _MOST_WORDS:
        return None
    values, end = _values(text, first.end())
    if len(values) < 2 or not _are_data(values):
        return None
    rest = text[end:].strip(" \t\r\n,;\x1e")
    words = f"{text[: first.start()].strip()}\n{rest}".strip()
    if rest.startswith(_OPENING):
        why = f"value {len(values) + 1}, at character {end} of {len(text)}, is cut or broken, near {rest[:60]!r}"
        return ValueSequence(values, text[: first.start()].strip(), why)
    is_beside = len(rest) <= _MOST_WORDS and _FIRST.search(rest) is None
    return ValueSequence(values, words) if is_beside else None


def value_at(text: str, start: int) -> tuple[Json, int]:
    """The value that begins there, in any spelling, and where it ends. Raises ValueError or RecursionError."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except ValueError:
        return read_nearly(text, start)
    return (fix_surrogates(value) if text.find("\\u", start, end) >= 0 else value), end


def integer(digits: str) -> int | str:
    """The number; one of more digits than Python reads is kept as its digits."""
    return int(digits) if len(digits) <= _LONGEST_INTEGER else digits


_DECODER = json.JSONDecoder(strict=False, parse_int=integer, parse_constant=lambda _: None)


def together(values: Sequence[Json]) -> Json:
    """One value of several: the members of objects that share none, the items of lists, else a list of the values.

    An object beside one list is what a page says of itself.
    """
    if len(values) == 1:
        return values[0]
    objects = [value for value in values if isinstance(value, dict)]
    lists = [value for value in values if isinstance(value, list)]
    if not lists:
        return _merged(objects) if len(objects) <= _FEW and _are_apart(objects) else list(values)
    if not objects:
        is_rows = all(not isinstance(item, dict | list) for value in lists for item in value)
        return list(values) if is_rows else [item for value in lists for item in value]
    if len(lists) == 1 and len(objects) <= _FEW and _are_apart(objects) and not any(map(_holds_list, objects)):
        return {**_merged(objects), "items": lists[0]}
    return list(values)


def _values(text: str, start: int) -> tuple[tuple[Json, ...], int]:
    """The values from there on, and where the last of them ends."""
    values: list[Json] = []
    end = start
    while text.startswith(_OPENING, start):
        try:
            value, end = value_at(text, start)
        except (ValueError, RecursionError):
            break
        values.append(value)
        between = _BETWEEN.match(text, end)
        start = between.end() if between is not None else end
    return tuple(values), end


def _are_data(values: Sequence[Json]) -> bool:
    """Whether the values are data, and not marks such as `[1]` in a sentence."""
    return any(
        bool(value) if isinstance(value, dict) else isinstance(value, list) and len(value) > 1 for value in values
    )


def _are_apart(objects: Sequence[JsonObject]) -> bool:
    return all(not one.keys() & other.keys() for one, other in combinations(objects, 2))


def _merged(objects: Sequence[JsonObject]) -> JsonObject:
    return {name: value for one in objects for name, value in one.items()}


def _holds_list(value: JsonObject) -> bool:
    return any(isinstance(inner, list) for inner in value.values())
