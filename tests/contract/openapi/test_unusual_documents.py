"""Unusual but understandable documents: paths, bodies, servers and Swagger keywords."""

import json
from typing import Any

import pytest

from adapters.errors import InvalidRequest
from adapters.openapi.adapter import OpenApiSource

TEXT = {"type": "string"}


def get(*parameters: Any, **fields: Any) -> dict[str, Any]:
    return {"get": {"operationId": "op", "parameters": list(parameters), "responses": {}} | fields}


def posting(media_type: str, schema: Any = None, **body: Any) -> dict[str, Any]:
    content = {media_type: {"schema": TEXT if schema is None else schema}}
    return {"post": {"operationId": "op", "requestBody": {"content": content} | body, "responses": {}}}


def in_path(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": TEXT} | fields


async def skipped(source: OpenApiSource) -> dict[str, str]:
    return {one.path: one.reason for one in (await source.list_tools()).skipped}


@pytest.fixture
async def sent(opened, server, tools):
    """Calls the only operation of a document and returns the target that the server saw."""

    async def sent_(path: str, arguments: dict[str, Any], *parameters: Any, **item: Any) -> str:
        source = await opened(tools.described({path: get(*parameters) | item}), base_url=server.url)
        await source.call("op", arguments)
        return str(server.received[-1].target)

    return sent_


@pytest.mark.parametrize(
    ("path", "declared", "arguments", "target"),
    [
        ("/pets/:id/toys", [in_path("id")], {"id": 4}, "/pets/4/toys"),
        ("/pets/:id", [], {"id": "a b"}, "/pets/a%20b"),
        ("/pets/{id}:feed", [in_path("id")], {"id": 4}, "/pets/4:feed"),
        ("/pets/{petId}", [in_path("petid")], {"petId": 4}, "/pets/4"),
        ("/pets/{ id }", [in_path("id")], {"id": 4}, "/pets/4"),
        ("/find?kind={kind}&v=2", [in_path("kind")], {"kind": "a&b"}, "/find?v=2&kind=a%26b"),
        ("/find?k={kind}", [{"name": "kind", "in": "query", "schema": TEXT}], {"k": "cat"}, "/find?k=cat"),
        ("/find?kind={kind}", [], {"kind": "cat"}, "/find?kind=cat"),
        ("/find{?kind,size}", [{"name": "kind", "in": "query", "schema": TEXT}], {"kind": "cat"}, "/find?kind=cat"),
        ("find/all", [], {}, "/find/all"),
    ],
)
async def test_every_syntax_of_a_path_variable_is_filled(sent, path, declared, arguments, target):
    assert await sent(path, arguments, *declared) == target


@pytest.mark.parametrize(
    ("path", "declared"),
    [
        ("/v1/{name}", in_path("name", description="Format: `projects/{project}/topics/{topic}`")),
        ("/v1/{name}", in_path("name", description="Must match `projects/*/topics/*`.")),
        ("/v1/{name}", {**in_path("name"), "x-ms-skip-url-encoding": True}),
        ("/v1/{name}", {**in_path("name"), "x-multi-segment": True}),
        ("/v1/{+name}", in_path("name")),
        ("/v1/{name=projects/*/topics/*}", in_path("name")),
        ("/v1/{name:path}", in_path("name")),
        ("/v1/{name*}", in_path("name")),
    ],
)
async def test_a_multi_segment_value_keeps_its_slashes(sent, path, declared):
    value = "/projects/a b/topics/t?x#y"
    assert await sent(path, {"name": value}, declared) == "/v1/projects/a%20b/topics/t%3Fx%23y"


async def test_a_multi_segment_declaration_holds_for_other_operations(opened, server, tools):
    told = in_path("parent", description="Format: `projects/{project}`")
    paths = {
        "/v1/{parent}/topics": get(told, operationId="topics"),
        "/v1/{name}": get(in_path("name"), operationId="name"),
        "/v1/{coded}:get": get(in_path("coded", description="URL-encoded."), operationId="coded"),
        "/v2/{name}": get(in_path("name", description="An ARN."), operationId="other"),
    }
    source = await opened(tools.described(paths), base_url=server.url)
    for tool, argument in (("name", "name"), ("coded", "coded"), ("other", "name")):
        await source.call(tool, {argument: "projects/p"})
    assert [one.target for one in server.received] == ["/v1/projects/p", "/v1/projects%2Fp:get", "/v2/projects%2Fp"]


@pytest.mark.parametrize(
    "description",
    ["The ARN of the resource.", "URL-encoded path of the project, `group/{project}`.", "A branch such as `fix/bug`."],
)
async def test_slashes_that_the_document_declares_are_encoded(sent, description):
    assert await sent("/v1/{name}", {"name": "a/b"}, in_path("name", description=description)) == "/v1/a%2Fb"


@pytest.mark.parametrize("description", ["The name.", "See `GET /users/{id}`.", "An id from a/b."])
async def test_other_slashes_in_path_values_are_refused(sent, server, description):
    with pytest.raises(InvalidRequest, match="name: it contains a path separator"):
        await sent("/v1/{name}", {"name": "a/b"}, in_path("name", description=description))
    assert server.received == []


@pytest.mark.parametrize("value", ["a/../b", "..", "../b", "a/..", "./a", "/"])
async def test_a_multi_segment_value_cannot_leave_the_path(sent, server, value):
    with pytest.raises(InvalidRequest, match="name"):
        await sent("/v1/{+name}", {"name": value}, in_path("name"))
    assert server.received == []


async def test_a_path_with_a_variable_in_the_fragment_is_skipped(opened, tools):
    source = await opened(tools.described({"/a#v/{id}": get(in_path("id"))}), base_url="http://127.0.0.1:1")
    assert "after '#'" in (await skipped(source))["#/paths/~1a#v~1{id}/get"]


@pytest.mark.parametrize(
    ("media_type", "body", "content_type"),
    [
        ("application/xml", "<a>ž</a>", "application/xml"),
        ("text/xml; charset=utf-8", "<a/>", "text/xml; charset=utf-8"),
        ("application/vnd.example+xml", "<a/>", "application/vnd.example+xml"),
        ("application/x-yaml", "a: 1", "application/x-yaml"),
        ("application/sparql-query", "SELECT *", "application/sparql-query"),
        ("message/rfc822", "From: a", "message/rfc822"),
    ],
)
async def test_a_markup_body_is_text_from_the_caller(opened, server, tools, media_type, body, content_type):
    schema = {"type": "object", "properties": {"name": TEXT, "kind": TEXT}, "required": ["name"]}
    source = await opened(tools.described({"/t": posting(media_type, schema, required=True)}), base_url=server.url)
    (tool,) = (await source.list_tools()).tools
    shown = tool.parameters["properties"]["body"]
    assert (shown["type"], tool.parameters["required"]) == ("string", ["body"])
    assert "name, kind" in shown["description"]
    await source.call("op", {"body": body})
    got = server.received[-1]
    assert (got.body.decode(), got.headers["content-type"]) == (body, content_type)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("applicationjson;version=2", "application/json"),
        ("", "application/json"),
        ("application/form-data", "multipart/form-data"),
        ("x-www-form-urlencoded", "application/x-www-form-urlencoded"),
    ],
)
async def test_a_misspelled_media_type_is_corrected(opened, server, tools, written, meant):
    schema = {"type": "object", "properties": {"a": TEXT}}
    source = await opened(tools.described({"/t": posting(written, schema)}), base_url=server.url)
    await source.call("op", {"a": "x"})
    assert server.received[-1].headers["content-type"].partition(";")[0] == meant


