"""The tools of several sources as one catalog: unique names, filters, and routing of calls to their sources.

A name that two sources share is prefixed in both (`source__tool`), so that names do not depend on the order of sources.
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
    PageAddress,
    PreviewsRequests,
    RequestPreview,
    SkippedTool,
    ToolList,
    ToolSource,
    ToolSpec,
    tool_name,
)
from adapters.errors import SourceError, UnknownTool
from adapters.source_events import OnEvent, ignore_events


@dataclass(frozen=True, slots=True)
class _CatalogEntry:
    """A tool under its name in the catalog, its source, and its name there."""

    spec: ToolSpec
    source: ToolSource
    inner_name: str


@dataclass(frozen=True, slots=True)
class ToolCatalog:
    """The tools of all sources, by name. `skipped` lists what is missing and why: sources, operations."""

    sources: tuple[ToolSource, ...]
    entries: Mapping[str, _CatalogEntry]
    skipped: tuple[SkippedTool, ...] = ()

    @classmethod
    async def load(
        cls,
        sources: Sequence[ToolSource],
        *,
        only: Sequence[str] = (),
        source_globs: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> "ToolCatalog":
        """List the tools of all sources in parallel. `only` are globs over names, `source/tool` and `GET /path`.

        `source_globs` are globs for single sources, applied before names are made unique. No globs keep all tools. A
        source that fails is skipped with its reason; if every source fails, the first error is raised.
        """
        async with asyncio.TaskGroup() as group:
            listings = [group.create_task(_list_tools(source)) for source in sources]
        outcomes = [listing.result() for listing in listings]
        failures = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        if failures and len(failures) == len(sources):
            raise failures[0]
        listed = list(zip(sources, outcomes, strict=True))
        skipped = [part for source, outcome in listed for part in _skipped_of(source, outcome)]
        tools: list[_CatalogEntry] = []
        for source, outcome in listed:
            if isinstance(outcome, ToolList):
                globs = source_globs.get(source.name, ())
                entries = (_CatalogEntry(spec, source, spec.name) for spec in outcome.tools)
                kept = [entry for entry in entries if _matches(entry, globs)]
                tools += kept
                if globs and not kept:
                    wanted = ", ".join(f"'{glob}'" for glob in globs)
                    skipped.append(SkippedTool(source.name, f"none of its tools ({len(outcome.tools)}) match {wanted}"))
        named = _by_unique_name(tools)
        return cls(tuple(sources), {name: tool for name, tool in named.items() if _matches(tool, only)}, tuple(skipped))

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """All tools, in the order of the sources and of their lists."""
        return tuple(tool.spec for tool in self.entries.values())

    def find(self, name: str) -> ToolSpec | None:
        """Return the tool of that name, if any."""
        tool = self.entries.get(name)
        return tool.spec if tool else None

    async def call(
        self,
        tool_name: str,
        arguments: Mapping[str, Json],
        page: PageAddress | None = None,
        *,
        observer: OnEvent = ignore_events,
    ) -> CallResult:
        """Send one request to the source of the tool. Raises SourceError; UnknownTool suggests the closest name."""
        tool = self.entries.get(tool_name)
        if tool is None:
            near = get_close_matches(tool_name, self.entries, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else "; `runax tools list` shows the names"
            raise UnknownTool(f"there is no tool '{tool_name}'{hint}", source="", requests=0)
        return await tool.source.call(tool.inner_name, arguments, page, observer=observer)

    async def preview_request(self, tool_name: str, arguments: Mapping[str, Json]) -> RequestPreview | None:
        """Return the request of a call without sending it; None if its source has no previews. Raises SourceError."""
        tool = self.entries.get(tool_name)
        if tool is None or not isinstance(tool.source, PreviewsRequests):
            return None
        return await tool.source.preview_request(tool.inner_name, arguments)

    async def aclose(self) -> None:
        """Close every source, even if closing one fails; raise the first error afterwards."""
        outcomes = await asyncio.gather(*(source.aclose() for source in self.sources), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome


async def _list_tools(source: ToolSource) -> ToolList | Exception:
    try:
        return await source.list_tools()
    except Exception as error:
        return error


def _skipped_of(source: ToolSource, outcome: ToolList | Exception) -> tuple[SkippedTool, ...]:
    match outcome:
        case ToolList():
            return outcome.skipped
        case SourceError():
            return (SkippedTool(outcome.source, str(outcome)),)
        case _:
            return (SkippedTool(source.name, f"internal error: {type(outcome).__name__}: {outcome}"),)


def _by_unique_name(tools: Sequence[_CatalogEntry]) -> dict[str, _CatalogEntry]:
    """Give each tool a legal and unique name that does not depend on the order of the sources."""
    counts = Counter(tool.spec.name for tool in tools)
    entries: dict[str, _CatalogEntry] = {}
    for tool in tools:
        is_shared = counts[tool.spec.name] > 1
        wanted = f"{tool.source.name}__{tool.spec.name}" if is_shared else tool.spec.name
        name = tool_name(wanted, taken=entries)
        entries[name] = replace(tool, spec=replace(tool.spec, name=name))
    return entries


def _matches(tool: _CatalogEntry, only: Sequence[str]) -> bool:
    candidates = (tool.spec.name, tool.inner_name, f"{tool.source.name}/{tool.inner_name}", tool.spec.locator)
    return not only or any(fnmatchcase(name, glob) for glob in only for name in candidates)
