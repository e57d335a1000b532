"""How many records a page may hold: which parameter says it, and its bounds.

Knows parameters and their words. Knows no position but the one it stands beside. A size without a position is believed
only under a name that means nothing else, since a weak name (`count`, `top`, `max`) alone is a filter.
"""

from collections.abc import Iterable

from adapters.base import Json
from adapters.paging import spelling, wording
from adapters.paging.ends import end_beside
from adapters.paging.parameters import INTEGER, Parameter


def size_beside(position: Parameter | None, known: Iterable[Parameter]) -> Parameter | None:
    """The size parameter beside a position: in the same object first, then by the strength of its name, then words."""
    others = list(known)
    ranked = [
        (rank, one) for one in others if one is not position and (rank := _rank(one, others, position)) is not None
    ]
    return min(ranked, key=lambda pair: pair[0], default=(0, None))[1]


def size_alone(known: Iterable[Parameter]) -> Parameter | None:
    """A limit without a position: one page at most, unless a response names a next one."""
    others = list(known)
    named = [one for one in others if one.is_named(spelling.SIZES_ALONE) or one.name in spelling.MARKED_SIZES]
    strong = [one for one in named if one.types & INTEGER]
    fitting = [one for one in strong if not spelling.parent(one.name) and not _limits_something_else(one, others)]
    return next((one for one in fitting if not one.text or one.says(wording.ABOUT_PAGING)), None)


def bounds(size: Parameter | None) -> dict[str, Json]:
    """The fields of a Pagination that tell of the size."""
    if size is None:
        return {}
    lowest, highest = size.number("minimum"), size.number("maximum")
    below, above = size.number("exclusiveMinimum"), size.number("exclusiveMaximum")
    stated = wording.STATED_MAXIMUM.search(size.text)
    cap = int(next(filter(None, stated.groups())).replace(",", "")) if stated else None
    return {
        "size": size.name,
        "sizes": size.choices,
        "min_size": min(size.choices) if size.choices else below + 1 if below is not None else lowest,
        "max_size": _largest(size.choices, highest, above, cap or None),
        "default_size": size.number("default"),
    }


def _rank(one: Parameter, known: list[Parameter], position: Parameter | None) -> tuple[int, int] | None:
    """How surely it is the size, the smaller the surer: those in the same object first; None where it is none."""
    if not one.is_number or (one.types and not one.types & INTEGER) or _limits_something_else(one, known):
        return None
    is_near = position is not None and spelling.parent(one.name) == spelling.parent(position.name)
    if one.is_foreign and not is_near:
        return None
    if position is not None and end_beside(position, known) is one:
        return None
    checks = (
        one.is_named(spelling.SIZES_ALONE),
        one.is_named(spelling.SIZES),
        one.says(wording.SAYS_SIZE) and not one.says(wording.SAYS_OFFSET),
        spelling.has_size_words(one.name),
        position is not None and spelling.is_unit_of(position.name, one.name),
        position is not None and spelling.is_start_of(position.name, one.name),
    )
    rank = next((number for number, is_met in enumerate(checks) if is_met), None)
    return None if rank is None else (0 if is_near or position is None else 1, rank)


def _limits_something_else(one: Parameter, known: list[Parameter]) -> bool:
    is_value_range = one.is_named(frozenset({"max"})) and any(other.is_named(frozenset({"min"})) for other in known)
    is_other = one.is_something_else and not one.says(wording.ABOUT_SIZE)
    is_beside_place = one.is_named(spelling.SIZES_ALONE) and not one.is_measured
    is_beside_place = is_beside_place and any(other.is_named(spelling.OFFSETS, spelling.PAGES) for other in known)
    return is_value_range or (is_other and not is_beside_place)


def _largest(choices: tuple[int, ...], highest: int | None, above: int | None, stated: int | None) -> int | None:
    """The cap of a page: by enumeration, by the schema, else by what the description says."""
    if choices:
        return max(choices)
    if highest is not None:
        return highest
    return above - 1 if above is not None else stated
