"""Requests of pages: nested arguments, headers, HEAD, other operations, and what the model sees."""

import json
from typing import Any
from urllib.parse import parse_qsl

import pytest

from adapters.base import PageAddress, Pagination, PaginationStyle
from adapters.errors import InvalidRequest
from adapters.openapi.adapter import ToolOverride

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}


def query(name: str, schema: Any = TEXT, **fields: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema} | fields


def described(tools: Any, **operations: Any) -> dict[str, Any]:
    """A document of some operations, each by `path_method=fields`, under its operationId."""
    paths: dict[str, Any] = {}
    for name, (method, path, fields) in operations.items():
        paths.setdefault(path, {})[method] = {"operationId": name, "responses": {}} | fields
    return tools.described(paths)


def post(schema: Any, **fields: Any) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}} | fields


def paging_by(**fields: Any) -> dict[str, ToolOverride]:
    return {"op": ToolOverride(pagination=Pagination(**fields))}


async def test_a_paging_member_of_the_body_is_hidden_and_set(opened, server, tools):
    page = {"type": "object", "properties": {"limit": NUMBER, "cursor": TEXT, "sort": TEXT}, "required": ["limit"]}
    schema = {"type": "object", "properties": {"page": page, "q": TEXT}, "required": ["page"]}
    overrides = paging_by(convention=PaginationStyle.CURSOR, position="page/cursor", size="page/limit")
    source = await opened(
        described(tools, op=("post", "/search", post(schema))), base_url=server.url, overrides=overrides
    )
    (spec,) = (await source.list_tools()).tools
    assert spec.parameters["properties"]["page"] == {
        "type": "object", "properties": {"sort": TEXT},
    }  # fmt: skip
    assert spec.pagination.position == "page/cursor"
    given = {"q": "x", "page": {"sort": "up"}}
    await source.call("op", given, PageAddress({"page/cursor": "c2", "page/limit": 50}))
    assert json.loads(server.received[-1].body) == {
        "q": "x", "page": {"sort": "up", "cursor": "c2", "limit": 50},
    }  # fmt: skip
    assert given == {"q": "x", "page": {"sort": "up"}}


async def test_undeclared_paging_parameters_are_sent_and_hidden(opened, server, tools):
    overrides = paging_by(convention=PaginationStyle.PAGE, position="page", size="per page", first=1)
    document = described(tools, op=("get", "/t", {"parameters": [query("q")]}))
    source = await opened(document, base_url=server.url, overrides=overrides)
    (spec,) = (await source.list_tools()).tools
    assert list(spec.parameters["properties"]) == ["q"]
    size = spec.pagination.size
    await source.call("op", {"q": "x"}, PageAddress({"page": 2, size: 50}))
    assert sorted(parse_qsl(server.received[-1].target.partition("?")[2])) == [
        ("page", "2"),
        ("per page", "50"),
        ("q", "x"),
    ]


async def test_undeclared_paging_members_go_into_the_body(opened, server, tools):
    schema = {"type": "object", "properties": {"q": TEXT}}
    overrides = paging_by(convention=PaginationStyle.OFFSET, position="skip", size="take")
    document = described(tools, op=("post", "/search", post(schema)))
    source = await opened(document, base_url=server.url, overrides=overrides)
    await source.call("op", {"q": "x"}, PageAddress({"skip": 10, "take": 5}))
    assert json.loads(server.received[-1].body) == {"q": "x", "skip": 10, "take": 5}


async def test_pagination_settings_match_names_of_tool_arguments(opened, server, tools):
    overrides = paging_by(convention=PaginationStyle.PAGE, position="page_number", first=1)
    document = described(tools, op=("get", "/t", {"parameters": [query("page[number]", NUMBER)]}))
    source = await opened(document, base_url=server.url, overrides=overrides)
    await source.call("op", {}, PageAddress({"page_number": 2}))
    assert parse_qsl(server.received[-1].target.partition("?")[2]) == [("page[number]", "2")]


async def test_only_get_accepts_undeclared_page_arguments(opened, server, tools):
    schema = {"type": "object", "properties": {"q": TEXT}}
    document = described(tools, op=("get", "/t", {"parameters": [query("q")]}), other=("post", "/o", post(schema)))
    source = await opened(document, base_url=server.url, read_operations=frozenset({"other"}))
    await source.call("op", {"q": "x"}, PageAddress({"per page": 2, "page": 3}))
    assert server.received[-1].target == "/t?q=x&per%20page=2&page=3"
    with pytest.raises(InvalidRequest):
        await source.call("other", {"q": "x"}, PageAddress({"page": 3}))


