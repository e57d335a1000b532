"""Loading of documents: several files, fetched, flawed and hostile ones."""

import json
from typing import Any

import pytest

from adapters.errors import DocumentError
from adapters.openapi.adapter import OpenApiSettings, OpenApiSource

TEXT = {"type": "string"}


def get(**fields: Any) -> dict[str, Any]:
    return {"get": {"responses": {}} | fields}


async def listed(source: OpenApiSource) -> tuple[dict[str, Any], dict[str, str]]:
    found = await source.list_tools()
    return {tool.locator: tool for tool in found.tools}, {one.path: one.reason for one in found.skipped}


async def test_file_references_are_followed_only_inside_the_folder(opened, tools, tmp_path):
    docs = tmp_path / "docs"
    (docs / "parts").mkdir(parents=True)
    (docs / "parts" / "limit.yaml").write_text(
        "name: limit_to\nin: query\nschema: {$ref: 'size.json#/definitions/size'}\n"
    )
    (docs / "parts" / "size.json").write_text(json.dumps({"definitions": {"size": {"type": "integer", "maximum": 7}}}))
    (tmp_path / "secret.json").write_text(json.dumps({"name": "leak", "in": "query", "schema": TEXT}))
    (docs / "parts" / "link.json").symlink_to(tmp_path / "secret.json")
    files = [
        "parts/limit.yaml",
        "../secret.json",
        "parts/link.json",
        "/etc/passwd",
        "http://127.0.0.1:1/x.json",
        "gone.json",
    ]
    parameters = [{"$ref": file} for file in files]
    source = await opened(tools.described({"/t": get(parameters=parameters)}), base_url="http://127.0.0.1:1")
    found, skipped = await listed(source)
    assert found["GET /t"].parameters["properties"] == {"limit_to": {"type": "integer", "maximum": 7}}
    pointers = [f"#/paths/~1t/get/parameters/{n}" for n in range(1, 6)]
    assert [pointer for pointer in pointers if pointer in skipped] == pointers
    assert "folder" in skipped[pointers[0]]
    assert "folder" in skipped[pointers[1]]


async def test_references_of_a_fetched_document_must_be_of_its_origin(opened, server, other_server, tools):
    limit = {"name": "limit_to", "in": "query", "schema": {"type": "integer"}}
    server.routes["/docs/parts/limit.json"] = tools.answer(limit)
    other_server.routes["/x.json"] = tools.answer(limit)
    refs = ["parts/limit.json", f"{other_server.url}/x.json", "file:///etc/passwd"]
    document = tools.described({"/t": get(parameters=[{"$ref": ref} for ref in refs])})
    server.routes["/docs/openapi.json"] = tools.answer(document)
    source = await opened(f"{server.url}/docs/openapi.json")
    found, skipped = await listed(source)
    assert list(found["GET /t"].parameters["properties"]) == ["limit_to"]
    assert other_server.received == []
    assert sum("origin" in why for why in skipped.values()) == 2


async def test_the_token_is_sent_for_a_document_only_on_request_and_to_its_origin(opened, server, other_server, tools):
    document = tools.described({"/t": get()})
    server.then(tools.answer({}, status=401), tools.answer(document))
    await opened(f"{server.url}/openapi.json", base_url=server.url, token="secret-token")
    assert ["authorization" in one.headers for one in server.received] == [False, True]
    other_server.then(tools.answer({}, status=401))
    with pytest.raises(DocumentError, match="401"):
        await opened(f"{other_server.url}/openapi.json", base_url=server.url, token="secret-token")
    assert all("authorization" not in one.headers for one in other_server.received)


async def test_a_fetched_document_cannot_send_calls_to_another_origin(opened, server, other_server, tools):
    document = tools.described({"/t": get(operationId="l")}, servers=[{"url": other_server.url}])
    server.routes["/openapi.json"] = tools.answer(document)
    source = await opened(f"{server.url}/openapi.json", token="secret-token")
    _, skipped = await listed(source)
    assert "BASE_API_URL" in skipped["#/servers"]
    with pytest.raises(DocumentError, match="BASE_API_URL"):
        await source.call("l", {})
    assert other_server.received == []
    trusted = await opened(f"{server.url}/openapi.json", base_url=other_server.url)
    await trusted.call("l", {})
    assert len(other_server.received) == 1


