"""Pagination under unusual English names: found by the words of a name and by the parameters next to it."""

import pytest

from adapters.base import JsonObject, Pagination, PaginationStyle
from adapters.pagination import ResponseSchema, detect

WHOLE: JsonObject = {"type": "integer"}
TEXT: JsonObject = {"type": "string"}
FLAG: JsonObject = {"type": "boolean"}
LISTED = ResponseSchema(members={"items": "array"}, item_members=frozenset({"id", "name"}))


def roles(found: Pagination) -> tuple[PaginationStyle, str | None, str | None]:
    return found.convention, found.position, found.size


@pytest.mark.parametrize(
    ("position", "size"),
    [
        ("beginIndex", "numItems"),
        ("offsetRows", "fetchRows"),
        ("startRecord", "recordsToReturn"),
    ],
)
def test_an_offset_is_found_by_the_words_of_its_name(position: str, size: str) -> None:
    found = detect({position: WHOLE, size: WHOLE}, response=LISTED)
    assert roles(found) == (PaginationStyle.OFFSET, position, size)


@pytest.mark.parametrize(
    ("position", "size"),
    [
        ("current", "rowCount"),
        ("curPage", "pageRows"),
        ("whichPage", "itemsOnPage"),
        ("pageNo", "numOfRows"),
    ],
)
def test_a_page_number_is_found_by_the_words_of_its_name(position: str, size: str) -> None:
    found = detect({position: WHOLE, size: WHOLE}, response=LISTED)
    assert roles(found) == (PaginationStyle.PAGE, position, size)


@pytest.mark.parametrize(
    ("name", "handed_out"),
    [
        ("sync_cursor", "next_sync_cursor"),
        ("lastKey", "lastKey"),
    ],
)
def test_a_cursor_is_what_the_response_returns_as_the_next_one(name: str, handed_out: str) -> None:
    response = ResponseSchema(members={"items": "array", handed_out: "string"}, item_members=frozenset({"id"}))
    found = detect({name: TEXT, "limit": WHOLE}, response=response)
    assert roles(found) == (PaginationStyle.CURSOR, name, "limit")


def test_the_key_of_another_record_is_no_position() -> None:
    response = ResponseSchema(members={"items": "array", "has_more": "boolean"}, item_members=frozenset({"id"}))
    for name in ("last_editor_id", "before_snapshot_id", "since_version_id"):
        assert detect({name: TEXT, "limit": WHOLE}, response=response).position is None


def test_a_record_id_before_which_records_are_listed_is_a_position() -> None:
    before: JsonObject = TEXT | {"description": "Message id before which messages should be fetched"}
    after: JsonObject = TEXT | {"description": "Message id after which messages should be fetched"}
    found = detect({"limit": WHOLE, "before": before, "after": after}, response=LISTED)
    assert roles(found) == (PaginationStyle.KEYSET, "before", "limit")


@pytest.mark.parametrize(
    "parameters",
    [
        {"current": FLAG, "size": TEXT},
        {"port_start": WHOLE, "port_count": WHOLE},
        {"window_start": TEXT, "window_size": TEXT},
    ],
)
def test_the_same_words_for_something_else_are_ignored(parameters: dict[str, JsonObject]) -> None:
    assert detect(parameters, response=LISTED) == Pagination()


def test_one_resource_with_what_is_included_beside_it_has_no_next_page() -> None:
    response = ResponseSchema(
        members={"data": "object", "data.id": "string", "included": "array", "links": "object", "links.next": "string"}
    )
    assert detect({"id": TEXT}, response=response, in_path={"id"}, is_item=True) == Pagination()