async def test_an_override_of_an_unknown_operation_is_reported(opened, server, tools):
    document = described(tools, op=("get", "/t", {}))
    source = await opened(document, base_url=server.url, overrides={"opp": ToolOverride(page_size=5)})
    (skipped,) = (await source.list_tools()).skipped
    assert skipped.reason == "the settings name the unknown operation 'opp'; did you mean 'op'?"


async def test_an_object_of_only_paging_members_is_hidden_and_sent(opened, server, tools):
    page = {"type": "object", "properties": {"number": NUMBER, "size": NUMBER}}
    fields = {"parameters": [query("page", page, style="deepObject", explode=True, required=True), query("q")]}
    overrides = paging_by(convention=PaginationStyle.PAGE, position="page/number", size="page/size", first=1)
    source = await opened(described(tools, op=("get", "/t", fields)), base_url=server.url, overrides=overrides)
    (spec,) = (await source.list_tools()).tools
    assert list(spec.parameters["properties"]) == ["q"]
    await source.call("op", {"q": "x"}, PageAddress({"page/number": 3, "page/size": 9}))
    sent = parse_qsl(server.received[-1].target.partition("?")[2])
    assert sorted(sent) == [("page[number]", "3"), ("page[size]", "9"), ("q", "x")]


async def test_paging_parameters_in_query_and_body_are_both_hidden(opened, server, tools):
    schema = {"type": "object", "properties": {"NextToken": TEXT, "MaxResults": NUMBER, "Name": TEXT}}
    parameters = [query("NextToken"), query("MaxResults", NUMBER)]
    source = await opened(
        described(tools, op=("post", "/list", post(schema, parameters=parameters))), base_url=server.url
    )
    (spec,) = (await source.list_tools()).tools
    assert spec.pagination.convention is PaginationStyle.CURSOR
    assert list(spec.parameters["properties"]) == ["Name"]


async def test_an_unused_cursor_parameter_is_hidden(opened, server, tools):
    after = {"type": "array", "items": TEXT}
    schema = {"type": "object", "properties": {"from": NUMBER, "size": NUMBER, "search_after": after, "query": TEXT}}
    source = await opened(described(tools, op=("post", "/_search", post(schema))), base_url=server.url)
    (spec,) = (await source.list_tools()).tools
    assert spec.pagination.position == "from"
    assert list(spec.parameters["properties"]) == ["query"]


async def test_a_nested_paging_member_is_hidden_in_every_alternative(opened, server, tools):
    inner = {"type": "object", "properties": {"after": TEXT, "kept": TEXT}}
    branches = [{"type": "object", "properties": {"opts": inner, name: TEXT}} for name in ("a", "b")]
    overrides = paging_by(convention=PaginationStyle.CURSOR, position="body/opts/after")
    source = await opened(
        described(tools, op=("post", "/t", post({"anyOf": branches}))), base_url=server.url, overrides=overrides
    )
    (spec,) = (await source.list_tools()).tools
    assert "after" not in json.dumps(spec.parameters)
    assert json.dumps(spec.parameters).count("kept") == 2
    await source.call("op", {"body": {"a": "1"}}, PageAddress({"body/opts/after": "z"}))
    assert json.loads(server.received[-1].body) == {"a": "1", "opts": {"after": "z"}}


async def test_an_object_cursor_replaces_the_whole_argument(opened, server, tools):
    schema = {"type": "object", "properties": {"StartKey": {"type": "object"}, "Table": TEXT}}
    overrides = paging_by(convention=PaginationStyle.CURSOR, position="StartKey")
    source = await opened(described(tools, op=("post", "/t", post(schema))), base_url=server.url, overrides=overrides)
    await source.call("op", {"Table": "t"}, PageAddress({"StartKey": {"id": {"S": "4"}}}))
    assert json.loads(server.received[-1].body) == {"Table": "t", "StartKey": {"id": {"S": "4"}}}


async def test_a_paging_member_of_a_non_object_is_refused_by_name(opened, server, tools):
    schema = {"type": "object", "properties": {"page": {}, "q": TEXT}}
    source = await opened(described(tools, op=("post", "/t", post(schema))), base_url=server.url)
    with pytest.raises(InvalidRequest, match="page: must be an object"):
        await source.call("op", {"page": "first"}, PageAddress({"page/limit": 5}))
    assert server.received == []


