"""Tables of cells as records."""

from typing import Any

import pytest

from adapters.http.body_parser import parse_body, parse_csv


@pytest.mark.parametrize(
    ("text", "records"),
    [
        ("id,name\r\n1,Anna\r\n2,Bo\r\n", [{"id": 1, "name": "Anna"}, {"id": 2, "name": "Bo"}]),
        ("\ufeffid;betrag\n1;2.50\n2;3\n", [{"id": 1, "betrag": 2.5}, {"id": 2, "betrag": 3.0}]),
        ("id\tname\n1\ta,b\n", [{"id": 1, "name": "a,b"}]),
        ('id,text\n1,"two\nlines, ""quoted"""\n', [{"id": 1, "text": 'two\nlines, "quoted"'}]),
        ("plz,ort\n00742,\n", [{"plz": "00742", "ort": None}]),
        ("id,n\n1,\n2,5\n", [{"id": 1, "n": None}, {"id": 2, "n": 5}]),
        ("id,name\n", []),
    ],
)
def test_each_line_under_a_header_is_a_record(text: str, records: Any) -> None:
    assert parse_csv(text) == records


@pytest.mark.parametrize("text", ["", "one word", "1,2\n3,4\n", "id,id\n1,2\n", "id,name\n1\n", 'id,name\n1,"cut'])
def test_what_is_no_table_with_a_header_stays_text(text: str) -> None:
    assert parse_csv(text) is None


def test_a_body_of_cells_is_read_in_its_own_encoding() -> None:
    assert parse_body("id,město\n1,Plzeň\n".encode("cp1250"), "text/csv; charset=windows-1250") == [
        {"id": 1, "město": "Plzeň"}
    ]


@pytest.mark.parametrize("guard", [b")]}'\n", b")]}',\n", b"while(1);", b"for(;;);"])
@pytest.mark.parametrize("kind", ["application/json", "text/plain", None])
def test_what_guards_json_against_scripts_is_no_part_of_it(guard: bytes, kind: str | None) -> None:
    assert parse_body(guard + b'{"id": 1}', kind) == {"id": 1}


def test_a_number_that_is_none_costs_its_value_and_not_the_answer() -> None:
    assert parse_body(b'[{"id": 1, "v": NaN}, {"id": 2, "v": -Infinity}]', "application/json") == [
        {"id": 1, "v": None},
        {"id": 2, "v": None},
    ]
