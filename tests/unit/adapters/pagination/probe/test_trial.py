"""Trials of arguments that no name explains."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from adapters.base import CallResult, Effect, PageAddress, Pagination, PaginationStyle, ToolSpec
from adapters.errors import HttpStatusError
from adapters.pagination import Certainty
from adapters.pagination.probe.probe import ProbeMemory, ProbeResult, probe
from adapters.pagination.probe.trial import MAX_TRIALS

ROWS = [{"id": 1000 + 3 * n, "name": f"row {n}"} for n in range(107)]
WHOLE, TEXT = {"type": "integer"}, {"type": "string"}
Reply = Callable[[dict[str, Any]], Any]


def tool(**arguments: Any) -> ToolSpec:
    parameters = {"type": "object", "properties": arguments}
    return ToolSpec(name="rows", description="", parameters=parameters, source="desk", locator="GET /rows")


async def tried(spec: ToolSpec, reply: Reply, **given: Any) -> tuple[ProbeResult, list[dict[str, Any]]]:
    asked: list[dict[str, Any]] = []

    async def send(page: PageAddress | None) -> CallResult:
        sent = {**given, **(page.arguments if page else {})}
        asked.append(sent)
        answer = reply(sent)
        if isinstance(answer, Exception):
            raise answer
        return CallResult(payload=answer, location="GET https://desk.example/rows", status=200)

    return await probe(spec, send, given=given), asked


def by_offset(at: str, size: str, *, base: int = 0) -> Reply:
    def reply(sent: dict[str, Any]) -> Any:
        begin = int(sent.get(at, base)) - base
        return ROWS[begin : begin + min(int(sent.get(size, 20)), 50)]

    return reply


def by_page(number: str, size: str, *, base: int = 1, is_told: bool = False) -> Reply:
    def reply(sent: dict[str, Any]) -> Any:
        length = min(int(sent.get(size, 20)), 50)
        begin = (int(sent.get(number, base)) - base) * length
        return {"zaznamy": ROWS[begin : begin + length]} | ({"total": len(ROWS)} if is_told else {})

    return reply


@pytest.mark.parametrize("base", [0, 1])
async def test_an_offset_and_a_page_size_are_found(base: int) -> None:
    found, _ = await tried(tool(fra=WHOLE, antall=WHOLE), by_offset("fra", "antall", base=base))
    assert found.pagination == Pagination(convention=PaginationStyle.OFFSET, position="fra", size="antall", first=base)
    assert found.total is None


@pytest.mark.parametrize("base", [0, 1])
async def test_a_page_number_and_a_page_size_are_found(base: int) -> None:
    found, asked = await tried(tool(strana=WHOLE, kolik=WHOLE), by_page("strana", "kolik", base=base))
    assert found.pagination == Pagination(convention=PaginationStyle.PAGE, position="strana", size="kolik", first=base)
    assert len(asked) == found.requests <= 6


async def test_the_end_of_a_range_is_no_page_size() -> None:
    def reply(sent: dict[str, Any]) -> Any:
        begin = sent.get("von", 0)
        return ROWS[begin : sent.get("bis", begin + 20)]

    found, _ = await tried(tool(von=WHOLE, bis=WHOLE), reply)
    assert found.pagination == Pagination(convention=PaginationStyle.OFFSET, position="von")


async def test_numbers_declared_as_text_are_tried_as_text() -> None:
    found, asked = await tried(tool(strana=TEXT, kolik=TEXT), by_page("strana", "kolik", is_told=True))
    assert found.pagination.position == "strana"
    assert asked[1] == {"strana": "2"}


async def test_a_value_returned_under_the_name_of_an_argument_is_a_cursor() -> None:
    def reply(sent: dict[str, Any]) -> Any:
        begin = int(sent.get("kontynuacja", "k0")[1:])
        return {"wyniki": ROWS[begin : begin + 20], "kontynuacja": f"k{begin + 20}"}

    found, asked = await tried(tool(kontynuacja=TEXT, kryterium=TEXT), reply)
    assert found.pagination.convention is PaginationStyle.CURSOR
    assert found.first is not None
    assert found.first.reading.next == PageAddress({"kontynuacja": "k20"})
    assert len(asked) == 2


async def test_an_argument_called_after_the_key_of_records_takes_the_last_one() -> None:
    def reply(sent: dict[str, Any]) -> Any:
        return [row for row in ROWS if row["id"] > sent.get("posledni_id", 0)][:20]

    found, _ = await tried(tool(posledni_id=WHOLE), reply)
    assert (found.pagination.convention, found.pagination.key) == (PaginationStyle.KEYSET, "id")


@pytest.mark.parametrize("name", ["after", "before", "since", "last", "marker"])
async def test_an_argument_named_only_for_a_direction_takes_the_key_of_the_last_record(name: str) -> None:
    rows = ROWS[::-1] if name == "before" else ROWS
    ids = [row["id"] for row in rows]

    def reply(sent: dict[str, Any]) -> Any:
        begin = ids.index(int(sent[name])) + 1 if name in sent else 0
        return rows[begin : begin + 20]

    found, _ = await tried(tool(**{name: TEXT}), reply)
    assert (found.pagination.convention, found.pagination.position) == (PaginationStyle.KEYSET, name)
    assert found.first is not None
    assert found.first.reading.next == PageAddress({name: ids[19]})


async def test_an_argument_named_only_for_a_direction_that_filters_is_no_position() -> None:
    found, asked = await tried(tool(before=TEXT), lambda sent: ROWS[40:60] if sent else ROWS[:20])
    assert (found.pagination, found.total, len(asked)) == (Pagination(), 20, 2)


async def test_a_filter_by_a_key_of_another_kind_is_not_taken_for_the_last_record_read() -> None:
    """The records of one owner are different ones, and are behind the first page too."""
    found, asked = await tried(tool(owner_id=WHOLE), lambda sent: ROWS[60:80] if sent else ROWS[:20])
    assert (found.pagination, found.total, len(asked)) == (Pagination(), 20, 2)


async def test_a_fact_of_the_request_is_no_cursor() -> None:
    def reply(sent: dict[str, Any]) -> Any:
        vydani = sent.get("vydani", "druhe")
        return {"vydani": vydani, "wyniki": ROWS[40:60] if sent else ROWS[:20]}

    found, _ = await tried(tool(vydani=TEXT), reply)
    assert (found.pagination, found.total) == (Pagination(), 20)


@pytest.mark.parametrize("answer", [[], ROWS[3:4], [{"id": 1, "name": "of another kind"}]])
async def test_a_filter_is_not_taken_for_paging(answer: Any) -> None:
    found, asked = await tried(tool(velikost=WHOLE), lambda sent: answer if sent else ROWS[:20])
    assert found.pagination == Pagination()
    assert (found.total, len(found.first.reading.records)) == (20, 20) if found.first else False
    assert len(asked) <= 3


async def test_an_argument_that_the_server_refuses_costs_one_request_and_nothing_else() -> None:
    refusal = HttpStatusError("no", source="desk", location="GET /rows", status=422)
    found, asked = await tried(tool(velikost=WHOLE), lambda sent: refusal if sent else ROWS[:20])
    assert (found.pagination, found.total, len(asked)) == (Pagination(), 20, 2)


@pytest.mark.parametrize(
    ("spec", "answer"),
    [
        (tool(fra=WHOLE), ROWS[:17]),
        (tool(fra=WHOLE), {"poster": ROWS[:20], "total": 20}),
        (tool(fra=WHOLE), {"poster": ROWS[:20], "has_more": False}),
        (tool(fra={"type": "integer", "enum": [1, 2]}), ROWS[:20]),
        (tool(year=WHOLE, owner=TEXT), ROWS[:20]),
        (tool(fra={"type": "integer", "minimum": 5}), ROWS[:20]),
        (replace(tool(fra=WHOLE), effect=Effect.WRITE), ROWS[:20]),
        (replace(tool(fra=WHOLE), pagination=Pagination(is_declared=True)), ROWS[:20]),
    ],
)
async def test_no_trial_runs_without_need_or_permission(spec: ToolSpec, answer: Any) -> None:
    _, asked = await tried(spec, lambda _: answer)
    assert asked == [{}]


async def test_a_trial_never_changes_the_callers_arguments() -> None:
    _, asked = await tried(tool(fra=WHOLE, antall=WHOLE), by_offset("fra", "antall"), antall=10)
    assert len(asked) > 1
    assert {sent["antall"] for sent in asked} == {10}


async def test_trials_of_a_tool_stop_after_a_few_failures() -> None:
    asked: list[PageAddress | None] = []
    memory = ProbeMemory()

    async def send(page: PageAddress | None) -> CallResult:
        asked.append(page)
        return CallResult(payload=ROWS[:20], location="GET https://desk.example/rows", status=200)

    for _ in range(MAX_TRIALS + 4):
        await probe(tool(fra=WHOLE), send, memory=memory)
    assert len(asked) == 2 * MAX_TRIALS + 4


@pytest.mark.parametrize("first", [3, 20])
async def test_a_short_list_does_not_prevent_the_trial_of_a_truncated_one(first: int) -> None:
    memory, spec = ProbeMemory(), tool(fra=WHOLE, antall=WHOLE)

    async def send_first(page: PageAddress | None) -> CallResult:
        rows = [] if page and page.arguments.get("fra") else ROWS[:first]
        return CallResult(payload=rows, location="GET https://desk.example/rows", status=200)

    async def send(page: PageAddress | None) -> CallResult:
        rows = by_offset("fra", "antall")(dict(page.arguments) if page else {})
        return CallResult(payload=rows, location="GET https://desk.example/rows", status=200)

    assert (await probe(spec, send_first, memory=memory)).pagination.convention is PaginationStyle.SINGLE
    assert (await probe(spec, send, memory=memory)).pagination.convention is PaginationStyle.OFFSET


@pytest.mark.parametrize("total", [21, 35, 40])
async def test_two_pages_counted_from_0_are_found_where_the_answer_says_its_own_number(total: int) -> None:
    def reply(sent: dict[str, Any]) -> Any:
        number = int(sent.get("blad", 0))
        return {"blad": number, "poster": ROWS[:total][number * 20 : number * 20 + 20]}

    found, _ = await tried(tool(blad=WHOLE), reply)
    assert (found.pagination.convention, found.pagination.first) == (PaginationStyle.PAGE, 0)


async def test_an_answer_that_is_described_like_one_record_is_tried_where_it_says_its_own_number() -> None:
    spec = replace(tool(blad=WHOLE), returns_many=False)

    def reply(sent: dict[str, Any], *, is_placed: bool = True) -> Any:
        number = int(sent.get("blad", 1))
        rows = ROWS[number * 20 - 20 : number * 20]
        return {"blad": number, "av": 6, "poster": rows} if is_placed else {"av": 6, "poster": rows}

    found, _ = await tried(spec, reply)
    assert (found.pagination.convention, found.pagination.position) == (PaginationStyle.PAGE, "blad")
    _, asked = await tried(spec, lambda sent: reply(sent, is_placed=False))
    assert asked == [{}]


@pytest.mark.parametrize("total", [21, 35, 40])
async def test_a_flag_of_two_values_is_not_taken_for_a_page_number(total: int) -> None:
    """A list that differs by the argument (0: the usual one, 1: the other, 2: none) is not a page of the same list."""
    parts = [ROWS[:20], ROWS[20:total]]
    found, _ = await tried(tool(arkiv=WHOLE), lambda sent: [*parts, []][sent.get("arkiv", 0)])
    assert found.pagination == Pagination()


async def test_a_list_as_long_as_an_argument_that_the_answer_repeats_may_have_been_cut_by_it() -> None:
    spec = replace(tool(okno={"type": "object", "properties": {"ile": WHOLE}}), effect=Effect.WRITE)
    found, asked = await tried(spec, lambda _: {"poster": ROWS[:20], "okno": {"ile": 20}})
    assert (found.total, found.certainty, len(asked)) == (20, Certainty.AT_LEAST, 1)


@pytest.mark.parametrize("beside", [{"okno": {"ile": 50}}, {"okno": {"ile": 20}, "total": 20}, {"okno": {}}])
async def test_a_list_shorter_than_that_or_of_a_known_total_is_whole(beside: dict[str, Any]) -> None:
    spec = replace(tool(okno={"type": "object", "properties": {"ile": WHOLE}}), effect=Effect.WRITE)
    found, _ = await tried(spec, lambda _: {"poster": ROWS[:20]} | beside)
    assert (found.total, found.certainty) == (20, Certainty.EXACT)


MOMENTS = [{"name": f"row {n}", "at": f"2026-05-{28 - n // 5:02}T{20 - n % 5:02}:00:00Z"} for n in range(87)]
WHEN = {"type": "string", "format": "date-time"}


def by_moment(name: str, *, is_inclusive: bool = False) -> Reply:
    def reply(sent: dict[str, Any]) -> Any:
        than = sent.get(name, "9999")
        return {"entries": [row for row in MOMENTS if row["at"] < than or (is_inclusive and row["at"] == than)][:20]}

    return reply


async def test_a_timestamp_by_which_records_descend_is_a_key() -> None:
    found, _ = await tried(tool(older_than=WHEN), by_moment("older_than"))
    assert (found.pagination.convention, found.pagination.position, found.pagination.key) == (
        PaginationStyle.KEYSET,
        "older_than",
        "at",
    )


@pytest.mark.parametrize("name", ["since", "day", "created_between"])
async def test_a_timestamp_of_the_other_direction_is_no_key(name: str) -> None:
    found, asked = await tried(tool(**{name: WHEN}), by_moment(name))
    assert found.pagination == Pagination()
    assert asked == [{}]


async def test_a_document_that_tells_of_one_record_is_not_believed_where_the_answer_tells_of_more() -> None:
    spec = replace(tool(ab=WHOLE, anzahl_x=WHOLE), returns_many=False)

    def reply(sent: dict[str, Any]) -> Any:
        begin = int(sent.get("ab", 0))
        return {"items": ROWS[begin : begin + min(int(sent.get("anzahl_x", 20)), 50)], "total": len(ROWS)}

    found, _ = await tried(spec, reply)
    assert (found.pagination.convention, found.pagination.position) == (PaginationStyle.OFFSET, "ab")
