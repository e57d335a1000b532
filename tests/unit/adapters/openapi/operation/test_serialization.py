"""Serialization of parameters: round trips with an independent reader and openapi-core."""

import json
from typing import Any
from urllib.parse import parse_qsl, unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema_path import SchemaPath
from openapi_core import V31RequestUnmarshaller
from openapi_core.testing import MockRequest

from adapters.openapi.operation.model import STYLES, ParameterEncoding, ParameterLocation, ParameterStyle
from adapters.openapi.operation.serialization import encode_cookie, encode_header, encode_path, encode_query, join_pairs

printable = st.characters(exclude_categories=("C", "Z")) | st.just(" ")
words = st.text(alphabet=printable, min_size=1, max_size=12)
plain = st.text(alphabet="abcXYZ019_", min_size=1, max_size=8)
objects = st.dictionaries(words, words, min_size=1, max_size=4)
arrays = st.lists(words, min_size=1, max_size=4)
LOOSE, TIGHT = True, False


def written(style: ParameterStyle, is_exploded: bool, **fields: Any) -> ParameterEncoding:
    return ParameterEncoding(style=style, is_exploded=is_exploded, **fields)


def split_raw(text: str, delimiter: str) -> list[str]:
    """An independent reader: delimiters are found before anything is decoded."""
    return [unquote(part) for part in text.split(delimiter)]


def as_pairs(flat: list[str]) -> dict[str, str]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


@given(name=words, value=words)
def test_a_scalar_query_value_round_trips(name, value):
    query = join_pairs(encode_query(name, value, written(ParameterStyle.FORM, LOOSE)))
    assert parse_qsl(query, keep_blank_values=True, strict_parsing=True) == [(name, value)]


@given(name=words, value=arrays)
def test_an_exploded_array_repeats_its_name(name, value):
    query = join_pairs(encode_query(name, value, written(ParameterStyle.FORM, LOOSE)))
    assert parse_qsl(query, keep_blank_values=True) == [(name, item) for item in value]


@pytest.mark.parametrize(("style", "delimiter"), [(ParameterStyle.FORM, ","), (ParameterStyle.TAB, "%09")])
@given(value=arrays)
def test_a_joined_array_round_trips(style, delimiter, value):
    items = [item for item in value if "\t" not in item]
    pairs = encode_query("ids", items, written(style, TIGHT))
    assert [split_raw(text, delimiter) for _, text in pairs] == ([items] if items else [])


@pytest.mark.parametrize(
    ("style", "delimiter", "sign"), [(ParameterStyle.SPACE, "%20", " "), (ParameterStyle.PIPE, "%7C", "|")]
)
@given(value=arrays)
def test_a_delimited_array_round_trips_without_the_delimiter_in_items(style, delimiter, sign, value):
    items = [item.replace(sign, "_") for item in value]
    [(_, text)] = encode_query("ids", items, written(style, TIGHT))
    assert split_raw(text, delimiter) == items


@given(value=objects)
def test_an_object_is_exploded_or_one_list(value):
    loose = join_pairs(encode_query("filter", value, written(ParameterStyle.FORM, LOOSE)))
    assert dict(parse_qsl(loose, keep_blank_values=True)) == value
    [(name, text)] = encode_query("filter", value, written(ParameterStyle.FORM, TIGHT))
    assert (name, as_pairs(split_raw(text, ","))) == ("filter", value)


@given(value=st.dictionaries(plain, st.one_of(words, arrays, st.dictionaries(plain, words, min_size=1))))
def test_deep_object_names_members_by_path(value):
    query = join_pairs(encode_query("f", value, written(ParameterStyle.DEEP, LOOSE)))
    expected = []
    for name, member in value.items():
        if isinstance(member, dict):
            expected += [(f"f[{name}][{inner}]", text) for inner, text in member.items()]
        else:
            expected += [(f"f[{name}]", text) for text in (member if isinstance(member, list) else [member])]
    assert parse_qsl(query, keep_blank_values=True) == expected


