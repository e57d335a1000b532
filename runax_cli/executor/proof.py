"""The proof of a guess: whether positions count what they were thought to count, and from where.

Knows what a page looks like that overlaps one which is known. Knows no walk. Asked only where nothing else would show
it: without a total, a walk in strides of the wrong unit passes records over and ends as if it were whole.
"""

from dataclasses import replace

from adapters.base import Convention, Json, Pagination
from adapters.errors import SourceError
from adapters.pagination import address, offset_address
from runax_cli.errors import BudgetExhausted
from runax_cli.executor.page import Page
from runax_cli.executor.pages import Pages
from runax_cli.executor.sizing import legal_size


async def corrected_unit(pages: Pages, first: list[Json]) -> tuple[Pagination, str] | None:
    """How positions really count, in words too, seen from the records of the first page; None where the guess holds.

    The page that is to begin with the last of these records is asked for. Two requests at most.
    """
    pagination, size = pages.pagination, legal_size(pages.pagination, 1)
    last = await _at(pages, len(first) - 1, size)
    if last and last[0] == first[-1]:
        return None
    if last and last[0] == first[-2]:
        text = f"'{pagination.position}' counts from {pagination.first + 1}"
        return replace(pagination, first=pagination.first + 1), text
    second = await _at(pages, 1, size)
    if second and all(record not in first for record in second):
        text = f"'{pagination.position}' counts pages and not records"
        return replace(pagination, convention=Convention.PAGE), text
    return None


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
