"""Results of MCP tools as data: JSON and what is almost JSON, words around it, several parts, broken results."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import CallResult, Pagination, PaginationStyle
from adapters.mcp.content.lenient_json import LenientParseError, read_nearly
from adapters.mcp.content.results import asks_for_input, is_error, read_result, texts_of
from adapters.mcp.content.text_data import read_text
from adapters.pagination import Certainty, read_page

ROWS = [{"id": 1, "name": "Baláž"}, {"id": 2, "name": None}]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip
OBJECTS = st.lists(st.dictionaries(st.text(), VALUES, min_size=1, max_size=4), min_size=1, max_size=4)


def payload(*texts: str, **more: Any) -> Any:
    return read_result({"content": [{"type": "text", "text": text} for text in texts], **more}).payload


@given(OBJECTS)
def test_python_text_is_read_as_json_would_be(rows: Any) -> None:
    assert read_text(repr(rows)).value == read_text(json.dumps(rows)).value == payload(json.dumps(rows))


@given(OBJECTS)
def test_every_cut_of_data_stays_text(rows: Any) -> None:
    text = json.dumps(rows)
    for cut in {1, len(text) // 3, len(text) // 2, len(text) - 1}:
        assert isinstance(read_text(text[:cut]).value, str)
        assert isinstance(read_text(f"Found these:\n{text[:cut]}").value, str)


@given(OBJECTS)
def test_data_in_a_fence_and_behind_words_is_the_same_data(rows: Any) -> None:
    text = json.dumps(rows, indent=1)
    assert read_text(f"Here they are:\n```json\n{text}\n```\nThat is all.").value == read_text(text).value
    assert read_text(f"Found these tickets:\n{text}").value == read_text(text).value


@given(st.text())
def test_any_text_is_read_without_a_failure(text: str) -> None:
    read_text(text)
    read_text("[{" + text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('[{"a": 1}]', [{"a": 1}]),
        ('\ufeff{"a": 1}', {"a": 1}),
        ("[{'a': None, 'b': (1, 2)}]", [{"a": None, "b": [1, 2]}]),
        ('[{"a": 1,}, {"a": 2},]', [{"a": 1}, {"a": 2}]),
        ("{a: 1, // one\n \"b\": True, 'c': undefined}", {"a": 1, "b": True, "c": None}),
        ('{"a": NaN, "b": -Infinity}', {"a": None, "b": None}),
        ('{"a": "one\ntwo"}', {"a": "one\ntwo"}),
        ("[{'p': Decimal('1.20'), 'd': datetime.date(2024, 1, 2)}]", [{"p": 1.2, "d": "2024-01-02"}]),
        (
            "[{'at': datetime.datetime(2024, 1, 2, 3, 4, tzinfo=datetime.timezone.utc)}]",
            [{"at": "2024-01-02T03:04:00+00:00"}],
        ),
        (
            "[{'at': datetime.datetime(2024, 1, 2, 3, tzinfo=timezone(timedelta(days=-1, seconds=68400)))}]",
            [{"at": "2024-01-02T03:00:00-05:00"}],
        ),
        ("[Row(id=1, name='x'), Row(id=2, name=None)]", [{"id": 1, "name": "x"}, {"id": 2, "name": None}]),
        ("{'a': {1, 2}, 'u': UUID('ab')}", {"a": [1, 2], "u": "ab"}),
        ('{"a": "\\ud83d\\ude00",}', {"a": "😀"}),
        ('{"id": 1}\n{"id": 2}\n', [{"id": 1}, {"id": 2}]),
        ('["{\\"id\\": 1}", "{\\"id\\": 2}"]', [{"id": 1}, {"id": 2}]),
        ('{"content": "[{\\"id\\": 1}]"}', [{"id": 1}]),
        ('{"data": "[{\'id\': 1}]", "total": 7}', {"data": [{"id": 1}], "total": 7}),
        ('{"content": "a note"}', "a note"),
        ('{"name": "a note"}', {"name": "a note"}),
    ],
)
def test_spellings_of_data_are_read(text: str, value: Any) -> None:
    assert read_text(text).value == value


@pytest.mark.parametrize(
    "text",
    [
        "[1, 2",
        "42",
        "(see the manual)",
        "[__import__('os')]",
        "[os.getcwd()]",
        "[" * 5000,
        "{'a': 1j}",
        "{'a': <object at 0x7f>}",
        "[FILE] a.txt\n[FILE] rows.json",
        "[1] First result: it says {}",
        '2024-01-01 INFO {"a": 1}\n2024-01-02 INFO {"b": 2}',
        'GET:\n{"a": 1}\nPOST:\n{"b": 2}',
        'A report of many words. ' * 40 + '\n{"a": 1}',
        "{1: [}",
    ],
)  # fmt: skip
def test_what_is_no_data_stays_the_text_that_it_is(text: str) -> None:
    assert read_text(text).value == text


def test_data_that_ends_too_early_is_told() -> None:
    text = json.dumps(ROWS)[:-5]
    read = read_result({"content": [{"type": "text", "text": text}]})
    assert read.payload == text
    assert [code for code, _ in read.oddities] == ["text_not_json"]


def test_nesting_without_end_is_refused_and_not_a_crash() -> None:
    with pytest.raises(LenientParseError):
        read_nearly("[" * 100_000)


def test_facts_in_words_beside_records_are_read_as_what_they_say() -> None:
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
def test_a_cursor_beside_the_content_is_a_cursor(raw: dict[str, Any]) -> None:
    pagination = Pagination(convention=PaginationStyle.CURSOR, position="cursor")
    reading = read_page(CallResult(payload=payload(json.dumps(ROWS), **raw), location="t"), pagination)
    assert reading.records == ROWS
    assert reading.next is not None
    assert reading.next.arguments == {"cursor": "abc"}


def test_one_record_beside_a_cursor_is_a_page_of_one() -> None:
    assert payload('{"id": 1}', nextCursor="abc") == {"nextCursor": "abc", "items": [{"id": 1}]}
    assert payload('{"rows": [1], "n": 1}', nextCursor="abc") == {"nextCursor": "abc", "rows": [1], "n": 1}


def test_structured_content_wins_over_text_and_is_unwrapped() -> None:
    assert payload("something else", structuredContent={"result": [1]}) == [1]
    assert payload("something else", structuredContent={"result": "{'a': 1}"}) == {"a": 1}
    assert payload("something else", structuredContent={"result": 1, "n": 2}) == {"result": 1, "n": 2}
    assert payload("something else", structuredContent=[{"id": 1}]) == [{"id": 1}]
    assert payload(json.dumps(ROWS), structuredContent={}) == ROWS


def test_several_parts_are_one_list_of_records() -> None:
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


def test_one_value_cut_into_several_parts_is_joined() -> None:
    text = json.dumps(ROWS, indent=1)
    for at in (len(text) // 3, len(text) // 2, text.index("\n", len(text) // 2)):
        assert payload(text[:at], text[at:]) == ROWS


def test_bytes_are_named_and_links_are_kept() -> None:
    image = {"type": "image", "mimeType": "image/png", "data": "AAAA"}
    link = {"type": "resource_link", "uri": "demo://1", "name": "One", "mimeType": "text/plain"}
    blob = {"type": "resource", "resource": {"uri": "demo://2", "blob": "AAA=", "mimeType": "x/y"}}
    read = read_result({"content": [{"type": "text", "text": "See these:"}, image, link, blob]})
    assert read.payload == {
        "message": "See these:",
        "items": [
            {"type": "image", "mimeType": "image/png", "n_bytes": 3},
            link,
            {"type": "resource", "uri": "demo://2", "mimeType": "x/y", "n_bytes": 2},
        ],
    }
    assert [code for code, _ in read.oddities] == ["content_not_text"]
    beside = read_result({"content": [{"type": "text", "text": json.dumps(ROWS)}, link]}).payload
    assert beside == {"items": ROWS, "attachments": [link]}


def test_contents_of_a_resource_are_read_like_blocks() -> None:
    assert read_result({"contents": [{"uri": "x://1", "text": json.dumps(ROWS)}]}).payload == ROWS
    assert read_result({"contents": [{"uri": "x://1", "blob": "AAAA"}]}).payload == [{"uri": "x://1", "n_bytes": 3}]


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
def test_results_that_break_the_schema_are_read_as_far_as_they_go(raw: dict[str, Any], value: Any) -> None:
    read = read_result(raw).payload
    if value is None:
        assert read is None or isinstance(read, list)
    else:
        assert read == value


def test_failures_and_questions_of_a_server_are_told_from_data() -> None:
    assert is_error({"isError": True, "content": []})
    assert not is_error({"content": []})
    assert asks_for_input({"resultType": "input_required"})
    assert texts_of({"content": [{"type": "text", "text": "no such customer"}, {"type": "image"}]}) == [
        "no such customer"
    ]