async def test_the_server_of_the_documents_origin_is_chosen(opened, server, other_server, tools):
    servers = [{"url": other_server.url}, {"url": f"{server.url}/v3"}]
    server.routes["/openapi.json"] = tools.answer(tools.described({"/t": get(operationId="l")}, servers=servers))
    await (await opened(f"{server.url}/openapi.json")).call("l", {})
    assert (server.received[-1].target, other_server.received) == ("/v3/t", [])


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (lambda answer: answer(b"<!DOCTYPE html><html></html>", kind="text/html"), "HTML.*/openapi.json"),
        (lambda answer: answer({}, status=302, headers={"location": "http://127.0.0.1:1/x"}), "127.0.0.1:1/x"),
        (lambda answer: answer(b"{", headers={"content-encoding": "br"}), "OPENAPI_SPEC"),
    ],
)
async def test_an_unusable_document_is_refused_with_a_hint(opened, server, tools, reply, why):
    server.routes["/openapi.json"] = reply(tools.answer)
    with pytest.raises(DocumentError, match=why):
        await opened(f"{server.url}/openapi.json")


async def test_a_secret_in_the_document_url_is_masked(opened, server, tools):
    server.routes["/openapi.json"] = tools.answer(b"<html>", kind="text/html")
    with pytest.raises(DocumentError) as refused:
        await opened(f"{server.url}/openapi.json?v=2&api_key=hidden-value")
    assert "v=2" in str(refused.value)
    assert "hidden-value" not in str(refused.value) + refused.value.location


async def test_a_relative_server_is_resolved_against_the_document(opened, server, tools):
    document = tools.described({"/t": get(operationId="l")}, servers=[{"url": "../v2"}])
    server.routes["/docs/openapi.json"] = tools.answer(document)
    source = await opened(f"{server.url}/docs/openapi.json")
    await source.call("l", {})
    assert server.received[-1].target == "/v2/t"


async def test_server_variables_have_their_defaults(opened, server, tools):
    variables = {"port": {"default": str(server.port)}, "base": {"enum": ["v1", "v2"]}}
    servers = [{"url": "http://127.0.0.1:{port}/{base}", "variables": variables}]
    source = await opened(tools.described({"/t": get(operationId="l")}, servers=servers))
    await source.call("l", {})
    assert server.received[-1].target == "/v1/t"


async def test_an_operation_with_a_server_of_another_origin_is_skipped(opened, server, tools):
    paths = {
        "/a": get(servers=[{"url": "https://uploads.example.com"}]),
        "/b": get(servers=[{"url": "https://api.example.com/v9"}]),
    }
    document = tools.described(paths, servers=[{"url": "https://api.example.com/v1"}])
    source = await opened(document, base_url=f"{server.url}/v1")
    found, skipped = await listed(source)
    assert list(found) == ["GET /b"]
    assert "uploads.example.com" in skipped["#/paths/~1a/get"]
    await source.call(found["GET /b"].name, {})
    assert server.received[-1].target == "/v9/b"


async def test_valid_parts_of_a_flawed_document_are_loaded(opened, tools):
    paths = {
        "/ok": get(),
        "/bad-parameter": get(parameters=[{"$ref": "#/components/parameters/none"}, {"in": "query"}, "what", 7]),
        "/circle": get(parameters=[{"$ref": "#/components/parameters/a"}]),
        "/zip": {"post": {"requestBody": {"required": True, "content": {"application/zip": {}}}, "responses": {}}},
        "/no-object": {"get": [], "post": None, "parameters": None, "summary": 3, "x-extra": None},
        "/undeclared/{id}": get(),
        "/null": None,
        "no-slash": get(),
        "x-note": {"get": {}},
        "/ref": {"$ref": "#/paths/~1ok"},
        "/gone": {"$ref": "#/components/pathItems/none"},
        "/strange": get(
            parameters=[
                {"name": "n", "in": "query", "schema": {"type": ["int", "null", 3], "enum": [], "minLength": "x"}}
            ]
        ),
        "/weird": {
            "get": {"responses": None, "tags": 3, "security": "no", "servers": {}, "description": 5, "operationId": 9}
        },
    }
    parts = {"a": {"$ref": "#/components/parameters/b"}, "b": {"$ref": "#/components/parameters/a"}}
    source = await opened(tools.described(paths, components={"parameters": parts}), base_url="http://127.0.0.1:1")
    found, skipped = await listed(source)
    whole = ("ok", "bad-parameter", "circle", "undeclared/{id}", "ref", "strange", "weird")
    assert set(found) == {"GET no-slash", *(f"GET /{path}" for path in whole)}
    assert "circular" in skipped["#/paths/~1circle/get/parameters/0"]
    assert "application/zip" in skipped["#/paths/~1zip/post/requestBody"]
    assert {
        "#/paths/~1no-object/get",
        "#/paths/~1gone",
        "#/paths/~1bad-parameter/get/parameters/0",
    } <= set(skipped)
    assert found["GET /undeclared/{id}"].parameters["required"] == ["id"]
    assert found["GET /strange"].parameters["properties"]["n"] == {"type": ["integer", "null"]}


