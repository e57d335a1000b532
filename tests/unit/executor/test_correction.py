"""Guesses about paging that are wrong: noticed, corrected where the answers allow it, and told; never a loop."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from adapters.base import CallResult, Json, OnEvent, PageAddress, Pagination, PaginationStyle, ToolSpec, nobody
from adapters.clock import ManualClock
from adapters.errors import ForeignOrigin, HttpStatusError
from adapters.pagination import Certainty
from adapters.pagination.probe.probe import ProbeMethod, ProbeResult
from runax_cli.core.budget import Budget, Limits
from runax_cli.core.events import CollectingSink, Emitter
from runax_cli.core.results import Coverage
from runax_cli.executor.coverage import CoverageNotes, compare, coverage_of
from runax_cli.executor.fetch.addressed_walker import MOST_LONE
from runax_cli.executor.fetch.cursor_walker import EMPTY_PAGES
from runax_cli.executor.fetch.fetcher import Fetcher
from runax_cli.executor.fetch.source_client import FetchLimits, SourceClient
from runax_cli.executor.outcome import CallScope, DecidedCall
from runax_cli.executor.run_cache import RunCache
from runax_cli.executor.store.dataset import DatasetStore
from runax_cli.memory.journal import MemoryJournal
from runax_cli.models.base import ScriptedModel

N, SIZE = 95, 10
Answer = Callable[[PageAddress], dict[str, Any]]
BY_OFFSET = Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit", max_size=SIZE)
BY_PAGE = Pagination(convention=PaginationStyle.PAGE, position="page", size="limit", first=1, max_size=SIZE)
BY_CURSOR = Pagination(convention=PaginationStyle.CURSOR, position="cursor", size="limit", max_size=SIZE)
BY_RANGE = Pagination(convention=PaginationStyle.RANGE)
BY_KEY = Pagination(convention=PaginationStyle.KEYSET, position="starting_after", size="limit", max_size=SIZE)


@dataclass
class Source:
    """Answers by a function of the page's address."""

    answer: Answer
    clock: ManualClock = field(default_factory=ManualClock)
    asked: list[PageAddress] = field(default_factory=list)

    async def call(
        self,
        _tool: str,
        _arguments: Mapping[str, Json],
        page: PageAddress | None = None,
        *,
        observer: OnEvent = nobody,
    ) -> CallResult:
        place = page or PageAddress()
        self.asked.append(place)
        self.clock.now += 1.0
        payload = self.answer(place)
        headers = payload.pop("headers", {}) if isinstance(payload, dict) else {}
        return CallResult(payload=payload, location="GET http://api/items", headers=headers)


@dataclass
class Result:
    ids: list[int]
    coverage: Coverage
    source: Source
    warnings: list[str]

    @property
    def codes(self) -> set[str]:
        return {reason.code.value for reason in self.coverage.reasons}


Fetched = Callable[..., Any]


@pytest.fixture
def fetched(tmp_path: Path) -> Fetched:
    async def run(
        answer: Answer,
        pagination: Pagination,
        *,
        total: int | None = None,
        limits: FetchLimits | None = None,
        name: str = "id",
        size: int = SIZE,
        sample: tuple[Json, ...] = (),
        is_end_unconfirmed: bool = False,
    ) -> Result:
        source, sink, notes = Source(answer), CollectingSink(), CoverageNotes()
        tool = ToolSpec(name="t", description="", parameters={}, source="api", locator="GET /", pagination=pagination)
        call = DecidedCall(call_id="c", tool=tool, arguments={}, focus="")
        emitter = Emitter.for_run(sink, run_id="r", session_id="s")
        scope = CallScope(emitter=emitter, budget=Budget(Limits(), owner="test"), reducer=ScriptedModel([]))
        dataset = DatasetStore(tmp_path).create("items")
        certainty = Certainty.UNKNOWN if total is None else Certainty.EXACT
        found = ProbeResult(
            pagination=pagination, records_path="items", total=total, certainty=certainty,
            method=ProbeMethod.FIRST_PAGE,
            sample=sample, is_end_unconfirmed=is_end_unconfirmed,
        )  # fmt: skip
        fetch = Fetcher(
            call, found, dataset,
            send=SourceClient(source, call, scope=scope, slots=asyncio.Semaphore(3), max_attempts=1),
            emitter=emitter, ledger=RunCache(MemoryJournal(), emitter), notes=notes, first=None, size=size,
            concurrency=3, limits=limits, clock=source.clock,
        )  # fmt: skip
        await fetch.first()
        await fetch.rest()
        summary = fetch.fetched()
        compare(summary, notes, noun="items")
        ids = [int(record[name]) for record in dataset.records()]
        told = [event.body.text for event in sink.events if event.body.type == "warned"]
        return Result(ids, coverage_of(summary, notes, read_by_model=0), source, told)

    return run


