"""Trials of the names that a response uses for its own page."""

from collections.abc import Callable
from typing import Any

import pytest

from adapters.base import CallResult, PageAddress, Pagination, PaginationStyle, ToolSpec
from adapters.errors import HttpStatusError
from adapters.pagination.probe.probe import ProbeResult, probe
from adapters.pagination.probe.undeclared import echoed_names

ROWS = [{"id": 1000 + 3 * n, "name": f"row {n}"} for n in range(107)]
Reply = Callable[[dict[str, Any]], Any]


async def tried(
    reply: Reply, *, locator: str = "GET /rows", **arguments: Any
) -> tuple[ProbeResult, list[dict[str, Any]]]:
    parameters = {"type": "object", "properties": arguments}
    spec = ToolSpec(name="rows", description="", parameters=parameters, source="desk", locator=locator)
    asked: list[dict[str, Any]] = []

    async def send(page: PageAddress | None) -> CallResult:
        sent = dict(page.arguments) if page else {}
        asked.append(sent)
        answer = reply(sent)
        if isinstance(answer, Exception):
            raise answer
        return CallResult(payload=answer, location="GET https://desk.example/rows", status=200)

    return await probe(spec, send, given={}), asked


def paged(sent: dict[str, Any]) -> Any:
    number, length = int(sent.get("page", 1)), min(int(sent.get("per_page", 25)), 50)
    begin = (number - 1) * length
    meta = {"current_page": number, "next_page": number + 1, "per_page": length, "total_count": len(ROWS)}
    return {"data": ROWS[begin : begin + length], "meta": meta}


def shifted(sent: dict[str, Any]) -> Any:
    begin, length = int(sent.get("offset", 0)), int(sent.get("limit", 25))
    return {"rows": ROWS[begin : begin + length], "offset": begin, "limit": length, "has_more": True}


async def test_an_undeclared_page_that_the_response_names_is_requested() -> None:
    found, asked = await tried(paged)
    assert found.pagination == Pagination(convention=PaginationStyle.PAGE, position="page", size="per_page", first=1)
    assert found.total == len(ROWS)
    assert len(asked) == found.requests <= 6


async def test_an_undeclared_offset_that_the_response_names_is_requested() -> None:
    found, _ = await tried(shifted)
    assert found.pagination == Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit")


async def test_a_service_that_ignores_or_refuses_what_it_does_not_know_stays_as_it_is() -> None:
    def deaf(_sent: dict[str, Any]) -> Any:
        return paged({})

    def strict(sent: dict[str, Any]) -> Any:
        refused = HttpStatusError("the server answered 400", source="desk", location="GET /rows", status=400)
        return refused if sent else paged({})

    for reply in (deaf, strict):
        found, asked = await tried(reply)
        assert found.pagination.convention is PaginationStyle.SINGLE
        assert len(asked) <= 5


@pytest.mark.parametrize("locator", ["POST /rows", "rows"])
async def test_undeclared_names_are_tried_with_get_only(locator: str) -> None:
    _, asked = await tried(paged, locator=locator)
    assert asked == [{}]


async def test_a_list_that_does_not_report_more_is_not_tried() -> None:
    def silent(_sent: dict[str, Any]) -> Any:
        return {"data": ROWS[:25], "meta": {"page": 1, "per_page": 25}}

    _, asked = await tried(silent)
    assert asked == [{}]


@pytest.mark.parametrize(
    ("beside", "names"),
    [
        ({"page": 1, "pageSize": 25}, ("pageSize", "page")),
        ({"currentPage": 1, "perPage": 25}, ("perPage", "page")),
        ({"meta": {"next_page": 2}}, ("page",)),
        ({"offset": 0, "limit": 25}, ("limit", "offset")),
        ({"page": 7, "per_page": 100}, ()),
        ({"size": 300, "start": "now"}, ()),
    ],
)
def test_names_are_taken_from_what_is_true_of_the_page(beside: dict[str, Any], names: tuple[str, ...]) -> None:
    result = CallResult(payload={"rows": ROWS[:25], **beside}, location="GET /rows", status=200)
    assert echoed_names(result, 25) == names
