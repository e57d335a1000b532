"""The methods of a probe: their cost, their order, and what is remembered."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from adapters.base import CallResult, PageAddress, Pagination, PaginationStyle, ToolSpec
from adapters.errors import ConnectionFailed, HttpStatusError
from adapters.pagination import Certainty
from adapters.pagination.probe.probe import ProbeMemory, ProbeMethod, ProbeResult, Send, probe, refresh_total

OFFSET = Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit")
COUNTED = replace(OFFSET, count_operation="count_things")
HEADED = replace(OFFSET, is_total_by_head=True)
FLAGGED = replace(OFFSET, total_flags=(("with_count", True),))
ONE = {"items": [{"id": 1}]}


def tool(pagination: Pagination, **more: Any) -> ToolSpec:
    return ToolSpec(
        name="get",
        description="",
        parameters=more.pop("parameters", {"type": "object"}),
        source="desk",
        locator="GET /x",
        pagination=pagination,
        **more,
    )


def serving(reply: Callable[[PageAddress], Any]) -> tuple[Send, list[PageAddress]]:
    """A source that answers by address; an exception is raised, a tuple is payload and headers."""
    asked: list[PageAddress] = []

    async def send(page: PageAddress | None) -> CallResult:
        place = page or PageAddress()
        asked.append(place)
        answer = reply(place)
        if isinstance(answer, Exception):
            raise answer
        payload, headers = answer if isinstance(answer, tuple) else (answer, {})
        return CallResult(payload=payload, location="GET https://desk.example/x?limit=1", headers=headers, status=200)

    return send, asked


def refused(status: int) -> HttpStatusError:
    return HttpStatusError("no", source="desk", location="GET /x", status=status)


@pytest.mark.parametrize("answer", [261, "261", {"count": 261}, {"zorb": 261}, {"data": {"total": 261}}])
async def test_the_total_comes_from_the_count_operation_and_the_rest_from_a_page(answer: Any) -> None:
    send, asked = serving(lambda place: answer if place.operation else ONE)
    looked = await probe(tool(COUNTED), send)
    assert (looked.total, looked.certainty, looked.method, looked.requests) == (
        261,
        Certainty.EXACT,
        ProbeMethod.COUNT_OPERATION,
        2,
    )
    assert looked.records_path == "items"
    assert asked[0] == PageAddress(operation="count_things")


@pytest.mark.parametrize("answer", [refused(404), refused(405), {"status": "ok"}, [1, 2]])
async def test_a_count_operation_without_a_count_is_called_only_once(answer: Any) -> None:
    send, asked = serving(lambda place: answer if place.operation else {**ONE, "total": 9})
    memory = ProbeMemory()
    first = await probe(tool(COUNTED), send, memory=memory)
    assert (first.total, first.method, len(first.notes)) == (9, ProbeMethod.SMALLEST_PAGE, 1)
    second = await probe(tool(COUNTED), send, memory=memory)
    assert (second.total, second.requests, second.notes) == (9, 1, ())
    assert [place.operation for place in asked] == ["count_things", None, None]


async def test_a_count_contradicted_by_the_page_is_noted_and_not_used() -> None:
    send, _ = serving(lambda place: 0 if place.operation else ONE)
    looked = await probe(tool(COUNTED), send)
    assert (looked.total, looked.certainty) == (None, Certainty.UNKNOWN)
    assert "count 0" in looked.notes[-1]
    send, _ = serving(lambda place: 900 if place.operation else {**ONE, "total": 9})
    looked = await probe(tool(COUNTED), send)
    assert (looked.total, looked.method) == (9, ProbeMethod.SMALLEST_PAGE)


async def test_only_refusals_lead_to_the_next_method() -> None:
    error = ConnectionFailed("cut", source="desk")
    send, _ = serving(lambda place: error if place.operation else ONE)
    with pytest.raises(ConnectionFailed):
        await probe(tool(COUNTED), send)


async def test_head_is_used_if_documented_and_the_page_has_no_total() -> None:
    send, asked = serving(lambda place: (None, {"total-records": "261"}) if place.is_head else ONE)
    looked = await probe(tool(HEADED), send)
    assert (looked.total, looked.certainty, looked.method, looked.requests) == (
        261,
        Certainty.EXACT,
        ProbeMethod.HEAD,
        2,
    )
    assert asked[1] == PageAddress(is_head=True)
    send, asked = serving(lambda _: ONE)
    assert (await probe(tool(OFFSET), send)).total is None
    assert not any(place.is_head for place in asked)
    send, asked = serving(lambda _: {**ONE, "total": 9})
    assert (await probe(tool(HEADED), send)).method is ProbeMethod.SMALLEST_PAGE
    assert not any(place.is_head for place in asked)


@pytest.mark.parametrize("answer", [refused(405), (None, {"content-length": "99"})])
async def test_a_head_without_a_total_is_used_only_once(answer: Any) -> None:
    send, asked = serving(lambda place: answer if place.is_head else ONE)
    memory = ProbeMemory()
    for requests in (2, 1):
        looked = await probe(tool(HEADED), send, memory=memory)
        assert (looked.total, looked.requests) == (None, requests)
    assert sum(place.is_head for place in asked) == 1


async def test_flags_for_totals_go_with_the_smallest_page() -> None:
    send, asked = serving(lambda place: {**ONE, **({"total": 261} if place.arguments.get("with_count") else {})})
    looked = await probe(tool(FLAGGED), send)
    assert (looked.total, looked.requests) == (261, 1)
    assert asked == [PageAddress({"offset": 0, "limit": 1, "with_count": True})]


async def test_refused_flags_for_totals_cost_the_total_and_not_the_page() -> None:
    send, asked = serving(lambda place: refused(400) if "with_count" in place.arguments else ONE)
    memory = ProbeMemory()
    looked = await probe(tool(FLAGGED), send, memory=memory)
    assert (looked.total, looked.method, looked.requests) == (None, ProbeMethod.SMALLEST_PAGE, 2)
    assert (await probe(tool(FLAGGED), send, memory=memory)).requests == 1
    assert asked[-1] == PageAddress({"offset": 0, "limit": 1})


async def test_a_range_is_asked_for_with_the_preference_for_a_count() -> None:
    ranged = (ONE["items"], {"content-range": "0-0/261"})
    send, asked = serving(lambda _: ranged)
    looked = await probe(tool(Pagination(convention=PaginationStyle.RANGE)), send)
    assert (looked.total, looked.method) == (261, ProbeMethod.SMALLEST_PAGE)
    assert asked[0].headers == {"Range-Unit": "items", "Range": "items=0-0", "Prefer": "count=exact"}


async def test_a_range_that_is_refused_is_asked_for_in_the_unit_of_the_server() -> None:
    ranged = ([{"id": n} for n in range(20)], {"content-range": "records 0-19/*"})
    send, _ = serving(lambda place: refused(400) if place.headers.get("Range", "").startswith("items") else ranged)
    looked = await probe(tool(Pagination(convention=PaginationStyle.RANGE)), send)
    assert looked.pagination.unit == "records"


async def test_a_range_that_is_ignored_brings_everything_at_once() -> None:
    send, asked = serving(lambda _: [{"id": n} for n in range(30)])
    looked = await probe(tool(Pagination(convention=PaginationStyle.RANGE)), send)
    assert (looked.total, looked.certainty, looked.pagination.convention) == (
        30,
        Certainty.EXACT,
        PaginationStyle.SINGLE,
    )
    assert looked.first is not None
    assert len(asked) == 1


async def test_what_is_learned_is_remembered_for_that_tool_only() -> None:
    send, _ = serving(lambda place: refused(422) if "limit" in place.arguments else {**ONE, "total": 9})
    memory = ProbeMemory()
    first = await probe(tool(OFFSET), send, memory=memory)
    assert (first.requests, first.method) == (2, ProbeMethod.FIRST_PAGE)
    assert (await probe(tool(OFFSET), send, memory=memory)).requests == 1
    assert (await probe(replace(tool(OFFSET), name="other"), send, memory=memory)).requests == 2
    assert (await probe(tool(replace(OFFSET, max_size=50)), send, memory=memory)).requests == 2
    assert (await probe(tool(OFFSET), send)).requests == 2


async def test_a_correction_is_remembered_and_noted_once() -> None:
    guess = Pagination(convention=PaginationStyle.CURSOR, position="after", size="limit")
    send, _ = serving(lambda _: {**ONE, "has_more": True})
    memory = ProbeMemory()
    first = await probe(tool(guess), send, memory=memory)
    assert (first.pagination.convention, first.pagination.key) == (PaginationStyle.KEYSET, "id")
    assert first.notes == ("no cursor in the response: paging by the 'id' of the last record",)
    second = await probe(tool(guess), send, memory=memory)
    assert (second.pagination, second.notes) == (first.pagination, ())


@pytest.mark.parametrize(
    ("arguments", "position"),
    [
        ({"after": {"type": "string"}, "kind": {"type": "string"}}, "after"),
        ({"resumeToken": {"type": ["string", "null"]}, "before": {"type": "string"}}, "resumeToken"),
        ({"after": {"type": "string"}, "cursor": {"type": "string"}}, None),
        ({"after": {"type": "string", "format": "date"}}, None),
        ({"next": {"type": "boolean"}, "q": {"type": "string"}}, None),
    ],
)
async def test_a_cursor_for_a_tool_without_pages_goes_into_the_only_argument_that_can_take_it(
    arguments: dict[str, Any], position: str | None
) -> None:
    send, _ = serving(lambda _: {**ONE, "pageInfo": {"endCursor": "c2", "hasNextPage": True}})
    known = tool(Pagination(), parameters={"type": "object", "properties": arguments})
    looked = await probe(known, send)
    assert looked.pagination.position == position
    assert looked.first is not None
    assert looked.first.reading.next == (None if position is None else PageAddress({position: "c2"}))
    assert len(looked.notes) == 1


async def test_a_first_page_is_kept_as_the_corrected_pagination_reads_it() -> None:
    guess = Pagination(convention=PaginationStyle.CURSOR, position="after")
    send, _ = serving(lambda _: {**ONE, "has_more": True})
    looked = await probe(tool(guess), send)
    assert looked.first is not None
    assert looked.first.reading.next == PageAddress({"after": 1})


async def test_an_offset_told_as_one_under_the_requests_own_name_counts_from_one() -> None:
    start = Pagination(convention=PaginationStyle.OFFSET, position="startIndex", size="count")
    send, _ = serving(lambda _: {"Resources": [{"id": 1}], "startIndex": 1, "totalResults": 9})
    assert (await probe(tool(start), send)).pagination.first == 1
    send, _ = serving(lambda _: {"items": [{"id": 1}], "from": 1, "total": 9})
    assert (await probe(tool(start), send)).pagination.first == 0


@pytest.mark.parametrize(
    ("sizes", "least", "asked"),
    [((50, 10, 25), None, 10), ((0, 10), None, 10), ((), 0, 1), ((), 5, 5), ((), None, 1)],
)
async def test_the_smallest_legal_page_is_never_an_empty_one(
    sizes: tuple[int, ...], least: int | None, asked: int
) -> None:
    send, places = serving(lambda _: {**ONE, "total": 261})
    await probe(tool(replace(OFFSET, sizes=sizes, min_size=least)), send)
    assert places[0].arguments["limit"] == asked


async def test_an_estimate_is_noted_and_not_used() -> None:
    send, _ = serving(lambda _: {**ONE, "estimated_total": 261})
    looked = await probe(tool(OFFSET), send)
    assert (looked.total, looked.certainty) == (None, Certainty.UNKNOWN)
    assert looked.notes == ("the announced total 261 is an estimate and not used",)


@pytest.mark.parametrize(
    ("pagination", "reply", "rung"),
    [
        (COUNTED, lambda place: 261 if place.operation else ONE, ProbeMethod.COUNT_OPERATION),
        (HEADED, lambda place: (None, {"x-total": "261"}) if place.is_head else ONE, ProbeMethod.HEAD),
        (FLAGGED, lambda place: {**ONE, "total": 261}, ProbeMethod.SMALLEST_PAGE),
    ],
)
async def test_the_total_is_refreshed_by_the_method_of_the_probe(
    pagination: Pagination, reply: Callable[[PageAddress], Any], rung: ProbeMethod
) -> None:
    send, _ = serving(reply)
    memory = ProbeMemory()
    looked: ProbeResult = await probe(tool(pagination), send, memory=memory)
    assert (looked.method, looked.total) == (rung, 261)
    assert await refresh_total(tool(pagination), send, memory=memory) == 261


async def test_no_total_is_refreshed_without_a_method_for_it() -> None:
    send, asked = serving(lambda _: ONE)
    assert await refresh_total(tool(OFFSET), send) is None
    assert await refresh_total(tool(Pagination()), send) is None
    assert len(asked) == 1
