"""From raw MCP results to payloads and errors."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from adapters.base import CallResult, Json, JsonObject, Pagination, PaginationStyle
from adapters.mcp.content.results import (
    error_in_result,
    is_deferred_task,
    is_error,
    needs_input,
    parse_result,
    result_texts,
)
from adapters.pagination import Certainty, read_page

ROWS: list[Json] = [{"id": 1, "name": "Baláž"}, {"id": 2, "name": None}]
MANY: list[Json] = [{"id": 1000 + n, "name": f"n, {n}", "price": n / 4} for n in range(7)]


def texts(*parts: str, **more: Json) -> JsonObject:
    return {"content": [{"type": "text", "text": part} for part in parts], **more}


def payload(*parts: str, **more: Any) -> Any:
    return parse_result({"content": [{"type": "text", "text": text} for text in parts], **more}).payload


def paged_payload(text: str) -> Any:
    return parse_result({"content": [{"type": "text", "text": text}]}, is_paged=True).payload


def as_text(value: Json) -> JsonObject:
    return texts(value if isinstance(value, str) else json.dumps(value))


def as_structured(value: Json) -> JsonObject:
    return texts("x", structuredContent=value if isinstance(value, dict) else {"result": value})


def test_truncated_data_is_warned_about() -> None:
    text = json.dumps(ROWS)[:-5]
    read = parse_result({"content": [{"type": "text", "text": text}]})
    assert read.payload == text
    assert [code for code, _ in read.warnings] == ["text_not_json"]


def test_metadata_in_text_beside_records_is_read() -> None:
    text = f"Showing 2 of 261\nTotal: 261\nNext cursor: abc\n\n{json.dumps(ROWS)}"
    assert payload(text) == {
        "message": "Showing 2 of 261\nTotal: 261\nNext cursor: abc",
        "total": 261,
        "next_cursor": "abc",
        "items": ROWS,
    }
    pagination = Pagination(convention=PaginationStyle.CURSOR, position="cursor")
    reading = read_page(CallResult(payload=payload(text), location="t"), pagination)
    assert (reading.records, reading.total, reading.certainty) == (ROWS, 261, Certainty.EXACT)
    assert reading.next is not None
    assert reading.next.arguments == {"cursor": "abc"}


@pytest.mark.parametrize("raw", [{"nextCursor": "abc"}, {"_meta": {"nextCursor": "abc"}}])
def test_a_cursor_beside_the_content_is_used(raw: dict[str, Any]) -> None:
    pagination = Pagination(convention=PaginationStyle.CURSOR, position="cursor")
    reading = read_page(CallResult(payload=payload(json.dumps(ROWS), **raw), location="t"), pagination)
    assert reading.records == ROWS
    assert reading.next is not None
    assert reading.next.arguments == {"cursor": "abc"}


def test_one_object_beside_a_cursor_is_a_page_of_one_record() -> None:
    assert payload('{"id": 1}', nextCursor="abc") == {"nextCursor": "abc", "items": [{"id": 1}]}
    assert payload('{"rows": [1], "n": 1}', nextCursor="abc") == {"nextCursor": "abc", "rows": [1], "n": 1}


def test_structured_content_takes_precedence_and_is_unwrapped() -> None:
    assert payload("something else", structuredContent={"result": [1]}) == [1]
    assert payload("something else", structuredContent={"result": "{'a': 1}"}) == {"a": 1}
    assert payload("something else", structuredContent={"result": 1, "n": 2}) == {"result": 1, "n": 2}
    assert payload("something else", structuredContent=[{"id": 1}]) == [{"id": 1}]
    assert payload(json.dumps(ROWS), structuredContent={}) == ROWS


def test_several_text_blocks_are_one_list_of_records() -> None:
    first, second = map(json.dumps, ROWS)
    assert payload(first, second) == ROWS
    assert payload(json.dumps(ROWS), json.dumps([{"id": 3}])) == [*ROWS, {"id": 3}]
    assert payload("Two customers:", first, second) == {"message": "Two customers:", "items": ROWS}
    assert payload("Two customers:", json.dumps(ROWS)) == {"message": "Two customers:", "items": ROWS}
    assert payload(json.dumps(ROWS), "Total: 2\nNext cursor: x") == {
        "message": "Total: 2\nNext cursor: x", "total": 2, "next_cursor": "x", "items": ROWS,
    }  # fmt: skip
    assert payload("one", "two") == "one\ntwo"
    assert payload() is None


def test_a_value_split_over_several_blocks_is_joined() -> None:
    text = json.dumps(ROWS, indent=1)
    for at in (len(text) // 3, len(text) // 2, text.index("\n", len(text) // 2)):
        assert payload(text[:at], text[at:]) == ROWS


def test_binary_content_is_described_and_links_are_kept() -> None:
    image = {"type": "image", "mimeType": "image/png", "data": "AAAA"}
    link = {"type": "resource_link", "uri": "demo://1", "name": "One", "mimeType": "text/plain"}
    blob = {"type": "resource", "resource": {"uri": "demo://2", "blob": "AAA=", "mimeType": "x/y"}}
    read = parse_result({"content": [{"type": "text", "text": "See these:"}, image, link, blob]})
    assert read.payload == {
        "message": "See these:",
        "items": [
            {"type": "image", "mimeType": "image/png", "n_bytes": 3},
            link,
            {"type": "resource", "uri": "demo://2", "mimeType": "x/y", "n_bytes": 2},
        ],
    }
    assert [code for code, _ in read.warnings] == ["content_not_text"]
    beside = parse_result({"content": [{"type": "text", "text": json.dumps(ROWS)}, link]}).payload
    assert beside == {"items": ROWS, "attachments": [link]}


def test_resource_contents_are_parsed_like_blocks() -> None:
    assert parse_result({"contents": [{"uri": "x://1", "text": json.dumps(ROWS)}]}).payload == ROWS
    assert parse_result({"contents": [{"uri": "x://1", "blob": "AAAA"}]}).payload == [{"uri": "x://1", "n_bytes": 3}]


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ({"items": ROWS, "nextCursor": "x"}, {"items": ROWS, "nextCursor": "x"}),
        ({"content": "[{'id': 1}]"}, [{"id": 1}]),
        ({"content": {"type": "text", "text": "[{'id': 1}]"}}, [{"id": 1}]),
        ({"content": [{"type": "json", "json": ROWS}]}, ROWS),
        ({"content": ROWS}, ROWS),
        ({"content": [{"type": "table", "rows": [[1, 2]]}]}, [{"type": "table", "rows": [[1, 2]]}]),
        ({"content": [{"type": "text", "text": {"id": 1}}]}, {"id": 1}),
        ({"content": ["[1]", None]}, None),
        ({"content": None, "structured_content": {"id": 1}}, {"id": 1}),
        ({"_meta": {"io.modelcontextprotocol/serverInfo": {}}, "resultType": "complete"}, None),
    ],
)
def test_results_that_violate_the_schema_are_parsed_as_far_as_possible(raw: dict[str, Any], value: Any) -> None:
    read = parse_result(raw).payload
    if value is None:
        assert read is None or isinstance(read, list)
    else:
        assert read == value


def test_errors_and_input_requests_are_recognized() -> None:
    assert is_error({"isError": True, "content": []})
    assert not is_error({"content": []})
    assert needs_input({"resultType": "input_required"})
    assert result_texts({"content": [{"type": "text", "text": "no such customer"}, {"type": "image"}]}) == [
        "no such customer"
    ]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(MANY) + "\n...",
        json.dumps(MANY) + "\n\n(200 more rows not shown)",
        "\n".join(json.dumps(row) for row in MANY) + "\n... 200 more",
        "Results limited to 7 rows.\n" + json.dumps(MANY),
        json.dumps(MANY) + "\nOutput too large; the full result is at file x://full",
        "id,name\n1,a\n2,b\n... (200 more rows)",
    ],
)
def test_text_about_more_results_sets_has_more(text: str) -> None:
    payload = parse_result(texts(text)).payload
    assert isinstance(payload, dict)
    assert payload["has_more"] is True


@pytest.mark.parametrize("words", ["Results limited to 50 rows.", "There are no more rows.", "Done in 12 ms."])
def test_text_about_no_more_results_does_not_set_has_more(words: str) -> None:
    payload = parse_result(texts(f"{words}\n{json.dumps(MANY)}")).payload
    assert isinstance(payload, dict)
    assert payload.keys() == {"message", "items"}


def test_a_total_is_read_from_a_sentence() -> None:
    for words in ("Here are the first 7 of 300 tickets:", "7 of 300 tickets shown", "Showing 1-7 of 300"):
        payload = parse_result(texts(f"{words}\n{json.dumps(MANY)}")).payload
        assert isinstance(payload, dict)
        assert payload["total"] == 300


@pytest.mark.parametrize(
    "structured", [{"count": 7}, {"status": "ok"}, {"rows": MANY[:2]}, {"rows": []}, MANY[0], json.dumps(MANY)]
)
def test_text_with_more_records_than_structured_content_is_used(structured: Json) -> None:
    payload = parse_result(texts(json.dumps(MANY), structuredContent=structured)).payload
    assert (payload["items"] if isinstance(payload, dict) else payload) == MANY


def test_structured_content_with_more_records_than_the_text_is_used() -> None:
    assert parse_result(texts(json.dumps(MANY[:2]), structuredContent={"rows": MANY})).payload == {"rows": MANY}


@pytest.mark.parametrize(
    "words", ["There are more results.", "next cursor: abc123", "7 of 300 shown", "Limited to 7 rows"]
)
def test_text_beside_structured_content_may_announce_more(words: str) -> None:
    payload = parse_result(texts(words, structuredContent={"rows": MANY})).payload
    assert isinstance(payload, dict)
    assert payload["rows"] == MANY
    assert payload.get("has_more") or payload.get("next_cursor") == "abc123" or payload.get("total") == 300


def test_text_that_repeats_structured_content_is_ignored() -> None:
    raw = texts("Temperature: 5\nWind: 3", structuredContent={"temperature": 5, "wind": 3})
    assert parse_result(raw).payload == {"temperature": 5, "wind": 3}


def test_prefixed_meta_members_are_read_except_reserved_ones() -> None:
    meta: JsonObject = {"example.com/nextCursor": "abc", "io.modelcontextprotocol/total": 1}
    payload = parse_result(texts(json.dumps(MANY), _meta=meta)).payload
    assert isinstance(payload, dict)
    assert payload["_meta"] == {"nextCursor": "abc"}


def test_a_blob_with_a_textual_mime_type_is_decoded() -> None:
    def blob(kind: str) -> JsonObject:
        coded = base64.b64encode(json.dumps(MANY).encode()).decode()
        return {"content": [{"type": "resource", "resource": {"uri": "x://1", "mimeType": kind, "blob": coded}}]}

    assert parse_result(blob("application/json")).payload == MANY
    assert "n_bytes" in str(parse_result(blob("image/png")).payload)


def test_meta_members_of_frameworks_are_ignored() -> None:
    note: JsonObject = {"framework": {"wrap_result": True}}
    assert parse_result(
        texts("No rows found.", structuredContent={"result": "No rows found."}, _meta=note)
    ).payload == ("No rows found.")
    paging: JsonObject = {"paging": {"nextCursor": "a"}}
    assert parse_result(texts("No rows found.", _meta=paging)).payload == {"_meta": paging, "items": []}


@pytest.mark.parametrize(
    "text", ["Showing 1-2 of 9\n\nID: 1\nName: a\n\nID: 2\nName: b", '[{"id": 1}, {"id"', "- a\n- b"]
)
def test_structured_content_that_repeats_the_text_is_ignored(text: str) -> None:
    expected = parse_result(texts(text))
    assert parse_result(texts(text, structuredContent={"result": text})) == expected
    assert parse_result({"content": [], "structuredContent": {"result": text}}) == expected


def test_pages_in_several_blocks_are_merged() -> None:
    parts = [json.dumps({"items": MANY[n : n + 3], "page": n // 3}) for n in range(0, len(MANY), 3)]
    assert parse_result(texts(*parts)).payload == {"items": MANY, "page": 2}
    customers = [json.dumps({"id": n, "orders": [{"id": 1}]}) for n in range(2)]
    assert [record["id"] for record in parse_result(texts(*customers)).payload] == [0, 1]  # type: ignore[index, union-attr]


def test_a_nested_mcp_result_is_unwrapped() -> None:
    assert parse_result(texts(json.dumps(texts(json.dumps(MANY))))).payload == MANY
    assert error_in_result(texts(json.dumps(texts("db locked", isError=True)))) == "db locked"


@pytest.mark.parametrize("given", [as_text, as_structured])
@pytest.mark.parametrize(
    "value",
    [
        {"success": False, "message": "db locked", "items": []},
        {"ok": False, "error": "db locked", "data": None},
        {"status": "error", "message": "db locked"},
        {"error": {"code": 500, "message": "db locked"}},
        {"errors": [{"message": "db locked"}], "data": None},
        {"jsonrpc": "2.0", "id": 5, "error": {"code": -1, "message": "db locked"}},
        "Error executing query: db locked",
        "Failed to fetch tickets: db locked",
        {"detail": "Permission denied: db locked"},
    ],
)
def test_an_error_returned_as_data_is_an_error(given: Callable[[Json], JsonObject], value: Json) -> None:
    assert "db locked" in error_in_result(given(value))


@pytest.mark.parametrize("given", [as_text, as_structured])
@pytest.mark.parametrize(
    "value",
    [
        {"id": 7, "name": "nightly", "status": "failed", "error": "disk full"},
        {"errors": [{"message": "in line 5"}]},
        {"items": [], "total": 0},
        {"message": "Hello"},
        {"status": "ok", "error": None, "items": []},
        {"success": True, "error": "", "items": []},
        {"error": 0.02, "n": 5},
        "Errors are made by everyone.",
    ],
)
def test_a_record_about_an_error_is_not_an_error(given: Callable[[Json], JsonObject], value: Json) -> None:
    assert error_in_result(given(value)) == ""


def test_an_error_beside_data_is_a_flaw_and_the_data_is_kept() -> None:
    read = parse_result(as_text({"errors": [{"message": "shard 3 failed"}], "data": {"tickets": MANY}}))
    assert read.flaw == "shard 3 failed"
    assert "tickets" in str(read.payload)


def test_an_html_error_page_is_an_error() -> None:
    assert error_in_result(as_text("<html><head><title>502 Bad Gateway</title></head></html>"))
    assert not error_in_result(as_text("<html><head><title>Room 502</title></head></html>"))


def test_a_deferred_task_is_recognized() -> None:
    assert is_deferred_task({"resultType": "task", "taskId": "t"})
    assert is_deferred_task({"task": {"taskId": "t", "status": "working"}})
    assert not is_deferred_task(texts("done", task={"id": 1}))


def test_a_page_of_prose_is_one_record_beside_its_cursor() -> None:
    text = "Row 1 is blue.\nNext cursor: c20"
    assert paged_payload(text) == {"items": [text], "next_cursor": "c20", "has_more": True}
    assert paged_payload("Row 41 is red.") == "Row 41 is red."


def test_list_items_in_separate_blocks_and_a_heading_beside_an_image() -> None:
    blocks = [{"type": "text", "text": text} for text in ("1. a", "2. b")]
    assert parse_result({"content": blocks}).payload == ["a", "b"]
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    headed = parse_result({"content": [{"type": "text", "text": "See this:"}, image]}).payload
    assert isinstance(headed, dict)
    assert headed["message"] == "See this:"


@pytest.mark.parametrize(
    "text",
    [
        "Batch 1/6\n1000\tn0\n1001\tn1",
        "Some words.\n\n<error>Content truncated. Ask with a start_index of 5000.</error>",
        "Some words\n... [truncated]",
        "Some words\n(1,234 more characters)",
        "Some words about it.\nNext cursor: abc1",
    ],
)
@pytest.mark.parametrize("is_echoed", [False, True])
def test_text_that_says_it_is_truncated_has_more(text: str, is_echoed: bool) -> None:
    echo = {"structuredContent": {"result": text}} if is_echoed else {}
    read = parse_result({"content": [{"type": "text", "text": text}], **echo}).payload
    assert isinstance(read, dict)
    assert read["has_more"] is True


@pytest.mark.parametrize(
    "text",
    [
        "Page 6 of 6\nthe end",
        "How to read a truncated file\nIs a long story.",
        "The output was not truncated.",
        "Some words.\nTo get more information, read on elsewhere.",
        "A report\nwhere page 1 of 6 is missing, and more of the like, in the middle\nends here.",
    ],
)
def test_text_that_mentions_truncation_elsewhere_is_complete(text: str) -> None:
    assert parse_result({"content": [{"type": "text", "text": text}]}).payload == text


def test_a_table_header_alone_is_an_empty_page_of_a_paginated_tool() -> None:
    assert paged_payload("id,name,price\r\n") in ([], {"items": []})
    assert parse_result({"content": [{"type": "text", "text": "id,name,price"}]}).payload == "id,name,price"