async def test_page_headers_override_arguments_but_not_credentials(opened, server, tools):
    parameters = [{"name": name, "in": "header", "schema": TEXT} for name in ("Range", "Prefer")]
    source = await opened(
        described(tools, op=("get", "/t", {"parameters": parameters})), base_url=server.url, token="secret"
    )
    await source.call("op", {"Prefer": "x", "Range": "items=0-"}, PageAddress(headers={"range": "items=5-9"}))
    sent = server.received[-1].headers
    assert (sent["range"], sent["prefer"], sent["authorization"]) == ("items=5-9", "x", "Bearer secret")


async def test_a_head_request_has_headers_and_no_payload(opened, server, tools):
    server.then(tools.raw("HTTP/1.1 200 OK\ntotal-records: 812\ncontent-type: application/json\ncontent-length: 9000"))
    source = await opened(described(tools, op=("get", "/t", {}), probe=("head", "/t", {})), base_url=server.url)
    result = await source.call("op", {}, PageAddress(is_head=True))
    assert (server.received[-1].method, result.payload, result.headers["total-records"]) == ("HEAD", None, "812")
    by_name = {spec.name: spec for spec in (await source.list_tools()).tools}
    assert by_name["op"].pagination.is_total_by_head


async def test_another_operation_gets_only_its_own_arguments(opened, server, tools):
    document = described(
        tools,
        op=("get", "/t", {"parameters": [query("q"), query("sort")]}),
        further=("get", "/more", {"parameters": [query("q"), query("scroll_id")]}),
    )
    source = await opened(document, base_url=server.url)
    await source.call("op", {"q": "x", "sort": "up"}, PageAddress({"scroll_id": "s1"}, operation="further"))
    assert server.received[-1].target in ("/more?q=x&scroll_id=s1", "/more?scroll_id=s1&q=x")


async def test_a_count_operation_is_found_or_configured(opened, server, tools):
    filters = {"parameters": [query("q")]}
    document = described(
        tools,
        op=("get", "/t", filters | {"responses": {"200": LIST}}),
        amount=("get", "/t/count", filters),
        other=("get", "/elsewhere", filters),
    )
    found = {one.name: one.pagination for one in (await (await opened(document)).list_tools()).tools}
    assert found["op"].count_operation == "amount"
    overrides = paging_by(convention=PaginationStyle.SINGLE, count_operation="GET /elsewhere")
    source = await opened(document, base_url=server.url, overrides=overrides)
    found = {one.name: one.pagination for one in (await source.list_tools()).tools}
    assert found["op"].count_operation == "other"


async def test_required_paging_parameters_have_defaults(opened, server, tools):
    parameters = [
        query("pageNo", NUMBER | {"minimum": 1}, required=True, description="Page number"),
        query("pageSize", NUMBER | {"maximum": 40}, required=True, description="Records per page"),
    ]
    source = await opened(described(tools, op=("get", "/t", {"parameters": parameters})), base_url=server.url)
    (spec,) = (await source.list_tools()).tools
    assert spec.parameters["properties"] == {}
    await source.call("op", {})
    assert sorted(parse_qsl(server.received[-1].target.partition("?")[2])) == [("pageNo", "1"), ("pageSize", "40")]


async def test_pagination_extensions_are_used(opened, tools):
    parameters = [query("zeiger"), query("menge", NUMBER)]
    said = {"x-pagination": {"cursorParam": "zeiger", "limitParam": "menge", "cursorPath": "meta.weiter"}}
    source = await opened(described(tools, op=("get", "/t", {"parameters": parameters} | said)))
    (spec,) = (await source.list_tools()).tools
    assert spec.pagination.convention is PaginationStyle.CURSOR
    assert (spec.pagination.position, spec.pagination.size) == ("zeiger", "menge")
    assert (spec.pagination.next_path, spec.pagination.is_declared) == ("meta.weiter", True)


LIST = {"description": "", "content": {"application/json": {"schema": {"type": "array", "items": {}}}}}


async def test_a_paginated_operation_returns_many_whatever_its_schema(opened, server, tools):
    """An array of objects with unknown members, next to objects, is described like one record with a part."""
    links = {"type": "object", "properties": {"next": TEXT, "prev": TEXT}}
    rows = {"type": "array", "items": {"type": "object"}}
    meta = {"type": "object", "properties": {"has_more": {"type": "boolean"}}}
    schema = {"type": "object", "properties": {"tickets": rows, "meta": meta, "links": links}}
    answer = {"200": {"description": "ok", "content": {"application/json": {"schema": schema}}}}
    fields = {"parameters": [query("page[size]", NUMBER)], "responses": answer}
    source = await opened(described(tools, op=("get", "/tickets.json", fields)), base_url=server.url)
    (spec,) = (await source.list_tools()).tools
    assert spec.pagination.size is not None
    assert spec.returns_many
