"""The same conventions and faults as tools of an MCP server over HTTP: one walker serves both kinds of source."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from adapters.mcp.adapter import McpSource
from adapters.mcp.settings import McpSettings
from mock_api.conventions import Collection, ConventionName, PagingFault, RequestLog, faults_of
from mock_api.conventions.mcp_tools import create_conventions_mcp_app
from mock_api.serving import serve

BY_ARGUMENT = [
    ConventionName.SINGLE, ConventionName.OFFSET, ConventionName.OFFSET_IN_BODY, ConventionName.START_AT,
    ConventionName.PAGE, ConventionName.PAGE_ZERO, ConventionName.CURSOR, ConventionName.PAGE_TOKEN,
    ConventionName.TOKEN_IN_BODY, ConventionName.AWS_POST, ConventionName.KEYSET, ConventionName.SCIM,
    ConventionName.SEARCH_FROM, ConventionName.META_ONLY, ConventionName.COUNT_SIBLING,
]  # fmt: skip
WITH_FAULTS = [ConventionName.OFFSET, ConventionName.PAGE, ConventionName.CURSOR, ConventionName.KEYSET]


@asynccontextmanager
async def connected(served: Sequence[Collection], log: RequestLog) -> AsyncIterator[McpSource]:
    app = create_conventions_mcp_app(served, log=log)
    async with serve(app, port=0) as url:
        source = await McpSource.open(McpSettings(name="mock", url=f"{url}/mcp", timeout_s=20))
        try:
            yield source
        finally:
            await source.aclose()


@pytest.mark.parametrize("style", BY_ARGUMENT)
async def test_every_record_comes_once_over_mcp(style: ConventionName, bench_over: Any) -> None:
    served = [
        Collection(convention=style, name=f"{style}_0", total=133),
        Collection(convention=style, name=f"{style}_1", total=57, default_size=7, cap=None, clamp=5, says_total=False),
    ]
    log = RequestLog()
    async with connected(served, log) as source:
        for collection in served:
            log.responses.clear()
            read = await bench_over(source).read(collection, log)
            assert read.is_whole, read
            assert read.says_complete, read


@pytest.mark.parametrize("style", WITH_FAULTS)
async def test_coverage_is_correct_over_a_tool_with_false_metadata(style: ConventionName, bench_over: Any) -> None:
    served = [
        Collection(convention=style, fault=fault, name=f"{style}_{fault}", total=90, window=40, default_size=10, cap=20)
        for fault in sorted(faults_of(style) - {PagingFault.FOREIGN_NEXT})
    ]
    log = RequestLog()
    async with connected(served, log) as source:
        for collection in served:
            log.responses.clear()
            read = await bench_over(source).read(collection, log)
            assert not read.says_complete or read.is_whole, read
            assert read.says_complete or read.codes, read
            assert len(read.ids) == len(set(read.ids)), read
            assert len(log.responses) < 120, read
