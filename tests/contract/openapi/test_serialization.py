"""Serialization of parameters and bodies as a server receives them: the examples of the specifications."""

import re
from typing import Any

import pytest
from werkzeug.test import create_environ
from werkzeug.wrappers import Request

OAS303 = "OpenAPI 3.0.3, Parameter Object, Style Examples"
OAS311 = "OpenAPI 3.1.1, Parameter Object, Style Examples"
BLUE, COLOURS, RGB = "blue", ["blue", "black", "brown"], {"R": 100, "G": 200, "B": 150}
JOINED = "blue,black,brown"

PARAMETERS = [
    # in, style, explode, value, what is on the wire, source
    ("path", "simple", False, BLUE, "blue", OAS303),
    ("path", "simple", False, COLOURS, JOINED, OAS303),
    ("path", "simple", True, COLOURS, JOINED, OAS303),
    ("path", "simple", False, RGB, "R,100,G,200,B,150", OAS303),
    ("path", "simple", True, RGB, "R=100,G=200,B=150", OAS303),
    ("path", "label", False, BLUE, ".blue", OAS303),
    ("path", "label", False, COLOURS, ".blue,black,brown", OAS311 + "; 3.0.3 misprints it with dots"),
    ("path", "label", True, COLOURS, ".blue.black.brown", OAS303),
    ("path", "label", False, RGB, ".R,100,G,200,B,150", OAS311 + "; 3.0.3 misprints it with dots"),
    ("path", "label", True, RGB, ".R=100.G=200.B=150", OAS303),
    ("path", "label", False, "", ".", OAS303),
    ("path", "matrix", False, BLUE, ";v=blue", OAS303),
    ("path", "matrix", True, BLUE, ";v=blue", OAS303),
    ("path", "matrix", False, "", ";v", OAS303),
    ("path", "matrix", False, COLOURS, ";v=blue,black,brown", OAS303),
    ("path", "matrix", True, COLOURS, ";v=blue;v=black;v=brown", OAS303),
    ("path", "matrix", False, RGB, ";v=R,100,G,200,B,150", OAS303),
    ("path", "matrix", True, RGB, ";R=100;G=200;B=150", OAS303),
    ("path", "matrix", True, ["", "a"], ";v;v=a", "RFC 6570, 3.2.7: `;x={x}` is `;x=1024`, `;empty` has no `=`"),
    ("path", "matrix", True, {"R": "", "G": "a"}, ";R;G=a", "RFC 6570, 2.4.2 and 3.2.1"),
    ("path", "simple", False, "50%", "50%25", "RFC 6570, 3.2.2: {half}"),
    ("path", "simple", False, "/foo/bar", "%2Ffoo%2Fbar", "RFC 6570, 3.2.2: {path}"),
    ("path", "label", False, "fred,50%", ".fred%2C50%25", "RFC 6570, 3.2.5"),
    ("query", "form", False, "", "v=", OAS303),
    ("query", "form", True, BLUE, "v=blue", OAS303),
    ("query", "form", False, COLOURS, "v=blue,black,brown", OAS303),
    ("query", "form", True, COLOURS, "v=blue&v=black&v=brown", OAS303),
    ("query", "form", False, RGB, "v=R,100,G,200,B,150", OAS303),
    ("query", "form", True, RGB, "R=100&G=200&B=150", OAS303),
    ("query", "form", True, [], "", "RFC 6570, 3.2.1: an empty list is undefined"),
    ("query", "form", False, [], "", "RFC 6570, 3.2.1: an empty list is undefined"),
    ("query", "form", True, {}, "", "RFC 6570, 3.2.1: an empty association is undefined"),
    ("query", "form", False, {"semi": ";", "dot": ".", "comma": ","}, "v=semi,%3B,dot,.,comma,%2C", "RFC 6570, 3.2.8"),
    ("query", "form", True, {"semi": ";", "dot": ".", "comma": ","}, "semi=%3B&dot=.&comma=%2C", "RFC 6570, 3.2.8"),
    ("query", "form", True, "Hello World!", "v=Hello%20World%21", "RFC 6570, 3.2.2: {hello}"),
    ("query", "spaceDelimited", False, COLOURS, "v=blue%20black%20brown", OAS303),
    ("query", "spaceDelimited", False, RGB, "v=R%20100%20G%20200%20B%20150", OAS311),
    ("query", "spaceDelimited", True, COLOURS, "v=blue&v=black&v=brown", "OpenAPI 3.0.3: as form where exploded"),
    ("query", "pipeDelimited", False, COLOURS, "v=blue%7Cblack%7Cbrown", OAS311),
    ("query", "pipeDelimited", False, RGB, "v=R%7C100%7CG%7C200%7CB%7C150", OAS311),
    ("query", "pipeDelimited", True, COLOURS, "v=blue&v=black&v=brown", "OpenAPI 3.0.3: as form where exploded"),
    ("query", "deepObject", True, RGB, "v%5BR%5D=100&v%5BG%5D=200&v%5BB%5D=150", OAS311),
    ("query", "deepObject", True, {"a": {"b": 1}, "c": 2}, "v%5Ba%5D%5Bb%5D=1&v%5Bc%5D=2", "undefined; as `qs`"),
    ("query", "deepObject", True, {"a": ["x", "y"]}, "v%5Ba%5D=x&v%5Ba%5D=y", "undefined; as `qs` has it"),
    ("header", "simple", False, COLOURS, JOINED, OAS303),
    ("header", "simple", True, COLOURS, JOINED, OAS303),
    ("header", "simple", False, RGB, "R,100,G,200,B,150", OAS303),
    ("header", "simple", True, RGB, "R=100,G=200,B=150", OAS303),
    ("header", "simple", False, "a/b c%", "a/b c%", "OpenAPI 3.1.1, Appendix E: headers are not percent-encoded"),
    ("header", "simple", False, [], None, "RFC 6570, 3.2.1: an empty list is undefined"),
    ("cookie", "form", True, BLUE, "v=blue", OAS303),
    ("cookie", "form", False, COLOURS, "v=blue,black,brown", OAS303),
    ("cookie", "form", False, RGB, "v=R,100,G,200,B,150", OAS303),
    ("cookie", "form", True, COLOURS, "v=blue; v=black; v=brown", "RFC 6265, 4.2.1; OpenAPI 3.2, style `cookie`"),
    ("cookie", "form", True, RGB, "R=100; G=200; B=150", "RFC 6265, 4.2.1; OpenAPI 3.2, style `cookie`"),
    ("cookie", "form", True, "a;b c", "v=a%3Bb%20c", "RFC 6570, 3.2.8"),
    ("cookie", "cookie", True, "a b,c%20", "v=a b,c%20", "OpenAPI 3.2, style `cookie`: nothing is encoded"),
]
RESERVED = [
    ("query", True, "/foo/bar?a=b", "v=/foo/bar?a=b", "RFC 6570, 3.2.3: {+path}"),
    ("query", True, "a:b@c!$'()*,;", "v=a:b@c!$'()*,;", "OpenAPI 3.0.3, allowReserved"),
    ("query", True, "a&b#c+d[e]", "v=a%26b%23c%2Bd%5Be%5D", "OpenAPI 3.1.1: what the query itself reads stays encoded"),
    ("query", False, ["a,b", "c/d"], "v=a%2Cb,c/d", "an item's comma is not a delimiter"),
    ("query", True, {"a=b": "c=d"}, "a%3Db=c=d", "a name ends at the first `=`"),
    ("path", False, "a:b@c", "a:b@c", "OpenAPI 3.2, allowReserved in paths"),
    ("path", False, "w/x?y#z", "w%2Fx%3Fy%23z", "OpenAPI 3.2: never `/`, `?` or `#` in a path"),
    ("cookie", True, "a;b,c", "v=a%3Bb%2Cc", "RFC 6265, 4.1.1: neither is allowed in a cookie"),
]
CONTENT = [
    ("query", "application/json", {"a": [1, "b c"]}, "v=%7B%22a%22%3A%5B1%2C%22b%20c%22%5D%7D"),
    ("query", "text/plain", "a b", "v=a%20b"),
    ("path", "application/json", [1, 2], "%5B1%2C2%5D"),
    ("header", "application/json", {"a": "ž"}, '{"a":"\\u017e"}'),
    ("header", "text/plain", "a b", "a b"),
    ("cookie", "application/json", {"a": 1}, "v=%7B%22a%22%3A1%7D"),
]
FORMATS = [
    # Swagger 2.0, Parameter Object, collectionFormat
    ("query", "csv", "v=blue,black,brown"),
    ("query", "ssv", "v=blue%20black%20brown"),
    ("query", "tsv", "v=blue%09black%09brown"),
    ("query", "pipes", "v=blue%7Cblack%7Cbrown"),
    ("query", "multi", "v=blue&v=black&v=brown"),
    ("path", "csv", "blue,black,brown"),
    ("path", "ssv", "blue%20black%20brown"),
    ("path", "tsv", "blue%09black%09brown"),
    ("path", "pipes", "blue%7Cblack%7Cbrown"),
    ("header", "csv", "blue,black,brown"),
    ("header", "ssv", "blue black brown"),
    ("header", "tsv", "blue\tblack\tbrown"),
    ("header", "pipes", "blue|black|brown"),
    ("formData", "csv", "v=blue,black,brown"),
    ("formData", "ssv", "v=blue%20black%20brown"),
    ("formData", "tsv", "v=blue%09black%09brown"),
    ("formData", "pipes", "v=blue%7Cblack%7Cbrown"),
    ("formData", "multi", "v=blue&v=black&v=brown"),
]
MULTIPART = {"csv": [JOINED], "ssv": ["blue black brown"], "pipes": ["blue|black|brown"], "multi": COLOURS}


