"""The catalog of several sources."""

import pytest

from adapters.base import CallResult, PageAddress, SkippedTool, ToolList, ToolSpec
from adapters.catalog import ToolCatalog
from adapters.errors import ConnectionFailed, UnknownTool
from adapters.memory_source import MemorySource


def source(name: str, *tools: str, skipped: tuple[SkippedTool, ...] = ()) -> MemorySource:
    specs = {
        tool: ToolSpec(name=tool, description="", parameters={"type": "object"}, source=name, locator=f"GET /{tool}")
        for tool in tools
    }
    return MemorySource(
        name,
        {tool: (spec, lambda _, __: CallResult(payload=name, location=name)) for tool, spec in specs.items()},
        skipped,
    )


class Broken(MemorySource):
    async def list_tools(self) -> ToolList:
        raise ConnectionFailed(f"'{self.name}' is down", source=self.name)


async def test_tools_keep_their_names_and_order() -> None:
    catalog = await ToolCatalog.load([source("a", "x", "y"), source("b", "z")])
    assert [tool.name for tool in catalog.tools] == ["x", "y", "z"]


async def test_shared_names_are_prefixed_and_routed() -> None:
    first, second = source("desk", "get", "list"), source("bill ing", "get")
    catalog = await ToolCatalog.load([first, second])
    assert [tool.name for tool in catalog.tools] == ["desk__get", "list", "bill_ing__get"]
    page = PageAddress({"offset": 5})
    result = await catalog.call("bill_ing__get", {"a": 1}, page)
    assert result.payload == "bill ing"
    assert (first.requests, second.requests) == ([], [("get", {"a": 1}, page)])


async def test_prefixed_names_fit_in_64_characters_and_are_unique() -> None:
    long = "get_" + "x" * 58
    catalog = await ToolCatalog.load([source("desk", long, long + "1"), source("shop", long, long + "1")])
    names = [tool.name for tool in catalog.tools]
    assert len(set(names)) == 4
    assert all(len(name) <= 64 for name in names)


async def test_sources_with_the_same_name_have_unique_tools() -> None:
    catalog = await ToolCatalog.load([source("api", "get"), source("api", "get"), source("api", "get")])
    assert len({tool.name for tool in catalog.tools}) == 3


async def test_globs_match_names_and_sources() -> None:
    sources = [source("desk", "get_tickets", "get"), source("shop", "get_orders", "get")]
    for globs, names in (
        (["get_*"], ["get_tickets", "get_orders"]),
        (["desk/*"], ["get_tickets", "desk__get"]),
        (["get"], ["desk__get", "shop__get"]),
        (["shop__get", "get_tickets"], ["get_tickets", "shop__get"]),
        (["nothing*"], []),
    ):
        assert [tool.name for tool in (await ToolCatalog.load(sources, only=globs)).tools] == names


async def test_a_tool_that_is_filtered_out_cannot_be_called() -> None:
    catalog = await ToolCatalog.load([source("desk", "get_tickets", "delete_all")], only=["get_*"])
    assert catalog.find("delete_all") is None
    with pytest.raises(UnknownTool):
        await catalog.call("delete_all", {})


async def test_an_unknown_tool_suggests_the_closest_name() -> None:
    catalog = await ToolCatalog.load([source("desk", "get_tickets")])
    with pytest.raises(UnknownTool, match="did you mean 'get_tickets'"):
        await catalog.call("get_ticket", {})


async def test_a_failing_source_is_skipped_with_its_reason() -> None:
    flaw = SkippedTool("#/paths/~1x", "no responses")
    catalog = await ToolCatalog.load([Broken("down", {}), source("desk", "get", skipped=(flaw,))])
    assert [tool.name for tool in catalog.tools] == ["get"]
    assert catalog.skipped == (SkippedTool("down", "'down' is down"), flaw)


async def test_an_internal_error_in_one_source_spares_the_others() -> None:
    class Faulty(MemorySource):
        async def list_tools(self) -> ToolList:
            raise KeyError("x-unforeseen")

    catalog = await ToolCatalog.load([Faulty("odd", {}), source("desk", "get")])
    assert [tool.name for tool in catalog.tools] == ["get"]
    assert catalog.skipped == (SkippedTool("odd", "internal error: KeyError: 'x-unforeseen'"),)
    with pytest.raises(KeyError, match="x-unforeseen"):
        await ToolCatalog.load([Faulty("odd", {})])


async def test_the_first_error_is_raised_if_every_source_fails() -> None:
    with pytest.raises(ConnectionFailed, match="'one' is down"):
        await ToolCatalog.load([Broken("one", {}), Broken("two", {})])


async def test_no_sources_make_an_empty_catalog() -> None:
    assert (await ToolCatalog.load([])).tools == ()


async def test_closing_closes_every_source_even_if_one_fails() -> None:
    class Stuck(MemorySource):
        async def aclose(self) -> None:
            raise ConnectionFailed("stuck", source=self.name)

    last = source("desk", "get")
    catalog = await ToolCatalog.load([Stuck("stuck", {}), last])
    with pytest.raises(ConnectionFailed, match="stuck"):
        await catalog.aclose()
    assert last.is_closed


async def test_globs_can_apply_to_one_source() -> None:
    sources = [source("desk", "get_tickets", "get"), source("shop", "get_orders", "get")]
    catalog = await ToolCatalog.load(sources, source_globs={"desk": ["get_*"], "shop": []})
    assert [tool.name for tool in catalog.tools] == ["get_tickets", "get_orders", "get"], "no clash is left"
    assert (await catalog.call("get", {})).payload == "shop"


async def test_a_source_without_matching_tools_is_reported() -> None:
    catalog = await ToolCatalog.load([source("desk", "get"), source("shop", "get")], source_globs={"desk": ["put_*"]})
    assert [tool.name for tool in catalog.tools] == ["get"]
    assert catalog.skipped == (SkippedTool("desk", "none of its tools (1) match 'put_*'"),)


async def test_globs_match_paths() -> None:
    catalog = await ToolCatalog.load([source("desk", "tickets", "users")], only=["GET /tick*"])
    assert [tool.name for tool in catalog.tools] == ["tickets"]
