"""What an answer says of itself in passing: that it is the first of several pages, that it was cut, what comes next."""

from typing import Any

import pytest

from adapters.base import CallResult, PageAddress, Pagination, PaginationStyle
from adapters.pagination import Certainty, PageReading, address, corrected, offset_address, read_page

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
        assert "says of itself" in read({"rows": ROWS, **note}, pagination).flaw
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
def test_what_a_record_says_is_no_note(cell: dict[str, Any]) -> None:
    assert not read({"rows": [cell]}).flaw
    assert not read([cell]).flaw


def test_the_arguments_of_the_next_page_are_added_to_those_of_the_request() -> None:
    reading = read({"continue": {"rowcontinue": "50|x", "continue": "-||"}, "query": {"rows": ROWS}})
    assert reading.next is not None
    assert reading.next.url == "https://desk.example/v1/rows?area=7&rowcontinue=50%7Cx&continue=-%7C%7C"
    assert corrected(SINGLE, reading).pagination.convention is PaginationStyle.NEXT_URL


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


@pytest.mark.parametrize("name", ["ids", "order", "result", "sortedKeys"])
@pytest.mark.parametrize("length", [1, 3])
def test_records_whose_keys_a_list_beside_them_names_are_the_records(name: str, length: int) -> None:
    keyed = {f"k{n}": {"title": "t", "size": n} for n in range(length)}
    reading = read({"zorb": keyed, name: list(keyed), "total": 90}, OFFSET)
    assert (reading.records_path, reading.total) == ("zorb", 90)
    assert reading.records == [{"_key": key, **value} for key, value in keyed.items()]


def test_a_list_of_some_other_keys_is_a_list() -> None:
    reading = read({"zorb": {"a": {"x": 1}}, "values": ["a", "b"]}, OFFSET)
    assert reading.records == ["a", "b"]


@pytest.mark.parametrize("beside", [{"kont": ""}, {"wszystkich": 0}, {"toplam": 0, "kont": None}])
def test_an_empty_list_beside_nothing_is_an_empty_list(beside: dict[str, Any]) -> None:
    assert read({"uzly": [], **beside}).records == []


def test_a_range_counts_in_the_unit_that_is_said() -> None:
    ranged = Pagination(convention=PaginationStyle.RANGE, unit="records")
    assert address(ranged, page_index=2, size=20).headers["Range"] == "records=40-59"
    assert (
        offset_address(Pagination(convention=PaginationStyle.RANGE), offset=0, size=5).headers["Range"] == "items=0-4"
    )


COLUMNS = {"ids": ["a1", "b2"], "texts": ["x", "y"], "metadatas": [{"n": 7}, {"n": 8}], "embeddings": None}


@pytest.mark.parametrize("beside", [{}, {"include": ["texts", "metadatas"]}, {"total": 9, "next_cursor": "k"}])
@pytest.mark.parametrize("path", [None, "texts", ""])
def test_columns_beside_a_column_of_ids_are_records(beside: dict[str, Any], path: str | None) -> None:
    result = CallResult(payload={**COLUMNS, **beside}, location=WHERE, status=200)
    assert read_page(result, OFFSET, records_path=path).records == [
        {"ids": "a1", "texts": "x", "metadatas": {"n": 7}},
        {"ids": "b2", "texts": "y", "metadatas": {"n": 8}},
    ]


@pytest.mark.parametrize(
    ("payload", "records"),
    [
        ({"ids": [1, 2], "items": [{"id": 1}, {"id": 2}]}, [{"id": 1}, {"id": 2}]),
        ({"ids": [1, 1], "items": ["x", "y"]}, ["x", "y"]),
        ({"ids": [1, 2, 3], "items": ["x", "y"]}, ["x", "y"]),
        ({"ids": [1, 2], "tags": ["x", "y"], "name": "one"}, [{"ids": [1, 2], "tags": ["x", "y"], "name": "one"}]),
    ],
)
def test_other_lists_beside_ids_are_no_columns(payload: Any, records: Any) -> None:
    assert read(payload).records == records


def test_ids_and_the_records_under_them_may_stand_in_different_places() -> None:
    users = {"1": {"name": "a"}, "2": {"name": "b"}}
    reading = read({"result": [2, 1], "entities": {"users": users}, "pagination": {"page": 1, "pageCount": 4}})
    assert reading.records_path == "entities.users"
    assert [record["name"] for record in reading.records if isinstance(record, dict)] == ["a", "b"]


@pytest.mark.parametrize("at", [0, -1])
@pytest.mark.parametrize("path", [None, ""])
def test_a_line_with_the_marker_among_lines_of_records_is_no_record(at: int, path: str | None) -> None:
    lines: list[Any] = [{"id": 1}, {"id": 2}]
    lines.insert(at % 3, {"_meta": {"next_cursor": "k", "count": 2}})
    reading = read_page(CallResult(payload=lines, location=WHERE, status=200), CURSOR, records_path=path)
    assert reading.records == [{"id": 1}, {"id": 2}]
    assert reading.next is not None
    assert reading.next.arguments == {"cursor": "k"}


@pytest.mark.parametrize("last", [{"id": 3, "total": 7}, {"total": "many", "name": "x"}, {"status": "ok"}, {"size": 4}])
def test_a_line_with_facts_is_a_record(last: dict[str, Any]) -> None:
    lines: list[Any] = [{"id": 1}, {"id": 2}, last]
    assert read(lines).records == lines


@pytest.mark.parametrize("path", [None, "", "feed.entry"])
def test_a_list_that_is_left_out_of_its_object_is_empty(path: str | None) -> None:
    result = CallResult(payload={"feed": {"@total": 20}}, location=WHERE, status=200)
    assert read_page(result, OFFSET, records_path=path).records == []


def test_a_list_inside_of_what_repeats_the_request_gives_way_to_an_empty_one() -> None:
    assert read({"queries": {"request": [{"startIndex": 1, "totalResults": "0"}]}, "items": []}, OFFSET).records == []


@pytest.mark.parametrize(("page", "is_flaw"), [(1, False), (2, True)])
def test_a_page_amid_others_of_no_bytes_is_no_empty_page(page: int, is_flaw: bool) -> None:
    """A first one may be how a service says that there is nothing."""
    paging = Pagination(convention=PaginationStyle.PAGE, position="page", first=1)
    result = CallResult(payload=None, location=WHERE, status=200, headers={"content-type": "application/json"})
    assert bool(read_page(result, paging, asked=PageAddress({"page": page})).flaw) is is_flaw


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
    assert not read_page(CallResult(location=WHERE, **said), paging, asked=PageAddress({"page": 2})).flaw