def one_parameter(place: str, **fields: Any) -> dict[str, Any]:
    path = "/x/v{v}" if place == "path" else "/x"
    parameter = {"name": "v", "in": place, "required": place == "path"} | fields
    return {path: {"post": {"operationId": "op", "parameters": [parameter], "responses": {}}}}


def on_wire(got: Any, place: str) -> str | None:
    """The value at a place of a request; header bytes are UTF-8."""
    path, _, query = got.target.partition("?")
    match place:
        case "path":
            return path.removeprefix("/x/v")
        case "query":
            return query
        case "formData":
            return got.body.decode()
    text = got.headers.get("v" if place == "header" else "cookie")
    return None if text is None else text.encode("latin-1").decode()


@pytest.fixture
async def sent(opened, server, tools):
    """Sends a value as the only argument `v` of a document, and returns what the server received."""

    async def sent_(paths: dict[str, Any], value: Any, *, version: dict[str, str] | None = None) -> Any:
        document = tools.described(paths)
        if version is not None:
            document = version | {key: part for key, part in document.items() if key != "openapi"}
        source = await opened(document, base_url=server.url)
        await source.call("op", {"v": value})
        return server.received[-1]

    return sent_


@pytest.mark.parametrize(("place", "style", "explode", "value", "wire", "source"), PARAMETERS)
async def test_parameters_are_serialized_as_in_the_specification(sent, place, style, explode, value, wire, source):
    got = await sent(one_parameter(place, style=style, explode=explode, schema={"example": value}), value)
    assert on_wire(got, place) == wire, source


