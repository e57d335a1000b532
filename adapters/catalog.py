"""Several sources as one catalog of tools: names made unique, tools filtered, calls routed to their owners.

Knows names and owners. Knows no protocol and no model. A name that two sources share is prefixed with its source in
both (`source__tool`), so that what a tool is called does not depend on the order of the sources.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from types import MappingProxyType

from adapters.base import (
    CallResult,
    Json,
    OnEvent,
    PageAddress,
    PreviewsRequests,
    RequestPreview,
    SkippedTool,
    ToolList,
    ToolSource,
    ToolSpec,
    ignore_events,
    tool_name,
)
from adapters.errors import SourceError, UnknownTool


@dataclass(frozen=True, slots=True)
class _CatalogEntry:
    """A tool as the catalog shows it, with the source it belongs to and its name there."""

    spec: ToolSpec
    source: ToolSource
    inner_name: str


@dataclass(frozen=True, slots=True)
class ToolCatalog:
    """The tools of all sources. `left_out` says what is missing and why: whole sources, flawed operations."""

    sources: tuple[ToolSource, ...]
    owned: Mapping[str, _CatalogEntry]
    left_out: tuple[SkippedTool, ...] = ()

    @classmethod
    async def load(
        cls,
        sources: Sequence[ToolSource],
        *,
        only: Sequence[str] = (),
        of_source: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> "ToolCatalog":
        """List every source at once. `only` are globs over names in the catalog, `source/tool` or `GET /path`.

        `of_source` has globs for single sources, by name: what they leave out is as if the source did not have it. No
        globs keep all. A source that fails, be it by a fault of its adapter, is left out with its reason; where every
        source fails, the first failure is raised.
        """
        async with asyncio.TaskGroup() as group:
            listings = [group.create_task(_list_tools(source)) for source in sources]
        outcomes = [listing.result() for listing in listings]
        failures = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        if failures and len(failures) == len(sources):
            raise failures[0]
        listed = list(zip(sources, outcomes, strict=True))
        left_out = [part for source, outcome in listed for part in _skipped_of(source, outcome)]
        tools: list[_CatalogEntry] = []
        for source, outcome in listed:
            if isinstance(outcome, ToolList):
                globs = of_source.get(source.name, ())
                kept = [tool for tool in _entries_of(source, outcome) if _matches(tool, globs)]
                tools += kept
                if globs and not kept:
                    wanted = ", ".join(f"'{glob}'" for glob in globs)
                    left_out.append(
                        SkippedTool(source.name, f"none of its {len(outcome.tools)} tools matches {wanted}")
                    )
        named = _by_unique_name(tools)
        return cls(
            tuple(sources), {name: tool for name, tool in named.items() if _matches(tool, only)}, tuple(left_out)
        )

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """All tools, in the order of the sources and of their documents."""
        return tuple(tool.spec for tool in self.owned.values())

    def find(self, name: str) -> ToolSpec | None:
        """The tool of that name."""
        tool = self.owned.get(name)
        return tool.spec if tool else None

    async def call(
        self,
        tool_name: str,
        arguments: Mapping[str, Json],
        page: PageAddress | None = None,
        *,
        observer: OnEvent = ignore_events,
    ) -> CallResult:
        """Send one request to the tool's owner. Raises SourceError; UnknownTool names the nearest tool."""
        tool = self.owned.get(tool_name)
        if tool is None:
            near = get_close_matches(tool_name, self.owned, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else "; list the tools to see their names"
            raise UnknownTool(f"there is no tool '{tool_name}'{hint}", source="", requests=0)
        return await tool.source.call(tool.inner_name, arguments, page, observer=observer)

    async def shown(self, tool_name: str, arguments: Mapping[str, Json]) -> RequestPreview | None:
        """What a call would send, without sending it; None where its source cannot say. Raises SourceError."""
        tool = self.owned.get(tool_name)
        if tool is None or not isinstance(tool.source, PreviewsRequests):
            return None
        return await tool.source.shown(tool.inner_name, arguments)

    async def aclose(self) -> None:
        """Close every source, also where closing one fails; the first failure is raised afterwards."""
        outcomes = await asyncio.gather(*(source.aclose() for source in self.sources), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome


async def _list_tools(source: ToolSource) -> ToolList | Exception:
    try:
        return await source.list_tools()
    except Exception as error:
        return error


def _entries_of(source: ToolSource, listed: ToolList) -> list[_CatalogEntry]:
    return [_CatalogEntry(spec, source, spec.name) for spec in listed.tools]


def _skipped_of(source: ToolSource, outcome: ToolList | Exception) -> tuple[SkippedTool, ...]:
    match outcome:
        case ToolList():
            return outcome.left_out
        case SourceError():
            return (SkippedTool(outcome.source, str(outcome)),)
        case _:
            return (SkippedTool(source.name, f"it failed inside runax: {type(outcome).__name__}: {outcome}"),)


def _by_unique_name(tools: Sequence[_CatalogEntry]) -> dict[str, _CatalogEntry]:
    """Names that are legal and unique, and the same whatever the order of the sources."""
    counts = Counter(tool.spec.name for tool in tools)
    named: dict[str, _CatalogEntry] = {}
    for tool in tools:
        is_shared = counts[tool.spec.name] > 1
        wanted = f"{tool.source.name}__{tool.spec.name}" if is_shared else tool.spec.name
        name = tool_name(wanted, taken=named)
        named[name] = replace(tool, spec=replace(tool.spec, name=name))
    return named


def _matches(tool: _CatalogEntry, only: Sequence[str]) -> bool:
    candidates = (tool.spec.name, tool.inner_name, f"{tool.source.name}/{tool.inner_name}", tool.spec.locator)
    return not only or any(fnmatchcase(name, glob) for glob in only for name in candidates)
