"""Finding the data in the text of a tool result."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import Json
from adapters.mcp.content.results import parse_result
from adapters.mcp.content.text_data import parse_text

N = 7
ROWS: list[Json] = [{"id": 1000 + n, "name": f"n, {n}", "price": n / 4} for n in range(N)]
LINES = [json.dumps(row) for row in ROWS]
PAGE = {"rows": [{"id": 1}], "total": 261}
TEXTS = st.text(max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
OBJECTS = st.lists(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=3), min_size=1, max_size=3)


@given(OBJECTS)
def test_python_repr_is_parsed_like_json(rows: Any) -> None:
    text = json.dumps(rows)
    assert parse_text(repr(rows)).value == parse_text(text).value
    assert parse_result({"content": [{"type": "text", "text": text}]}).payload == parse_text(text).value


@given(OBJECTS)
def test_truncated_data_stays_text(rows: Any) -> None:
    text = json.dumps(rows)
    for cut in {1, len(text) // 3, len(text) // 2, len(text) - 1}:
        assert isinstance(parse_text(text[:cut]).value, str)
        assert isinstance(parse_text(f"Found these:\n{text[:cut]}").value, str)


@given(OBJECTS)
def test_data_in_a_fence_or_after_text_is_the_same_data(rows: Any) -> None:
    text = json.dumps(rows, indent=1)
    assert parse_text(f"Here they are:\n```json\n{text}\n```\nThat is all.").value == parse_text(text).value
    assert parse_text(f"Found these tickets:\n{text}").value == parse_text(text).value


@given(st.text())
def test_any_text_gives_data_or_the_text_itself(text: str) -> None:
    for given_text in (text, "[{" + text):
        content = parse_text(given_text)
        assert content.is_data or content.value == given_text


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
def test_notations_of_data_are_parsed(text: str, value: Any) -> None:
    assert parse_text(text).value == value


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
def test_text_without_data_stays_text(text: str) -> None:
    assert parse_text(text).value == text


@pytest.mark.parametrize(
    "text",
    [
        "300 results\n" + "\n".join(LINES),
        "\n".join(LINES) + "\nTotal: 7",
        "\n".join(f"{n}. {line}" for n, line in enumerate(LINES, 1)),
        "\n".join(f"- {line}" for line in LINES),
        ",\n".join(LINES),
        "\n".join(map(repr, ROWS)),
        "".join(LINES),
        "\n".join(json.dumps(row, indent=2) for row in ROWS),
        "\n---\n".join(json.dumps(row, indent=2) for row in ROWS),
        "".join(f"data: {line}\n\n" for line in LINES),
        "".join(f"\x1e{line}\n" for line in LINES),
        json.dumps(ROWS[:3]) + json.dumps(ROWS[3:]),
        json.dumps(ROWS[:3]) + "\n" + json.dumps(ROWS[3:]),
        "```jsonl\n" + "\n".join(LINES) + "\n```",
        "```json" + json.dumps(ROWS) + "```",
        "```json\r\n" + json.dumps(ROWS) + "\r\n```\r\n",
        "\u00a0\u200b" + json.dumps(ROWS),
    ],
)
def test_values_in_a_row_are_records(text: str) -> None:
    content = parse_text(text)
    assert content.value == ROWS
    assert not content.flaw


@pytest.mark.parametrize("items", ['\n{"items": [1, 2]}', '{"items": [1, 2]}', "\n[1, 2]"])
def test_an_object_before_a_list_is_metadata(items: str) -> None:
    assert parse_text('{"total": 7}' + items).value == {"total": 7, "items": [1, 2]}


def test_a_broken_value_after_valid_ones_is_reported_as_a_flaw() -> None:
    content = parse_text("\n".join(LINES) + '\n{"id": 5, "na')
    assert content.value == ROWS
    assert "value 8" in content.flaw


def test_unicode_line_separators_do_not_split_ndjson_lines() -> None:
    rows = [{"t": "a\u2028b\x85c"}, {"t": "d"}]
    assert parse_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows)).value == rows


def test_a_printed_data_frame_with_omitted_rows_has_a_flaw() -> None:
    assert "omits rows" in parse_text("     id\n0    1\n..  ..\n99  99\n\n[100 rows x 1 columns]").flaw


@pytest.mark.parametrize("times", [1, 2, 3])
def test_json_encoded_several_times_is_decoded(times: int) -> None:
    text = ""
    value: object = PAGE
    for _ in range(times):
        text = value = json.dumps(value)
    assert parse_text(text).value == PAGE


@pytest.mark.parametrize("text", ['"(said) nothing"', '"{cut', '"a" and {"b": 1} in a sentence, "c"'])
def test_quoted_text_stays_text(text: str) -> None:
    assert parse_text(text).value == text or parse_text(text).surrounding