@pytest.mark.parametrize(("place", "explode", "value", "wire", "source"), RESERVED)
async def test_allowed_reserved_characters_stay_unless_they_are_syntax(sent, place, explode, value, wire, source):
    got = await sent(one_parameter(place, explode=explode, allowReserved=True, schema={"example": value}), value)
    assert on_wire(got, place) == wire, source


@pytest.mark.parametrize(("place", "media_type", "value", "wire"), CONTENT)
async def test_a_parameter_with_content_is_serialized_as_its_media_type(sent, place, media_type, value, wire):
    got = await sent(one_parameter(place, content={media_type: {"schema": {}}}), value)
    assert on_wire(got, place) == wire


def swagger(place: str, collection_format: str, *others: dict[str, Any]) -> dict[str, Any]:
    items = {"type": "array", "items": {"type": "string"}, "collectionFormat": collection_format}
    paths = one_parameter(place, **items)
    next(iter(paths.values()))["post"]["parameters"] += others
    return paths


@pytest.mark.parametrize(("place", "collection_format", "wire"), FORMATS)
async def test_collection_formats_work_in_every_location(sent, place, collection_format, wire):
    got = await sent(swagger(place, collection_format), COLOURS, version={"swagger": "2.0"})
    assert on_wire(got, place) == wire