async def test_an_unsupported_shared_body_is_reported_at_the_operation(opened, tools):
    paths = {
        "/must": {"post": {"requestBody": {"$ref": "#/components/requestBodies/Picture"}, "responses": {}}},
        "/may": {"post": {"requestBody": {"content": {"image/png": {}}}, "responses": {}}},
    }
    parts = {"requestBodies": {"Picture": {"required": True, "content": {"image/png": {}}}}}
    source = await opened(tools.described(paths, components=parts), base_url="http://127.0.0.1:1")
    told = await skipped(source)
    assert "image/png" in told["#/paths/~1must/post/requestBody"]
    assert "sent without" in told["#/paths/~1may/post/requestBody"]


async def test_body_members_are_required_unless_the_body_is_declared_optional(opened, tools):
    schema = {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "required": ["a"]}
    silent = await opened(tools.described({"/t": posting("application/json", schema)}), base_url="http://127.0.0.1:1")
    (tool,) = (await silent.list_tools()).tools
    assert tool.parameters["required"] == ["a"]
    free = tools.described({"/t": posting("application/json", schema, required=False)})
    (tool,) = (await (await opened(free, base_url="http://127.0.0.1:1")).list_tools()).tools
    assert "required" not in tool.parameters


async def test_a_required_undescribed_member_is_accepted(opened, server, tools):
    schema = {"type": "object", "properties": {"a": TEXT}, "required": ["a", "b"], "additionalProperties": False}
    source = await opened(tools.described({"/t": posting("application/json", schema)}), base_url=server.url)
    await source.call("op", {"a": "x", "b": 1})
    assert json.loads(server.received[-1].body) == {"a": "x", "b": 1}


