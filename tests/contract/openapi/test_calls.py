"""Calls: from flat arguments to a request, and from the response to a result."""

import asyncio
import json
from typing import Any
from urllib.parse import parse_qsl

import pytest
from pydantic import SecretStr

from adapters.base import Effect, PageAddress, Pagination, PaginationStyle
from adapters.errors import (
    ForeignOrigin,
    HttpStatusError,
    InvalidRequest,
    MalformedResponse,
    MissingCredential,
    UnknownTool,
)
from adapters.openapi.adapter import ToolOverride
from adapters.source_events import SourceWarning

LIST = {"200": {"description": "", "content": {"application/json": {"schema": {"type": "array", "items": {}}}}}}
TEXT = {"type": "string"}


def query(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": TEXT} | fields


@pytest.fixture
async def call(opened, server, tools):
    """Calls the only operation of a document and returns what the server received."""

    async def call_(
        arguments: dict[str, Any], *, path: str = "/things", method: str = "get", item: Any = None, **operation: Any
    ):
        document = tools.described({path: (item or {}) | {method: {"operationId": "op", "responses": {}} | operation}})
        source = await opened(document, base_url=f"{server.url}/api")
        await source.call("op", arguments)
        return server.received[-1]

    return call_


async def test_arguments_go_to_path_query_header_cookie_and_body(call):
    parameters = [
        {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}},
        query("q"),
        {"name": "X-Trace", "in": "header", "schema": TEXT},
        {"name": "theme", "in": "cookie", "schema": TEXT},
    ]
    schema = {"type": "object", "properties": {"title": TEXT, "tags": {"type": "array", "items": TEXT}}}
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    arguments = {"id": 4, "q": "a b&c", "X-Trace": "t", "theme": "dark mode", "title": "Žluť", "tags": ["x"]}
    got = await call(arguments, path="/things/{id}", method="post", parameters=parameters, requestBody=body)
    assert (got.method, got.target) == ("POST", "/api/things/4?q=a%20b%26c")
    assert (got.headers["x-trace"], got.headers["cookie"]) == ("t", "theme=dark%20mode")
    assert json.loads(got.body) == {"title": "Žluť", "tags": ["x"]}
    assert got.headers["content-type"] == "application/json"


async def test_parameters_of_one_name_in_two_locations_are_both_sent(call):
    parameters = [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}, query("id")]
    schema = {"type": "object", "properties": {"id": TEXT}}
    got = await call(
        {"id__path": 1, "id__query": "two", "id__body": "three"},
        path="/things/{id}",
        method="put",
        parameters=parameters,
        requestBody={"content": {"application/json": {"schema": schema}}},
    )
    assert (got.target, json.loads(got.body)) == ("/api/things/1?id=two", {"id": "three"})


async def test_operations_inherit_and_override_path_parameters(call):
    item = {"parameters": [query("tenant", schema={"type": "integer"}), query("lang")]}
    got = await call({"tenant": "acme", "lang": "cs"}, item=item, parameters=[query("tenant")])
    assert dict(parse_qsl(got.target.partition("?")[2])) == {"tenant": "acme", "lang": "cs"}


async def test_a_repeated_path_variable_is_filled_twice(call):
    got = await call({"id": "a?b"}, path="/x/{id}/y/{id}", parameters=[{"name": "id", "in": "path", "schema": TEXT}])
    assert got.target == "/api/x/a%3Fb/y/a%3Fb"


@pytest.mark.parametrize("value", ["../admin", "%2e%2e", "%252e%252e%252fadmin", "1%2fadmin", "1\\admin", "1\0"])
async def test_a_path_value_cannot_climb_in_any_encoding(call, server, value):
    with pytest.raises(InvalidRequest, match="id: it contains"):
        await call({"id": value}, path="/users/{id}", parameters=[{"name": "id", "in": "path", "schema": TEXT}])
    assert server.received == []


async def test_the_settings_allow_slashes_in_path_values(opened, server, tools):
    operation = {"operationId": "op", "parameters": [{"name": "id", "in": "path", "schema": TEXT}], "responses": {}}
    document = tools.described({"/users/{id}": {"get": operation}})
    source = await opened(document, base_url=server.url, overrides={"op": ToolOverride(allows_slashes=True)})
    await source.call("op", {"id": "a/b"})
    assert server.received[-1].target == "/users/a%2Fb"
    with pytest.raises(InvalidRequest, match="dot segment"):
        await source.call("op", {"id": "a/../b"})


