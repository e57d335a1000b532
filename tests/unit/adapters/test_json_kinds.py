"""Media types that are JSON under another name."""

import pytest

from adapters.http.body_parser import MalformedBody, parse_body

VERSIONED = ["application/x-amz-json-1.0", "application/x-amz-json-1.1; charset=utf-8", "application/vnd.desk+json"]


@pytest.mark.parametrize("kind", VERSIONED)
def test_json_with_a_version_or_a_suffix_is_read_as_json(kind: str) -> None:
    assert parse_body(b'{"Items": []}', kind) == {"Items": []}


@pytest.mark.parametrize("kind", ["application/geojsonish-1", "image/png"])
def test_what_only_looks_like_it_is_not(kind: str) -> None:
    with pytest.raises(MalformedBody):
        parse_body(b"{}", kind)
