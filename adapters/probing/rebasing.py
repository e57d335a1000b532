"""Where counting begins: whether the first answer stands where it was asked for.

Knows what a page says of its position. Sends nothing.
"""

from enum import Enum, auto

from adapters.base import Convention, Pagination
from adapters.pagination import Certainty, PageReading


class Base(Enum):
    """What the first answer says of the first position: it fits, it is 1, or the other of 0 and 1 is worth a try."""

    AS_ASKED = auto()
    ONE = auto()
    PERHAPS_ZERO = auto()
    PERHAPS_ONE = auto()


def base_of(pagination: Pagination, reading: PageReading) -> Base:
    """Compare the first position that was asked for with what came."""
    is_told_as_one = pagination.first == 0 and reading.position == 1
    has_total = reading.certainty is Certainty.EXACT and bool(reading.total)
    if pagination.first == 0 and not reading.records and has_total and reading.has_more is None:
        return Base.PERHAPS_ONE
    if pagination.convention is Convention.OFFSET:
        return Base.ONE if is_told_as_one and reading.records and reading.is_own_position else Base.AS_ASKED
    if is_told_as_one:
        return Base.ONE
    is_doubtful = reading.has_previous or (not reading.records and reading.total != 0)
    return Base.PERHAPS_ZERO if pagination.first == 1 and is_doubtful else Base.AS_ASKED
