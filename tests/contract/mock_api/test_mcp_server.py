"""The SDK's client gets over MCP what the HTTP API serves: the same tools, arguments and results."""

import json
import sys
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.server.lowlevel import Server

from mock_api.app import create_app, default_resources
from mock_api.mcp_server import PATH, create_mcp_app, create_mcp_server
from mock_api.serving import serve

RESOURCES = default_resources()


@pytest.fixture
def server() -> Server[Any]:
    return create_mcp_server(RESOURCES)


async def test_tools_have_the_names_and_arguments_of_the_http_operations(server: Server[Any]) -> None:
    async with Client(server) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    document = create_app(RESOURCES).openapi()
    operations = {path["get"]["operationId"]: path["get"] for path in document["paths"].values()}
    assert set(tools) == set(operations)
    for name, operation in operations.items():
        assert set(tools[name].input_schema["properties"]) == {each["name"] for each in operation["parameters"]}
        assert tools[name].annotations is not None
        assert tools[name].annotations.read_only_hint


@pytest.mark.parametrize(
    ("tool", "arguments", "path"),
    [
        (
            "list_tickets",
            {"customer_id": 4, "offset": 200, "limit": 100},
            "/tickets?customer_id=4&offset=200&limit=100",
        ),
        ("list_tickets", {"customer_id": 4, "meta_only": True}, "/tickets?customer_id=4&meta_only=true"),
        ("list_customers", {"name": "balaz"}, "/customers?name=balaz"),
        ("get_customer", {"customer_id": 4}, "/customers/4"),
        ("list_events", {"severity": "critical"}, "/events?severity=critical"),
    ],
)
async def test_answers_are_those_of_the_http_api(
    tool: str, arguments: dict[str, Any], path: str, server: Server[Any]
) -> None:
    async with Client(server) as client:
        result = await client.call_tool(tool, arguments)
    async with serve(create_app(RESOURCES), port=0) as base_url, httpx2.AsyncClient(base_url=base_url) as http:
        expected = (await http.get(path)).json()
    assert not result.is_error
    assert result.structured_content == expected
    assert json.loads(result.content[0].text) == expected  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("list_tickets", {"customer": 4}, "unknown argument 'customer'"),
        ("list_tickets", {"customer_id": "4"}, "must be of type integer"),
        ("list_tickets", {"limit": 201}, "at most 200"),
        ("list_tickets", {"limit": 0}, "at least 1"),
        ("list_tickets", {"limit": True}, "must be of type integer"),
        ("list_tickets", {"status": "lost"}, "must be one of open"),
        ("get_ticket", {"ticket_id": 10**9}, "no ticket with the id 1000000000"),
        ("list_ticket", {}, "unknown tool 'list_ticket'"),
    ],
)
async def test_invalid_arguments_are_an_error_result_with_the_reason(
    tool: str, arguments: dict[str, Any], words: str, server: Server[Any]
) -> None:
    async with Client(server) as client:
        result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert words in result.content[0].text  # type: ignore[union-attr]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_it_is_served_over_http_with_and_without_sessions(mode: Any) -> None:
    async with serve(create_mcp_app(RESOURCES), port=0) as base_url, Client(base_url + PATH, mode=mode) as client:
        result = await client.call_tool("list_tickets", {"customer_id": 4, "limit": 1})
    assert result.structured_content["total"] == 261


async def test_requests_without_the_token_are_rejected() -> None:
    async with serve(create_mcp_app(RESOURCES, token="secret"), port=0) as base_url, httpx2.AsyncClient() as http:
        refused = await http.post(base_url + PATH, json={})
        let_in = await http.post(base_url + PATH, json={}, headers={"Authorization": "Bearer secret"})
    assert refused.status_code == 401
    assert let_in.status_code != 401


async def test_it_is_served_over_standard_input_and_output() -> None:
    command = StdioServerParameters(command=sys.executable, args=["-m", "mock_api.mcp_server"])
    async with Client(command) as client:
        result = await client.call_tool("list_customers", {"name": "Baláž"})
    assert [customer["id"] for customer in result.structured_content["customers"]] == [4]
