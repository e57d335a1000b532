"""Which parameter is the page size, and its bounds.

Without a position next to it, only a name that means nothing else counts: `count`, `top` or `max` alone may be a
filter.
"""

from collections.abc import Iterable

from adapters.base import Json
from adapters.pagination.detect.parameters import FlatParameter, first_last_pair
from adapters.pagination.vocabulary import descriptions as phrases
from adapters.pagination.vocabulary import parameters as spelling

_MIN, _MAX = frozenset({"min"}), frozenset({"max"})


def find_page_size(position: FlatParameter | None, parameters: Iterable[FlatParameter]) -> FlatParameter | None:
    """The page size next to a position: of the same object first, then by the name, then by the description."""
    others = list(parameters)
    ranked = [
        (rank, one) for one in others if one is not position and (rank := _rank(one, others, position)) is not None
    ]
    return min(ranked, key=lambda pair: pair[0], default=(0, None))[1]


def find_size_without_position(parameters: Iterable[FlatParameter]) -> FlatParameter | None:
    """A limit without a position: one page at most, unless a response names a next one."""
    others = list(parameters)
    named = [one for one in others if one.is_named(spelling.UNAMBIGUOUS_SIZES) or one.name in spelling.MARKED_SIZES]
    integers = [one for one in named if one.is_declared_integer and not spelling.parent(one.name)]
    sizes = [one for one in integers if not _limits_something_else(one, others)]
    return next((one for one in sizes if not one.description or one.mentions(phrases.RESULTS)), None)


def size_fields(size: FlatParameter | None) -> dict[str, Json]:
    """The fields of a `Pagination` about the page size: name, choices, bounds and default."""
    if size is None:
        return {}
    above, choices = size.integer("exclusiveMinimum"), size.choices
    return {
        "size": size.name,
        "sizes": choices,
        "min_size": min(choices) if choices else above + 1 if above is not None else size.integer("minimum"),
        "max_size": _max_size(size),
        "default_size": size.integer("default"),
    }


def _max_size(size: FlatParameter) -> int | None:
    """The largest size: by enumeration, by the schema, else by the description."""
    if size.choices:
        return max(size.choices)
    highest, below = size.integer("maximum"), size.integer("exclusiveMaximum")
    if highest is not None or below is not None:
        return highest if highest is not None or below is None else below - 1
    stated = phrases.STATED_MAXIMUM.search(size.description)
    return int(next(filter(None, stated.groups())).replace(",", "")) or None if stated else None


def _rank(
    one: FlatParameter, parameters: list[FlatParameter], position: FlatParameter | None
) -> tuple[int, int] | None:
    """How certainly it is the size, the lowest first, those in the object of the position before others; None: not."""
    if not one.accepts_integer or _limits_something_else(one, parameters):
        return None
    is_near = position is not None and spelling.parent(one.name) == spelling.parent(position.name)
    if one.is_in_other_object and not is_near:
        return None
    if position is not None and first_last_pair(position, parameters) is one:
        return None
    signs = (
        one.is_named(spelling.UNAMBIGUOUS_SIZES),
        one.is_named(spelling.SIZES),
        one.mentions(phrases.PAGE_SIZE) and not one.mentions(phrases.OFFSET),
        spelling.has_size_words(one.name),
    )
    rank = next((number for number, is_met in enumerate(signs) if is_met), None)
    return None if rank is None else (0 if is_near or position is None else 1, rank)


def _limits_something_else(one: FlatParameter, parameters: list[FlatParameter]) -> bool:
    is_value_range = one.is_named(_MAX) and any(other.is_named(_MIN) for other in parameters)
    is_other = one.is_about_something_else and not one.mentions(phrases.RETURNED_RESULTS)
    is_size = one.is_named(spelling.UNAMBIGUOUS_SIZES) and not one.has_unit
    is_beside_position = is_size and any(other.is_named(spelling.OFFSETS, spelling.PAGES) for other in parameters)
    return is_value_range or (is_other and not is_beside_position)
