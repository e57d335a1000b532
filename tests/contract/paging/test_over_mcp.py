"""The same conventions and lies as tools of an MCP server over HTTP: one walker serves both kinds of source."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from adapters.mcp.adapter import McpSource
from adapters.mcp.settings import McpSettings
from mock_api.conventions import Collection, Lie, Log, Style, lies_of
from mock_api.conventions.tools import create_conventions_mcp_app
from mock_api.serving import serve

BY_ARGUMENT = [
    Style.SINGLE, Style.OFFSET, Style.OFFSET_IN_BODY, Style.START_AT, Style.PAGE, Style.PAGE_ZERO, Style.CURSOR,
    Style.PAGE_TOKEN, Style.TOKEN_IN_BODY, Style.AWS_POST, Style.KEYSET, Style.SCIM, Style.SEARCH_FROM,
    Style.META_ONLY, Style.COUNT_SIBLING,
]  # fmt: skip
LYING = [Style.OFFSET, Style.PAGE, Style.CURSOR, Style.KEYSET]


@asynccontextmanager
async def connected(served: Sequence[Collection], log: Log) -> AsyncIterator[McpSource]:
    app = create_conventions_mcp_app(served, log=log)
    async with serve(app, port=0) as url:
        source = await McpSource.open(McpSettings(name="mock", url=f"{url}/mcp", timeout_s=20))
        try:
            yield source
        finally:
            await source.aclose()


@pytest.mark.parametrize("style", BY_ARGUMENT)
async def test_every_record_comes_once_over_mcp(style: Style, bench_over: Any) -> None:
    served = [
        Collection(style=style, name=f"{style}_0", total=133),
        Collection(style=style, name=f"{style}_1", total=57, default_size=7, cap=None, clamp=5, says_total=False),
    ]
    log = Log()
    async with connected(served, log) as source:
        for collection in served:
            log.given.clear()
            read = await bench_over(source).read(collection, log)
            assert read.is_whole, read
            assert read.says_complete, read


@pytest.mark.parametrize("style", LYING)
async def test_the_verdict_over_a_lying_tool_is_true(style: Style, bench_over: Any) -> None:
    served = [
        Collection(style=style, lie=lie, name=f"{style}_{lie}", total=90, window=40, default_size=10, cap=20)
        for lie in sorted(lies_of(style) - {Lie.FOREIGN_NEXT})
    ]
    log = Log()
    async with connected(served, log) as source:
        for collection in served:
            log.given.clear()
            read = await bench_over(source).read(collection, log)
            assert not read.says_complete or read.is_whole, read
            assert read.says_complete or read.codes, read
            assert len(read.ids) == len(set(read.ids)), read
            assert len(log.given) < 120, read
