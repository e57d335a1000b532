"""Values that stand one behind another in a text: lines of JSON, objects without commas, a list of objects in Markdown.

Knows what may stand between two values, and how values belong together. Knows no wire. Words may stand before the first
value and behind the last one, and nothing but marks between them: sentences with examples in them are a report.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from adapters.base import Json, JsonObject
from adapters.mcp.nearly import read_nearly
from adapters.mcp.surrogates import sound

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
    return (sound(value) if text.find("\\u", start, end) >= 0 else value), end


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