async def test_a_recursive_schema_is_cut_for_the_model_but_fully_validated(opened, server, tools):
    node = {
        "type": "object",
        "properties": {"name": TEXT, "children": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}}},
    }
    body = {"required": True, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Node"}}}}
    document = tools.described(
        {"/t": {"post": {"operationId": "p", "requestBody": body, "responses": {}}}},
        components={"schemas": {"Node": node}},
    )
    source = await opened(document, base_url=server.url)
    found, _ = await listed(source)
    assert "$ref" not in json.dumps(found["POST /t"].parameters)
    deep = {"name": "a", "children": [{"name": "b", "children": [{"name": "c", "children": []}]}]}
    await source.call("p", deep)
    assert json.loads(server.received[-1].body) == deep


async def test_a_property_named_ref_is_a_property(opened, tools):
    schema = {"type": "object", "properties": {"$ref": TEXT, "other": TEXT}}
    body = {"content": {"application/json": {"schema": schema}}}
    source = await opened(
        tools.described({"/t": {"post": {"requestBody": body, "responses": {}}}}), base_url="http://127.0.0.1:1"
    )
    found, skipped = await listed(source)
    assert set(found["POST /t"].parameters["properties"]) == {"ref", "other"} or "$ref" in json.dumps(
        found["POST /t"].parameters
    )
    assert skipped == {}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "must be an object"),
        (b"[]", "must be an object"),
        (b"just text", "must be an object"),
        (b"{}", "version"),
        (b'{"openapi": "4.0.0"}', "version"),
        (b"openapi: [", "invalid JSON or YAML"),
        (b'{"openapi": "3.0.0", ' + b'"x": {' * 5000, "JSON"),
        (b"- " * 50_000 + b"x", "deep"),
        (b"a: &a [*a]", "itself"),
        (b"\x00\xff\xfe", "invalid JSON or YAML"),
    ],
)
async def test_an_invalid_document_is_refused_by_name(tmp_path, content, why):
    path = tmp_path / "d.yaml"
    path.write_bytes(content)
    with pytest.raises(DocumentError, match=why) as refused:
        await OpenApiSource.open(OpenApiSettings(name="api", document=str(path)))
    assert "d.yaml" in str(refused.value)


async def test_expanding_yaml_anchors_are_refused_in_time(tmp_path):
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
    path = tmp_path / "laughs.yaml"
    path.write_text("openapi: 3.0.0\n" + "\n".join(lines))
    with pytest.raises(DocumentError, match="expand to more than"):
        await OpenApiSource.open(OpenApiSettings(name="api", document=str(path)))


async def test_a_missing_document_is_reported(tmp_path):
    with pytest.raises(DocumentError, match=r"nothing\.json"):
        await OpenApiSource.open(OpenApiSettings(name="api", document=str(tmp_path / "nothing.json")))


