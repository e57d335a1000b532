"""Selects the tools that the main model is offered: all, or if these are too many, the most relevant and `find_tools`.

A tool that the question hardly needs is shown as one line; its arguments are still checked against its whole schema.

The ranking of tools is in `adapters.tool_search`.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from adapters.base import Effect, ToolSpec
from adapters.json_text import compact_json
from adapters.pagination.vocabulary.members import singular
from adapters.tool_search import RankedTool, ToolIndex, count_areas, requests_change
from runax_cli.agent.result.requested_call import RequestedCall
from runax_cli.core.untrusted_text import without_template_marks
from runax_cli.executor.outcome import EnvelopeStatus
from runax_cli.guard.duplicates import data_fingerprint
from runax_cli.guard.redundant_text import as_line
from runax_cli.guard.visible_tool import SplitArguments, VisibleTool, shorten, visible_tool
from runax_cli.models.base import ToolSchema
from runax_cli.models.tokens import CalibratedCounter

SOURCE = "tools"
"""The source of the tool `find_tools`."""
MAX_FOUND = 8
MAX_AREAS = 24
MAX_PLANNER_TOOLS = 40
_DESCRIPTION_CHARS = 120
_BRIEF_CHARS = 120
_ANSWERED = (EnvelopeStatus.SUCCESS, EnvelopeStatus.EMPTY)
_GUESS_SHARE = 2
_CONTEXT_SHARE = 2
_FIND_SHARE = 4
_MIN_SCORE_SHARE = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLimits:
    """Limits of one list of tools. A list above either of them is reduced; None means no limit."""

    tools: int | None = 40
    tokens: int | None = 8_000

    def capped_to(self, effective_tokens: int) -> "ToolLimits":
        """These limits, and at most half of the effective context."""
        most = effective_tokens // _CONTEXT_SHARE
        return ToolLimits(tools=self.tools, tokens=most if self.tokens is None else min(self.tokens, most))

    def allows(self, n_tools: float, tokens: float) -> bool:
        """Whether a list of this size is allowed."""
        return n_tools <= (self.tools or math.inf) and tokens <= (self.tokens or math.inf)

    def divided_by(self, divisor: int) -> "ToolLimits":
        """A fraction of these limits, at least 1."""
        return ToolLimits(
            tools=None if self.tools is None else max(1, self.tools // divisor),
            tokens=None if self.tokens is None else max(1, self.tokens // divisor),
        )


DEFAULT_LIMITS = ToolLimits()


def _sanitize_spec(spec: ToolSpec) -> ToolSpec:
    """Remove chat template marks from descriptions: they are untrusted text."""
    return replace(
        spec, description=without_template_marks(spec.description), parameters=_sanitize_schema(spec.parameters)
    )


def _sanitize_schema(schema: Any) -> Any:
    """Remove chat template marks from the descriptions of a schema; names and values stay unchanged."""
    match schema:
        case dict():
            return {
                name: without_template_marks(inner)
                if name == "description" and isinstance(inner, str)
                else _sanitize_schema(inner)
                for name, inner in schema.items()
            }
        case list():
            return [_sanitize_schema(inner) for inner in schema]
        case _:
            return schema


class ToolRegistry(Mapping[str, VisibleTool]):
    """All tools of the sources. Schemas, token counts and the search index are made on first use. One per session."""

    def __init__(self, tools: Iterable[ToolSpec]) -> None:
        self.specs = {spec.name: spec for spec in tools}
        self._visible: dict[str, VisibleTool] = {}
        self._token_counts: dict[str, int] = {}
        self._index: ToolIndex | None = None
        self._used: list[str] = []

    def __getitem__(self, name: str) -> VisibleTool:
        if name not in self._visible:
            self._visible[name] = visible_tool(_sanitize_spec(self.specs[name]))
        return self._visible[name]

    def __contains__(self, name: object) -> bool:
        return name in self.specs

    def __iter__(self) -> Iterator[str]:
        return iter(self.specs)

    def __len__(self) -> int:
        return len(self.specs)

    def rank(self, query: str) -> tuple[RankedTool, ...]:
        """The matching tools, best first. Blocking: the first call takes up to 0.2 s."""
        if self._index is None:
            self._index = ToolIndex(tuple(self.specs.values()))
        return self._index.search(query)

    def likely_tools(self, question: str) -> tuple[str, ...]:
        """Names of the tools that a question probably needs. Tools that change data only if it asks for a change."""
        ranked = self.rank(question)
        if not requests_change(question):
            ranked = tuple(one for one in ranked if one.spec.effect is Effect.READ)
        least = ranked[0].score * _MIN_SCORE_SHARE if ranked else 0.0
        return tuple(one.spec.name for one in ranked if one.score >= least)

    def token_count(self, name: str, counter: CalibratedCounter) -> int:
        """The tokens that a tool takes in every request. Blocking."""
        if name not in self._token_counts:
            self._token_counts[name] = counter.counted(schema_text(self[name].schema))
        return counter.estimate_of(self._token_counts[name])

    def is_over_limit(self, limits: ToolLimits, counter: CalibratedCounter) -> bool:
        """Whether all tools together exceed the limits. Counts tokens only if the bytes do not decide it."""
        if len(self) <= 1 or limits.allows(len(self), sum(self._bytes())):
            return False
        return not limits.allows(len(self), 0) or not limits.allows(
            0, sum(self.token_count(name, counter) for name in self)
        )

    @cached_property
    def nouns(self) -> frozenset[str]:
        """What the records of the tools are called, one word each, in the singular."""
        return frozenset(singular(spec.noun.rpartition("_")[2].casefold()) for spec in self.specs.values())

    @property
    def recently_used(self) -> tuple[str, ...]:
        """The tools that earlier turns called, latest first: a follow-up question may need them again."""
        return tuple(dict.fromkeys(reversed(self._used)))[:MAX_FOUND]

    def record_used(self, names: Iterable[str]) -> None:
        """Record the tools that a finished turn called."""
        self._used += [name for name in names if name in self.specs]

    def planner_tools(self, question: str) -> tuple[ToolSchema, ...]:
        """The tools that a planner sees: all, or those that match the question best."""
        names = list(self) if len(self) <= MAX_PLANNER_TOOLS else self.likely_tools(question)[:MAX_PLANNER_TOOLS]
        return tuple(self[name].schema for name in names)

    def _bytes(self) -> Iterator[int]:
        return (len(schema_text(self[name].schema).encode("utf-8", "surrogatepass")) for name in self)


class ToolSelection(Mapping[str, VisibleTool]):
    """The tools that one sub-question can call, and those it is offered. `offered` changes as tools are found.

    Every tool can be called by name at any time; called and found tools join the list. At the limit, first guesses are
    removed before found tools; called tools are never removed.
    """

    def __init__(
        self,
        callable_: Mapping[str, VisibleTool],
        registry: ToolRegistry,
        *,
        limits: ToolLimits,
        counter: CalibratedCounter,
    ) -> None:
        """`callable_` are all tools, including those over datasets; `registry` has those of the sources."""
        self._callable, self._registry, self._limits, self._counter = callable_, registry, limits, counter
        self._guessed: list[str] = []
        self._found: list[str] = []
        self._called: list[str] = []
        self._finder: VisibleTool | None = None
        self.offered: list[ToolSchema] = []

    def select_for(self, question: str) -> None:
        """Offer all tools if that is within the limits, else those that match the question. Blocking."""
        if self._registry.is_over_limit(self._limits, self._counter):
            self._finder = _find_tools_tool(self._callable, self._registry)
            guesses = dict.fromkeys([*self._registry.recently_used, *self._registry.likely_tools(question)])
            self._guessed = self._affordable(guesses, self._limits.divided_by(_GUESS_SHARE))
        else:
            self._guessed = list(self._registry)
        self._offer()

    def __getitem__(self, name: str) -> VisibleTool:
        if self._finder is not None and name == self._finder.spec.name:
            return self._finder
        return self._callable[name]

    def __iter__(self) -> Iterator[str]:
        if self._finder is not None:
            yield self._finder.spec.name
        yield from self._callable

    def __len__(self) -> int:
        return len(self._callable) + (self._finder is not None)

    @property
    def is_partial(self) -> bool:
        """Whether not all tools are offered."""
        return self._finder is not None

    def tokens_of(self, schemas: Iterable[ToolSchema]) -> int:
        """The tokens that tools take in every request that offers them. Blocking."""
        return sum(self._counter.count(schema_text(schema)) for schema in schemas)

    def pin(self, name: str) -> None:
        """Keep a tool that the model called on the list."""
        if self.is_partial and name in self._registry and name not in self._called:
            self._called.append(name)
            self._offer()

    def search(self, query: str) -> tuple[str, ...]:
        """Names of the tools that match `query` best. Blocking, thread-safe: does not change the list."""
        best = [one.spec.name for one in self._registry.rank(query)[:MAX_FOUND]]
        return tuple(self._affordable(best, replace(self._limits, tokens=self._limits.divided_by(_FIND_SHARE).tokens)))

    def add_found(self, names: Sequence[str]) -> None:
        """Add found tools to the list. Like `pin`, not thread-safe."""
        self._found = [name for name in self._found if name not in names] + [*names]
        self._offer()

    def _affordable(self, names: Iterable[str], limits: ToolLimits) -> list[str]:
        """The first names within the limits, without tools that are too large; always at least one."""
        kept: list[str] = []
        tokens = 0
        for name in names:
            if not limits.allows(len(kept) + 1, 0):
                break
            tokens_of_tool = self._registry.token_count(name, self._counter)
            if not kept or limits.allows(0, tokens + tokens_of_tool):
                kept.append(name)
                tokens += tokens_of_tool
        return kept

    def _offer(self) -> None:
        """Build the list: called tools, then the latest found, then the first guesses, up to the limits."""
        wanted = dict.fromkeys([*self._called, *reversed(self._found), *self._guessed])
        names = set(wanted) if not self.is_partial else self._within_limits(list(wanted))
        in_order = [name for name in self._registry if name in names]
        finder = [] if self._finder is None else [self._finder.schema]
        self.offered[:] = [*finder, *(self._registry[name].schema for name in in_order)]

    def _within_limits(self, names: Sequence[str]) -> set[str]:
        kept, tokens = set(self._called), sum(self._registry.token_count(name, self._counter) for name in self._called)
        for name in names:
            tokens_of_tool = self._registry.token_count(name, self._counter)
            if name not in kept and self._limits.allows(len(kept) + 1, tokens + tokens_of_tool):
                kept.add(name)
                tokens += tokens_of_tool
        return kept


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolBrevity:
    """Decides which tools of a sub-question are shown in short.

    These are the tools whose records without any filter are in a dataset already (`datasets` maps fingerprints of data
    to names), those that the plan does not name (`planned` is empty if it names none), and all once a call has
    succeeded. A tool whose latest call was invalid is shown whole, so that a model can correct the call.
    """

    tools: Mapping[str, VisibleTool]
    datasets: Mapping[str, str]
    planned: frozenset[str] = frozenset()

    def schema(self, schema: ToolSchema, calls: Sequence[RequestedCall]) -> ToolSchema:
        """The schema of a tool as the next request shows it, after `calls`."""
        tool = self.tools.get(schema.name)
        if tool is None or _was_invalid(schema.name, calls):
            return schema
        dataset = None if tool.spec.requires_fresh_input else self._dataset_of(schema.name)
        if dataset is not None:
            return _shorter(schema, f"All its records are in {dataset}.")
        if not self._is_unplanned(schema.name) and not any(call.envelope.status in _ANSWERED for call in calls):
            return schema
        return _shorter(schema, shorten(schema.description, _BRIEF_CHARS))

    def _is_unplanned(self, name: str) -> bool:
        return bool(self.planned) and self.planned <= self.tools.keys() and name not in self.planned

    def _dataset_of(self, name: str) -> str | None:
        return self.datasets.get(data_fingerprint(name, SplitArguments(api={})))


def _was_invalid(name: str, calls: Sequence[RequestedCall]) -> bool:
    latest = next((call for call in reversed(calls) if call.envelope.tool == name), None)
    return latest is not None and latest.envelope.status is EnvelopeStatus.VALIDATION_ERROR


def _shorter(schema: ToolSchema, description: str) -> ToolSchema:
    """A tool as one line; required arguments keep their schemas. Unchanged if that saves nothing."""
    parameters = schema.parameters
    required = parameters.get("required") or []
    properties: Mapping[str, Any] = parameters.get("properties") or {}
    optional = {name: inner for name, inner in properties.items() if name not in required}
    if not optional:
        return schema
    line = f"{description} Arguments: {as_line({'properties': optional})}".strip()
    kept = {key: value for key, value in parameters.items() if key in ("$defs", "definitions", "required")}
    # Servers that constrain replies to the schema allow other arguments only if it says so.
    brief = {
        "type": "object",
        "properties": {name: properties[name] for name in required if name in properties},
        "additionalProperties": True,
    }
    short = replace(schema, description=line, parameters=brief | kept)
    return short if len(schema_text(short)) < len(schema_text(schema)) else schema


def describe_tool(tool: VisibleTool) -> dict[str, str]:
    """A found tool in one line, as `find_tools` returns it."""
    return {"tool": tool.spec.name, "does": shorten(tool.schema.description, _DESCRIPTION_CHARS)}


def list_areas(registry: ToolRegistry) -> str:
    """The subjects of the tools with their number of tools: `repos 205, orgs 180, …`."""
    counted = count_areas(registry.specs.values())
    named = [f"{area} {n}" for area, n in list(counted.items())[:MAX_AREAS]]
    return ", ".join(named) + (", …" if len(counted) > MAX_AREAS else "")


def schema_text(schema: ToolSchema) -> str:
    """A tool as text, for counting its tokens."""
    return compact_json({"name": schema.name, "description": schema.description, "parameters": schema.parameters})


def _find_tools_tool(taken: Mapping[str, Any], registry: ToolRegistry) -> VisibleTool:
    """The tool `find_tools`, renamed if a source has a tool of that name."""
    name = "find_tools" if "find_tools" not in taken else "runax_find_tools"
    text = (
        f"There are {len(registry)} tools; listed are those whose words match the question best. This finds others and "
        "adds them to your list. Use it whenever no listed tool surely does what is needed. The tools are about: "
        f"{list_areas(registry)}."
    )
    query = {
        "type": "string",
        "minLength": 1,
        "description": "what the tool does, in the API's own words (mostly English): 'list invoices of a customer'",
    }
    parameters = {
        "type": "object",
        "properties": {"query": query},
        "required": ["query"],
        "additionalProperties": False,
    }
    spec = ToolSpec(
        name=name, description=text, parameters=parameters, source=SOURCE, locator="find", returns_many=False
    )
    return VisibleTool(spec, ToolSchema(name, text, parameters), {})