def records(start: int, *, size: int = SIZE, n: int = N) -> list[dict[str, int]]:
    return [{"id": number} for number in range(max(0, start), min(start + size, n))]


def at_token(place: PageAddress) -> int:
    """Where a page begins for a server that knows tokens in URLs and nothing else."""
    return int(place.url.rpartition("=")[2]) if place.url else 0


def by_token(start: int, **more: Any) -> dict[str, Any]:
    following = f"/items?token={start + SIZE}" if start + SIZE < N else None
    return {"items": records(start), "next": following, **more}


def refused(status: int = 400) -> HttpStatusError:
    return HttpStatusError("the window is too large", source="api", location="GET /", status=status)


@pytest.mark.parametrize("pagination", [BY_OFFSET, BY_PAGE, BY_RANGE])
@pytest.mark.parametrize("total", [None, N])
async def test_positions_that_are_ignored_give_way_to_what_the_answers_name(
    fetched: Fetched, pagination: Pagination, total: int | None
) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        return by_token(at_token(place), **({} if total is None else {"total": total}))

    result = await fetched(answer, pagination, total=total)
    assert result.ids == list(range(N))
    assert result.coverage.is_complete, result.coverage.reasons
    assert result.codes == {"paging_corrected"}
    assert any("the URL that the answers name is followed instead" in text for text in result.warnings)


