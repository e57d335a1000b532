"""Text that is almost JSON: the representation of Python values, trailing commas, comments, bare keys.

Knows the spellings of a value that programs print and people write. Knows no wire. It reads what is there and guesses
nothing: text that ends too early, or that holds anything without a counterpart in JSON, is refused, so that a cut
result is never taken for a whole one.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date, datetime, time
from typing import NoReturn

from adapters.base import Json, JsonObject
from adapters.mcp.surrogates import sound_text

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


class NotNearly(ValueError):
    """The text is no value, however far one looks away."""


def read_nearly(text: str, start: int = 0) -> tuple[Json, int]:
    """The value that begins at `start`, and where it ends. Raises NotNearly."""
    reader = _Reader(text, start)
    value = reader.value(0)
    return value, reader.end


class _Reader:
    """Reads one value, mark by mark; `end` is behind the last mark that belongs to it."""

    def __init__(self, text: str, start: int) -> None:
        self.end = start
        self._marks = _marks(text, start)
        self._kind, self._mark, self._ends = "", "", start
        self._next()

    def value(self, depth: int) -> Json:
        """The value that begins with the current mark."""
        if depth > _DEPTH:
            raise NotNearly("nested too deeply")
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
        raise NotNearly(f"'{mark}' begins no value")

    def _word(self, mark: str, depth: int) -> Json:
        if self._mark == "(" and self._kind == "sign":
            self._take()
            return _made(mark, *self._arguments(depth))
        if mark not in _WORDS and not mark.startswith("<class"):
            raise NotNearly(f"'{mark}' is no value")
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
            raise NotNearly(f"'{mark}' is no key")
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
            raise NotNearly(f"'{self._mark}' stands where '{sign}' should")
        self._take()

    def _take(self) -> tuple[str, str]:
        taken = self._kind, self._mark
        if not self._kind:
            raise NotNearly("the text ends too early")
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
    return sound_text(_ESCAPE.sub(_unescaped, body))


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
        raise NotNearly(f"'{mark}' is no number") from None
    if number in (float("inf"), float("-inf")):
        raise NotNearly(f"'{mark}' is beyond the range of a double")
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
    raise NotNearly(f"'{name}(…)' has no counterpart in JSON")
