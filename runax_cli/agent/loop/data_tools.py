"""The three tools that work on datasets, as the main model sees them. They are offered once there is a dataset.

Their texts are versioned like a prompt: increment VERSION if one changes. `executor.data_tools` runs them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from adapters.base import ToolSpec
from adapters.json_text import compact_json
from runax_cli.agent.loop.toolbox import ToolRegistry
from runax_cli.executor.data_tools.router import SOURCE, DataTool
from runax_cli.guard.visible_tool import VisibleTool, visible_tool
from runax_cli.models.base import ToolSchema
from runax_cli.models.tokens import CalibratedCounter

VERSION = 2

_TEXT: dict[str, Any] = {"type": "string"}
_WHERE: dict[str, Any] = {"type": "string", "description": "SQL condition"}


def _tool(name: str, kind: DataTool, description: str, required: Iterable[str], **properties: Any) -> ToolSpec:
    parameters = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return ToolSpec(
        name=name, description=description, parameters=parameters, source=SOURCE, locator=kind.value, noun="rows"
    )


QUERY = _tool(
    "query_dataset",
    DataTool.QUERY,
    "Compute over datasets: one DuckDB SELECT; datasets are tables.",
    ["sql"],
    sql=_TEXT,
)
LABEL = _tool(
    "label_dataset",
    DataTool.LABEL,
    "Have each row's text read and given one of `labels`, a closed list with one for none of them (or the properties "
    "of the JSON `schema`); labels become a table. Only for what no SQL condition can tell.",
    ["dataset", "columns", "instruction"],
    dataset=_TEXT,
    columns={"type": "array", "items": _TEXT, "minItems": 1},
    instruction=_TEXT,
    labels={"type": "array", "items": _TEXT},
    schema={"type": "object"},
    where=_WHERE,
)
READ = _tool(
    "read_dataset",
    DataTool.READ,
    "Learn what records of a dataset say about `focus`.",
    ["dataset", "focus"],
    dataset=_TEXT,
    focus=_TEXT,
    where=_WHERE,
)
ALL = (QUERY, LABEL, READ)


class DatasetRouter(Protocol):
    """Keeps datasets."""

    @property
    def listing(self) -> str:
        """The existing datasets in one line; "" if there is none."""

    async def start_turn(self) -> None:
        """Take note that the datasets that exist now are those of earlier turns."""


class DataTools:
    """The three tools over datasets. If a source has a tool of the same name, ours is renamed."""

    def __init__(self, datasets: DatasetRouter, *, taken: Iterable[str]) -> None:
        names = set(taken)
        specs = [replace(spec, name=f"runax_{spec.name}") if spec.name in names else spec for spec in ALL]
        self._tools = {spec.name: visible_tool(replace(spec, returns_many=False)) for spec in specs}
        self._datasets = datasets

    @property
    def all(self) -> tuple[ToolSchema, ...]:
        """Their schemas without a list of datasets, to measure the tokens they will take."""
        return tuple(tool.schema for tool in self._tools.values())

    @property
    def available(self) -> Mapping[str, VisibleTool]:
        """The tools once there is a dataset, the query tool with a list of the datasets; else none."""
        listing = self._datasets.listing
        if not listing:
            return {}
        return {name: _with_listing(tool, listing) for name, tool in self._tools.items()}


def tool_tokens(tools: Iterable[ToolSchema], counter: CalibratedCounter) -> int:
    """The tokens that tools take in each request that offers them. Blocking."""
    return sum(counter.count(compact_json([tool.name, tool.description, tool.parameters])) for tool in tools)


@dataclass(frozen=True, slots=True)
class OfferedTools(Mapping[str, VisibleTool]):
    """All tools that can be called now: those of the sources, and those over datasets once there is one."""

    sources: ToolRegistry
    data: DataTools | None = None

    def __getitem__(self, name: str) -> VisibleTool:
        available = self._available
        return available[name] if name in available else self.sources[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.sources
        yield from self._available

    def __len__(self) -> int:
        return len(self.sources) + len(self._available)

    @property
    def dataset_tools(self) -> tuple[ToolSchema, ...]:
        """The tools over datasets that can be called now."""
        return () if self.data is None else tuple(tool.schema for tool in self.data.available.values())

    @property
    def _available(self) -> Mapping[str, VisibleTool]:
        return {} if self.data is None else self.data.available


def _with_listing(tool: VisibleTool, listing: str) -> VisibleTool:
    if tool.spec.locator != DataTool.QUERY.value:
        return tool
    schema = tool.schema
    return replace(tool, schema=replace(schema, description=f"{schema.description} Datasets: {listing}"))
