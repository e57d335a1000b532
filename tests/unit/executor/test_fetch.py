"""Fetching over a server in memory: every record exactly once, or a reason why not, whatever the server does."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from adapters.base import CallResult, Json, OnEvent, PageAddress, Pagination, PaginationStyle, ToolSpec, nobody
from adapters.errors import HttpStatusError, TimedOut
from adapters.pagination import Certainty
from adapters.pagination.probe.probe import ProbeMethod, ProbeResult
from runax_cli.core.budget import Budget, Limits
from runax_cli.core.events import CollectingSink, Emitter
from runax_cli.core.results import Coverage
from runax_cli.executor.coverage import CoverageNotes, compare, coverage_of
from runax_cli.executor.fetch.fetcher import Fetcher
from runax_cli.executor.fetch.source_client import FetchLimits, SourceClient
from runax_cli.executor.outcome import CallScope, DecidedCall
from runax_cli.executor.run_cache import RunCache
from runax_cli.executor.store.dataset import Dataset, DatasetStore
from runax_cli.memory.journal import MemoryJournal
from runax_cli.models.base import ScriptedModel

FAILS, CUT, EMPTY, TWIN, REPEATS = "fails", "cut", "empty", "twin", "repeats"


@dataclass
class Server:
    """`n` records, at most `cap` a page. `faults` are by the record a page begins with: what, and how often."""

    n: int
    cap: int
    convention: PaginationStyle
    announced: int | None = None
    faults: dict[int, tuple[str, int]] = field(default_factory=dict)
    refuses_beyond: bool = False
    asked: list[dict[str, Any]] = field(default_factory=list)

    async def call(
        self,
        _tool: str,
        _arguments: Mapping[str, Json],
        page: PageAddress | None = None,
        *,
        observer: OnEvent = nobody,
    ) -> CallResult:
        """A page, or what is wrong with it."""
        given_ = dict(page.arguments) if page else {}
        self.asked.append(given_)
        await asyncio.sleep(0)
        size = min(self.cap, int(given_.get("limit", self.cap)))
        start = self._start(given_, size)
        if self.refuses_beyond and start >= self.n and start > 0:
            raise HttpStatusError("beyond", source="api", location="GET /", status=404)
        records = self._tampered(start, [{"id": number} for number in range(start, min(start + size, self.n))])
        payload: dict[str, Any] = {"items": records}
        if self.announced is not None:
            payload["total"] = self.announced
        if self.convention is PaginationStyle.CURSOR:
            payload["next_cursor"] = f"c{start + size}" if start + size < self.n else None
        return CallResult(payload=payload, location="GET /")

    def _start(self, given_: Mapping[str, Any], size: int) -> int:
        match self.convention:
            case PaginationStyle.PAGE:
                return max(0, int(given_.get("page", 1)) - 1) * size
            case PaginationStyle.CURSOR:
                return int(str(given_.get("cursor", "c0"))[1:])
            case _:
                return int(given_.get("offset", 0))

    def _tampered(self, start: int, records: list[Json]) -> list[Json]:
        what, times = self.faults.get(start, ("", 0))
        if times <= 0:
            return records
        self.faults[start] = (what, times - 1)
        match what:
            case "fails":
                raise TimedOut("late", source="api", location="GET /", is_retryable=True)
            case "cut":
                return records[:-1] or records
            case "twin":
                return [*records[:-1], records[0]] if records else []
            case "repeats":
                return [{"id": number} for number in range(min(len(records), self.n))]
            case _:
                return []


@dataclass
class Result:
    ids: list[int]
    coverage: Coverage
    server: Server
    order: list[int]

    @property
    def codes(self) -> set[str]:
        return {reason.code.value for reason in self.coverage.reasons}


def paging(convention: PaginationStyle, max_size: int) -> Pagination:
    position = {PaginationStyle.PAGE: "page", PaginationStyle.CURSOR: "cursor"}.get(convention, "offset")
    first = int(convention is PaginationStyle.PAGE)
    return Pagination(convention=convention, position=position, size="limit", first=first, max_size=max_size)


async def fetched(
    server: Server,
    *,
    size: int,
    at_most: int | None = None,
    concurrency: int = 3,
    limits: FetchLimits | None = None,
    budget: Budget | None = None,
) -> Result:
    with TemporaryDirectory() as folder:
        return await _fetched(
            server,
            DatasetStore(Path(folder)).create("items"),
            size=size,
            at_most=at_most,
            concurrency=concurrency,
            limits=limits,
            budget=budget or Budget(Limits(), owner="test"),
        )


async def _fetched(
    server: Server,
    dataset: Dataset,
    *,
    size: int,
    at_most: int | None,
    concurrency: int,
    limits: FetchLimits | None,
    budget: Budget,
) -> Result:
    pagination = paging(server.convention, size)
    tool = ToolSpec(name="t", description="", parameters={}, source="api", locator="GET /", pagination=pagination)
    call = DecidedCall(call_id="c", tool=tool, arguments={}, focus="", at_most=at_most)
    emitter = Emitter.for_run(CollectingSink(), run_id="r", session_id="s")
    scope = CallScope(emitter=emitter, budget=budget, reducer=ScriptedModel([]))
    slots = asyncio.Semaphore(concurrency)
    is_known = server.announced is not None
    found = ProbeResult(
        pagination=pagination,
        records_path="items",
        total=server.announced,
        certainty=Certainty.EXACT if is_known else Certainty.UNKNOWN,
        method=ProbeMethod.SMALLEST_PAGE,
        sample=({"id": 0},),
    )
    notes = CoverageNotes()
    fetch = Fetcher(
        call,
        found,
        dataset,
        send=SourceClient(server, call, scope=scope, slots=slots, max_attempts=1),
        emitter=emitter,
        ledger=RunCache(MemoryJournal(), emitter),
        notes=notes,
        first=None,
        size=size,
        concurrency=concurrency,
        limits=limits,
    )
    await fetch.first()
    order: list[int] = []

    async def listen() -> None:
        async for index in fetch.in_order():
            assert index in dataset.spool.entries, "a page is handed on only once it is on disk"
            order.append(index)

    async with asyncio.TaskGroup() as group:
        group.create_task(listen())
        group.create_task(fetch.rest())
    summary = fetch.fetched()
    compare(summary, notes, noun="items")
    ids = [int(record["id"]) for record in dataset.records()]
    return Result(ids, coverage_of(summary, notes, read_by_model=0), server, order)


CONVENTIONS = [PaginationStyle.OFFSET, PaginationStyle.PAGE, PaginationStyle.CURSOR]


@pytest.mark.parametrize("convention", CONVENTIONS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    n=st.integers(1, 90),
    cap=st.integers(1, 30),
    size=st.integers(1, 30),
    says_total=st.booleans(),
    at_most=st.none() | st.integers(1, 100),
    concurrency=st.integers(1, 4),
    refuses_beyond=st.booleans(),
)
def test_a_server_without_faults_gives_every_record_once_in_order(
    convention: PaginationStyle,
    n: int,
    cap: int,
    size: int,
    says_total: bool,
    at_most: int | None,
    concurrency: int,
    refuses_beyond: bool,
) -> None:
    server = Server(n, cap, convention, announced=n if says_total else None, refuses_beyond=refuses_beyond)
    result = asyncio.run(fetched(server, size=size, at_most=at_most, concurrency=concurrency))
    wanted = n if at_most is None else min(n, at_most)
    assert result.ids == list(range(wanted))
    assert result.order == sorted(result.order)
    assert result.coverage.is_complete, result.coverage.reasons
    if wanted == n and at_most is None:
        assert (result.coverage.records_total, result.coverage.total_is) == (n, "exact")
    pages = -(-wanted // min(cap, size))
    assert len(server.asked) <= 3 * pages + 2 * concurrency + 8


@pytest.mark.parametrize("convention", CONVENTIONS)
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    n=st.integers(1, 90),
    size=st.integers(2, 20),
    drift=st.sampled_from([0, 0, 0, -5, 7, 400]),
    faults=st.dictionaries(
        st.integers(0, 9), st.tuples(st.sampled_from([FAILS, CUT, EMPTY, TWIN, REPEATS]), st.integers(1, 9)), max_size=3
    ),
    concurrency=st.integers(1, 4),
)
def test_whatever_a_server_does_records_come_once_and_what_is_missing_is_said(
    convention: PaginationStyle,
    n: int,
    size: int,
    drift: int,
    faults: dict[int, tuple[str, int]],
    concurrency: int,
) -> None:
    # Where the total is too low, nothing in the world shows that a last page lacks records.
    told = (FAILS, REPEATS) if drift < 0 else (FAILS, CUT, EMPTY, TWIN, REPEATS)
    at = {page * size: fault for page, fault in faults.items() if page > 0 and fault[0] in told}
    server = Server(n, size, convention, announced=max(1, n + drift), faults=at)
    result = asyncio.run(fetched(server, size=size, concurrency=concurrency))
    assert not [number for number, times in Counter(result.ids).items() if times > 1], "no record twice"
    assert set(result.ids) <= set(range(n))
    if result.ids != list(range(n)):
        event("something is missing")
        assert not result.coverage.is_complete
        assert result.coverage.reasons
    if result.coverage.is_complete:
        event("complete")
        assert result.ids == list(range(n))
        assert result.coverage.records_total == n
    assert len(server.asked) < 12 * (n // size + 6)


@pytest.mark.parametrize("convention", [PaginationStyle.OFFSET, PaginationStyle.PAGE])
@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 90),
    size=st.integers(2, 20),
    page=st.integers(0, 8),
    what=st.sampled_from([CUT, TWIN, REPEATS]),
    concurrency=st.integers(1, 4),
)
@example(n=11, size=11, page=0, what=CUT, concurrency=1)
def test_a_page_that_is_wrong_once_is_mended_although_nobody_says_how_many_there_are(
    convention: PaginationStyle, n: int, size: int, page: int, what: str, concurrency: int
) -> None:
    server = Server(n, size, convention, faults={page * size: (what, 1)})
    result = asyncio.run(fetched(server, size=size, concurrency=concurrency))
    assert result.ids == list(range(n)) or not result.coverage.is_complete
    assert len(result.ids) == len(set(result.ids))


@pytest.mark.parametrize("convention", [PaginationStyle.OFFSET, PaginationStyle.PAGE])
@pytest.mark.parametrize("says_total", [True, False])
async def test_a_page_that_fails_costs_itself_alone(convention: PaginationStyle, says_total: bool) -> None:
    server = Server(100, 10, convention, announced=100 if says_total else None, faults={30: (FAILS, 99)})
    result = await fetched(server, size=10)
    assert result.ids == [number for number in range(100) if not 30 <= number < 40]
    assert result.coverage.pages_failed == 1
    assert result.codes == {"page_failed"}


async def test_a_server_that_is_down_is_not_asked_for_every_page() -> None:
    faults = dict.fromkeys(range(10, 2000, 10), (FAILS, 99))
    server = Server(2000, 10, PaginationStyle.OFFSET, announced=2000, faults=faults)
    result = await fetched(server, size=10)
    assert result.ids == list(range(10))
    assert len(server.asked) < 20
    assert "further announced pages were not asked for" in " ".join(r.text for r in result.coverage.reasons)


@pytest.mark.parametrize("convention", CONVENTIONS)
async def test_caps_of_a_call_end_it_and_say_so(convention: PaginationStyle) -> None:
    server = Server(500, 10, convention)
    result = await fetched(server, size=10, limits=FetchLimits(pages=7))
    assert 60 <= len(result.ids) <= 80
    assert result.codes == {"budget"}
    assert not result.coverage.is_complete


@pytest.mark.parametrize("convention", CONVENTIONS)
async def test_a_budget_of_requests_ends_a_walk_and_keeps_its_pages(convention: PaginationStyle) -> None:
    budget = Budget(Limits(requests=5), owner="turn")
    result = await fetched(Server(500, 10, convention, announced=500), size=10, concurrency=1, budget=budget)
    assert result.ids == list(range(50))
    assert "budget" in result.codes
    assert result.coverage.records_total == 500
    assert len(result.server.asked) == 5


async def test_a_first_page_that_stays_short_shows_by_the_fuller_ones_after_it() -> None:
    server = Server(90, 20, PaginationStyle.PAGE, faults={0: (CUT, 99)})
    result = await fetched(server, size=20)
    assert result.ids == [number for number in range(90) if number != 19]
    assert result.codes == {"page_short"}
    assert not result.coverage.is_complete