@pytest.mark.parametrize("value", ["..", ".", "", None])
async def test_a_path_value_that_changes_the_path_is_refused(call, server, value):
    with pytest.raises(InvalidRequest) as refused:
        await call({"id": value}, path="/users/{id}/notes", parameters=[{"name": "id", "in": "path", "schema": TEXT}])
    assert "id" in refused.value.violations[0]
    assert server.received == []


async def test_a_line_break_in_a_header_is_refused(call, server):
    with pytest.raises(InvalidRequest, match="control character"):
        await call({"X": "a\r\nevil: 1"}, parameters=[{"name": "X", "in": "header", "schema": TEXT}])
    assert server.received == []


@pytest.mark.parametrize(
    ("arguments", "violation"),
    [
        ({"n": "many"}, "n"),
        ({"n": 1000}, "maximum"),
        ({"kind": "blue"}, "not one of"),
        ({"nn": 1}, "did you mean 'n'"),
        ({"f": {"a": "x"}}, "f.a"),
        ({}, "required"),
    ],
)
async def test_an_invalid_request_is_not_sent(call, server, arguments, violation):
    parameters = [
        query("n", schema={"type": "integer", "maximum": 100}),
        query("kind", schema={"type": "string", "enum": ["red", "green"]}),
        query("must", required=True),
        query("f", style="deepObject", schema={"type": "object", "properties": {"a": {"type": "integer"}}}),
    ]
    must = {} if violation == "required" else {"must": "x"}
    with pytest.raises(InvalidRequest) as refused:
        await call(must | arguments, parameters=parameters)
    assert violation in str(refused.value)
    assert (server.received, refused.value.requests) == ([], 0)


async def test_simple_values_are_validated_as_sent(call):
    got = await call({"q": "abc"}, parameters=[query("q", schema={"type": "string", "maxLength": 3})])
    assert got.target == "/api/things?q=abc"


async def test_an_empty_string_is_a_value(call):
    assert (await call({"q": ""}, parameters=[query("q")])).target == "/api/things?q="


async def test_json_with_an_html_content_type_is_json(opened, server, tools):
    source = await opened(
        tools.described({"/t": {"get": {"operationId": "l", "responses": LIST}}}), base_url=server.url
    )
    server.then(tools.answer([1], kind="text/html; charset=utf-8"))
    assert (await source.call("l", {})).payload == [1]


async def test_an_invalid_body_is_not_sent(call, server):
    schema = {"type": "object", "properties": {"n": {"type": "integer"}, "m": TEXT}, "required": ["n"]}
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    with pytest.raises(InvalidRequest, match="n"):
        await call({"m": "x"}, method="post", requestBody=body)
    assert server.received == []


async def test_a_body_with_alternatives_is_one_argument(call):
    schema = {
        "oneOf": [{"type": "object", "required": ["a"], "properties": {"a": TEXT}}, {"type": "array", "items": TEXT}]
    }
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    got = await call({"body": ["x"]}, method="post", requestBody=body)
    assert json.loads(got.body) == ["x"]


async def test_an_omitted_optional_body_is_not_sent(call):
    body = {
        "content": {"application/json": {"schema": {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}}}
    }
    got = await call({}, method="post", requestBody=body)
    assert (got.body, "content-type" in got.headers) == (b"", False)


async def test_a_form_body_is_urlencoded(call):
    schema = {
        "type": "object",
        "properties": {"name": TEXT, "ids": {"type": "array", "items": {"type": "integer"}}, "o": {"type": "object"}},
    }
    content = {"application/x-www-form-urlencoded": {"schema": schema, "encoding": {"ids": {"explode": False}}}}
    got = await call({"name": "a&b", "ids": [1, 2], "o": {"x": 1}}, method="post", requestBody={"content": content})
    assert parse_qsl(got.body.decode()) == [("name", "a&b"), ("ids", "1,2"), ("o", '{"x":1}')]


async def test_a_multipart_body_has_fields_and_files(call):
    schema = {"type": "object", "properties": {"name": TEXT, "file": {"type": "string", "format": "binary"}}}
    got = await call(
        {"name": "n", "file": "content"},
        method="post",
        requestBody={"content": {"multipart/form-data": {"schema": schema}}},
    )
    assert got.headers["content-type"].startswith("multipart/form-data; boundary=")
    assert b'name="file"; filename="file"' in got.body
    assert b"\r\n\r\ncontent\r\n" in got.body


