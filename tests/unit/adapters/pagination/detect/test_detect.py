"""Every convention of public documents, by names, descriptions and response schemas."""

import pytest

from adapters.base import JsonObject, Pagination, PaginationStyle
from adapters.pagination import ResponseSchema, detect

WHOLE: JsonObject = {"type": "integer"}
TEXT: JsonObject = {"type": "string"}
FLAG: JsonObject = {"type": "boolean"}


def whole(words: str, **schema: object) -> JsonObject:
    return {"type": "integer", "description": words, **schema}


def text(words: str, **schema: object) -> JsonObject:
    return {"type": "string", "description": words, **schema}


def answer(*headers: str, items: str = "", is_list: bool = False, **members: str) -> ResponseSchema:
    named = {name.replace("__", "."): kind for name, kind in members.items()}
    return ResponseSchema(
        members=named, headers=frozenset(headers), is_list=is_list, item_members=frozenset(items.split())
    )


def roles(found: Pagination) -> tuple[PaginationStyle, str | None, str | None]:
    return found.convention, found.position, found.size


@pytest.mark.parametrize(
    ("position", "size"),
    [
        (("jump", "Number of tickets to skip"), ("chunk", "Number of tickets to return")),
        (("von", "Zero-based index of the first record"), ("anzahl", "How many records to return at most")),
        (("firstRow", ""), ("rowLimit", "")),
        (("recordsToSkip", ""), ("maxRecords", "")),
        (("ab", "How many entries to leave out"), ("menge", "The maximum number of entries per response.")),
        (("o", "Starting index of the page in the result set"), ("w", "Page length")),
        (("k", "Position in the result list from which to start"), ("m", "How many tickets one reply may hold")),
        (("ab_nr", "Skip this many tickets"), ("hoechstens", "Return no more than this many tickets")),
        (("leap", "Tickets to pass over before the first one returned"), ("bucket", "Tickets in one answer")),
    ],
)
def test_an_offset_is_found_by_description_or_words_of_its_name(
    position: tuple[str, str], size: tuple[str, str]
) -> None:
    parameters = {name: whole(words) if words else WHOLE for name, words in (position, size)}
    assert roles(detect({"customer_id": WHOLE, **parameters})) == (PaginationStyle.OFFSET, position[0], size[0])


@pytest.mark.parametrize(
    ("position", "size"),
    [
        (("seite", "Page number, starting from 1"), ("je_seite", "Number of records per page")),
        (("sheet", "Which page to return"), ("density", "How many items to show on a page")),
        (("pgNo", ""), ("pgSize", "Page size")),
        (("slab", "Which slice of the result list, counted from 1"), ("thickness", "Tickets per slice")),
        (("leaf", "The number of the page of results"), ("batch", "Size of the page")),
    ],
)
def test_a_page_number_is_found_by_description_or_words_of_its_name(
    position: tuple[str, str], size: tuple[str, str]
) -> None:
    parameters = {name: whole(words) if words else WHOLE for name, words in (position, size)}
    assert roles(detect(parameters)) == (PaginationStyle.PAGE, position[0], size[0])


@pytest.mark.parametrize(
    ("name", "schema", "response"),
    [
        ("resume", text("Opaque value from the previous response; the list goes on there"), None),
        ("anchor", text("The cursor returned by the last call"), None),
        ("wo_weiter", TEXT, answer(liste="array", next_wo_weiter="string")),
        ("nextBatchToken", TEXT, answer(rows="array", nextBatchToken="string")),
        ("exclusiveStartName", TEXT, answer(rows="array", lastEvaluatedName="string")),
        ("ExclusiveStartKey", {"type": "object"}, answer(Items="array", LastEvaluatedKey="object")),
        ("$skiptoken", TEXT, None),
        ("page[cursor]", TEXT, None),
        ("page[after]", text("Cursor of the page that follows"), None),
    ],
)
def test_a_cursor_is_found_by_description_or_by_the_response(
    name: str, schema: JsonObject, response: ResponseSchema | None
) -> None:
    found = detect({"query": TEXT, name: schema, "limit": WHOLE}, response=response)
    assert roles(found) == (PaginationStyle.CURSOR, name, "limit")


