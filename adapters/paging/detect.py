"""How a tool pages, as far as its parameters tell.

Knows names, types and descriptions of parameters. Knows no response: a server is free to page otherwise, and the
probe looks. Care is for what only looks like paging, since a parameter taken for paging is hidden from the model:

- `limit` alone is hidden only if it is a number and nothing says that it limits something else (credit, speed); a
  weak size name alone (`count`, `size`, `top`, `max`, `first`) is a filter.
- `page` as text is a page's title, and a description such as "ID of the page" makes it an identifier.
- `start` beside `end`, `from` beside `to`, and whatever has a date format or is text, is a range.
- `offset` alone needs a description that speaks of records; one that speaks of time zones, seconds or bytes rules
  it out. `first` is a position beside `max` only, and elsewhere a size.
- `token` is a credential and never a cursor; `after`, `next`, `marker` need a description that says cursor.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from adapters.base import Convention, Json, JsonObject, Pagination
from adapters.paging import names
from adapters.paging.names import PositionRow, plain
from adapters.paging.response import ResponseShape

_TRUE_LIKE = frozenset({"boolean"})
_FIRST_SENTENCE = re.compile(r"[.!?](?:\s|$)|\n\s*\n")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter, flattened: `types` without null; `numbers` are its bounds; `text` is what its document says."""

    name: str
    types: frozenset[str]
    schema: JsonObject
    text: str

    @property
    def plain(self) -> str:
        """The name as the tables have it."""
        return plain(self.name)

    def fits(self, types: frozenset[str]) -> bool:
        """Whether a value of one of `types` may stand here; a parameter without a type fits all."""
        return not self.types or bool(self.types & types)

    def number(self, key: str) -> int | None:
        """A whole number that the schema states under `key`."""
        value = self.schema.get(key)
        if isinstance(value, str) and value.isascii() and value.isdigit():
            return int(value)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    @property
    def is_something_else(self) -> bool:
        """Whether its first sentence speaks of time, money or identity; later ones may mention anything."""
        return bool(names.NOT_PAGING.search(_FIRST_SENTENCE.split(self.text, maxsplit=1)[0]))


def detect(
    parameters: Mapping[str, JsonObject],
    *,
    description: str = "",
    response: ResponseShape | None = None,  # noqa: ARG001 - the shape comes to bear with the rules over responses
) -> Pagination:
    """How the tool with these parameters (flat name -> JSON Schema, `flattened` where objects are to count) pages.

    `description` is the tool's own; it can supply the words that a bare parameter lacks, never take one away.
    `response` is what the document says of the answers.
    """
    known = [_parameter(name, schema) for name, schema in parameters.items()]
    metadata = next((p.name for p in known if p.plain in names.METADATA_FLAGS and _is_flag(p)), None)
    found = [hit for row in names.POSITIONS for hit in _positions(row, known, description)]
    if not found:
        return _size_alone(known, metadata)
    row, position = found[0]
    size = _size_beside(row, position, known)
    taken = {position.name, size.name if size else None, metadata}
    others = dict.fromkeys(p.name for _, p in found[1:] if p.name not in taken)
    return Pagination(
        convention=row.convention,
        position=position.name,
        metadata=metadata,
        first=_first(row, position),
        other_hidden=tuple(others),
        **_sizes(size),
    )


def _parameter(name: str, schema: JsonObject) -> Parameter:
    """Flatten `anyOf: [{…}, {type: null}]`, by which frameworks write an optional parameter."""
    flat = dict(schema)
    branches = [b for key in ("anyOf", "oneOf", "allOf") for b in schema.get(key, ()) if isinstance(b, dict)]
    real = [b for b in branches if b.get("type") != "null"]
    if len(real) == 1:
        flat = real[0] | flat
    types = flat.get("type")
    listed = [types] if isinstance(types, str) else types if isinstance(types, list) else [b.get("type") for b in real]
    text = " ".join(str(flat[key]) for key in ("title", "description") if flat.get(key))
    known = {kind for kind in listed if isinstance(kind, str) and kind != "null"}
    is_number_as_text = isinstance(flat.get("default"), str) and flat["default"].isdigit()
    return Parameter(name, frozenset(known | names.INTEGER if is_number_as_text else known), flat, text)