async def test_the_query_method_and_additional_operations_can_be_called(opened, server, tools):
    body = {"content": {"application/json": {"schema": {"type": "object", "properties": {"q": TEXT}}}}}
    item = {
        "query": {"operationId": "ask", "requestBody": body, "responses": {}},
        "additionalOperations": {"PURGE": {"operationId": "purge", "responses": {}}},
    }
    source = await opened(tools.described({"/x": item}) | {"openapi": "3.2.0"}, base_url=server.url)
    await source.call("ask", {"q": "1"})
    await source.call("purge", {})
    assert [one.method for one in server.received] == ["QUERY", "PURGE"]
    assert {tool.name: tool.effect for tool in (await source.list_tools()).tools}["ask"] is Effect.WRITE


async def test_a_whole_query_string_is_one_argument(call):
    parameter = {
        "name": "all",
        "in": "querystring",
        "content": {"application/x-www-form-urlencoded": {"schema": {"type": "object"}}},
    }
    got = await call({"all": {"a": "1 2", "b": ["x", "y"]}}, parameters=[parameter])
    assert parse_qsl(got.target.partition("?")[2]) == [("a", "1 2"), ("b", "x"), ("b", "y")]


PAGED = [query("offset", schema={"type": "integer"}), query("limit", schema={"type": "integer", "maximum": 100})]


async def test_paging_arguments_are_hidden_and_set_by_the_page(opened, server, tools):
    source = await opened(
        tools.described({"/tickets": {"get": {"operationId": "list", "parameters": PAGED, "responses": LIST}}}),
        base_url=server.url,
    )
    [tool] = (await source.list_tools()).tools
    assert tool.parameters["properties"] == {}
    assert (tool.pagination.convention, tool.pagination.max_size) == (PaginationStyle.OFFSET, 100)
    assert (tool.noun, tool.returns_many, tool.records_path) == ("tickets", True, "")
    await source.call("list", {}, PageAddress({"offset": 50, "limit": 25}))
    assert server.received[-1].target == "/tickets?offset=50&limit=25"


async def test_settings_override_the_document(opened, server, tools):
    operation = {"operationId": "find", "parameters": [query("begin", schema={"type": "integer"})], "responses": LIST}
    override = ToolOverride(
        pagination=Pagination(convention=PaginationStyle.OFFSET, position="begin"),
        page_size=20,
        requires_fresh_input=True,
    )
    source = await opened(
        tools.described({"/x": {"post": operation}}),
        base_url=server.url,
        overrides={"POST /x": override},
        read_operations=frozenset({"find"}),
    )
    [tool] = (await source.list_tools()).tools
    assert (tool.effect, tool.pagination.position, tool.pagination.max_size) == (Effect.READ, "begin", 20)
    assert tool.requires_fresh_input
    assert "begin" not in tool.parameters["properties"]


async def test_only_a_post_marked_as_read_is_retried(opened, server, tools):
    paths = {
        "/a": {"post": {"operationId": "read", "responses": {}}},
        "/b": {"post": {"operationId": "write", "responses": {}}},
    }
    source = await opened(tools.described(paths), base_url=server.url, read_operations=frozenset({"read"}))
    server.then(tools.answer({}, status=503), tools.answer([]))
    assert (await source.call("read", {})).requests == 2
    server.then(tools.answer({}, status=503))
    with pytest.raises(HttpStatusError) as failed:
        await source.call("write", {})
    assert failed.value.requests == 1


async def test_delete_is_destructive_and_get_reads(opened, server, tools):
    item = {"get": {"responses": {}}, "head": {"responses": {}}, "delete": {"responses": {}}, "put": {"responses": {}}}
    source = await opened(tools.described({"/x": item}), base_url=server.url)
    effects = {tool.locator: tool.effect for tool in (await source.list_tools()).tools}
    assert effects == {
        "GET /x": Effect.READ,
        "HEAD /x": Effect.READ,
        "DELETE /x": Effect.DESTRUCTIVE,
        "PUT /x": Effect.WRITE,
    }


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("/api/things?cursor=2", "/api/things?cursor=2"),
        ("?cursor=3", "/api/things?cursor=3"),
        ("more/4", "/api/more/4"),
    ],
)
async def test_a_relative_next_page_is_resolved_against_the_request(opened, server, tools, url, target):
    source = await opened(
        tools.described({"/things": {"get": {"operationId": "l", "responses": LIST}}}), base_url=f"{server.url}/api"
    )
    await source.call("l", {}, PageAddress(url=url))
    assert server.received[-1].target == target


