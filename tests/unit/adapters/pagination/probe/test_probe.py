"""The result of a probe, and the requests that it takes."""

from typing import Any

import pytest

from adapters.base import CallResult, PageAddress, Pagination, PaginationStyle, ToolSpec
from adapters.errors import ConnectionFailed, HttpStatusError, SourceError
from adapters.pagination import Certainty, detect
from adapters.pagination.probe.probe import ProbeMethod, ProbeResult, Send, probe
from tests.unit.adapters.pagination.paged_server import WHOLE, PagedServer

OFFSET, PAGE, CURSOR = PaginationStyle.OFFSET, PaginationStyle.PAGE, PaginationStyle.CURSOR
NEXT_URL, LINK = PaginationStyle.NEXT_URL, PaginationStyle.LINK_HEADER


def lone_tool(pagination: Pagination = Pagination(), **more: Any) -> ToolSpec:  # noqa: B008
    return ToolSpec(
        name="get",
        description="",
        parameters={"type": "object"},
        source="desk",
        locator="GET /x",
        pagination=pagination,
        **more,
    )


def answering(*answers: Any) -> tuple[Send, list[PageAddress | None]]:
    """A source that returns these payloads or raises these errors, in order."""
    asked: list[PageAddress | None] = []
    left = list(answers)

    async def send(page: PageAddress | None) -> CallResult:
        asked.append(page)
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return CallResult(payload=answer, location="GET https://desk.example/x")

    return send, asked


def refused(status: int = 400) -> HttpStatusError:
    return HttpStatusError("no", source="desk", location="GET /x", status=status)


async def test_a_metadata_flag_gives_everything_in_one_request() -> None:
    server = PagedServer(OFFSET, 261, has_metadata=True, path="data.tickets")
    looked = await probe(server.tool(), server.send)
    assert looked == ProbeResult(
        pagination=server.tool().pagination,
        records_path="data.tickets",
        total=261,
        certainty=Certainty.EXACT,
        method=ProbeMethod.METADATA,
        tokens_estimation=900,
    )
    assert server.requests == [{"meta_only": True}]


async def test_a_metadata_answer_without_a_path_is_completed_by_a_page() -> None:
    send, asked = answering({"total_items": 261}, {"rows": [{"id": 1}]})
    tool = lone_tool(Pagination(convention=OFFSET, position="offset", size="limit", metadata="meta_only"))
    looked = await probe(tool, send)
    assert (looked.total, looked.records_path, looked.method, looked.requests) == (261, "rows", ProbeMethod.METADATA, 2)
    assert asked[1] == PageAddress({"offset": 0, "limit": 1})


@pytest.mark.parametrize("answer", [refused(400), refused(422), {"rows": [{"id": 1}, {"id": 2}]}])
async def test_a_page_is_requested_if_the_metadata_flag_does_not_work(answer: Any) -> None:
    send, _ = answering(answer, {"rows": [{"id": 1}], "total": 9})
    tool = lone_tool(Pagination(convention=OFFSET, position="offset", size="limit", metadata="meta_only"))
    looked = await probe(tool, send)
    assert (looked.method, looked.total, looked.requests, len(looked.notes)) == (ProbeMethod.SMALLEST_PAGE, 9, 2, 1)


@pytest.mark.parametrize("convention", [OFFSET, PAGE, CURSOR])
async def test_a_page_of_one_reveals_total_and_path(convention: PaginationStyle) -> None:
    server = PagedServer(convention, 261, total=261, path="data.tickets")
    looked = await probe(server.tool(), server.send)
    assert (looked.method, looked.total, looked.certainty) == (ProbeMethod.SMALLEST_PAGE, 261, Certainty.EXACT)
    assert (looked.records_path, len(looked.sample), looked.first) == ("data.tickets", 1, None)
    assert looked.bytes_per_record is not None
    assert [request.get("limit", request.get("per_page")) for request in server.requests] == [1]


async def test_the_smallest_legal_page_is_asked_for_and_never_an_empty_one() -> None:
    for least, asked in ((5, 5), (0, 1), (None, 1)):
        server = PagedServer(OFFSET, 261, total=261)
        tool = lone_tool(Pagination(convention=OFFSET, position="offset", size="limit", min_size=least))
        await probe(tool, server.send)
        assert server.requests[0]["limit"] == asked


