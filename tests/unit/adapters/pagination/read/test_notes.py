"""Notes of a response about itself: first of several pages, truncated, next arguments."""

from typing import Any

import pytest

from adapters.base import CallResult, PageAddress, Pagination, PaginationStyle
from adapters.pagination import Certainty, PageReading, correct_pagination, offset_address, page_address, read_page

SINGLE = Pagination()
OFFSET = Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit")
CURSOR = Pagination(convention=PaginationStyle.CURSOR, position="cursor", size="limit")
ROWS = [{"id": n, "name": f"row {n}"} for n in range(25)]
WHERE = "GET https://desk.example/v1/rows?area=7&key=***"


def read(payload: Any, pagination: Pagination = SINGLE, *, where: str = WHERE) -> PageReading:
    return read_page(CallResult(payload=payload, location=where, status=200), pagination)


@pytest.mark.parametrize(
    "beside",
    [
        {"page": 1, "pages": 3},
        {"page": 0, "total_pages": 2},
        {"current_page": 1, "last_page": 3, "per_page": 25},
        {"perPage": 25, "pages": 3},
        {"pagina": -1, "paginas": 62},
        {"meta": {"pagination": {"page": "1", "pageCount": "4"}}},
    ],
)
def test_a_list_that_calls_itself_the_first_of_several_pages_says_that_more_follow(beside: dict[str, Any]) -> None:
    assert read({"rows": ROWS, **beside}).has_more is True


@pytest.mark.parametrize(
    "beside",
    [
        {"page": 1, "pages": 1},
        {"pages": 320, "title": "a book and its chapters"},
        {"total_pages": 320, "rating": 1},
        {"per_page": 50, "pages": 3},
        {"page": 1},
    ],
)
def test_a_number_of_pages_alone_may_be_a_fact(beside: dict[str, Any]) -> None:
    assert read({"rows": ROWS, **beside}).has_more is None


def test_the_total_of_what_fits_goes_before_that_of_what_there_is() -> None:
    reading = read({"draw": 1, "recordsTotal": 5_000, "recordsFiltered": 261, "data": ROWS}, OFFSET)
    assert (reading.total, reading.certainty) == (261, Certainty.EXACT)


@pytest.mark.parametrize(
    "note",
    [
        {"warning": "result truncated: scan limit reached"},
        {"warnings": ["The results are incomplete."]},
        {"messages": [{"code": 7, "text": "Only the first 25 records are shown."}]},
        {"note": "Not all items could be read"},
    ],
)
def test_a_last_page_that_calls_the_list_cut_has_a_flaw(note: dict[str, Any]) -> None:
    for pagination in (SINGLE, CURSOR):
        assert "note in the response" in read({"rows": ROWS, **note}, pagination).flaw
    assert not read({"rows": ROWS, "next_cursor": "abc", **note}, CURSOR).flaw, "the walk goes on"
    assert not read({"rows": ROWS, **note}, OFFSET).flaw, "the walk looks behind it"


@pytest.mark.parametrize(
    "note",
    ["The results are not truncated.", "Results are sorted by name", "If results are truncated, ask for less.", "ok"],
)
def test_other_notes_are_no_flaw(note: str) -> None:
    assert not read({"rows": ROWS, "message": note}).flaw


@pytest.mark.parametrize(
    "cell", [{"id": 1, "notes": "all records truncated"}, {"id": 2, "warning": "search limit hit"}]
)
def test_a_message_inside_a_record_is_no_note(cell: dict[str, Any]) -> None:
    assert not read({"rows": [cell]}).flaw
    assert not read([cell]).flaw


def test_the_arguments_of_the_next_page_are_added_to_those_of_the_request() -> None:
    reading = read({"continue": {"rowcontinue": "50|x", "continue": "-||"}, "query": {"rows": ROWS}})
    assert reading.next is not None
    assert reading.next.url == "https://desk.example/v1/rows?area=7&rowcontinue=50%7Cx&continue=-%7C%7C"
    assert correct_pagination(SINGLE, reading).pagination.convention is PaginationStyle.NEXT_URL


@pytest.mark.parametrize(
    ("following", "where"),
    [
        ({"id": 5, "title": "the next chapter"}, WHERE),
        ({"rowcontinue": {"deep": 1}}, WHERE),
        ({"rowcontinue": "50"}, WHERE.replace("GET", "POST")),
        ({"rowcontinue": "50"}, "tool rows"),
    ],
)
def test_an_object_under_such_a_name_is_no_address_unless_it_speaks_of_a_place(following: Any, where: str) -> None:
    reading = read({"rows": ROWS, "next": following}, where=where)
    assert reading.next is None


def test_a_range_counts_in_the_unit_that_is_said() -> None:
    ranged = Pagination(convention=PaginationStyle.RANGE, unit="records")
    assert page_address(ranged, page_index=2, size=20).headers["Range"] == "records=40-59"
    assert (
        offset_address(Pagination(convention=PaginationStyle.RANGE), offset=0, size=5).headers["Range"] == "items=0-4"
    )


@pytest.mark.parametrize(("page", "is_flaw"), [(1, False), (2, True)])
def test_a_page_amid_others_of_no_bytes_is_no_empty_page(page: int, is_flaw: bool) -> None:
    """An empty page 1 may be how a service says that there are no records."""
    paging = Pagination(convention=PaginationStyle.PAGE, position="page", first=1)
    result = CallResult(payload=None, location=WHERE, status=200, headers={"content-type": "application/json"})
    assert bool(read_page(result, paging, address=PageAddress({"page": page})).flaw) is is_flaw


@pytest.mark.parametrize(
    "changed",
    [
        {"status": 204},
        {"headers": {"content-type": "application/x-ndjson"}},
        {"headers": {}},
        {"n_bytes": 4},
        {"payload": []},
    ],
)
def test_an_empty_page_in_other_words_is_one(changed: dict[str, Any]) -> None:
    paging = Pagination(convention=PaginationStyle.PAGE, position="page", first=1)
    said: dict[str, Any] = {"payload": None, "status": 200, "headers": {"content-type": "application/json"}} | changed
    assert not read_page(CallResult(location=WHERE, **said), paging, address=PageAddress({"page": 2})).flaw