@pytest.mark.parametrize(
    "parameters",
    [
        {"q": TEXT, "NextToken": TEXT, "MaxResults": WHOLE},
        {"page": {"type": "object", "properties": {"limit": WHOLE, "cursor": TEXT}}},
        {"paging": {"type": "object", "properties": {"token": text("Token of the next page"), "size": WHOLE}}},
    ],
)
def test_members_of_a_body_object_can_page(parameters: dict[str, JsonObject]) -> None:
    found = detect(parameters)
    assert found.convention is PaginationStyle.CURSOR
    assert found.position in {"NextToken", "page/cursor", "paging/token"}
    assert found.size in {"MaxResults", "page/limit", "paging/size"}


@pytest.mark.parametrize(
    "inner", [{"limit": WHOLE, "cursor": TEXT}, {"offset": WHOLE}, {"page": WHOLE, "size": WHOLE}, {"cursor": TEXT}]
)
def test_members_of_other_objects_need_a_position_and_a_size(inner: dict[str, object]) -> None:
    assert detect({"filter": {"type": "object", "properties": inner}}) == Pagination()


def test_odata_pages_by_offset_and_counts_by_a_flag() -> None:
    found = detect({"$top": WHOLE, "$skip": WHOLE, "$count": FLAG, "$filter": TEXT})
    assert roles(found) == (PaginationStyle.OFFSET, "$skip", "$top")
    assert found.total_flags == (("$count", True),)
    assert found.hidden == ("$skip", "$top", "$count")


def test_older_odata_counts_inline() -> None:
    found = detect({"$top": WHOLE, "$skip": WHOLE, "$inlinecount": {"type": "string", "enum": ["allpages", "none"]}})
    assert found.total_flags == (("$inlinecount", "allpages"),)


def test_a_next_link_without_a_position_is_followed() -> None:
    odata = ResponseSchema(members={"value": "array", "@odata.nextLink": "string", "@odata.context": "string"})
    assert roles(detect({"$top": WHOLE}, response=odata))[0] is PaginationStyle.NEXT_URL
    hal = answer(_links__self="object", _links__next="object", items="", _embedded="object", results="array")
    assert detect({}, response=hal).convention is PaginationStyle.NEXT_URL
    assert detect(
        {}, response=answer(count="integer", next="string", previous="string", results="array")
    ).convention is (PaginationStyle.NEXT_URL)


def test_a_next_link_of_one_record_is_no_page() -> None:
    one = answer(_id="string", name="string", tags="array", _links__next="object")
    assert detect({}, response=one) == Pagination()


def test_a_cursor_that_the_answer_gives_as_an_address_only_is_read_from_the_address() -> None:
    shape = answer(calls="array", next_page_uri="string", page="integer", start="integer")
    found = detect({"Page": WHOLE, "PageToken": TEXT, "PageSize": WHOLE}, response=shape)
    assert (found.convention, found.size) == (PaginationStyle.NEXT_URL, "PageSize")
    assert set(found.hidden) == {"Page", "PageToken", "PageSize"}


@pytest.mark.parametrize(
    ("header", "convention"), [("link", PaginationStyle.LINK_HEADER), ("next-page", PaginationStyle.NEXT_URL)]
)
def test_headers_that_name_the_next_page_are_used(header: str, convention: PaginationStyle) -> None:
    found = detect({"limit": WHOLE}, response=answer(header, is_list=True))
    assert (found.convention, found.size) == (convention, "limit")