def parts_of(got: Any) -> list[tuple[str, str, str]]:
    """The parts of a multipart body: name, content type, text."""
    request = Request(create_environ(method="POST", data=got.body, content_type=got.headers["content-type"]))
    files = []
    for name, file in request.files.items(multi=True):
        with file.stream:
            files.append((name, file.content_type or "", file.read().decode()))
    boundary = got.headers["content-type"].partition("boundary=")[2]
    kinds = dict.fromkeys(request.form, "")
    for part in got.body.split(f"--{boundary}".encode()):
        name = re.search(rb'name="([^"]*)"', part)
        kind = re.search(rb"(?i)content-type: ([^\r]*)", part)
        if name and kind:
            kinds[name[1].decode()] = kind[1].decode()
    return [(name, kinds[name], text) for name, text in request.form.items(multi=True)] + files


@pytest.mark.parametrize("collection_format", sorted(MULTIPART))
async def test_collection_formats_work_in_multipart_forms(sent, collection_format):
    file = {"name": "f", "in": "formData", "type": "file"}
    got = await sent(swagger("formData", collection_format, file), COLOURS, version={"swagger": "2.0"})
    assert [text for _, _, text in parts_of(got)] == MULTIPART[collection_format]


def one_body(media_type: str, encoding: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"v": {}}}
    body = {"content": {media_type: {"schema": schema, "encoding": {"v": encoding} if encoding else {}}}}
    return {"/x": {"post": {"operationId": "op", "requestBody": body, "responses": {}}}}


FORM = [
    # OpenAPI 3.0.3 and 3.1.1, Encoding Object
    ({}, "a b&c=", "v=a%20b%26c%3D"),
    ({}, COLOURS, "v=blue&v=black&v=brown"),
    ({}, {"R": 1}, "v=%7B%22R%22%3A1%7D"),
    ({"headers": {}}, {"R": 1}, "v=%7B%22R%22%3A1%7D"),
    ({"explode": False}, COLOURS, "v=blue,black,brown"),
    ({"style": "spaceDelimited", "explode": False}, COLOURS, "v=blue%20black%20brown"),
    ({"style": "pipeDelimited", "explode": False}, COLOURS, "v=blue%7Cblack%7Cbrown"),
    ({"style": "deepObject", "explode": True}, RGB, "v%5BR%5D=100&v%5BG%5D=200&v%5BB%5D=150"),
    ({"style": "form"}, RGB, "R=100&G=200&B=150"),
    ({"allowReserved": True}, "a/b", "v=a/b"),
    ({"contentType": "text/plain"}, "a b", "v=a%20b"),
    ({"contentType": "application/json"}, COLOURS, "v=%5B%22blue%22%2C%22black%22%2C%22brown%22%5D"),
    ({"contentType": "text/plain", "explode": False}, COLOURS, "v=blue,black,brown"),
]
PARTS = [
    ({}, "a b", [("v", "", "a b")]),
    ({}, COLOURS, [("v", "", colour) for colour in COLOURS]),
    ({}, {"R": 1}, [("v", "application/json", '{"R":1}')]),
    ({"contentType": "text/csv"}, "a,b", [("v", "text/csv", "a,b")]),
    ({"contentType": "application/json"}, "a", [("v", "application/json", '"a"')]),
    ({"contentType": "application/vnd.x+json, text/plain"}, {"R": 1}, [("v", "application/vnd.x+json", '{"R":1}')]),
    ({"contentType": "image/*"}, "a", [("v", "", "a")]),
    ({"explode": False}, ["a b", "c"], [("v", "", "a b,c")]),
    ({"style": "deepObject", "explode": True}, {"R": 1, "G": "ž"}, [("v[R]", "", "1"), ("v[G]", "", "ž")]),
]


@pytest.mark.parametrize(("encoding", "value", "wire"), FORM)
async def test_form_members_follow_their_encoding(sent, encoding, value, wire):
    got = await sent(one_body("application/x-www-form-urlencoded", encoding), value)
    assert got.body.decode() == wire


@pytest.mark.parametrize(("encoding", "value", "parts"), PARTS)
async def test_multipart_members_follow_their_encoding(sent, encoding, value, parts):
    assert parts_of(await sent(one_body("multipart/form-data", encoding), value)) == parts


async def test_a_file_has_the_content_type_of_its_encoding(sent):
    paths = one_body("multipart/form-data", {"contentType": "image/svg+xml"})
    content = paths["/x"]["post"]["requestBody"]["content"]["multipart/form-data"]
    content["schema"]["properties"]["v"] = {"type": "string", "format": "binary"}
    assert parts_of(await sent(paths, "<svg/>")) == [("v", "image/svg+xml", "<svg/>")]
