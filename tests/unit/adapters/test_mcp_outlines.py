"""Data by indentation: YAML and lists are records, whatever number of them is on a page; prose and members are not."""

from typing import Any

import pytest

from adapters.mcp.content.results import read_result
from adapters.mcp.content.text_data import read_alone as alone

ROWS = [{"id": 1000 + n, "name": f"n {n}", "tags": ["a", "b"], "at": "2026-01-02"} for n in range(4)]
YAML = "\n".join(f"- id: {r['id']}\n  name: {r['name']}\n  tags: [a, b]\n  at: 2026-01-02" for r in ROWS)


def paged(text: str) -> Any:
    return read_result({"content": [{"type": "text", "text": text}]}, is_paged=True).payload


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (YAML, ROWS),
        (f"items:\n{YAML}\nnext_cursor: c4\n", {"items": ROWS, "next_cursor": "c4"}),
        ("total: 9\nitems:\n  - id: 1\n    name: x\n", {"total": 9, "items": [{"id": 1, "name": "x"}]}),
        ("- id: 1\n  name: NO\n  code: 007", [{"id": 1, "name": "NO", "code": "007"}]),
    ],
)
def test_yaml_that_holds_a_list_of_objects_is_data(text: str, value: Any) -> None:
    assert alone(text).value == value


def test_words_around_yaml_stay_beside_it() -> None:
    content = alone(f"Found 9 rows (page 1 of 3):\n\n{YAML}\nnext_cursor: c4")
    assert content.value == ROWS
    assert content.facts["next_cursor"] == "c4"


@pytest.mark.parametrize(
    "text",
    [
        "name: x\nnote: this is no list",
        "Some words: and more\n- a: b\nA line that breaks it: x",
        "- a: 1\n- b: 2",
        "Title of a text:\n\nIt goes on - like this: in prose.",
    ],
)
def test_what_only_looks_like_yaml_is_none(text: str) -> None:
    assert not isinstance(alone(text).value, dict)
    assert all(isinstance(item, str) for item in alone(text).value)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("1. a (x)\n2. b\n3. c", ["a (x)", "b", "c"]),
        ("Rows 21 to 22:\n21) a\n22) b", ["a", "b"]),
        ("# Rows\n\n- **a**\n  id: 1\n- **b**\n  id: 2", [{"title": "a", "id": 1}, {"title": "b", "id": 2}]),
        (
            "1. a\n   Name: x\n\n2. b\n   Name: y\n\nUse offset=2 to see more.",
            [{"title": "a", "Name": "x"}, {"title": "b", "Name": "y"}],
        ),
        ("Results:\n* only one", ["only one"]),
        ("- a\n  and its words\n- b", ["a\nand its words", "b"]),
        ("- id: 1\n  at: @x\n- id: 2\n  at: %y", [{"id": 1, "at": "@x"}, {"id": 2, "at": "%y"}]),
    ],
)
def test_a_list_is_its_items_however_few_they_are(text: str, items: list[Any]) -> None:
    assert alone(text).value == items


@pytest.mark.parametrize(
    "text",
    [
        "- Name: x\n- Status: open\n- Owner: y",
        "1. a\n3. b\n7. c",
        "- a\n1. b\n- c",
        "First:\n- a\n\nSecond:\n- b",
        "w" * 700 + "\n- a\n- b\n- c",
        "a report of some length " * 10 + "\n- with one remark",
    ],
)
def test_a_text_with_marks_in_it_is_no_list(text: str) -> None:
    assert alone(text).value == text


@pytest.mark.parametrize(
    "text",
    [
        "Rows:",
        "Page 8 of 7",
        "Chunk 7 of 6\n[]",
        "Found 0 tickets:\n[]",
        "Found 41 rows. Showing 61-60:",
        "**Results:**",
    ],
)
def test_a_heading_with_nothing_under_it_is_an_empty_list(text: str) -> None:
    assert alone(text).value == []


@pytest.mark.parametrize("text", ["Page 7 of 7", "Error while reading rows:", "One row.", "Showing 1-20 of 41"])
def test_a_line_that_says_anything_else_stays_a_text(text: str) -> None:
    assert alone(text).value == text


def test_a_page_of_prose_is_one_record_beside_the_cursor_that_it_names() -> None:
    text = "Row 1 is blue.\nNext cursor: c20"
    assert paged(text) == {"items": [text], "next_cursor": "c20", "has_more": True}
    assert paged("Row 41 is red.") == "Row 41 is red."


def test_items_may_come_in_blocks_of_their_own_and_a_heading_beside_other_blocks_stays_a_heading() -> None:
    blocks = [{"type": "text", "text": text} for text in ("1. a", "2. b")]
    assert read_result({"content": blocks}).payload == ["a", "b"]
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    headed = read_result({"content": [{"type": "text", "text": "See this:"}, image]}).payload
    assert isinstance(headed, dict)
    assert headed["message"] == "See this:"


MEMBERS = {"title": "b", "ID": 2, "Price": 0.5}


@pytest.mark.parametrize(
    "text",
    [
        "# Rows\n\n## a\n- **ID:** 1\n- **Price:** 0.25\n\n## b\n- **ID:** 2\n- **Price:** 0.5",
        "1. **a**\n   ID: 1\n   Price: 0.25\n2. **b**\n   ID: 2\n   Price: 0.5",
        "### a\nID: 1\nPrice: 0.25\n---\n### b\nID: 2\nPrice: 0.5\n---",
    ],
)
def test_things_of_a_title_and_members_are_objects(text: str) -> None:
    value = alone(text).value
    assert isinstance(value, list)
    assert value[1] == MEMBERS


@pytest.mark.parametrize(
    "text",
    ["# A\nProse of a report.\n# B\nMore of it.", "## A\nx: 1\n# B\ny: 2", "# a\n- ID: 1\nand words\n# b\nID: 2"],
)
def test_a_report_in_sections_stays_a_text(text: str) -> None:
    assert alone(text).value == text


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
def test_a_text_that_says_at_its_end_that_it_is_a_part_is_no_whole_one(text: str, is_echoed: bool) -> None:
    echo = {"structuredContent": {"result": text}} if is_echoed else {}
    read = read_result({"content": [{"type": "text", "text": text}], **echo}).payload
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
def test_a_text_that_only_speaks_of_parts_is_whole(text: str) -> None:
    assert read_result({"content": [{"type": "text", "text": text}]}).payload == text


def test_the_head_of_a_table_alone_is_an_empty_page_and_a_word_elsewhere() -> None:
    assert paged("id,name,price\r\n") in ([], {"items": []})
    assert read_result({"content": [{"type": "text", "text": "id,name,price"}]}).payload == "id,name,price"