async def test_positions_that_are_refused_give_way_too(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        if place.arguments.get("offset"):
            raise refused(422)
        return by_token(at_token(place))

    result = await fetched(answer, BY_OFFSET, total=N)
    assert result.ids == list(range(N))
    assert result.coverage.is_complete, result.coverage.reasons


async def test_a_cursor_that_is_ignored_gives_way_to_another_argument(fetched: Fetched) -> None:
    pagination = Pagination(
        convention=PaginationStyle.CURSOR, position="marker", size="limit", max_size=SIZE, other_hidden=("cursor",)
    )

    def answer(place: PageAddress) -> dict[str, Any]:
        start = int(place.arguments.get("cursor", "t0")[1:])
        return {"items": records(start), "next_cursor": f"t{start + SIZE}" if start + SIZE < N else None}

    result = await fetched(answer, pagination)
    assert result.ids == list(range(N))
    assert result.coverage.is_complete, result.coverage.reasons
    assert result.codes == {"paging_corrected"}


@pytest.mark.parametrize(
    ("n", "is_end_unconfirmed", "is_complete"),
    [(SIZE, True, False), (SIZE, False, True), (SIZE - 1, True, True), (1, True, True), (0, True, True)],
)
async def test_a_full_page_without_a_marker_is_no_end_where_a_shorter_one_had_none_either(
    fetched: Fetched, n: int, *, is_end_unconfirmed: bool, is_complete: bool
) -> None:
    result = await fetched(lambda place: {"items": records(0, n=n)}, BY_CURSOR, is_end_unconfirmed=is_end_unconfirmed)
    assert result.ids == list(range(n))
    assert result.coverage.is_complete is is_complete, result.coverage.reasons
    assert result.codes == (set() if is_complete else {"pagination_unknown"})


@pytest.mark.parametrize("pagination", [BY_OFFSET, BY_PAGE])
@pytest.mark.parametrize("gone", [0, 5, SIZE - 1, None])
async def test_records_that_move_up_while_they_are_read_are_told_although_no_total_shows_it(
    fetched: Fetched, pagination: Pagination, gone: int | None
) -> None:
    left, asked = [{"id": number} for number in range(N)], []

    def answer(place: PageAddress) -> dict[str, Any]:
        start, size = place.arguments.get("offset", 0), place.arguments["limit"]
        start = SIZE * (place.arguments["page"] - 1) if "page" in place.arguments else start
        if asked[:1] and start >= SIZE and gone is not None and len(left) == N:
            del left[gone]
        asked.append(start)
        return {"items": left[start : start + size]}

    result = await fetched(answer, pagination)
    assert result.coverage.is_complete is (gone is None), result.coverage.reasons
    assert result.codes == (set() if gone is None else {"total_changed"})


@pytest.mark.parametrize("status", [404, 406])
async def test_a_url_that_leads_nowhere_gives_way_to_the_cursor_inside_it(fetched: Fetched, status: int) -> None:
    """Behind a proxy the path is another one; elsewhere the URL asks for what the server refuses."""
    pagination = Pagination(convention=PaginationStyle.NEXT_URL, size="limit", max_size=SIZE, other_hidden=("marker",))

    def answer(place: PageAddress) -> dict[str, Any]:
        if place.url is not None:
            raise refused(status)
        end = int(place.arguments.get("marker", 0)) + SIZE
        following = f"http://api/elsewhere?fields=id&limit={SIZE}&marker={end}" if end < N else None
        return {"items": records(end - SIZE), **({"next": following} if following else {})}

    result = await fetched(answer, pagination)
    assert result.ids == list(range(N))
    assert result.coverage.is_complete, result.coverage.reasons
    assert any("'marker' is followed instead" in text for text in result.warnings)


async def test_positions_that_are_ignored_and_nothing_named_end_as_no_progress(fetched: Fetched) -> None:
    result = await fetched(lambda place: {"items": records(0)}, BY_PAGE, total=N)
    assert result.ids == list(range(SIZE))
    assert not result.coverage.is_complete
    assert "no_progress" in result.codes
    assert len(result.source.asked) < 20


async def test_an_offset_that_counts_pages_is_read_as_a_page_number(fetched: Fetched) -> None:
    result = await fetched(lambda place: {"items": records(SIZE * place.arguments.get("offset", 0))}, BY_OFFSET)
    assert result.ids == list(range(N))
    assert result.coverage.is_complete
    assert any("counts pages and not records" in text for text in result.warnings)


async def test_an_offset_that_counts_pages_of_the_size_asked_for_is_seen_too(fetched: Fetched) -> None:
    """With pages of one record, the numbers of pages and of records are the same."""

    def page(place: PageAddress) -> dict[str, Any]:
        size = min(place.arguments.get("limit", SIZE), SIZE)
        return {"items": records(size * place.arguments.get("offset", 0), size=size)}

    result = await fetched(page, BY_OFFSET)
    assert result.ids == list(range(N))
    assert any("counts pages and not records" in text for text in result.warnings)


async def test_an_offset_that_counts_from_one_loses_no_record(fetched: Fetched) -> None:
    result = await fetched(lambda place: {"items": records(place.arguments.get("offset", 1) - 1)}, BY_OFFSET)
    assert sorted(result.ids) == list(range(N))
    assert len(result.source.asked) < 30


async def test_page_numbers_that_begin_at_zero_lose_no_page(fetched: Fetched) -> None:
    result = await fetched(lambda place: {"items": records(SIZE * place.arguments.get("page", 0))}, BY_PAGE)
    assert sorted(result.ids) == list(range(N))
    assert result.coverage.is_complete
    assert result.codes == {"paging_corrected"}


async def test_pages_zero_and_one_that_are_the_same_are_one_page(fetched: Fetched) -> None:
    from_zero = Pagination(convention=PaginationStyle.PAGE, position="page", size="limit", first=0, max_size=SIZE)
    result = await fetched(
        lambda place: {"items": records(SIZE * (max(1, place.arguments.get("page", 1)) - 1)), "total": N},
        from_zero,
        total=N,
    )
    assert result.ids == list(range(N))
    assert result.coverage.is_complete, result.coverage.reasons


@pytest.mark.parametrize("total", [None, N])
async def test_a_window_that_ends_is_told_and_what_it_gives_is_kept(fetched: Fetched, total: int | None) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        if place.arguments["offset"] + place.arguments["limit"] > 40:
            raise refused()
        return {"items": records(place.arguments["offset"])}

    result = await fetched(answer, BY_OFFSET, total=total)
    assert result.ids == list(range(40))
    assert not result.coverage.is_complete
    assert "window_ended" in result.codes
    assert len(result.source.asked) < 14


async def test_a_window_that_ends_amid_a_page_gives_its_records_up_to_there(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        if place.arguments["offset"] + place.arguments["limit"] > 1000:
            raise refused()
        return {"items": records(place.arguments["offset"], size=place.arguments["limit"], n=1500)}

    odd = Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit", max_size=7)
    sized = Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit", max_size=7, window=1000)
    for pagination in (odd, sized):
        result = await fetched(lambda place: _capped(answer, place, 7), pagination, total=1500)
        assert result.ids == list(range(1000))
        assert not result.coverage.is_complete
        assert "window_ended" in result.codes


def _capped(answer: Answer, place: PageAddress, cap: int) -> dict[str, Any]:
    size = min(cap, int(place.arguments.get("limit", cap)))
    return answer(PageAddress({**place.arguments, "limit": size}))


async def test_a_window_whose_size_is_the_announced_total_is_not_called_whole(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        if place.arguments["offset"] >= 1000:
            raise refused()
        return {"items": records(place.arguments["offset"], n=1500), "total": 1000}

    result = await fetched(answer, BY_OFFSET, total=1000)
    assert result.ids == list(range(1000))
    assert not result.coverage.is_complete


async def test_behind_a_window_the_named_way_leads_on(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        start = at_token(place) if place.url else place.arguments["offset"]
        if place.url is None and start >= 40:
            raise refused()
        return by_token(start)

    result = await fetched(answer, BY_OFFSET, total=N)
    assert result.ids == list(range(N))
    assert result.coverage.is_complete, result.coverage.reasons
    assert result.codes == {"paging_corrected"}


@pytest.mark.parametrize("total", [None, N])
async def test_a_cycle_ends_and_is_whole_only_where_all_that_was_announced_came(
    fetched: Fetched, total: int | None
) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        start = int(place.arguments.get("cursor", "0"))
        return {"items": records(start), "next_cursor": str(start + SIZE if start + SIZE < N else SIZE)}

    result = await fetched(answer, BY_CURSOR, total=total)
    assert result.ids == list(range(N))
    assert result.coverage.is_complete == (total == N)
    assert "no_progress" in result.codes


async def test_a_cycle_over_a_part_of_the_data_is_no_end(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        start = int(place.arguments.get("cursor", "0"))
        return {"items": records(start), "next_cursor": "10" if start == 20 else str(start + SIZE)}

    result = await fetched(answer, BY_CURSOR, total=N)
    assert result.ids == list(range(30))
    assert not result.coverage.is_complete


async def test_empty_pages_for_ever_end(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        start = int(place.arguments.get("cursor", "0"))
        return {"items": records(start), "next_cursor": str(start + SIZE)}

    result = await fetched(answer, BY_CURSOR)
    assert result.ids == list(range(N))
    assert not result.coverage.is_complete
    assert len(result.source.asked) == 10 + EMPTY_PAGES + 1


async def test_some_empty_pages_amid_others_are_no_end(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        step = int(place.arguments.get("cursor", "0"))
        start = step // 3 * SIZE
        following = str(step + 1) if start < N else None
        return {"items": records(start) if step % 3 == 0 else [], "next_cursor": following}

    result = await fetched(answer, BY_CURSOR)
    assert result.ids == list(range(N))
    assert result.coverage.is_complete


async def test_a_foreign_next_page_is_not_followed_and_never_whole(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        if place.arguments.get("cursor"):
            raise ForeignOrigin("elsewhere", source="api")
        return {"items": records(0), "next_cursor": "10", "total": SIZE}

    result = await fetched(answer, BY_CURSOR, total=SIZE)
    assert not result.coverage.is_complete
    assert result.codes == {"page_failed"}


async def test_new_records_for_ever_end_by_the_cap_of_time(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        start = int(place.arguments.get("cursor", "0"))
        return {"items": records(start, n=10**9), "next_cursor": str(start + SIZE)}

    result = await fetched(answer, BY_CURSOR, limits=FetchLimits(seconds=60))
    assert result.codes == {"budget"}
    assert not result.coverage.is_complete
    assert 55 <= len(result.source.asked) <= 65


async def test_a_key_that_several_records_share_at_a_border_is_told(fetched: Fetched) -> None:
    pagination = Pagination(
        convention=PaginationStyle.KEYSET, position="starting_after", size="limit", max_size=SIZE, key="day"
    )
    rows = [{"id": number, "day": number // 4} for number in range(N)]

    def answer(place: PageAddress) -> dict[str, Any]:
        after = place.arguments.get("starting_after", -1)
        return {"items": [row for row in rows if row["day"] > int(after)][:SIZE]}

    result = await fetched(answer, pagination)
    assert len(result.ids) < N
    assert not result.coverage.is_complete


async def test_a_key_that_is_inclusive_costs_and_repeats_nothing(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        return {"items": records(int(place.arguments.get("starting_after", 0)))}

    result = await fetched(answer, BY_KEY)
    assert result.ids == list(range(N))
    assert result.coverage.is_complete, result.coverage.reasons


@pytest.mark.parametrize("total", [None, N])
async def test_records_without_an_id_that_stand_on_two_pages_are_told(fetched: Fetched, total: int | None) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        start = int(place.arguments.get("cursor", "0"))
        rows = [{"value": number} for number in range(max(0, start - 2), min(start + SIZE, N))]
        return {"items": rows, "next_cursor": str(start + SIZE) if start + SIZE < N else None}

    result = await fetched(answer, BY_CURSOR, total=total, name="value")
    assert set(result.ids) == set(range(N))
    assert not result.coverage.is_complete
    assert "records_repeated" in result.codes


async def test_a_size_that_is_refused_gives_way_to_a_smaller_one(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        if place.arguments.get("limit", 0) > 100:
            raise refused(422)
        return {"items": records(place.arguments["offset"], size=place.arguments["limit"], n=333), "total": 333}

    unlimited = Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit")
    result = await fetched(answer, unlimited, total=333, size=500)
    assert result.ids == list(range(333))
    assert result.coverage.is_complete
    assert any("pages of 100 are asked for" in text for text in result.warnings)


async def test_pages_from_0_are_found_where_page_1_of_the_chosen_size_is_empty(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        size, page = int(place.arguments["limit"]), int(place.arguments["page"])
        return {"items": [{"id": n} for n in range(8)][page * size : (page + 1) * size]}

    result = await fetched(answer, BY_PAGE, sample=({"id": 1},))
    assert sorted(result.ids) == list(range(8))
    assert result.coverage.is_complete
    assert "paging_corrected" in result.codes


async def test_a_total_that_is_the_length_of_each_page_ends_no_walk(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        came = records(int(place.arguments["offset"]))
        return {"items": came, "total": len(came)}

    result = await fetched(answer, BY_OFFSET, total=1)
    assert sorted(result.ids) == list(range(N))
    assert result.coverage.is_complete


async def test_a_total_of_just_a_usual_cap_is_looked_behind(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        return {"items": records(int(place.arguments["offset"]), size=50), "total": 50}

    result = await fetched(answer, replace(BY_OFFSET, max_size=None), total=50, size=500)
    assert sorted(result.ids) == list(range(N))
    assert "beyond_total" in result.codes


async def test_a_list_that_ends_at_just_ten_thousand_without_a_total_may_be_cut_there(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        start = int(place.arguments["offset"])
        return {"items": records(start, size=2500, n=10_000)}

    result = await fetched(answer, replace(BY_OFFSET, max_size=2500), size=2500)
    assert len(result.ids) == 10_000
    assert not result.coverage.is_complete
    assert "window_ended" in result.codes


@pytest.mark.parametrize("status", [404, 500])
async def test_a_page_that_fails_amid_others_is_no_end_though_nobody_announced_it(
    fetched: Fetched, status: int
) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        if place.arguments["page"] == 2:
            raise refused(status)
        return {"items": records((int(place.arguments["page"]) - 1) * SIZE)}

    result = await fetched(answer, BY_PAGE)
    assert sorted(result.ids) == [number for number in range(N) if not SIZE <= number < 2 * SIZE]
    assert not result.coverage.is_complete
    assert "page_failed" in result.codes


async def test_a_server_that_counts_by_a_size_above_its_cap_is_read_by_its_cap(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        start = (int(place.arguments["page"]) - 1) * int(place.arguments["limit"])
        return {"items": records(start, size=min(10, int(place.arguments["limit"])))}

    result = await fetched(answer, replace(BY_PAGE, max_size=None), size=500)
    assert sorted(result.ids) == list(range(N))
    assert result.coverage.is_complete


async def test_an_answer_that_is_no_list_is_not_paged_through_for_ever(fetched: Fetched) -> None:
    result = await fetched(lambda place: {"id": place.arguments["page"], "load": {"cpu": 3}}, BY_PAGE)
    assert not result.coverage.is_complete
    assert "no_progress" in result.codes
    assert len(result.source.asked) < 20


async def test_pages_of_one_record_each_end(fetched: Fetched) -> None:
    result = await fetched(lambda place: {"items": [{"id": place.arguments["page"]}]}, BY_PAGE)
    assert not result.coverage.is_complete
    assert MOST_LONE <= len(result.source.asked) < 2 * MOST_LONE


@pytest.mark.parametrize("n", [50, 100, 200, 250, 500, 1000, 5000])
async def test_a_list_of_a_round_length_that_came_at_once_is_whole_and_gets_a_word(fetched: Fetched, n: int) -> None:
    result = await fetched(lambda _: {"items": records(0, size=n, n=n)}, Pagination(), size=n)
    assert result.coverage.is_complete
    assert result.codes == {"perhaps_cut"}


@pytest.mark.parametrize("n", [10, 20, 25, 30, 49, 99, 101])
async def test_a_list_of_another_length_gets_none(fetched: Fetched, n: int) -> None:
    result = await fetched(lambda _: {"items": records(0, size=n, n=n)}, Pagination(), size=n)
    assert result.coverage.is_complete
    assert result.codes == set()


@pytest.mark.parametrize("beside", [{"total": 100}, {"has_more": False}, {"next": None}])
async def test_a_list_of_a_round_length_that_says_that_it_is_all_gets_none(fetched: Fetched, beside: Any) -> None:
    result = await fetched(lambda _: {"items": records(0, size=100, n=100), **beside}, Pagination(), size=100)
    assert result.coverage.is_complete
    assert result.codes == set()


@pytest.mark.parametrize(("n", "codes"), [(1000, {"perhaps_cut"}), (1010, set()), (300, set())])
async def test_pages_that_end_where_some_services_end_get_a_word(fetched: Fetched, n: int, codes: set[str]) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        return {"items": records(int(place.arguments["offset"]), size=100, n=n)}

    result = await fetched(answer, replace(BY_OFFSET, max_size=100), size=100)
    assert result.coverage.is_complete
    assert result.codes == codes