async def test_a_refused_smallest_page_gives_way_to_the_first_page_which_is_kept() -> None:
    server = PagedServer(OFFSET, 261, total=261, refuses=frozenset({1}))
    looked = await probe(server.tool(), server.send)
    assert (looked.method, looked.total, looked.requests) == (ProbeMethod.FIRST_PAGE, 261, 2)
    assert looked.first is not None
    assert (looked.first.size, len(looked.first.reading.records)) == (None, 20)


async def test_a_page_that_is_everything_is_kept_as_the_first_page() -> None:
    server = PagedServer(CURSOR, 1, total=1)
    looked = await probe(server.tool(), server.send)
    assert looked.first is not None
    assert looked.first.address == PageAddress({"limit": 1})


async def test_a_total_equal_to_the_requested_size_may_be_the_page_length() -> None:
    server = PagedServer(OFFSET, 1, total=1)
    looked = await probe(server.tool(), server.send)
    assert (looked.total, looked.first) == (1, None)


@pytest.mark.parametrize(
    ("page", "is_end_unconfirmed"),
    [({"items": [{"id": 1}]}, True), ({"items": [{"id": 1}], "next": None}, False), ({"items": []}, False)],
)
async def test_a_page_of_one_without_a_word_on_the_next_is_not_complete(page: Any, *, is_end_unconfirmed: bool) -> None:
    send, _ = answering(page)
    tool = lone_tool(Pagination(convention=CURSOR, position="cursor", size="limit"))
    looked = await probe(tool, send)
    assert (looked.total is None, looked.first is None, looked.is_end_unconfirmed) == (
        is_end_unconfirmed,
        is_end_unconfirmed,
        is_end_unconfirmed,
    )


async def test_no_records_is_a_total_of_zero() -> None:
    for total in (None, 0):
        server = PagedServer(OFFSET, 0, total=total)
        looked = await probe(server.tool(), server.send)
        assert (looked.total, looked.certainty, looked.sample) == (0, Certainty.EXACT, ())


@pytest.mark.parametrize(
    "error",
    [
        refused(404),
        refused(401),
        refused(500),
        ConnectionFailed("cut", source="desk"),
    ],
)
async def test_a_failed_probe_is_an_error_and_never_an_empty_dataset(error: SourceError) -> None:
    send, asked = answering(error)
    with pytest.raises(SourceError) as caught:
        await probe(PagedServer(OFFSET, 5).tool(), send)
    assert caught.value is error
    assert len(asked) == 1


async def test_the_last_refusal_is_the_error_if_every_method_is_refused() -> None:
    send, asked = answering(refused(), refused(422))
    with pytest.raises(HttpStatusError) as caught:
        await probe(PagedServer(OFFSET, 5).tool(), send)
    assert caught.value.status == 422
    assert len(asked) == 2


async def test_pages_that_begin_at_zero_are_found_out_when_the_answer_is_not_the_first_page() -> None:
    server = PagedServer(PAGE, 9, total=9, first_page=0, reports_page=True)
    looked = await probe(server.tool(), server.send)
    assert looked.pagination.first == 0
    assert looked.sample[0]["id"] == 0
    assert [request["page"] for request in server.requests] == [1, 0]


async def test_pages_that_begin_at_zero_are_found_out_when_page_one_is_empty() -> None:
    server = PagedServer(PAGE, 1, first_page=0)
    looked = await probe(server.tool(), server.send)
    assert (looked.pagination.first, len(looked.sample)) == (0, 1)


async def test_an_empty_page_one_of_a_server_that_begins_there_is_empty() -> None:
    server = PagedServer(PAGE, 0, first_page=1)
    looked = await probe(server.tool(), server.send)
    assert (looked.pagination.first, looked.total) == (1, 0)


async def test_a_page_zero_that_is_refused_or_told_as_one_moves_the_base() -> None:
    server = PagedServer(PAGE, 9, total=9, first_page=1)
    looked = await probe(server.tool(minimum=0), server.send)
    assert (looked.pagination.first, looked.total) == (1, 9)
    send, _ = answering({"items": [{"id": 1}], "page": 1, "total": 9})
    assert (await probe(server.tool(default=0), send)).pagination.first == 1


@pytest.mark.parametrize("convention", [NEXT_URL, LINK])
async def test_a_next_url_corrects_a_tool_whose_document_tells_of_no_pages(convention: PaginationStyle) -> None:
    server = PagedServer(convention, 90, clamp=40)
    looked = await probe(server.tool(), server.send)
    assert looked.pagination.convention is convention
    assert looked.first is not None
    assert looked.first.reading.next is not None
    assert looked.total is None