@pytest.mark.parametrize(
    ("name", "schema", "response"),
    [
        ("starting_after", TEXT, answer(data="array", has_more="boolean", items="id name")),
        ("after", text("Identifier for the last job from the previous request"), answer(data="array", items="id name")),
        ("since", whole("Only users with an ID greater than this ID"), answer(is_list=True, items="id login")),
        ("max_id", WHOLE, answer(is_list=True, items="id text")),
        ("last", text("The last item in previous query"), answer(items="id", is_list=True)),
    ],
)
def test_a_key_of_the_last_record_is_a_position(name: str, schema: JsonObject, response: ResponseSchema) -> None:
    found = detect({name: schema, "limit": WHOLE}, response=response)
    assert (*roles(found), found.key) == (PaginationStyle.KEYSET, name, "limit", "id")


def test_search_after_takes_the_sort_values_of_the_last_hit() -> None:
    found = detect({"search_after": {"type": "array"}, "size": WHOLE}, response=answer(hits__hits="array"))
    assert (*roles(found), found.key) == (PaginationStyle.KEYSET, "search_after", "size", "sort")


def test_an_offset_is_preferred_to_search_after_and_ends_at_its_window() -> None:
    start = whole("Starting document offset. You cannot page through more than 10,000 hits with it.")
    found = detect({"from": start, "size": WHOLE, "search_after": {"type": "array"}})
    assert (*roles(found), found.window) == (PaginationStyle.OFFSET, "from", "size", 10_000)


def test_a_scroll_id_beside_a_scroll_is_the_callers_own() -> None:
    found = detect({"scroll": TEXT, "scroll_id": TEXT}, response=answer(_scroll_id="string", hits__hits="array"))
    assert "scroll_id" not in found.hidden


def test_json_api_brackets_are_members_of_paging() -> None:
    assert roles(detect({"page[number]": WHOLE, "page[size]": WHOLE})) == (
        PaginationStyle.PAGE,
        "page[number]",
        "page[size]",
    )
    assert roles(detect({"filter[limit]": WHOLE, "other[offset]": WHOLE}))[0] is PaginationStyle.SINGLE


def test_scim_counts_from_one() -> None:
    shape = answer(Resources="array", totalResults="integer", itemsPerPage="integer", schemas="array")
    found = detect({"startIndex": WHOLE, "count": WHOLE}, response=shape)
    assert (*roles(found), found.first) == (PaginationStyle.OFFSET, "startIndex", "count", 1)


def test_range_headers_page_records_and_never_bytes() -> None:
    asked = {"Range": TEXT, "Range-Unit": TEXT, "Prefer": text("Preference")}
    found = detect(asked, response=answer("content-range", is_list=True))
    assert (found.convention, found.position) == (PaginationStyle.RANGE, None)
    assert found.total_flags == (("Prefer", "count=exact"),)
    assert set(found.hidden) == {"Range", "Range-Unit", "Prefer"}
    chunk = {"Range": text("HTTP Range header of the blob, bytes=<start>-<end>")}
    assert detect(chunk, response=answer("content-range")).convention is PaginationStyle.SINGLE


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("total_required", FLAG),
        ("include_totals", FLAG),
        ("with_count", FLAG),
        ("track_total_hits", FLAG),
        ("summen", {"type": "boolean", "description": "Whether to include the total count of matching records"}),
        ("mit_total", {"type": "boolean", "description": "Set to true to show total_pages and total_items"}),
    ],
)
def test_flags_for_totals_are_sent_with_pages(name: str, schema: JsonObject) -> None:
    found = detect({"page": WHOLE, "page_size": WHOLE, name: schema})
    assert found.total_flags == ((name, True),)
    assert name in found.hidden


@pytest.mark.parametrize(
    ("name", "schema", "value"),
    [
        ("resulttype", {"type": "string", "enum": ["hits", "results"]}, "hits"),
        ("count", {"type": "boolean", "description": "Set to true to return count instead of documents"}, True),
        ("meta_only", FLAG, True),
    ],
)
def test_metadata_flags_are_found_with_their_value(name: str, schema: JsonObject, value: object) -> None:
    found = detect({"skip": WHOLE, "limit": WHOLE, name: schema})
    assert (found.metadata, found.metadata_value, found.total_flags) == (name, value, ())


