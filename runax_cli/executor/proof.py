"""The proof of a guess: whether positions count what they were thought to count, from where, and still do so.

Knows what a page looks like that overlaps one which is known. Knows no walk. Asked only where nothing else would show
it: without a total, a walk in strides of the wrong unit passes records over and ends as if it were whole.
"""

from dataclasses import replace

from adapters.base import Convention, Json, Pagination
from adapters.errors import SourceError
from adapters.pagination import address, offset_address
from runax_cli.errors import BudgetExhausted
from runax_cli.executor.identity import id_of
from runax_cli.executor.page import Page
from runax_cli.executor.pages import Pages
from runax_cli.executor.sizing import legal_size

_PAIR = 2


async def corrected_unit(pages: Pages, first: list[Json]) -> tuple[Pagination, str] | None:
    """How positions really count, in words too, seen from the records of the first page; None where the guess holds.

    A page that is to begin with the last but one of these records is asked for. It is of two, since pages of one record
    have the numbers of records. Three records at least are needed, and two requests at most.
    """
    pagination, size = pages.pagination, legal_size(pages.pagination, _PAIR)
    last = await _at(pages, len(first) - _PAIR, size)
    if last and (last[0] == first[-_PAIR] or first[-1] == first[-_PAIR]):
        return None  # right; or the first page was filled from one that overlaps it, and so will all be
    if last and last[0] == first[-_PAIR - 1]:
        text = f"'{pagination.position}' counts from {pagination.first + 1}"
        return replace(pagination, first=pagination.first + 1), text
    second = await _at(pages, 1, pages.size or size)
    if second and all(record not in first for record in second):
        text = f"'{pagination.position}' counts pages and not records"
        return replace(pagination, convention=Convention.PAGE), text
    return None


async def stands_still(pages: Pages, index: int, record: Json, *, stride: int) -> bool:
    """Whether `record`, the last of page `index` of a walk in steps of `stride`, is still where it was read.

    It is not where records before it were added or deleted meanwhile: then the page behind began with another one than
    it should have. Where it cannot be asked, nothing speaks against it.
    """
    pagination, at = pages.pagination, (index + 1) * stride - 1
    try:
        if pagination.convention is Convention.PAGE:
            page = await pages.seen_again(address(pagination, page_index=index, size=pages.size))
            found = page.records[stride - 1 : stride]
        else:
            page = await pages.seen_again(offset_address(pagination, offset=at, size=legal_size(pagination, 1)))
            found = page.records[:1]
    except (SourceError, BudgetExhausted):
        return True
    now = [one if isinstance(one, dict) else {"value": one} for one in found]  # as datasets hold them
    return bool(now) and is_same(now[0], record)


def is_same(one: Json, other: Json) -> bool:
    """Whether two records are the same one: by their id, else by most members, since some change as they are read."""
    if id_of(one) is not None or not isinstance(one, dict) or not isinstance(other, dict):
        return bool(one == other) or (id_of(one) is not None and id_of(one) == id_of(other))
    return bool(2 * sum(name in other and other[name] == value for name, value in one.items()) > len(one))


async def page_before(pages: Pages) -> Page | None:
    """The page at position 0 of a walk that began at 1; None where there is none."""
    from_zero = replace(pages.pagination, first=0)
    try:
        if from_zero.convention is Convention.PAGE:
            return await pages.ask(address(from_zero, page_index=0, size=pages.size))
        return await pages.ask(offset_address(from_zero, offset=0, size=legal_size(from_zero, 1)))
    except (SourceError, BudgetExhausted):
        return None


async def _at(pages: Pages, offset: int, size: int) -> list[Json]:
    try:
        return (await pages.ask(offset_address(pages.pagination, offset=offset, size=size))).records
    except (SourceError, BudgetExhausted):
        return []
