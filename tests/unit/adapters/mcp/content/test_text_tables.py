"""Tables, lists, sections and YAML in text."""

from typing import Any

import pytest

from adapters.base import Json, JsonObject
from adapters.mcp.content.results import parse_result
from adapters.mcp.content.text_data import parse_text, parse_whole_text

FLAT = [{"id": 1000 + n, "name": f"n{n}"} for n in range(7)]
ROWS = [{"id": 1000 + n, "name": f"n {n}", "tags": ["a", "b"], "at": "2026-01-02"} for n in range(4)]
YAML = "\n".join(f"- id: {r['id']}\n  name: {r['name']}\n  tags: [a, b]\n  at: 2026-01-02" for r in ROWS)
MEMBERS = {"title": "b", "ID": 2, "Price": 0.5}


def render(row: str) -> str:
    return "\n".join(row.format(**one) for one in FLAT)


def result_of(*parts: str, **more: Json) -> JsonObject:
    return {"content": [{"type": "text", "text": part} for part in parts], **more}


@pytest.mark.parametrize(
    "text",
    [
        "id,name\n" + render("{id},{name}"),
        "id\tname\r\n" + render("{id}\t{name}\r"),
        "id;name\n" + render("{id};{name}") + "\n",
        "```csv\nid,name\n" + render("{id},{name}") + "\n```",
        "Found 7 rows:\n\nid,name\n" + render("{id},{name}"),
        "| id | name |\n|:---|---:|\n" + render("| {id} | {name} |"),
        "## Tickets\n\n| id | name |\n|---|---|\n" + render("| {id} | {name} |") + "\n\nBye.",
        "id | name\n---|---\n" + render("{id} | {name}"),
        " id | name\n----+-----\n" + render(" {id} | {name}") + "\n(7 rows)",
        "+--+--+\n| id | name |\n+--+--+\n" + render("| {id} | {name} |") + "\n+--+--+",
        "┌──┬──┐\n│ id │ name │\n├──┼──┤\n" + render("│ {id} │ {name} │") + "\n└──┴──┘",
    ],
)
def test_a_table_is_parsed_to_its_rows(text: str) -> None:
    assert parse_text(text).value == FLAT


@pytest.mark.parametrize(
    "text",
    [
        "Dear Anna, thank you\nfor the letter, and\nfor the cake, too",
        "id,name\n1,a\n2",
        "id,name\n1,a\n2,b\n3,c,d\n4,e",
        "a | b",
        "The sum of a | b\n---\nis c | d | e",
        "Costs\n12,5\n13,5\n14,5",
    ],
)
def test_prose_with_commas_and_bars_is_not_a_table(text: str) -> None:
    assert parse_text(text).value == text


def test_columns_of_numbers_are_typed_and_leading_zeros_are_kept() -> None:
    table = "code,price,note\n007,1.50,\n008,2,x\n009,,"
    assert parse_text(table).value == [
        {"code": "007", "price": 1.5, "note": ""},
        {"code": "008", "price": 2, "note": "x"},
        {"code": "009", "price": None, "note": ""},
    ]