async def test_a_size_that_is_ignored_is_not_used_any_more() -> None:
    server = PagedServer(OFFSET, 90, honors_size=False)
    looked = await probe(server.tool(), server.send)
    assert looked.pagination.size is None
    assert set(looked.pagination.hidden) == {"offset", "limit"}
    assert looked.first is not None
    assert "ignores" in looked.notes[0]


async def test_a_wrong_total_is_noted_and_not_used() -> None:
    send, _ = answering(refused(), {"items": [{"id": 1}, {"id": 2}], "total": 1})
    looked = await probe(PagedServer(OFFSET, 5).tool(), send)
    assert (looked.total, looked.certainty) == (None, Certainty.UNKNOWN)
    assert "contradicted" in looked.notes[-1]


@pytest.mark.parametrize("tool", [lone_tool(), lone_tool(returns_many=False)])
async def test_a_tool_without_pages_is_called_once_and_the_response_kept(tool: ToolSpec) -> None:
    send, asked = answering([{"id": 1}, {"id": 2}])
    looked = await probe(tool, send)
    assert (looked.method, looked.total, looked.certainty) == (ProbeMethod.SINGLE, 2, Certainty.EXACT)
    assert asked == [None]
    assert looked.first is not None


async def test_a_single_response_that_reports_more_is_not_complete() -> None:
    send, _ = answering({"items": [{"id": 1}], "total": 7})
    looked = await probe(lone_tool(), send)
    assert (looked.total, looked.certainty, len(looked.notes)) == (7, Certainty.EXACT, 1)
    send, _ = answering({"items": [{"id": 1}], "has_more": True})
    looked = await probe(lone_tool(), send)
    assert (looked.total, looked.certainty, len(looked.notes)) == (None, Certainty.UNKNOWN, 1)


async def test_one_object_of_a_tool_for_one_is_one_record_whatever_lists_it_has() -> None:
    send, _ = answering({"id": 4, "name": "Baláž", "tickets": [{"id": n} for n in range(3)]})
    looked = await probe(lone_tool(returns_many=False), send)
    assert (looked.total, looked.first is not None, len(looked.sample)) == (1, True, 1)


@pytest.mark.parametrize(
    ("n_records", "most", "asked", "certainty"),
    [
        (7, 100, 100, Certainty.EXACT),
        (100, 100, 100, Certainty.AT_LEAST),
        (50, 100, 100, Certainty.AT_LEAST),
        (7, None, 1000, Certainty.EXACT),
    ],
)
async def test_a_limit_without_a_position_is_asked_for_as_much_as_it_gives(
    n_records: int, most: int | None, asked: int, certainty: Certainty
) -> None:
    limit = {**WHOLE, "maximum": most} if most else WHOLE
    send, addresses = answering([{"id": n} for n in range(n_records)])
    looked = await probe(lone_tool(detect({"limit": limit})), send)
    assert (looked.total, looked.certainty, looked.method) == (n_records, certainty, ProbeMethod.FIRST_PAGE)
    assert addresses == [PageAddress({"limit": asked})]
    assert looked.first is not None
    assert bool(looked.notes) == (certainty is Certainty.AT_LEAST)


@pytest.mark.parametrize(
    ("shorter", "certainty"), [({"next": "/tickets?k=49"}, Certainty.EXACT), ({}, Certainty.AT_LEAST)]
)
async def test_a_page_of_one_less_shows_whether_a_longer_one_was_cut(shorter: Any, certainty: Certainty) -> None:
    rows = [{"id": n} for n in range(50)]
    send, addresses = answering({"items": rows}, {"items": rows[:49], **shorter})
    looked = await probe(lone_tool(detect({"limit": {**WHOLE, "maximum": 100}})), send)
    assert (looked.total, looked.certainty) == (50, certainty)
    assert [place and place.arguments["limit"] for place in addresses] == [100, 49]


async def test_a_longer_page_that_names_a_next_one_too_is_not_whole() -> None:
    rows = [{"id": n} for n in range(50)]
    send, _ = answering({"items": rows, "more": "?k=50"}, {"items": rows[:49], "more": "?k=49"})
    looked = await probe(lone_tool(detect({"limit": {**WHOLE, "maximum": 100}})), send)
    assert looked.certainty is not Certainty.EXACT


async def test_retries_of_the_transport_are_counted() -> None:
    async def send(_: PageAddress | None) -> CallResult:
        return CallResult(payload=[{"id": 1}], location="", requests=3)

    assert (await probe(lone_tool(), send)).requests == 3
