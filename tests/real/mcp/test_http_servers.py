"""The reference server over HTTP: with sessions, over HTTP+SSE, and restarted."""

import pytest

from adapters.clock import ManualClock
from adapters.mcp.adapter import McpSource
from adapters.mcp.settings import McpSettings
from tests.real.mcp.conftest import listening


def settings(port: int, path: str) -> McpSettings:
    return McpSettings(name="all", url=f"http://127.0.0.1:{port}/{path}", timeout_s=20)


@pytest.mark.parametrize(("kind", "path"), [("streamableHttp", "mcp"), ("sse", "sse")])
async def test_tools_are_listed_and_called(kind: str, path: str, free_port: int) -> None:
    async with listening(kind, free_port):
        source = await McpSource.open(settings(free_port, path))
        tools = {tool.name for tool in (await source.list_tools()).tools}
        result = await source.call("get-structured-content", {"location": "New York"})
        links = await source.call("get-resource-links", {"count": 4})
        await source.aclose()
    assert "get-sum" in tools
    assert set(result.payload) == {"temperature", "conditions", "humidity"}
    assert len(links.payload["items"]) == 4


async def test_a_session_unknown_to_a_restarted_server_is_reopened(free_port: int) -> None:
    async with listening("streamableHttp", free_port) as process:
        source = await McpSource.open(settings(free_port, "mcp"), clock=ManualClock())
        await source.list_tools()
        process.kill()
        await process.wait()
    async with listening("streamableHttp", free_port):
        result = await source.call("echo", {"message": "again"})
        await source.aclose()
    assert (result.payload, result.requests) == ("Echo: again", 2)