async def test_closed_parts_of_all_of_can_be_combined(opened, server, tools):
    parts = [{"type": "object", "properties": {name: TEXT}, "additionalProperties": False} for name in "ab"]
    document = tools.described(
        {"/t": posting("application/json", {"allOf": [{"$ref": "#/components/schemas/A"}, parts[1]]}, required=True)},
        components={"schemas": {"A": parts[0]}},
    )
    source = await opened(document, base_url=server.url)
    await source.call("op", {"a": "x", "b": "y"})
    assert json.loads(server.received[-1].body) == {"a": "x", "b": "y"}


async def test_quoted_values_are_converted_to_their_type(opened, server, tools):
    listed = {"name": "f", "in": "query", "schema": {"type": "boolean", "enum": ["false", "true"]}}
    fixed = {"name": "d", "in": "query", "required": True, "schema": {"type": "boolean", "default": "false"}}
    source = await opened(tools.described({"/t": get(listed, fixed)}), base_url=server.url)
    await source.call("op", {"f": True})
    assert server.received[-1].target == "/t?f=true&d=false"


async def test_an_operation_may_have_a_relative_or_http_server(opened, server, tools):
    paths = {
        "/a": get(servers=[{"url": "/v9"}]),
        "/b": get(servers=[{"url": "http://api.example.com/v8"}], operationId="b"),
    }
    document = tools.described(paths, servers=[{"url": "https://api.example.com/v1"}])
    source = await opened(document)
    assert (await source.preview_request("op", {})).target == "https://api.example.com/v9/a"
    assert (await source.preview_request("b", {})).target == "https://api.example.com/v8/b"
    moved = await opened(document, base_url=f"{server.url}/v1")
    await moved.call("op", {})
    assert server.received[-1].target == "/v9/a"


async def test_a_server_variable_adds_no_double_slash(opened, tools):
    servers = [{"url": "https://api.example.com/{base}", "variables": {"base": {"default": "/v1"}}}]
    source = await opened(tools.described({"/a": get()}, servers=servers))
    assert (await source.preview_request("op", {})).target == "https://api.example.com/v1/a"


async def test_a_document_without_a_host_suggests_a_base_url(opened, tools):
    source = await opened(tools.described({"/a": get()}, servers=[{"url": "/api/v1"}]))
    assert "https://HOST/api/v1" in (await skipped(source))["#/servers"]


