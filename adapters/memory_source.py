"""A source in memory: tools with functions behind them, for tests and demos."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from adapters.base import CallResult, Json, JsonObject, PageAddress, SkippedTool, ToolList, ToolSpec
from adapters.errors import UnknownTool
from adapters.source_events import OnEvent, RequestSent, ignore_events

Reply: TypeAlias = Callable[[Mapping[str, Json], PageAddress | None], CallResult]


@dataclass
class MemorySource:
    """A ToolSource whose tools are functions. `requests` records the calls."""

    name: str
    tools: Mapping[str, tuple[ToolSpec, Reply]]
    skipped: tuple[SkippedTool, ...] = ()
    requests: list[tuple[str, JsonObject, PageAddress | None]] = field(default_factory=list)
    is_closed: bool = False

    async def list_tools(self) -> ToolList:
        """Return the tools it was created with."""
        return ToolList(tuple(spec for spec, _ in self.tools.values()), self.skipped)

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Json],
        page: PageAddress | None = None,
        *,
        observer: OnEvent = ignore_events,
    ) -> CallResult:
        """Return the result of the tool's function; a SourceError raised by it passes through."""
        if tool not in self.tools:
            raise UnknownTool(f"there is no tool '{tool}' in '{self.name}'", source=self.name)
        self.requests.append((tool, dict(arguments), page))
        observer(RequestSent(self.name, tool))
        return self.tools[tool][1](arguments, page)

    async def aclose(self) -> None:
        """Set `is_closed`."""
        self.is_closed = True
