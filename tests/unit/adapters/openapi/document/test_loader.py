"""Parsing of JSON and YAML documents."""

import gzip
import json
import string

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from adapters.openapi.document.loader import DocumentSyntaxError, parse_document

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(st.characters(exclude_categories=["Cs", "Cc"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=15,
)


def is_written_alike(value: object) -> bool:
    """Whether the YAML 1.1 dumper writes no text that YAML 1.2 reads as a number ("0E0", "0o7")."""
    match value:
        case dict():
            return all(is_written_alike(part) for pair in value.items() for part in pair)
        case list():
            return all(map(is_written_alike, value))
        case str():
            return not value.startswith((*string.digits, "+", "-", "."))
        case _:
            return True


@given(values.filter(lambda value: isinstance(value, dict | list)))
def test_json_is_parsed(value):
    assert parse_document(json.dumps(value).encode()) == value


@given(
    st.dictionaries(st.text(st.characters(codec="ascii", categories=["L"]), min_size=1), values).filter(
        is_written_alike
    )
)
def test_yaml_equals_json(value):
    assert parse_document(yaml.safe_dump(value).encode()) == value


def test_yaml_1_1_surprises_are_avoided():
    text = b"""
    answer: no
    on: 2020-01-01
    200: 012
    time: 12:30:45
    hex: 0x1F
    number: 1e3
    nothing: ~
    tagged: !ruby/object {a: 1}
    """
    assert parse_document(text) == {
        "answer": "no", "on": "2020-01-01", "200": "012", "time": "12:30:45", "hex": "0x1F", "number": 1000.0,
        "nothing": None, "tagged": {"a": 1},
    }  # fmt: skip


def test_python_tags_build_no_objects():
    value = parse_document(b"a: !!python/object/apply:os.system ['echo hello']")
    assert value == {"a": ["echo hello"]}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-8-sig"])
@pytest.mark.parametrize("text", ['{"openapi": "3.0.0", "name": "\u00fc"}', "openapi: 3.0.0\nname: \u00fc\n"])
def test_unicode_encodings_are_read_with_and_without_bom(encoding, text):
    assert parse_document(text.encode(encoding)) == {"openapi": "3.0.0", "name": "\u00fc"}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (gzip.compress(b"{}", mtime=0), r"compressed \(gzip\); extract it"),
        (b"PK\x03\x04rest", r"compressed \(zip\)"),
        (b"openapi: 3.0.0\npaths:\n\t/x: {}\n", "a line begins with a tab"),
        (b"{\x00\xff\xd8\x00", "invalid UTF-16-LE text"),
    ],
)
def test_invalid_text_is_explained(data, said):
    with pytest.raises(DocumentSyntaxError, match=said):
        parse_document(data)


@pytest.mark.parametrize(
    "text",
    [
        '// by hand\n{"openapi": "3.0.0", "url": "https://desk.example"}',
        '{"openapi": "3.0.0", // the version\n "url": "https://desk.example", /* no more */\n}',
        '{\n  /* here */ "openapi": "3.0.0",\n  "url": "https://desk.example" // there\n}',
    ],
)
def test_comments_in_json_are_removed(text):
    assert parse_document(text.encode()) == {"openapi": "3.0.0", "url": "https://desk.example"}


def test_urls_in_flow_yaml_are_no_comments():
    text = b"{openapi: 3.0.0,\n servers: [{url: http://desk.example}]}"
    assert parse_document(text) == {"openapi": "3.0.0", "servers": [{"url": "http://desk.example"}]}


def test_expanding_merge_keys_are_refused():
    lines = ["a0: &a0 {k: 1}"] + [f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, 40)]
    with pytest.raises(DocumentSyntaxError, match="expand to more than"):
        parse_document("\n".join(lines).encode())
