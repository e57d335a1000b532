"""Paging under the names of other houses and languages: found by the words of a name, and by what stands beside it."""

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
        ("displayStart", "displayLength"),
        ("window_start", "window_size"),
        ("beginIndex", "numItems"),
        ("offsetRows", "fetchRows"),
        ("startRecord", "recordsToReturn"),
        ("vonZeile", "anzahlZeilen"),
        ("ersterDatensatz", "anzahlDatensaetze"),
        ("versatz", "grenze"),
        ("startIndex", "maxTreffer"),
        ("inicio", "limite"),
        ("primerRegistro", "cantRegistros"),
        ("debut", "nombre"),
        ("premierResultat", "nbResultats"),
        ("prvniZaznam", "pocetZaznamu"),
        ("od", "limit"),
    ],
)
def test_offsets_are_found_under_the_words_of_other_houses_and_languages(position: str, size: str) -> None:
    found = detect({position: WHOLE, size: WHOLE}, response=LISTED)
    assert roles(found) == (PaginationStyle.OFFSET, position, size)


@pytest.mark.parametrize(
    ("position", "size"),
    [
        ("current", "rowCount"),
        ("curPage", "pageRows"),
        ("whichPage", "itemsOnPage"),
        ("sheet", "rows_per_sheet"),
        ("pageNo", "numOfRows"),
        ("seitennummer", "seitengroesse"),
        ("Seitennummer", "Seitengr\u00f6\u00dfe"),
        ("seitenNr", "eintraegeProSeite"),
        ("p\u00e1gina", "tama\u00f1o"),
        ("nroPagina", "registrosPorPagina"),
        ("num\u00e9roPage", "taillePage"),
        ("cisloStranky", "pocetZaznamu"),
        ("paginanummer", "paginagrootte"),
        ("page", "nombre"),
    ],
)
def test_page_numbers_are_found_under_the_words_of_other_houses_and_languages(position: str, size: str) -> None:
    found = detect({position: WHOLE, size: WHOLE}, response=LISTED)
    assert roles(found) == (PaginationStyle.PAGE, position, size)


@pytest.mark.parametrize(
    ("name", "handed_out"),
    [
        ("curseur", "curseurSuivant"),
        ("jeton", "jetonSuivant"),
        ("marca", "siguienteMarca"),
        ("kurzor", "dalsiKurzor"),
        ("sync_cursor", "next_sync_cursor"),
        ("lastKey", "lastKey"),
    ],
)
def test_a_cursor_is_what_the_answer_hands_out_as_the_next_in_any_language(name: str, handed_out: str) -> None:
    response = ResponseSchema(members={"items": "array", handed_out: "string"}, item_members=frozenset({"id"}))
    found = detect({name: TEXT, "limit": WHOLE}, response=response)
    assert roles(found) == (PaginationStyle.CURSOR, name, "limit")


@pytest.mark.parametrize("name", ["newer_than_id", "older_than_id", "last_doc_id", "seekKey"])
def test_a_direction_and_a_key_begin_a_page_where_the_answer_says_that_more_follow(name: str) -> None:
    response = ResponseSchema(members={"items": "array", "has_more": "boolean"}, item_members=frozenset({"id"}))
    found = detect({name: TEXT, "limit": WHOLE}, response=response)
    assert roles(found) == (PaginationStyle.KEYSET, name, "limit")


def test_the_key_of_another_record_begins_no_page() -> None:
    response = ResponseSchema(members={"items": "array", "has_more": "boolean"}, item_members=frozenset({"id"}))
    for name in ("last_editor_id", "before_snapshot_id", "since_version_id"):
        assert detect({name: TEXT, "limit": WHOLE}, response=response).position is None


def test_a_record_id_before_which_records_are_listed_begins_a_page() -> None:
    before: JsonObject = TEXT | {"description": "Message id before which messages should be fetched"}
    after: JsonObject = TEXT | {"description": "Message id after which messages should be fetched"}
    found = detect({"limit": WHOLE, "before": before, "after": after}, response=LISTED)
    assert roles(found) == (PaginationStyle.KEYSET, "before", "limit")


@pytest.mark.parametrize(
    "parameters",
    [
        {"current": FLAG, "size": TEXT},
        {"von": WHOLE, "bis": WHOLE},
        {"od": TEXT | {"format": "date"}, "do": TEXT | {"format": "date"}},
        {"nombre": TEXT, "limite": TEXT},
        {"anzahl": WHOLE | {"description": "Number of persons"}},
        {"port_start": WHOLE, "port_count": WHOLE},
        {"window_start": TEXT, "window_size": TEXT},
    ],
)
def test_the_same_words_of_something_else_are_no_paging(parameters: dict[str, JsonObject]) -> None:
    assert detect(parameters, response=LISTED) == Pagination()


def test_one_resource_with_what_is_included_beside_it_has_no_next_page() -> None:
    response = ResponseSchema(
        members={"data": "object", "data.id": "string", "included": "array", "links": "object", "links.next": "string"}
    )
    assert detect({"id": TEXT}, response=response, in_path={"id"}, is_item=True) == Pagination()