@pytest.mark.parametrize(
    ("text", "records"),
    [
        ("[FILE] a b.txt\n[DIR] c\n[FILE] d", ["[FILE] a b.txt", "[DIR] c", "[FILE] d"]),
        ("/srv/a 1\n/srv/b\n/srv/c\n\nTotal: 3 files", ["/srv/a 1", "/srv/b", "/srv/c"]),
        ("ID: 1\nName: a\n\nID: 2\nName: b: c", [{"ID": 1, "Name": "a"}, {"ID": 2, "Name": "b: c"}]),
        ("Found 2\n\n- **ID**: 1\n- **Name:** a\n---\n- **ID**: x\n", None),
        ("ID: 1\nName: 5\n---\nID: 2\nName:", [{"ID": 1, "Name": 5}, {"ID": 2, "Name": None}]),
        ("Showing 1-1 of 9\n\nID: 1\nName: a", [{"ID": 1, "Name": "a"}]),
        ("Showing 10-9 of 9\n\n", []),
        ("| name |\n|---|\n| a |", [{"name": "a"}]),
        ("| id | name |\n|---|---|", []),
        ("id,name\n1,a", [{"id": 1, "name": "a"}]),
    ],
)
def test_a_list_is_parsed_to_its_items(text: str, records: Json) -> None:
    payload = parse_result(result_of(text)).payload
    if records is None:
        assert isinstance(payload, dict)
        assert payload["items"] == [{"ID": "1", "Name": "a"}, {"ID": "x"}]
        return
    assert (payload["items"] if isinstance(payload, dict) else payload) == records


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    return 1\n\nx: int\ny: str",
        "Note: this is a letter.\nYours: Anna",
        "Dear: Anna\nThanks.\n\nBest: Bob\nBye.",
        "first\nsecond\nthird",
        "/etc/hosts\nis a file",
        "ID: 1\nName: a\n\nID: 2\nName: b\n\nID: 3\nNam",
        "ID: 1\nName: a",
        "Showing 1-9 of 9",
    ],
)
def test_lines_of_different_forms_stay_text(text: str) -> None:
    assert parse_result(result_of(text)).payload == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (YAML, ROWS),
        (f"items:\n{YAML}\nnext_cursor: c4\n", {"items": ROWS, "next_cursor": "c4"}),
        ("total: 9\nitems:\n  - id: 1\n    name: x\n", {"total": 9, "items": [{"id": 1, "name": "x"}]}),
        ("- id: 1\n  name: NO\n  code: 007", [{"id": 1, "name": "NO", "code": "007"}]),
    ],
)
def test_yaml_with_a_list_of_objects_is_data(text: str, value: Any) -> None:
    assert parse_whole_text(text).value == value


def test_text_around_yaml_is_kept() -> None:
    content = parse_whole_text(f"Found 9 rows (page 1 of 3):\n\n{YAML}\nnext_cursor: c4")
    assert content.value == ROWS
    assert content.metadata["next_cursor"] == "c4"


@pytest.mark.parametrize(
    "text",
    [
        "name: x\nnote: this is no list",
        "Some words: and more\n- a: b\nA line that breaks it: x",
        "- a: 1\n- b: 2",
        "Title of a text:\n\nIt goes on - like this: in prose.",
    ],
)
def test_text_that_resembles_yaml_is_not_data(text: str) -> None:
    assert not isinstance(parse_whole_text(text).value, dict)
    assert all(isinstance(item, str) for item in parse_whole_text(text).value)


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
def test_a_bullet_or_numbered_list_is_parsed_to_its_items(text: str, items: list[Any]) -> None:
    assert parse_whole_text(text).value == items


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
def test_text_that_contains_bullets_is_not_a_list(text: str) -> None:
    assert parse_whole_text(text).value == text


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
def test_a_heading_without_items_is_an_empty_list(text: str) -> None:
    assert parse_whole_text(text).value == []


@pytest.mark.parametrize("text", ["Page 7 of 7", "Error while reading rows:", "One row.", "Showing 1-20 of 41"])
def test_other_single_lines_stay_text(text: str) -> None:
    assert parse_whole_text(text).value == text


@pytest.mark.parametrize(
    "text",
    [
        "# Rows\n\n## a\n- **ID:** 1\n- **Price:** 0.25\n\n## b\n- **ID:** 2\n- **Price:** 0.5",
        "1. **a**\n   ID: 1\n   Price: 0.25\n2. **b**\n   ID: 2\n   Price: 0.5",
        "### a\nID: 1\nPrice: 0.25\n---\n### b\nID: 2\nPrice: 0.5\n---",
    ],
)
def test_items_with_a_title_and_members_are_objects(text: str) -> None:
    value = parse_whole_text(text).value
    assert isinstance(value, list)
    assert value[1] == MEMBERS


@pytest.mark.parametrize(
    "text",
    ["# A\nProse of a report.\n# B\nMore of it.", "## A\nx: 1\n# B\ny: 2", "# a\n- ID: 1\nand words\n# b\nID: 2"],
)
def test_a_report_in_sections_stays_text(text: str) -> None:
    assert parse_whole_text(text).value == text
