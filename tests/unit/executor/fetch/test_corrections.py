"""Wrong assumptions about the pagination are noticed, corrected where the responses allow it, and reported."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.base import PageAddress, Pagination, PaginationStyle
from adapters.errors import ForeignOrigin, HttpStatusError
from runax_cli.executor.fetch.addressed_walker import MAX_SINGLE_RECORD_PAGES
from runax_cli.executor.fetch.cursor_walker import MAX_EMPTY_PAGES
from tests.fakes.fetch_bench import FetchResult, fetch_all
from tests.fakes.paged_api import Answer, PagedApi, http_error

N, SIZE = 95, 10
BY_OFFSET = Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit", max_size=SIZE)
BY_PAGE = Pagination(convention=PaginationStyle.PAGE, position="page", size="limit", first=1, max_size=SIZE)
BY_CURSOR = Pagination(convention=PaginationStyle.CURSOR, position="cursor", size="limit", max_size=SIZE)
BY_RANGE = Pagination(convention=PaginationStyle.RANGE)
BY_KEY = Pagination(convention=PaginationStyle.KEYSET, position="starting_after", size="limit", max_size=SIZE)

Fetched = Callable[..., Any]


@pytest.fixture
def fetched(tmp_path: Path) -> Fetched:
    """Fetch from an API that answers by a function of the page address; each request takes one second."""

    async def run(answer: Answer, pagination: Pagination, *, size: int = SIZE, **options: Any) -> FetchResult:
        api = PagedApi([], answer=answer, location="GET http://api/items", status=None, request_s=1.0)
        return await fetch_all(api, pagination, tmp_path, page_size=size, **options)

    return run


def records(start: int, *, size: int = SIZE, n: int = N) -> list[dict[str, int]]:
    return [{"id": number} for number in range(max(0, start), min(start + size, n))]


def at_token(place: PageAddress) -> int:
    """The position of a page for a server that only understands tokens in URLs."""
    return int(place.url.rpartition("=")[2]) if place.url else 0


def by_token(start: int, **more: Any) -> dict[str, Any]:
    following = f"/items?token={start + SIZE}" if start + SIZE < N else None
    return {"items": records(start), "next": following, **more}


def refused(status: int = 400) -> HttpStatusError:
    return http_error(status)


@pytest.mark.parametrize("pagination", [BY_OFFSET, BY_PAGE, BY_RANGE])
@pytest.mark.parametrize("total", [None, N])
async def test_ignored_positions_are_replaced_by_the_next_page_pointer(
    fetched: Fetched, pagination: Pagination, total: int | None
) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        return by_token(at_token(place), **({} if total is None else {"total": total}))

    result = await fetched(answer, pagination, total=total)
    assert result.ids == list(range(N))
    assert result.coverage.is_complete, result.coverage.reasons
    assert result.codes == {"paging_corrected"}
    assert any("the next-page URL of the response is used instead" in text for text in result.warnings)


async def test_refused_positions_are_replaced_by_the_next_page_pointer(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        if place.arguments.get("offset"):
            raise refused(422)
        return by_token(at_token(place))

    result = await fetched(answer, BY_OFFSET, total=N)
    assert result.ids == list(range(N))
    assert result.coverage.is_complete, result.coverage.reasons


async def test_an_ignored_cursor_is_replaced_by_another_argument(fetched: Fetched) -> None:
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
async def test_a_full_page_without_a_cursor_is_not_the_end_if_a_smaller_page_had_none_either(
    fetched: Fetched, n: int, *, is_end_unconfirmed: bool, is_complete: bool
) -> None:
    result = await fetched(lambda place: {"items": records(0, n=n)}, BY_CURSOR, is_end_unconfirmed=is_end_unconfirmed)
    assert result.ids == list(range(n))
    assert result.coverage.is_complete is is_complete, result.coverage.reasons
    assert result.codes == (set() if is_complete else {"pagination_unknown"})


@pytest.mark.parametrize("pagination", [BY_OFFSET, BY_PAGE])
@pytest.mark.parametrize("gone", [0, 5, SIZE - 1, None])
async def test_records_that_move_during_the_fetch_are_reported_without_a_total(
    fetched: Fetched, pagination: Pagination, gone: int | None
) -> None:
    left, starts = [{"id": number} for number in range(N)], []

    def answer(place: PageAddress) -> dict[str, Any]:
        start, size = place.arguments.get("offset", 0), place.arguments["limit"]
        start = SIZE * (place.arguments["page"] - 1) if "page" in place.arguments else start
        if starts[:1] and start >= SIZE and gone is not None and len(left) == N:
            del left[gone]
        starts.append(start)
        return {"items": left[start : start + size]}

    result = await fetched(answer, pagination)
    assert result.coverage.is_complete is (gone is None), result.coverage.reasons
    assert result.codes == (set() if gone is None else {"total_changed"})


@pytest.mark.parametrize("status", [404, 406])
async def test_a_failing_next_url_is_replaced_by_the_cursor_inside_it(fetched: Fetched, status: int) -> None:
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
    assert any("'marker' is used instead" in text for text in result.warnings)


async def test_ignored_positions_without_a_next_page_pointer_end_as_no_progress(fetched: Fetched) -> None:
    result = await fetched(lambda place: {"items": records(0)}, BY_PAGE, total=N)
    assert result.ids == list(range(SIZE))
    assert not result.coverage.is_complete
    assert "no_progress" in result.codes
    assert len(result.api.requests) < 20


async def test_an_offset_that_counts_pages_is_read_as_a_page_number(fetched: Fetched) -> None:
    result = await fetched(lambda place: {"items": records(SIZE * place.arguments.get("offset", 0))}, BY_OFFSET)
    assert result.ids == list(range(N))
    assert result.coverage.is_complete
    assert any("counts pages and not records" in text for text in result.warnings)


async def test_an_offset_that_counts_pages_of_the_requested_size_is_detected(fetched: Fetched) -> None:
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
    assert len(result.api.requests) < 30


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
async def test_a_result_window_is_reported_and_its_records_are_kept(fetched: Fetched, total: int | None) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        if place.arguments["offset"] + place.arguments["limit"] > 40:
            raise refused()
        return {"items": records(place.arguments["offset"])}

    result = await fetched(answer, BY_OFFSET, total=total)
    assert result.ids == list(range(40))
    assert not result.coverage.is_complete
    assert "window_ended" in result.codes
    assert len(result.api.requests) < 14


async def test_a_result_window_inside_a_page_returns_the_records_before_its_end(fetched: Fetched) -> None:
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


async def test_a_result_window_of_the_size_of_the_total_is_not_complete(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        if place.arguments["offset"] >= 1000:
            raise refused()
        return {"items": records(place.arguments["offset"], n=1500), "total": 1000}

    result = await fetched(answer, BY_OFFSET, total=1000)
    assert result.ids == list(range(1000))
    assert not result.coverage.is_complete


async def test_beyond_a_result_window_the_next_page_pointer_is_followed(fetched: Fetched) -> None:
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
async def test_a_cursor_cycle_is_complete_only_if_all_announced_records_were_read(
    fetched: Fetched, total: int | None
) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        start = int(place.arguments.get("cursor", "0"))
        return {"items": records(start), "next_cursor": str(start + SIZE if start + SIZE < N else SIZE)}

    result = await fetched(answer, BY_CURSOR, total=total)
    assert result.ids == list(range(N))
    assert result.coverage.is_complete == (total == N)
    assert "no_progress" in result.codes


async def test_a_cursor_cycle_over_a_part_of_the_data_is_not_the_end(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        start = int(place.arguments.get("cursor", "0"))
        return {"items": records(start), "next_cursor": "10" if start == 20 else str(start + SIZE)}

    result = await fetched(answer, BY_CURSOR, total=N)
    assert result.ids == list(range(30))
    assert not result.coverage.is_complete


async def test_endless_empty_pages_end(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        start = int(place.arguments.get("cursor", "0"))
        return {"items": records(start), "next_cursor": str(start + SIZE)}

    result = await fetched(answer, BY_CURSOR)
    assert result.ids == list(range(N))
    assert not result.coverage.is_complete
    assert len(result.api.requests) == 10 + MAX_EMPTY_PAGES + 1


async def test_a_few_empty_pages_are_not_the_end(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        step = int(place.arguments.get("cursor", "0"))
        start = step // 3 * SIZE
        following = str(step + 1) if start < N else None
        return {"items": records(start) if step % 3 == 0 else [], "next_cursor": following}

    result = await fetched(answer, BY_CURSOR)
    assert result.ids == list(range(N))
    assert result.coverage.is_complete


async def test_a_next_page_on_another_host_is_not_followed_and_never_complete(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        if place.arguments.get("cursor"):
            raise ForeignOrigin("elsewhere", source="api")
        return {"items": records(0), "next_cursor": "10", "total": SIZE}

    result = await fetched(answer, BY_CURSOR, total=SIZE)
    assert not result.coverage.is_complete
    assert result.codes == {"page_failed"}


async def test_endless_new_records_end_by_the_time_limit(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        start = int(place.arguments.get("cursor", "0"))
        return {"items": records(start, n=10**9), "next_cursor": str(start + SIZE)}

    result = await fetched(answer, BY_CURSOR, timeout_s=60)
    assert result.codes == {"budget"}
    assert not result.coverage.is_complete
    assert 55 <= len(result.api.requests) <= 65


async def test_a_key_shared_by_records_at_a_page_boundary_is_reported(fetched: Fetched) -> None:
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


async def test_an_inclusive_key_loses_and_duplicates_nothing(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        return {"items": records(int(place.arguments.get("starting_after", 0)))}

    result = await fetched(answer, BY_KEY)
    assert result.ids == list(range(N))
    assert result.coverage.is_complete, result.coverage.reasons


@pytest.mark.parametrize("total", [None, N])
async def test_records_without_an_id_on_two_pages_are_reported(fetched: Fetched, total: int | None) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        start = int(place.arguments.get("cursor", "0"))
        rows = [{"value": number} for number in range(max(0, start - 2), min(start + SIZE, N))]
        return {"items": rows, "next_cursor": str(start + SIZE) if start + SIZE < N else None}

    result = await fetched(answer, BY_CURSOR, total=total, id_name="value")
    assert set(result.ids) == set(range(N))
    assert not result.coverage.is_complete
    assert "records_repeated" in result.codes


async def test_a_refused_page_size_is_reduced(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        if place.arguments.get("limit", 0) > 100:
            raise refused(422)
        return {"items": records(place.arguments["offset"], size=place.arguments["limit"], n=333), "total": 333}

    unlimited = Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit")
    result = await fetched(answer, unlimited, total=333, size=500)
    assert result.ids == list(range(333))
    assert result.coverage.is_complete
    assert any("using 100" in text for text in result.warnings)


async def test_page_0_is_tried_if_page_1_is_empty(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        size, page = int(place.arguments["limit"]), int(place.arguments["page"])
        return {"items": [{"id": n} for n in range(8)][page * size : (page + 1) * size]}

    result = await fetched(answer, BY_PAGE, sample=({"id": 1},))
    assert sorted(result.ids) == list(range(8))
    assert result.coverage.is_complete
    assert "paging_corrected" in result.codes


async def test_a_total_that_is_the_page_length_does_not_end_the_fetch(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        came = records(int(place.arguments["offset"]))
        return {"items": came, "total": len(came)}

    result = await fetched(answer, BY_OFFSET, total=1)
    assert sorted(result.ids) == list(range(N))
    assert result.coverage.is_complete


async def test_records_beyond_a_total_of_a_common_cap_are_requested(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        return {"items": records(int(place.arguments["offset"]), size=50), "total": 50}

    result = await fetched(answer, replace(BY_OFFSET, max_size=None), total=50, size=500)
    assert sorted(result.ids) == list(range(N))
    assert "beyond_total" in result.codes


async def test_exactly_ten_thousand_records_without_a_total_are_incomplete(fetched: Fetched) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        start = int(place.arguments["offset"])
        return {"items": records(start, size=2500, n=10_000)}

    result = await fetched(answer, replace(BY_OFFSET, max_size=2500), size=2500)
    assert len(result.ids) == 10_000
    assert not result.coverage.is_complete
    assert "window_ended" in result.codes


@pytest.mark.parametrize("status", [404, 500])
async def test_a_failed_unannounced_page_among_others_is_not_the_end(fetched: Fetched, status: int) -> None:
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


async def test_a_response_that_is_not_a_list_is_not_paged_endlessly(fetched: Fetched) -> None:
    result = await fetched(lambda place: {"id": place.arguments["page"], "load": {"cpu": 3}}, BY_PAGE)
    assert not result.coverage.is_complete
    assert "no_progress" in result.codes
    assert len(result.api.requests) < 20


async def test_endless_pages_of_one_record_end(fetched: Fetched) -> None:
    result = await fetched(lambda place: {"items": [{"id": place.arguments["page"]}]}, BY_PAGE)
    assert not result.coverage.is_complete
    assert MAX_SINGLE_RECORD_PAGES <= len(result.api.requests) < 2 * MAX_SINGLE_RECORD_PAGES


@pytest.mark.parametrize("n", [50, 100, 200, 250, 500, 1000, 5000])
async def test_a_single_list_of_a_round_length_is_complete_with_a_note(fetched: Fetched, n: int) -> None:
    result = await fetched(lambda _: {"items": records(0, size=n, n=n)}, Pagination(), size=n)
    assert result.coverage.is_complete
    assert result.codes == {"perhaps_cut"}


@pytest.mark.parametrize("n", [10, 20, 25, 30, 49, 99, 101])
async def test_a_single_list_of_another_length_has_no_note(fetched: Fetched, n: int) -> None:
    result = await fetched(lambda _: {"items": records(0, size=n, n=n)}, Pagination(), size=n)
    assert result.coverage.is_complete
    assert result.codes == set()


@pytest.mark.parametrize("beside", [{"total": 100}, {"has_more": False}, {"next": None}])
async def test_a_single_list_of_a_round_length_that_confirms_its_end_has_no_note(fetched: Fetched, beside: Any) -> None:
    result = await fetched(lambda _: {"items": records(0, size=100, n=100), **beside}, Pagination(), size=100)
    assert result.coverage.is_complete
    assert result.codes == set()


@pytest.mark.parametrize(("n", "codes"), [(1000, {"perhaps_cut"}), (1010, set()), (300, set())])
async def test_pages_that_end_at_a_common_result_window_have_a_note(fetched: Fetched, n: int, codes: set[str]) -> None:
    def answer(place: PageAddress) -> dict[str, Any]:
        return {"items": records(int(place.arguments["offset"]), size=100, n=n)}

    result = await fetched(answer, replace(BY_OFFSET, max_size=100), size=100)
    assert result.coverage.is_complete
    assert result.codes == codes