async def test_a_next_page_of_the_same_origin_gets_the_credentials(opened, server, tools):
    scheme = {"type": "apiKey", "in": "query", "name": "api_key"}
    document = tools.described(
        {"/t": {"get": {"operationId": "l", "responses": LIST}}},
        components={"securitySchemes": {"k": scheme}},
        security=[{"k": []}],
    )
    source = await opened(document, base_url=server.url, token="secret-key")
    await source.call("l", {}, PageAddress(url=f"{server.url}/t?page=2"))
    await source.call("l", {}, PageAddress(url=f"{server.url}/t?page=2&api_key=secret-key"))
    assert [one.target for one in server.received] == ["/t?page=2&api_key=secret-key"] * 2


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/things",
        "https://evil.example/things",
        "//evil.example/things",
        "http://evil.example\\@127.0.0.1/",
        "http://localhost:{port}/",
        "https://127.0.0.1:1/",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "http://[::1",
    ],
)
async def test_a_next_page_of_another_origin_is_not_followed(opened, server, tools, url):
    source = await opened(
        tools.described({"/t": {"get": {"operationId": "l", "responses": LIST}}}), base_url=server.url, token="secret"
    )
    with pytest.raises(ForeignOrigin):
        await source.call("l", {}, PageAddress(url=url.replace("{port}", str(server.port))))
    assert server.received == []


async def test_a_next_page_with_the_wrong_scheme_uses_that_of_the_request(opened, server, tools):
    source = await opened(
        tools.described({"/t": {"get": {"operationId": "l", "responses": LIST}}}), base_url=server.url, token="secret"
    )
    await source.call("l", {}, PageAddress(url=f"https://127.0.0.1:{server.port}/t?page=2"))
    assert server.received[-1].target == "/t?page=2"


async def test_a_response_that_does_not_match_causes_one_warning_and_is_used(opened, server, tools, said):
    schema = {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}}
    responses = {"200": {"description": "", "content": {"application/json": {"schema": schema}}}}
    source = await opened(
        tools.described({"/t": {"get": {"operationId": "l", "responses": responses}}}), base_url=server.url
    )
    for _ in range(3):
        server.then(tools.answer([{"id": "seven"}]))
        result = await source.call("l", {}, observer=said)
        assert result.payload == [{"id": "seven"}]
    [warning] = said.of(SourceWarning)
    assert warning.code == "response_mismatch"
    assert "0.id" in warning.text


async def test_calls_that_cannot_be_validated_are_sent_with_one_warning(opened, server, tools, said, monkeypatch):
    from adapters.openapi.request import openapi_core as check

    def broken(self: Any, built: Any) -> tuple[str, ...]:
        raise check.ValidationUnavailable("no idea")

    monkeypatch.setattr(check.OperationCheck, "request_faults", broken)
    source = await opened(tools.described({"/t": {"get": {"operationId": "l", "responses": {}}}}), base_url=server.url)
    for _ in range(2):
        await source.call("l", {}, observer=said)
    assert [warning.code for warning in said.of(SourceWarning)] == ["request_unchecked"]
    assert len(server.received) == 2


async def test_an_html_login_page_is_an_error(opened, server, tools):
    source = await opened(
        tools.described({"/t": {"get": {"operationId": "l", "responses": LIST}}}), base_url=server.url
    )
    server.then(tools.answer(b"<html>Sign in</html>", kind="text/html"))
    with pytest.raises(MalformedResponse, match="HTML"):
        await source.call("l", {})


async def test_an_unknown_tool_suggests_the_closest_name(opened, server, tools):
    source = await opened(
        tools.described({"/t": {"get": {"operationId": "list_tickets", "responses": {}}}}), base_url=server.url
    )
    with pytest.raises(UnknownTool, match="'list_tickets'"):
        await source.call("list_ticket", {})


SCHEMES = {
    "bearer": ({"type": "http", "scheme": "Bearer"}, "authorization", "Bearer secret-token"),
    "oauth": ({"type": "oauth2", "flows": {}}, "authorization", "Bearer secret-token"),
    "basic": ({"type": "http", "scheme": "basic"}, "authorization", "Basic c2VjcmV0LXRva2VuOg=="),
    "header": ({"type": "apiKey", "in": "header", "name": "X-Key"}, "x-key", "secret-token"),
    "cookie": ({"type": "apiKey", "in": "cookie", "name": "sid"}, "cookie", "sid=secret-token"),
}


@pytest.mark.parametrize("name", SCHEMES)
async def test_the_token_is_sent_where_the_scheme_says(opened, server, tools, name):
    scheme, header, value = SCHEMES[name]
    document = tools.described(
        {"/t": {"get": {"operationId": "l", "responses": {}}}},
        components={"securitySchemes": {name: scheme}},
        security=[{name: []}],
    )
    source = await opened(document, base_url=server.url, token="secret-token")
    await source.call("l", {})
    assert server.received[-1].headers[header] == value