def test_deep_object_indexes_objects_in_arrays():
    value = {"a": [{"b": 1}, {"b": 2}]}
    pairs = encode_query("f", value, written(ParameterStyle.DEEP, LOOSE))
    assert parse_qsl(join_pairs(pairs)) == [("f[a][0][b]", "1"), ("f[a][1][b]", "2")]


PATHS = [
    (ParameterStyle.SIMPLE, TIGHT, "blue", "blue"),
    (ParameterStyle.SIMPLE, TIGHT, ["blue", "black"], "blue,black"),
    (ParameterStyle.SIMPLE, TIGHT, {"R": 100, "G": 200}, "R,100,G,200"),
    (ParameterStyle.SIMPLE, LOOSE, {"R": 100, "G": 200}, "R=100,G=200"),
    (ParameterStyle.LABEL, TIGHT, "blue", ".blue"),
    (ParameterStyle.LABEL, TIGHT, ["blue", "black"], ".blue,black"),
    (ParameterStyle.LABEL, LOOSE, ["blue", "black"], ".blue.black"),
    (ParameterStyle.LABEL, TIGHT, {"R": 100, "G": 200}, ".R,100,G,200"),
    (ParameterStyle.LABEL, LOOSE, {"R": 100, "G": 200}, ".R=100.G=200"),
    (ParameterStyle.MATRIX, TIGHT, "blue", ";color=blue"),
    (ParameterStyle.MATRIX, TIGHT, ["blue", "black"], ";color=blue,black"),
    (ParameterStyle.MATRIX, LOOSE, ["blue", "black"], ";color=blue;color=black"),
    (ParameterStyle.MATRIX, TIGHT, {"R": 100, "G": 200}, ";color=R,100,G,200"),
    (ParameterStyle.MATRIX, LOOSE, {"R": 100, "G": 200}, ";R=100;G=200"),
    (ParameterStyle.MATRIX, TIGHT, "", ";color"),
]


@pytest.mark.parametrize(("style", "is_exploded", "value", "text"), PATHS)
def test_path_styles_match_the_specification(style, is_exploded, value, text):
    assert encode_path("color", value, written(style, is_exploded)) == text


@given(value=arrays, style=st.sampled_from(STYLES[ParameterLocation.PATH]), is_exploded=st.booleans())
def test_a_path_value_adds_no_segment(value, style, is_exploded):
    text = encode_path("v", value, written(style, is_exploded))
    assert not set(text) & set("/?#")
    assert text.isascii()


@given(value=words)
def test_allowed_reserved_characters_are_kept(value):
    [(_, text)] = encode_query("q", value, written(ParameterStyle.FORM, LOOSE, allows_reserved=True))
    assert unquote(text) == value
    assert not set(text) & set("&+#")


def test_a_path_in_the_query_is_kept_with_allow_reserved():
    [(_, text)] = encode_query("q", "/a/b:c?d=e", written(ParameterStyle.FORM, LOOSE, allows_reserved=True))
    assert text == "/a/b:c?d=e"


@given(
    value=st.recursive(
        words | st.integers() | st.booleans() | st.none(), lambda inner: st.lists(inner, max_size=4), max_leaves=12
    )
)
def test_a_parameter_with_json_content_is_json(value):
    encoding = written(ParameterStyle.FORM, LOOSE, media_type="application/json")
    [(_, text)] = encode_query("q", value, encoding)
    assert json.loads(unquote(text)) == value
    assert json.loads(encode_header(value, encoding)) == value
    assert json.loads(unquote(encode_path("q", value, encoding))) == value


@given(value=st.lists(plain, min_size=1))
def test_a_header_array_is_joined_with_commas(value):
    assert encode_header(value, written(ParameterStyle.SIMPLE, TIGHT)).split(",") == value


@given(value=words)
def test_a_cookie_value_cannot_end_its_cookie(value):
    [(_, text)] = encode_cookie("c", value, written(ParameterStyle.FORM, LOOSE))
    assert ";" not in text
    assert unquote(text) == value