async def test_swagger_2_is_converted(opened, server):
    document = {
        "swagger": "2.0",
        "info": {"title": "t", "version": "1"},
        "host": f"127.0.0.1:{server.port}",
        "basePath": "/v1",
        "schemes": ["http"],
        "securityDefinitions": {"b": {"type": "basic"}},
        "security": [{"b": []}],
        "paths": {
            "/t": {
                "get": {
                    "operationId": "list",
                    "parameters": [
                        {
                            "name": "ids",
                            "in": "query",
                            "type": "array",
                            "items": {"type": "integer"},
                            "collectionFormat": "pipes",
                        },
                        {"name": "tags", "in": "query", "type": "array", "items": TEXT, "collectionFormat": "multi"},
                    ],
                    "responses": {"200": {"description": "", "schema": {"type": "array", "items": {"type": "object"}}}},
                },
                "post": {
                    "operationId": "add",
                    "parameters": [
                        {
                            "name": "it",
                            "in": "body",
                            "required": True,
                            "schema": {"type": "object", "properties": {"a": TEXT}},
                        }
                    ],
                    "responses": {},
                },
                "put": {
                    "operationId": "form",
                    "parameters": [{"name": "a", "in": "formData", "type": "string", "required": True}],
                    "responses": {},
                },
            }
        },
    }
    source = await opened(document, token="user:pass")
    found, _ = await listed(source)
    assert found["GET /t"].records_path == ""
    await source.call("list", {"ids": [1, 2], "tags": ["x", "y"]})
    await source.call("add", {"a": "b"})
    await source.call("form", {"a": "b c"})
    assert server.received[0].target == "/v1/t?ids=1%7C2&tags=x&tags=y"
    assert server.received[0].headers["authorization"] == "Basic dXNlcjpwYXNz"
    assert json.loads(server.received[1].body) == {"a": "b"}
    assert server.received[2].body == b"a=b%20c"


async def test_the_observer_receives_requests_for_the_document(server, tools, said):
    server.routes["/openapi.json"] = tools.answer(tools.described({"/t": get()}))
    settings = OpenApiSettings(name="api", document=f"{server.url}/openapi.json")
    source = await OpenApiSource.open(settings, observer=said)
    await source.aclose()
    assert [notice.location for notice in said.notices] == [f"GET {server.url}/openapi.json"]


async def test_an_unexpected_error_skips_one_operation(opened, tools, monkeypatch):
    from adapters.openapi.tools import builder as catalog

    build = catalog.build_tool

    def stumbling(name: str, *arguments: Any, **fields: Any) -> Any:
        if name == "bad":
            raise TypeError("unforeseen")
        return build(name, *arguments, **fields)

    monkeypatch.setattr(catalog, "build_tool", stumbling)
    source = await opened(tools.described({"/a": get(operationId="bad"), "/b": get()}), base_url="http://127.0.0.1:1")
    found, skipped = await listed(source)
    assert list(found) == ["GET /b"]
    assert "unforeseen" in skipped["#/paths/~1a/get"]


async def test_paths_and_components_may_be_in_other_files(opened, server, tools, tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    body = {"content": {"application/json": {"schema": {"$ref": "../openapi.json#/components/schemas/Pet"}}}}
    files = {
        "paths/all.yaml": {"/pets": {"$ref": "pets.yaml"}},
        "paths/pets.yaml": {"post": {"operationId": "op", "requestBody": body, "responses": {}}},
        "schemas/all.yaml": {"Pet": {"$ref": "pet.yaml"}},
        "schemas/pet.yaml": {"type": "object", "properties": {"name": TEXT}},
        "keys.yaml": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
    }
    for name, value in files.items():
        (docs / name).parent.mkdir(exist_ok=True)
        (docs / name).write_text(json.dumps(value))
    parts = {"schemas": {"$ref": "schemas/all.yaml"}, "securitySchemes": {"$ref": "keys.yaml"}}
    document = tools.described({}, components=parts) | {"paths": {"$ref": "paths/all.yaml"}}
    source = await opened(document, base_url=server.url, token="hidden-value")
    found, skipped = await listed(source)
    assert (list(found["POST /pets"].parameters["properties"]), skipped) == (["name"], {})
    await source.call("op", {"name": "x"})
    assert server.received[-1].headers["x-key"] == "hidden-value"


async def test_circular_containers_are_reported(opened, tools):
    schemas = {"$ref": "#/components/schemas/x"}
    parameters = [{"$ref": "#/components/schemas/a"}]
    document = tools.described({"/t": get(parameters=parameters)}, components={"schemas": schemas})
    found, skipped = await listed(await opened(document, base_url="http://127.0.0.1:1"))
    assert list(found) == ["GET /t"]
    assert any("circular" in why for why in skipped.values())
    _, told = await listed(await opened(document | {"paths": {"$ref": "#/paths"}}, base_url="http://127.0.0.1:1"))
    assert "circular" in told["#/paths"]