async def test_an_api_key_in_the_query_is_sent_masked_and_no_argument(opened, server, tools, said):
    scheme = {"type": "apiKey", "in": "query", "name": "api_key"}
    operation = {"operationId": "l", "parameters": [query("api_key", required=True)], "responses": {}}
    document = tools.described(
        {"/t": {"get": operation}}, components={"securitySchemes": {"k": scheme}}, security=[{"k": []}]
    )
    source = await opened(document, base_url=server.url, token="secret-token")
    [tool] = (await source.list_tools()).tools
    assert tool.parameters["properties"] == {}
    result = await source.call("l", {}, observer=said)
    assert server.received[-1].target == "/t?api_key=secret-token"
    assert "secret-token" not in f"{result.location} {said.notices}"
    assert result.location.endswith("api_key=***")


async def test_schemes_are_combined_and_the_configured_alternative_is_used(opened, server, tools):
    schemes = {
        "a": {"type": "apiKey", "in": "header", "name": "X-A"},
        "b": {"type": "apiKey", "in": "header", "name": "X-B"},
        "c": {"type": "http", "scheme": "digest"},
    }
    document = tools.described(
        {"/t": {"get": {"operationId": "l", "responses": {}}}},
        components={"securitySchemes": schemes},
        security=[{"c": []}, {"a": [], "b": []}],
    )
    source = await opened(
        document, base_url=server.url, credentials={"a": SecretStr("one-key"), "b": SecretStr("two-key")}
    )
    await source.call("l", {})
    assert (server.received[-1].headers["x-a"], server.received[-1].headers["x-b"]) == ("one-key", "two-key")


def guarded(tools):
    return tools.described(
        {"/t": {"get": {"operationId": "l", "responses": {}}}},
        components={"securitySchemes": {"b": {"type": "http", "scheme": "bearer"}}},
        security=[{"b": []}],
    )


@pytest.mark.parametrize("status", [401, 403])
async def test_a_401_without_credentials_names_the_missing_setting(opened, server, tools, status):
    server.then(tools.answer({"detail": "no"}, status=status))
    source = await opened(guarded(tools), base_url=server.url)
    with pytest.raises(MissingCredential, match="BASE_API_TOKEN") as caught:
        await source.call("l", {})
    assert caught.value.requests == len(server.received) == 1


async def test_an_open_server_works_although_its_document_requires_a_credential(opened, server, tools):
    server.then(tools.answer([{"id": 1}]))
    source = await opened(guarded(tools), base_url=server.url)
    assert (await source.call("l", {})).payload == [{"id": 1}]
    assert "authorization" not in server.received[-1].headers


async def test_a_token_is_sent_if_the_document_declares_no_security(opened, server, tools):
    source = await opened(
        tools.described({"/t": {"get": {"operationId": "l", "responses": {}}}}), base_url=server.url, token="tok-en"
    )
    await source.call("l", {})
    assert server.received[-1].headers["authorization"] == "Bearer tok-en"


async def test_a_token_is_not_sent_to_an_operation_without_security(opened, server, tools):
    document = tools.described(
        {"/t": {"get": {"operationId": "l", "security": [], "responses": {}}}},
        components={"securitySchemes": {"b": {"type": "http", "scheme": "bearer"}}},
        security=[{"b": []}],
    )
    source = await opened(document, base_url=server.url, token="tok-en")
    await source.call("l", {})
    assert "authorization" not in server.received[-1].headers


async def test_concurrent_first_calls_all_find_their_tool(opened, server, tools):
    paths = {f"/t{n}": {"get": {"operationId": f"t{n}", "responses": {}}} for n in range(200)}
    source = await opened(tools.described(paths), base_url=server.url)
    results = await asyncio.gather(*[source.call(f"t{n}", {}) for n in (0, 50, 100, 199)])
    assert [result.payload for result in results] == [[]] * 4


async def test_a_versioned_json_body_is_sent_by_members_with_its_media_type(call):
    schema = {"type": "object", "properties": {"TableName": {"type": "string"}}}
    body = {"content": {"application/x-amz-json-1.1": {"schema": schema}}}
    got = await call({"TableName": "t"}, method="post", requestBody=body)
    assert json.loads(got.body) == {"TableName": "t"}
    assert got.headers["content-type"] == "application/x-amz-json-1.1"
