"""Response bodies as values: JSON under all its media types, CSV, and their defects."""

from typing import Any

import pytest

from adapters.http.body_parser import MalformedBody, parse_body, parse_csv


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
def test_csv_rows_are_records(text: str, records: Any) -> None:
    assert parse_csv(text) == records


@pytest.mark.parametrize("text", ["", "one word", "1,2\n3,4\n", "id,id\n1,2\n", "id,name\n1\n", 'id,name\n1,"cut'])
def test_text_without_a_csv_header_is_no_table(text: str) -> None:
    assert parse_csv(text) is None


def test_csv_is_decoded_with_its_charset() -> None:
    assert parse_body("id,město\n1,Plzeň\n".encode("cp1250"), "text/csv; charset=windows-1250") == [
        {"id": 1, "město": "Plzeň"}
    ]


@pytest.mark.parametrize("guard", [b")]}'\n", b")]}',\n", b"while(1);", b"for(;;);"])
@pytest.mark.parametrize("kind", ["application/json", "text/plain", None])
def test_xssi_prefixes_are_removed(guard: bytes, kind: str | None) -> None:
    assert parse_body(guard + b'{"id": 1}', kind) == {"id": 1}


def test_nan_and_infinity_become_null() -> None:
    assert parse_body(b'[{"id": 1, "v": NaN}, {"id": 2, "v": -Infinity}]', "application/json") == [
        {"id": 1, "v": None},
        {"id": 2, "v": None},
    ]


VERSIONED = ["application/x-amz-json-1.0", "application/x-amz-json-1.1; charset=utf-8", "application/vnd.desk+json"]


@pytest.mark.parametrize("kind", VERSIONED)
def test_versioned_and_suffixed_json_types_are_json(kind: str) -> None:
    assert parse_body(b'{"Items": []}', kind) == {"Items": []}


@pytest.mark.parametrize("kind", ["application/geojsonish-1", "image/png"])
def test_similar_media_types_are_not_json(kind: str) -> None:
    with pytest.raises(MalformedBody):
        parse_body(b"{}", kind)