def _positions(row: PositionRow, known: Iterable[Parameter], description: str) -> list[tuple[PositionRow, Parameter]]:
    present = {p.plain for p in known}
    if row.rivals & present:
        return []
    return [(row, p) for p in known if p.plain in row.names and _is_position(row, p, known, description)]


def _is_position(row: PositionRow, parameter: Parameter, known: Iterable[Parameter], description: str) -> bool:
    if not parameter.fits(row.types) or parameter.schema.get("format") in {"date", "date-time", "time"}:
        return False
    if parameter.is_something_else and not names.SAYS_PAGINATION.search(parameter.text):
        return False
    has_size = _size_beside(row, parameter, known) is not None
    about = names.ABOUT_CURSOR if row.convention is Convention.CURSOR else names.ABOUT_PAGING
    has_words = bool(about.search(parameter.text)) or (not parameter.text and bool(about.search(description)))
    if row.either:
        return has_size or has_words
    return (has_size or not row.needs_size) and (has_words or not row.needs_words)


def _size_beside(row: PositionRow, position: Parameter, known: Iterable[Parameter]) -> Parameter | None:
    """The size parameter beside a position: the strongest name first, then the document's order."""
    fitting = [p for p in known if p.name != position.name and p.plain in row.sizes and _is_size(p, known)]
    return min(fitting, key=lambda p: p.plain not in names.SIZES_ALONE, default=None)


def _is_size(parameter: Parameter, known: Iterable[Parameter]) -> bool:
    is_value_range = parameter.plain == "max" and any(p.plain == "min" for p in known)
    is_limit_of_something_else = parameter.is_something_else and not names.ABOUT_SIZE.search(parameter.text)
    return parameter.fits(names.INTEGER) and not is_value_range and not is_limit_of_something_else


def _size_alone(known: Iterable[Parameter], metadata: str | None) -> Pagination:
    """A limit without a position: one page at most, unless a response names a next one."""
    strong = [p for p in known if p.plain in names.SIZES_ALONE and p.types & names.INTEGER and _is_size(p, known)]
    spoken = [p for p in strong if not p.text or names.ABOUT_PAGING.search(p.text)]
    return Pagination(metadata=metadata, **_sizes(spoken[0] if spoken else None))


def _sizes(size: Parameter | None) -> dict[str, Json]:
    if size is None:
        return {}
    allowed = [v for v in size.schema.get("enum") or () if isinstance(v, int) and not isinstance(v, bool)]
    lowest, highest = size.number("minimum"), size.number("maximum")
    below, above = size.number("exclusiveMinimum"), size.number("exclusiveMaximum")
    stated = names.STATED_MAXIMUM.search(size.text)
    return {
        "size": size.name,
        "min_size": min(allowed) if allowed else below + 1 if below is not None else lowest,
        "max_size": _largest(allowed, highest, above, int(stated.group(1).replace(",", "")) if stated else None),
        "default_size": size.number("default"),
    }


def _largest(allowed: list[int], highest: int | None, above: int | None, stated: int | None) -> int | None:
    """The cap of a page: by enumeration, by the schema, else by what the description says."""
    if allowed:
        return max(allowed)
    if highest is not None:
        return highest
    return above - 1 if above is not None else stated


def _first(row: PositionRow, position: Parameter) -> int:
    """The position of the first page: what a request without it gets (default), the lowest legal one, or the words."""
    if row.convention is Convention.CURSOR:
        return 0
    for stated in (position.number("default"), position.number("minimum")):
        if stated in (0, 1):
            return stated
    if names.ONE_BASED.search(position.text):
        return 1
    return 0 if names.ZERO_BASED.search(position.text) else row.first


def _is_flag(parameter: Parameter) -> bool:
    return parameter.fits(_TRUE_LIKE)
