"""The tools of the mock MCP server return what the routes of the mock API return."""

from typing import Any

import httpx2
import pytest
from mcp import Client

from mock_api.conventions import Collection, ConventionName, RequestLog, all_conventions, create_conventions_app
from mock_api.conventions.mcp_tools import create_conventions_mcp
from mock_api.conventions.request import spec_of
from mock_api.mcp_server import create_mcp_server


async def called(collection: Collection, arguments: dict[str, Any], *, name: str = "") -> Any:
    async with Client(create_conventions_mcp([collection])) as client:
        result = await client.call_tool(name or collection.operation, arguments)
    assert not result.is_error, result.content
    return result.structured_content


@pytest.mark.parametrize("style", ConventionName)
async def test_a_tool_returns_what_its_route_returns(style: ConventionName) -> None:
    collection = Collection(convention=style, total=30)
    app = create_conventions_app([collection])
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://mock") as http:
        if spec_of(collection).method == "POST":
            response = await http.post(collection.path, json={"kind": "odd"})
        else:
            response = await http.get(collection.path, params={"kind": "odd"})
    expected = response.json()
    told = await called(collection, {"kind": "odd"})
    if "headers" in told:
        assert all(response.headers[name] == value for name, value in told["headers"].items())
        told = told["body"]
    assert (told["result"] if isinstance(expected, list) and isinstance(told, dict) else told) == expected


async def test_every_convention_and_related_operation_has_a_tool() -> None:
    async with Client(create_conventions_mcp()) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert {collection.operation for collection in all_conventions()} <= set(tools)
    assert {"count_by_count_sibling", "next_list_by_scroll"} <= set(tools)
    nested = tools["list_by_offset_in_body"].input_schema["properties"]["paging"]["properties"]
    assert set(nested) == {"offset", "limit"}
    assert "cursor" in tools["list_by_next_url"].input_schema["properties"]


async def test_a_scroll_continues_with_its_own_tool() -> None:
    collection, log, ids = Collection(convention=ConventionName.SCROLL, total=30), RequestLog(), []
    async with Client(create_conventions_mcp([collection], log=log)) as client:
        page = (await client.call_tool(collection.operation, {"size": 12})).structured_content or {}
        while page["hits"]["hits"]:
            ids += [hit["_source"]["id"] for hit in page["hits"]["hits"]]
            arguments = {"scroll_id": page["_scroll_id"]}
            page = (await client.call_tool(f"next_{collection.operation}", arguments)).structured_content or {}
    assert ids == log.ids == list(collection.ids())


async def test_a_tool_is_paginated_by_nested_members() -> None:
    collection = Collection(convention=ConventionName.OFFSET_IN_BODY, total=30)
    page = await called(collection, {"paging": {"offset": 25, "limit": 10}})
    assert [row["id"] for row in page["data"]["rows"]] == list(collection.ids()[25:])


@pytest.mark.parametrize(("tool", "arguments"), [("list_by_offset", {"ofset": 1}), ("list_by_nothing", {})])
async def test_unknown_tools_and_arguments_are_rejected(tool: str, arguments: dict[str, Any]) -> None:
    async with Client(create_conventions_mcp()) as client:
        assert (await client.call_tool(tool, arguments)).is_error


async def test_conventions_are_served_beside_the_mock_tools() -> None:
    async with Client(create_mcp_server((), collections=all_conventions(total=3))) as client:
        result = await client.call_tool("list_by_offset", {"limit": 2})
    assert (result.structured_content or {})["total"] == 3