async def test_a_swagger_form_is_multipart_if_that_is_all_it_consumes(opened, server, tools):
    form = [{"name": "a", "in": "formData", "type": "string"}]
    operation = {"operationId": "op", "consumes": ["multipart/form-data"], "parameters": form, "responses": {}}
    document = {"swagger": "2.0", "info": {}, "paths": {"/t": {"post": operation}}}
    source = await opened(document, base_url=server.url)
    await source.call("op", {"a": "x"})
    assert server.received[-1].headers["content-type"].startswith("multipart/form-data")


async def test_every_array_has_items(opened, tools):
    schema: dict[str, Any] = {"type": "array", "description": "word " * 400}
    for level in range(8):
        members = {f"m{level}_{n}": schema for n in range(3)}
        schema = {"type": "array", "items": {"type": "object", "properties": members}, "description": "word " * 400}
    source = await opened(tools.described({"/t": posting("application/json", schema)}), base_url="http://127.0.0.1:1")
    (tool,) = (await source.list_tools()).tools
    assert list(arrays_of_nothing(tool.parameters)) == []


def arrays_of_nothing(schema: Any) -> Any:
    if isinstance(schema, list):
        for inner in schema:
            yield from arrays_of_nothing(inner)
    elif isinstance(schema, dict):
        if schema.get("type") == "array" and "items" not in schema:
            yield schema
        for inner in schema.values():
            yield from arrays_of_nothing(inner)


async def test_schema_local_references_are_resolved(opened, tools):
    def model(kind: str) -> dict[str, Any]:
        parts = {"Part": {"type": kind}}
        return {"type": "object", "properties": {"p": {"$ref": "#/$defs/Part"}}, "$defs": parts}

    body = {"$ref": "#/components/schemas/Model"}
    listed = {"name": "f", "in": "query", "schema": {"$ref": "#/$defs/K", "$defs": {"K": {"type": "boolean"}}}}
    paths = {
        "/t": posting("application/json", body),
        "/u": posting("application/json", model("integer")),
        "/v": get(listed),
    }
    document = tools.described(paths, components={"schemas": {"Model": model("string")}})
    source = await opened(document, base_url="http://127.0.0.1:1")
    found = {tool.locator: tool.parameters["properties"] for tool in (await source.list_tools()).tools}
    assert [found["POST /t"]["p"], found["POST /u"]["p"]] == [{"type": "string"}, {"type": "integer"}]
    assert await skipped(source) == {}


async def test_swagger_2_keywords_are_accepted_in_any_version(opened, server, tools):
    parameters = [
        {"name": "id", "in": "Path", "required": True, "type": "integer"},
        {"name": "ids", "in": "query", "type": "array", "items": {"type": "string"}, "collectionFormat": "csv"},
        {"name": "payload", "in": "body", "required": True, "schema": {"type": "object", "properties": {"a": TEXT}}},
    ]
    paths = {"/t/{id}": {"post": {"operationId": "op", "parameters": parameters, "responses": {}}}}
    source = await opened(tools.described(paths), base_url=server.url)
    await source.call("op", {"id": 4, "ids": ["x", "y"], "a": "z"})
    got = server.received[-1]
    assert (got.target, json.loads(got.body)) == ("/t/4?ids=x,y", {"a": "z"})


@pytest.mark.parametrize(
    "parameters",
    [
        {"first": {"name": "q", "in": "query", "schema": TEXT}},
        {"$ref": "#/components/x-lists/one"},
    ],
)
async def test_the_parameter_list_may_be_an_object_or_a_reference(opened, server, tools, parameters):
    paths = {"/t": {"get": {"operationId": "op", "parameters": parameters, "responses": {}}}}
    lists = {"one": [{"name": "q", "in": "query", "schema": TEXT}]}
    source = await opened(tools.described(paths, components={"x-lists": lists}), base_url=server.url)
    await source.call("op", {"q": "x"})
    assert server.received[-1].target == "/t?q=x"


async def test_a_document_without_operations_is_reported(opened, tools):
    source = await opened(tools.described({}, webhooks={"a": {"post": {}}}), base_url="http://127.0.0.1:1")
    assert "no operation" in (await skipped(source))["#/paths"]