def test_flags_about_other_counts_stay_with_the_model() -> None:
    flags = {
        "include_comment_count": {"type": "boolean", "description": "Adds how many comments each ticket has"},
        "exclude_total_price": FLAG,
    }
    assert detect({"page": WHOLE, "page_size": WHOLE, **flags}).total_flags == ()


@pytest.mark.parametrize(
    "parameters",
    [
        {"limit": WHOLE, "continue": text("Used to get more results from the server")},
        {"page": WHOLE, "size": WHOLE},
        {"cursor": TEXT},
    ],
)
def test_an_answer_of_one_record_is_never_paged(parameters: dict[str, JsonObject]) -> None:
    event = answer(type="string", object="object")
    assert detect(parameters).convention is not PaginationStyle.SINGLE
    assert detect(parameters, response=event) == Pagination()


def test_an_acknowledgement_does_not_rule_out_pagination() -> None:
    assert detect({"cursor": TEXT}, response=answer(ok="boolean")).convention is PaginationStyle.CURSOR


@pytest.mark.parametrize(
    "parameters",
    [
        {"clientToken": text("A unique string that you provide to ensure idempotency"), "limit": WHOLE},
        {"token": text("Authentication token"), "limit": WHOLE},
        {"syncToken": text("Token of the last page of results from the previous list request"), "limit": WHOLE},
        {"changeToken": TEXT},
        {"from_id": WHOLE, "to_id": WHOLE, "limit": WHOLE},
        {"startDate": TEXT, "limit": WHOLE},
        {"first_name": TEXT, "last_name": TEXT, "limit": WHOLE},
        {"page_width": WHOLE, "page_height": WHOLE, "limit": WHOLE},
        {"homepage": TEXT, "limit": WHOLE},
        {"line_offset": WHOLE, "limit": WHOLE},
        {"start_position": whole("Position in seconds where playback begins"), "limit": WHOLE},
        {"after": text("Only tickets created after this date"), "limit": WHOLE},
        {"skip_validation": FLAG, "limit": WHOLE},
        {"page_size": WHOLE},
        {"from": whole("Zip code of the sender"), "size": whole("Size of the parcel")},
        {"skip": whole("Number of warm-up samples to skip"), "window": whole("Smoothing window size")},
        {"start": whole("Start of the interval, epoch ms"), "count": whole("Number of buckets to return")},
        {"page": whole("Page of the document to render"), "page_width": WHOLE},
        {"order": text("Sort order of the paginated list", enum=["asc", "desc"]), "limit": WHOLE},
    ],
)
def test_parameters_that_only_look_like_a_position_stay_visible(parameters: dict[str, JsonObject]) -> None:
    found = detect(parameters)
    assert roles(found)[:2] == (PaginationStyle.SINGLE, None)
    assert set(found.hidden) <= {"limit", "page_size"}


def test_enumerated_sizes_are_kept_in_order() -> None:
    found = detect({"page": WHOLE, "per": {"type": "integer", "enum": [50, 10, 25]}})
    assert (found.sizes, found.min_size, found.max_size) == ((10, 25, 50), 10, 50)


def test_a_size_declared_as_text_is_sent_as_digits() -> None:
    size = text("Maximum number of results to return")
    found = detect({"nexttoken": TEXT, "maxresults": size})
    assert (found.size, found.hidden, found.numeric_strings) == (
        "maxresults",
        ("nexttoken", "maxresults"),
        ("maxresults",),
    )


def test_a_cursor_that_must_be_given_is_the_callers_own() -> None:
    parameters = {"ShardIterator": TEXT, "Limit": WHOLE}
    shape = answer(Records="array", NextShardIterator="string")
    assert detect(parameters, response=shape).position == "ShardIterator"
    assert "ShardIterator" not in detect(parameters, response=shape, required=["ShardIterator"]).hidden
    assert detect({"page": WHOLE, "size": WHOLE}, required=["page"]).position == "page"
