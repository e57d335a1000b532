"""The tools that the main model is offered: all, or where that is too much the most relevant of them and `find_tools`.

Knows limits, prices in tokens, and what was found or called so far in one part of a question. How well a tool fits
some words is decided by `adapters.relevance`; how a call runs is decided elsewhere.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from adapters.base import Effect, ToolSpec
from adapters.json_text import compact_json
from adapters.tool_search import RankedTool, ToolIndex, count_areas, requests_change
from runax_cli.core.untrusted_text import without_template_marks
from runax_cli.guard.visible_tool import VisibleTool, shorten, visible_tool
from runax_cli.models.base import ToolSchema
from runax_cli.models.tokens import CalibratedCounter

SOURCE = "tools"
"""The source of `find_tools`, as a call names it."""
FOUND_AT_ONCE = 8
MOST_AREAS = 24
PLANNED_WITH = 40
_ABOUT_CHARS = 120
_FIRST_SHARE = 2
_CONTEXT_SHARE = 2
_FIND_SHARE = 4
_GUESSED_SHARE = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLimits:
    """The most that one list of tools may have; above either of them it is cut down. None is no limit."""

    tools: int | None = 40
    tokens: int | None = 8_000

    def within(self, effective_tokens: int) -> "ToolLimits":
        """The same, and never more than half of what a request may use."""
        most = effective_tokens // _CONTEXT_SHARE
        return ToolLimits(tools=self.tools, tokens=most if self.tokens is None else min(self.tokens, most))

    def holds(self, n_tools: float, tokens: float) -> bool:
        """Whether a list of that size is allowed."""
        return n_tools <= (self.tools or math.inf) and tokens <= (self.tokens or math.inf)

    def part(self, divisor: int) -> "ToolLimits":
        """A share of it."""
        return ToolLimits(
            tools=None if self.tools is None else max(1, self.tools // divisor),
            tokens=None if self.tokens is None else max(1, self.tokens // divisor),
        )


DEFAULT_LIMITS = ToolLimits()


def _as_data(spec: ToolSpec) -> ToolSpec:
    """What a document says of a tool is foreign text: it must not speak to the model as a chat template does."""
    return replace(
        spec, description=without_template_marks(spec.description), parameters=_without_marks(spec.parameters)
    )


def _without_marks(schema: Any) -> Any:
    """A schema whose descriptions are plain text; names and values stay as the source knows them."""
    match schema:
        case dict():
            return {
                name: without_template_marks(inner)
                if name == "description" and isinstance(inner, str)
                else _without_marks(inner)
                for name, inner in schema.items()
            }
        case list():
            return [_without_marks(inner) for inner in schema]
        case _:
            return schema


class ToolRegistry(Mapping[str, VisibleTool]):
    """All tools of the sources, made visible, counted and indexed where that is first needed. Shared by a session."""

    def __init__(self, tools: Iterable[ToolSpec]) -> None:
        self.specs = {spec.name: spec for spec in tools}
        self._visible: dict[str, VisibleTool] = {}
        self._prices: dict[str, int] = {}
        self._index: ToolIndex | None = None
        self._used: list[str] = []

    def __getitem__(self, name: str) -> VisibleTool:
        if name not in self._visible:
            self._visible[name] = visible_tool(_as_data(self.specs[name]))
        return self._visible[name]

    def __contains__(self, name: object) -> bool:
        return name in self.specs

    def __iter__(self) -> Iterator[str]:
        return iter(self.specs)

    def __len__(self) -> int:
        return len(self.specs)

    def ranked(self, query: str) -> tuple[RankedTool, ...]:
        """The tools that fit, the best first. Blocking where it is the first time: up to 0.2 s."""
        if self._index is None:
            self._index = ToolIndex(tuple(self.specs.values()))
        return self._index.search(query)

    def guessed(self, question: str) -> tuple[str, ...]:
        """Names of the tools that a question may need: none far behind the best, and no change that nobody asks for."""
        ranked = self.ranked(question)
        if not requests_change(question):
            ranked = tuple(one for one in ranked if one.spec.effect is Effect.READ)
        least = ranked[0].score * _GUESSED_SHARE if ranked else 0.0
        return tuple(one.spec.name for one in ranked if one.score >= least)

    def price(self, name: str, counter: CalibratedCounter) -> int:
        """Tokens that a tool takes in every request; blocking."""
        if name not in self._prices:
            self._prices[name] = counter.counted(sent_as(self[name].schema))
        return counter.estimate_of(self._prices[name])

    def exceeds(self, limits: ToolLimits, counter: CalibratedCounter) -> bool:
        """Whether all tools are too many, or take too much. Counts only where the number of bytes cannot tell."""
        if len(self) <= 1 or limits.holds(len(self), sum(self._bytes())):
            return False
        return not limits.holds(len(self), 0) or not limits.holds(0, sum(self.price(name, counter) for name in self))

    @property
    def used(self) -> tuple[str, ...]:
        """The tools that earlier turns called, the latest first: a question that goes on may need them again."""
        return tuple(dict.fromkeys(reversed(self._used)))[:FOUND_AT_ONCE]

    def note_used(self, names: Iterable[str]) -> None:
        """A turn is over that called these."""
        self._used += [name for name in names if name in self.specs]

    def for_planning(self, question: str) -> tuple[ToolSchema, ...]:
        """What a planner is told of: all tools, or those that fit the question best."""
        names = list(self) if len(self) <= PLANNED_WITH else self.guessed(question)[:PLANNED_WITH]
        return tuple(self[name].schema for name in names)

    def _bytes(self) -> Iterator[int]:
        return (len(sent_as(self[name].schema).encode("utf-8", "surrogatepass")) for name in self)


class ToolSelection(Mapping[str, VisibleTool]):
    """What one part of a question may call, and what it is offered. `offered` changes as tools are found.

    Every tool can be called by its name at any time; one that is called or found joins the list. At a limit the first
    guesses leave it before anything that was found, and what was called never leaves.
    """

    def __init__(
        self,
        callable_: Mapping[str, VisibleTool],
        shelf: ToolRegistry,
        *,
        limits: ToolLimits,
        counter: CalibratedCounter,
    ) -> None:
        """`callable_` are all tools, those over datasets included; `shelf` are those of the sources."""
        self._callable, self._shelf, self._limits, self._counter = callable_, shelf, limits, counter
        self._first: list[str] = []
        self._found: list[str] = []
        self._called: list[str] = []
        self._finder: VisibleTool | None = None
        self.offered: list[ToolSchema] = []

    def open(self, question: str) -> None:
        """Put everything on the list where that is within the limits, else what fits the question; blocking."""
        if self._shelf.exceeds(self._limits, self._counter):
            self._finder = _finder(self._callable, self._shelf)
            guesses = dict.fromkeys([*self._shelf.used, *self._shelf.guessed(question)])
            self._first = self._affordable(guesses, self._limits.part(_FIRST_SHARE))
        else:
            self._first = list(self._shelf)
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
        """Whether the list has less than all tools."""
        return self._finder is not None

    def tokens_of(self, schemas: Iterable[ToolSchema]) -> int:
        """What tools take in every request that offers them; blocking."""
        return sum(self._counter.count(sent_as(schema)) for schema in schemas)

    def named(self, name: str) -> None:
        """The model asked for this tool, rightly or not: it is on the list from now on."""
        if self.is_partial and name in self._shelf and name not in self._called:
            self._called.append(name)
            self._offer()

    def best(self, query: str) -> tuple[str, ...]:
        """Names of the tools that fit `query` best. Blocking, and safe in a thread: the list stays as it is."""
        best = [one.spec.name for one in self._shelf.ranked(query)[:FOUND_AT_ONCE]]
        return tuple(self._affordable(best, ToolLimits(tools=None, tokens=self._limits.part(_FIND_SHARE).tokens)))

    def found(self, names: Sequence[str]) -> None:
        """These are on the list from now on. Like `named`, for one thread alone: two would lose what one had found."""
        self._found = [name for name in self._found if name not in names] + [*names]
        self._offer()

    def _affordable(self, names: Iterable[str], limits: ToolLimits) -> list[str]:
        """The first names that the limits hold, whichever is too large left out; the very first in any case."""
        kept: list[str] = []
        tokens = 0
        for name in names:
            if not limits.holds(len(kept) + 1, 0):
                break
            price = self._shelf.price(name, self._counter)
            if not kept or limits.holds(0, tokens + price):
                kept.append(name)
                tokens += price
        return kept

    def _offer(self) -> None:
        """Put the list together: what was called, then the latest found, then the first guesses while there is room."""
        wanted = dict.fromkeys([*self._called, *reversed(self._found), *self._first])
        names = set(wanted) if not self.is_partial else self._within_limits(list(wanted))
        in_order = [name for name in self._shelf if name in names]
        finder = [] if self._finder is None else [self._finder.schema]
        self.offered[:] = [*finder, *(self._shelf[name].schema for name in in_order)]

    def _within_limits(self, names: Sequence[str]) -> set[str]:
        kept, tokens = set(self._called), sum(self._shelf.price(name, self._counter) for name in self._called)
        for name in names:
            price = self._shelf.price(name, self._counter)
            if name not in kept and self._limits.holds(len(kept) + 1, tokens + price):
                kept.add(name)
                tokens += price
        return kept


def about(tool: VisibleTool) -> dict[str, str]:
    """A found tool in one line, as `find_tools` tells it."""
    return {"tool": tool.spec.name, "does": shorten(tool.schema.description, _ABOUT_CHARS)}


def areas_of(shelf: ToolRegistry) -> str:
    """What the tools are about, with how many each: `repos 205, orgs 180, …`."""
    counted = count_areas(shelf.specs.values())
    named = [f"{area} {n}" for area, n in list(counted.items())[:MOST_AREAS]]
    return ", ".join(named) + (", …" if len(counted) > MOST_AREAS else "")


def sent_as(schema: ToolSchema) -> str:
    """A tool as text, for counting."""
    return compact_json({"name": schema.name, "description": schema.description, "parameters": schema.parameters})


def _finder(taken: Mapping[str, Any], shelf: ToolRegistry) -> VisibleTool:
    """`find_tools`, under another name where a source has that one."""
    name = "find_tools" if "find_tools" not in taken else "runax_find_tools"
    text = (
        f"There are {len(shelf)} tools; listed are those whose words fit the question best. This finds others and puts "
        "them on your list. Use it whenever no listed tool surely does what is needed. The tools are about: "
        f"{areas_of(shelf)}."
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