async def test_a_name_starting_with_a_digit_is_derived_from_the_path(opened, tools):
    paths = {"/pets/{id}": {"get": {"operationId": "58d8bcb7", "responses": {}}}}
    source = await opened(tools.described(paths), base_url="http://127.0.0.1:1")
    assert [tool.name for tool in (await source.list_tools()).tools] == ["get_pets_by_id"]


async def test_a_body_without_content_is_json(opened, server, tools):
    paths = {"/t": {"post": {"operationId": "op", "requestBody": {"required": True, "content": {}}, "responses": {}}}}
    source = await opened(tools.described(paths), base_url=server.url)
    await source.call("op", {"body": {"a": 1}})
    assert json.loads(server.received[-1].body) == {"a": 1}


async def test_binary_content_of_openapi_3_1_is_sent_as_a_file(opened, server, tools):
    members = {"f": {"type": "string", "contentMediaType": "application/octet-stream"}, "t": TEXT}
    item = posting("multipart/form-data", {"type": "object", "properties": members})
    source = await opened(tools.described({"/t": item}) | {"openapi": "3.1.0"}, base_url=server.url)
    await source.call("op", {"f": "abc", "t": "x"})
    assert b'name="f"; filename="f"' in server.received[-1].body
    assert b'name="t"; filename' not in server.received[-1].body


async def test_a_path_parameter_is_required_despite_a_default(opened, server, tools):
    shown = {**in_path("id"), "schema": {"type": "string", "default": "123"}}
    source = await opened(tools.described({"/t/{id}": get(shown)}), base_url=server.url)
    (tool,) = (await source.list_tools()).tools
    assert tool.parameters["required"] == ["id"]


@pytest.mark.parametrize("default", ["{{id}}", "{id}", "<your id>"])
async def test_a_placeholder_default_is_ignored(opened, server, tools, default):
    where = {**in_path("id"), "schema": {"type": "string", "default": default}}
    which = {"name": "q", "in": "query", "required": True, "schema": {"type": "string", "default": default}}
    source = await opened(tools.described({"/t/{id}": get(where, which)}), base_url=server.url)
    with pytest.raises(InvalidRequest, match="q: missing required argument"):
        await source.call("op", {"id": "4"})
    with pytest.raises(InvalidRequest, match="id: missing required argument"):
        await source.call("op", {"q": "4"})


async def test_illegal_scheme_names_are_skipped_and_blanks_stripped(opened, server, tools):
    schemes = {
        "words": {"type": "apiKey", "in": "header", "name": "The API Key"},
        "blanks": {"type": "apiKey", "in": "Header", "name": "X-Key "},
    }
    document = tools.described(
        {"/t": get(security=[{"words": []}, {"blanks": []}])}, components={"securitySchemes": schemes}
    )
    source = await opened(document, base_url=server.url, token="hidden-value")
    assert list(await skipped(source)) == ["#/components/securitySchemes/words"]
    await source.call("op", {})
    assert server.received[-1].headers["x-key"] == "hidden-value"


@pytest.mark.parametrize(
    "said",
    [
        {"swagger": "2.0", "host": "https://api.example.com/", "basePath": "/v1"},
        {"swagger": "2.0", "host": "api.example.com", "basePath": "v1/", "schemes": ["http", "https"]},
        {"swagger": "2.0", "host": "http://api.example.com", "basePath": "/v1", "schemes": ["https"]},
        {"openapi": "3.0.0", "servers": [{"url": "api.example.com/v1"}]},
        {"openapi": "3.0.0", "servers": [{"url": "/"}, {"url": "//api.example.com/v1/"}]},
    ],
)
async def test_a_host_is_found_in_any_notation(opened, said):
    source = await opened({"info": {}, "paths": {"/t": get()}} | said)
    assert (await source.preview_request("op", {})).target == "https://api.example.com/v1/t"
