"""Verifies assumptions about the pagination and the end of the data before and after the pages are fetched.

A check sends at most a few small requests, and only if neither a total nor a named next page would show an error:
without a total, a fetch with the wrong offset unit skips records and ends as if it were complete.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

from adapters.base import Json, Pagination, PaginationStyle
from adapters.errors import SourceError
from adapters.pagination import Certainty, offset_address, page_address
from runax_cli.core.errors import BudgetExhausted
from runax_cli.core.results import ReasonCode, counted
from runax_cli.executor.coverage import AnnouncedTotal
from runax_cli.executor.fetch.deduplication import record_id
from runax_cli.executor.fetch.page import FetchedPage
from runax_cli.executor.fetch.page_client import PageClient
from runax_cli.executor.fetch.page_schedule import ReceivedPage
from runax_cli.executor.fetch.page_writer import PageWriter
from runax_cli.executor.fetch.server_limits import (
    COMMON_PAGE_CAPS,
    is_round_size,
    limiting_argument,
    opaque_paging_argument,
)
from runax_cli.executor.outcome import DecidedCall
from runax_cli.executor.strategy import legal_size

_TWO_RECORDS = 2
_MIN_RECORDS_FOR_UNIT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchState:
    """What is known about a fetch when a check may run.

    `received`: the pages so far, by index; a full one has `page_size` records. `page_announces_total`: the first page
    holds a certain total. `has_more`, `has_next`: what the last page says about further pages. `has_continuation`: it
    can be continued in some way. `is_incomplete`: data is known to be missing. `is_start_verified`: page 0 was tried.
    """

    call: DecidedCall
    pagination: Pagination
    announced: AnnouncedTotal
    received: Mapping[int, ReceivedPage]
    first_records: tuple[Json, ...]
    page_size: int
    next_index: int
    n_records: int
    n_cached: int
    page_announces_total: bool
    has_more: bool | None
    has_next: bool
    has_continuation: bool
    has_enough: bool
    is_incomplete: bool
    is_start_verified: bool
    reached_end: bool

    @property
    def total(self) -> int | None:
        """The announced total."""
        return self.announced.total

    @property
    def full_pages(self) -> frozenset[int]:
        """The indices of the pages that hold exactly `page_size` records."""
        return frozenset(index for index, page in self.received.items() if page.records == self.page_size)


@dataclass(frozen=True, slots=True)
class Check:
    """A check of a fetch: `run` sends its requests and notes what it finds, if `applies` to the state."""

    name: str
    applies: Callable[[FetchState], bool]
    run: Callable[[FetchState, PageClient, PageWriter], Awaitable[None]]


def _offset_unit_is_unverified(state: FetchState) -> bool:
    is_offset = state.pagination.convention is PaginationStyle.OFFSET and not state.pagination.is_declared
    would_show_otherwise = state.total is not None or state.has_continuation
    may_follow = state.received[0].has_more is not False
    return is_offset and not would_show_otherwise and may_follow and len(state.first_records) >= _MIN_RECORDS_FOR_UNIT


async def _verify_offset_unit(state: FetchState, pages: PageClient, writer: PageWriter) -> None:
    if not writer.may_continue():
        return
    corrected = await find_offset_unit(pages, state.first_records)
    if corrected is not None:
        name = state.pagination.position
        pages.pagination, text = corrected
        writer.warn_corrected(f"'{name}' was assumed to count records from {state.pagination.first}; {text}")


async def find_offset_unit(pages: PageClient, first: tuple[Json, ...]) -> tuple[Pagination, str] | None:
    """Return how offsets really count, with a description; None if they count records as assumed.

    Requests a page that should start with the last but one record of the first page. It has two records, since page
    numbers of single-record pages equal record numbers. Needs three records and sends at most two requests.
    """
    pagination, size = pages.pagination, legal_size(pages.pagination, _TWO_RECORDS)
    last = await _records_at(pages, len(first) - _TWO_RECORDS, size)
    if last and (last[0] == first[-2] or first[-1] == first[-2]):
        return None  # correct; or the first page was completed from an overlapping one, and all pages will be
    if last and last[0] == first[-3]:
        corrected = replace(pagination, first=pagination.first + 1)
        return corrected, f"it counts from {corrected.first}"
    second = await _records_at(pages, 1, pages.size or size)
    if second and all(record not in first for record in second):
        return replace(pagination, convention=PaginationStyle.PAGE), "it counts pages and not records"
    return None


async def _records_at(pages: PageClient, offset: int, size: int) -> list[Json]:
    try:
        return (await pages.fetch(offset_address(pages.pagination, offset=offset, size=size))).records
    except (SourceError, BudgetExhausted):
        return []


def _start_is_unverified(state: FetchState) -> bool:
    pagination = state.pagination
    if pagination.first != 1 or not pagination.is_addressable or pagination.is_declared:
        return False
    is_total_read = state.total is not None and state.n_records >= state.total
    is_open = state.reached_end and state.received[0].records > 0
    return is_open and not is_total_read and not state.is_start_verified


async def _verify_start(state: FetchState, pages: PageClient, writer: PageWriter) -> None:
    if not writer.may_continue():
        return
    page = await fetch_page_zero(pages)
    if page is None or not page.n_received or state.first_records[:1] == tuple(page.records[:1]):
        return
    if writer.duplicates.duplicate_of(state.next_index, page) is None:
        writer.warn_corrected(zero_based(state.pagination))
        await writer.accept(state.next_index, page, None)


async def fetch_page_zero(pages: PageClient) -> FetchedPage | None:
    """Return the page at position 0 of a pagination that starts at 1, or None if there is none."""
    from_zero = replace(pages.pagination, first=0)
    try:
        if from_zero.convention is PaginationStyle.PAGE:
            return await pages.fetch(page_address(from_zero, page_index=0, size=pages.size))
        return await pages.fetch(offset_address(from_zero, offset=0, size=legal_size(from_zero, 1)))
    except (SourceError, BudgetExhausted):
        return None


def zero_based(pagination: Pagination) -> str:
    """Describe a position that was assumed to start at 1."""
    return f"'{pagination.position}' is zero-based, not one-based; corrected"


def _shift_is_unnoticed(state: FetchState) -> bool:
    would_show_otherwise = state.total is not None or state.n_cached > 0 or not state.pagination.is_addressable
    is_complete = state.reached_end and not state.is_incomplete and not state.has_enough
    return is_complete and not would_show_otherwise and len(state.full_pages) >= _TWO_RECORDS


async def _verify_not_shifted(state: FetchState, pages: PageClient, writer: PageWriter) -> None:
    """Request the last record of the first page and of one in the middle again."""
    full = state.full_pages
    for index in sorted({0, len(full) // 2}):
        row = (index + 1) * state.page_size
        if not {*range(index + 1)} <= full or writer.is_stopped or row > writer.n_records:
            return  # duplicates were dropped, so row numbers do not show the positions of the records
        record = await writer.read_record(row)
        if record is None:
            return
        if not await is_in_place(pages, index, record, page_size=state.page_size):
            text = f"record {row:,} moved while the data was read: records before it were added or deleted"
            writer.notes.note_missing(ReasonCode.TOTAL_CHANGED, text)
            return


async def is_in_place(pages: PageClient, index: int, record: Json, *, page_size: int) -> bool:
    """Return whether `record`, the last of page `index`, is still at its position.

    If not, records before it were added or deleted, so that later pages started with another record than they should.
    A request that fails counts as in place.
    """
    pagination, offset = pages.pagination, (index + 1) * page_size - 1
    try:
        if pagination.convention is PaginationStyle.PAGE:
            page = await pages.fetch_uncached(page_address(pagination, page_index=index, size=pages.size))
            found = page.records[page_size - 1 : page_size]
        else:
            size = legal_size(pagination, 1)
            page = await pages.fetch_uncached(offset_address(pagination, offset=offset, size=size))
            found = page.records[:1]
    except (SourceError, BudgetExhausted):
        return True
    current = [one if isinstance(one, dict) else {"value": one} for one in found]  # as datasets store them
    return bool(current) and is_same_record(current[0], record)


def is_same_record(one: Json, other: Json) -> bool:
    """Return whether two records are the same: by their id, otherwise by most members, since some change over time."""
    if record_id(one) is not None or not isinstance(one, dict) or not isinstance(other, dict):
        return bool(one == other) or (record_id(one) is not None and record_id(one) == record_id(other))
    return bool(2 * sum(name in other and other[name] == value for name, value in one.items()) > len(one))


CHECKS_BEFORE_WALK = (Check("offset unit", _offset_unit_is_unverified, _verify_offset_unit),)
CHECKS_AFTER_WALK = (
    Check("start position", _start_is_unverified, _verify_start),
    Check("records moved", _shift_is_unnoticed, _verify_not_shifted),
)


@dataclass(frozen=True, slots=True)
class EndVerdict:
    """Whether a response holds the end of the data, and a reason to note if there is one."""

    is_end: bool
    code: ReasonCode | None = None
    text: str = ""


def judge_single_page(state: FetchState) -> EndVerdict:
    """Decide whether the only response of a tool without pages holds all records."""
    count, total = state.n_records, state.total
    is_cut = state.has_more is True or state.has_next or state.announced.certainty is Certainty.AT_LEAST
    if not is_cut and not state.page_announces_total:
        if (name := limiting_argument(state.call, count)) is not None:
            text = f"{count:,} records were returned, the value of '{name}'; there may be more"
            return EndVerdict(is_end=False, code=ReasonCode.PAGINATION_UNKNOWN, text=text)
        if (name := opaque_paging_argument(state.call, count)) is not None:
            text = f"{count:,} records were returned, and '{name}' may lead to more; its format is not documented"
            return EndVerdict(is_end=False, code=ReasonCode.PAGINATION_UNKNOWN, text=text)
    if not is_cut and (total is None or total <= count):
        is_confirmed = state.page_announces_total or state.has_more is False or state.has_enough
        if is_confirmed or not is_round_size(count):
            return EndVerdict(is_end=True)
        text = (
            f"exactly {count:,} records were returned, where some services cut off; nothing confirms that they are all"
        )
        return EndVerdict(is_end=True, code=ReasonCode.PERHAPS_CUT, text=text)
    if state.has_enough:
        return EndVerdict(is_end=False)
    returned = f"{count:,} of {total:,} records" if total is not None and total > count else counted(count, "record")
    text = (
        f"the response has {returned}, and no way to request the others was found; "
        "declare `pagination` for this operation in runax.yaml"
    )
    return EndVerdict(is_end=False, code=ReasonCode.PAGINATION_UNKNOWN, text=text)


def judge_missing_cursor(state: FetchState, *, size: int | None, was_probe_silent: bool) -> EndVerdict:
    """Decide whether a first page without a cursor is the end, or whether its cursor is not recognized.

    The latter is assumed if a smaller page, which certainly had a successor, named none either. A page that has
    neither the requested size nor that of a common cap is all of the data.
    """
    count = state.received[0].records
    is_full = size is not None and count >= size
    may_be_cut = is_full or count in COMMON_PAGE_CAPS or count == state.pagination.default_size
    if not was_probe_silent or count < _TWO_RECORDS or not may_be_cut or state.total is not None:
        return EndVerdict(is_end=True)
    text = f"{count:,} records were returned, and no next-page pointer was recognized in the response"
    return EndVerdict(is_end=False, code=ReasonCode.PAGINATION_UNKNOWN, text=text)
