"""The same tools, results and pages over every transport."""

import asyncio

import pytest

from adapters.base import CallResult, Effect, PageAddress, PaginationStyle, PreviewsRequests
from adapters.errors import InvalidRequest, ToolFailed, UnknownTool
from adapters.mcp.adapter import McpSource
from adapters.pagination import Certainty, page_address, read_page
from adapters.pagination.probe.probe import ProbeMethod, probe
from adapters.source_events import RequestSent, SourceWarning

pytestmark = pytest.mark.asyncio(loop_scope="module")
EVERY = pytest.mark.parametrize("kind", ["stdio", "stdio handshake", "http", "http session"])
ROWS = [{"id": 1, "name": "Baláž"}, {"id": 2, "name": None}]


@EVERY
async def test_the_protocol_version_is_negotiated(servers: dict[str, McpSource], kind: str) -> None:
    connection = await servers[kind]._connect()
    assert connection._client is not None
    is_old = connection._client.protocol_version < "2026"
    assert is_old == (kind in ("stdio handshake", "http session"))


@EVERY
async def test_every_page_of_the_tool_list_is_read(servers: dict[str, McpSource], kind: str) -> None:
    listed = await servers[kind].list_tools()
    names = [tool.name for tool in listed.tools]
    assert len(names) == 19
    assert names[0] == "get_tickets"
    assert listed.skipped == ()
    assert all(len(name) <= 64 for name in names)


async def test_pagination_arguments_of_a_tool_are_hidden(servers: dict[str, McpSource]) -> None:
    tool = (await servers["stdio"].list_tools()).tools[0]
    assert list(tool.parameters["properties"]) == ["customer_id"]
    assert tool.parameters["required"] == ["customer_id"]
    assert tool.pagination.convention is PaginationStyle.OFFSET
    assert tool.pagination.hidden == ("offset", "limit", "meta_only")
    assert (tool.pagination.max_size, tool.noun, tool.effect) == (100, "tickets", Effect.READ)


async def test_the_request_of_a_call_can_be_previewed(servers: dict[str, McpSource]) -> None:
    source = servers["http"]
    assert isinstance(source, PreviewsRequests)
    preview = await source.preview_request("get_tickets", {"customer_id": 4})
    assert preview.method == "tools/call get_tickets"
    assert preview.target.startswith("http://127.0.0.1:")
    assert preview.body == {"customer_id": 4}


async def test_a_tool_with_an_invalid_name_is_renamed(servers: dict[str, McpSource]) -> None:
    odd = (await servers["stdio"].list_tools()).tools[-1]
    assert odd.locator.startswith("a tool / with")
    with pytest.raises(ToolFailed, match="Unknown tool: a tool / with"):
        await servers["stdio"].call(odd.name, {})


@EVERY
@pytest.mark.parametrize(
    ("tool", "payload"),
    [
        ("list_json_text", ROWS),
        ("list_python_text", ROWS),
        ("list_wrapped", ROWS),
        ("list_blocks", ROWS),
        ("list_only_blocks", ROWS),
        ("read_note", "Just a note, 5 of them."),
        ("get_broken", {"n": "no number"}),
    ],
)
async def test_every_kind_of_result_is_parsed(
    servers: dict[str, McpSource], kind: str, tool: str, payload: object
) -> None:
    result = await servers[kind].call(tool, {})
    assert result.payload == payload
    assert result.n_bytes > 0
    assert result.requests == 1


@EVERY
async def test_a_block_of_three_megabytes_is_read(servers: dict[str, McpSource], kind: str) -> None:
    result = await servers[kind].call("get_large", {})
    assert len(result.payload) == 15_000
    assert result.n_bytes > 3_000_000


@EVERY
async def test_an_error_result_is_not_retried(servers: dict[str, McpSource], kind: str) -> None:
    with pytest.raises(ToolFailed, match="no such customer: 999") as caught:
        await servers[kind].call("get_failure", {})
    assert not caught.value.is_retryable
    assert caught.value.requests == 1


async def test_non_text_content_is_described_and_warned_about_once(servers: dict[str, McpSource]) -> None:
    notices: list[object] = []
    for _ in range(2):
        result = await servers["stdio"].call("get_picture", {}, observer=notices.append)
    assert result.payload == [{"type": "image", "mimeType": "image/png", "n_bytes": 3}]
    assert [type(notice) for notice in notices] == [RequestSent, SourceWarning, RequestSent]


async def test_an_unknown_tool_suggests_the_nearest(servers: dict[str, McpSource]) -> None:
    with pytest.raises(UnknownTool, match="did you mean 'get_tickets'"):
        await servers["stdio"].call("get_ticket", {})


async def test_a_page_by_url_is_rejected(servers: dict[str, McpSource]) -> None:
    with pytest.raises(InvalidRequest, match="as a URL"):
        await servers["stdio"].call("get_tickets", {}, PageAddress(url="https://elsewhere.example/?page=2"))


@EVERY
async def test_probe_and_walk_read_every_record_once(servers: dict[str, McpSource], kind: str) -> None:
    source = servers[kind]
    tool = (await source.list_tools()).tools[0]

    async def send(page: PageAddress | None) -> CallResult:
        return await source.call(tool.name, {"customer_id": 4}, page)

    looked = await probe(tool, send)
    assert (looked.method, looked.total, looked.certainty) == (ProbeMethod.METADATA, 261, Certainty.EXACT)
    assert (looked.records_path, looked.tokens_estimation) == ("items", 9000)

    async def page_ids(index: int) -> list[int]:
        result = await send(page_address(looked.pagination, page_index=index, size=100))
        return [record["id"] for record in read_page(result, looked.pagination, records_path="items").records]

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(page_ids(index)) for index in range(3)]
    assert [number for task in tasks for number in task.result()] == list(range(1, 262))