def test_null_and_empty_values_are_omitted():
    assert encode_query("q", None, written(ParameterStyle.FORM, LOOSE)) == []
    assert encode_query("q", [], written(ParameterStyle.FORM, TIGHT)) == []
    assert encode_query("q", {"a": None}, written(ParameterStyle.DEEP, LOOSE)) == []
    assert encode_query("q", [1, None, 2], written(ParameterStyle.FORM, TIGHT)) == [("q", "1,2")]


@pytest.mark.parametrize(
    ("value", "text"), [(True, "true"), (1.5, "1.5"), (10**30, "1" + "0" * 30), (0, "0"), ("", "")]
)
def test_numbers_and_booleans_are_written_as_json(value, text):
    assert encode_query("q", value, written(ParameterStyle.FORM, LOOSE)) == [("q", text)]


ORACLE = [
    (ParameterLocation.QUERY, ParameterStyle.FORM, LOOSE, st.lists(st.integers(), min_size=1, max_size=4), "array"),
    (ParameterLocation.QUERY, ParameterStyle.FORM, TIGHT, st.lists(st.integers(), min_size=1, max_size=4), "array"),
    (ParameterLocation.QUERY, ParameterStyle.PIPE, TIGHT, st.lists(st.integers(), min_size=1, max_size=4), "array"),
    (ParameterLocation.QUERY, ParameterStyle.FORM, LOOSE, st.integers(), "integer"),
    (ParameterLocation.QUERY, ParameterStyle.FORM, LOOSE, st.booleans(), "boolean"),
    (
        ParameterLocation.QUERY,
        ParameterStyle.DEEP,
        LOOSE,
        st.dictionaries(plain, st.integers(), min_size=1, max_size=4),
        "object",
    ),
    (
        ParameterLocation.QUERY,
        ParameterStyle.FORM,
        TIGHT,
        st.dictionaries(plain, st.integers(), min_size=1, max_size=4),
        "object",
    ),
    (ParameterLocation.PATH, ParameterStyle.SIMPLE, TIGHT, st.lists(st.integers(), min_size=1, max_size=4), "array"),
    (
        ParameterLocation.PATH,
        ParameterStyle.SIMPLE,
        LOOSE,
        st.dictionaries(plain, st.integers(), min_size=1, max_size=4),
        "object",
    ),
    (ParameterLocation.HEADER, ParameterStyle.SIMPLE, TIGHT, st.lists(st.integers(), min_size=1, max_size=4), "array"),
]


@pytest.mark.parametrize(("location", "style", "is_exploded", "values", "kind"), ORACLE)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_openapi_core_reads_back_parameters(location, style, is_exploded, values, kind, data):
    value = data.draw(values)
    encoding = written(style, is_exploded)
    schema = {"type": kind, "items": {"type": "integer"}, "additionalProperties": {"type": "integer"}}
    if kind == "object":
        schema["properties"] = {name: {"type": "integer"} for name in value}
    parameter = {"name": "v", "in": str(location), "style": str(style), "explode": is_exploded, "schema": schema}
    path = "/x/{v}" if location is ParameterLocation.PATH else "/x"
    spec = {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "paths": {path: {"get": {"parameters": [parameter | {"required": True}], "responses": {}}}},
    }
    request = MockRequest("http://x", "get", path, path_pattern=path)
    match location:
        case ParameterLocation.QUERY:
            pairs: dict[str, list[str]] = {}
            for name, text in parse_qsl(join_pairs(encode_query("v", value, encoding)), keep_blank_values=True):
                pairs.setdefault(name, []).append(text)
            request = MockRequest("http://x", "get", path, path_pattern=path, args=pairs)
        case ParameterLocation.PATH:
            read = {"v": unquote(encode_path("v", value, encoding))}
            request = MockRequest("http://x", "get", path, path_pattern=path, view_args=read)
        case _:
            request = MockRequest(
                "http://x", "get", path, path_pattern=path, headers={"v": encode_header(value, encoding)}
            )
    result = V31RequestUnmarshaller(SchemaPath.from_dict(spec)).unmarshal(request)
    assert result.errors == []
    assert getattr(result.parameters, str(location))["v"] == value
