"""One fetch for equal calls that are asked for at the same moment, by whichever parts of a question.

Stands in front of the executor of a session. The first of equal calls fetches; the others wait for it and then read
what it left. Where it left nothing complete, the next of them fetches for itself. Knows calls and their outcomes.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from adapters.base import Effect
from adapters.clock import Clock
from runax_cli.agent.loop.toolbox import SOURCE, ToolRegistry, ToolSelection, about, areas_of
from runax_cli.core.event_types import GuardDecided, ToolsOffered
from runax_cli.executor.data_tools.base import DataCall, DataCallResult, data_call_coverage
from runax_cli.executor.outcome import CallExecutor, CallOutcome, CallScope, DecidedCall, EnvelopeStatus, ResultEnvelope
from runax_cli.guard.duplicates import data_fingerprint
from runax_cli.guard.visible_tool import SplitArguments
from runax_cli.models.base import TokenCounter


@dataclass(frozen=True, slots=True)
class SingleFlight:
    """An executor that fetches nothing twice at the same time."""

    behind: CallExecutor
    sources: Mapping[str, object]
    _under_way: dict[str, asyncio.Future[str | None]] = field(default_factory=dict)

    async def execute(self, call: DecidedCall, scope: CallScope, *, direct_limit: int) -> CallOutcome:
        """The outcome of a call; what the executor behind raises, cancellation included, passes through."""
        if not self._can_be_shared(call):
            return await self.behind.execute(call, scope, direct_limit=direct_limit)
        key = data_fingerprint(call.tool.name, SplitArguments(api=call.arguments, at_most=call.at_most))
        while (earlier := self._under_way.get(key)) is not None:
            if (dataset := await asyncio.shield(earlier)) is not None:
                text = f"it was being fetched at this moment, as {dataset}: nothing is fetched again"
                scope.emitter.emit(GuardDecided(tool=call.tool.name, code="read_again", text=text))
                return await self.behind.execute(
                    replace(call, stored_dataset=dataset), scope, direct_limit=direct_limit
                )
        return await self._first(key, call, scope, direct_limit=direct_limit)

    def _can_be_shared(self, call: DecidedCall) -> bool:
        tool = call.tool
        is_plain_read = tool.effect is Effect.READ and not tool.requires_fresh_input
        return is_plain_read and call.stored_dataset is None and tool.name in self.sources

    async def _first(self, key: str, call: DecidedCall, scope: CallScope, *, direct_limit: int) -> CallOutcome:
        flight: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._under_way[key] = flight
        left: str | None = None
        try:
            outcome = await self.behind.execute(call, scope, direct_limit=direct_limit)
            if outcome.dataset is not None and outcome.coverage.is_complete:
                left = outcome.dataset.name
            return outcome
        finally:
            del self._under_way[key]
            flight.set_result(left)


FOUND = "These tools are on your list now; call the one that fits. If none does, ask again in other words."
NOT_FOUND = "No tool has these words. Ask again in other words, by what the API calls things; it has tools about: "


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSearchMiddleware:
    """An executor that knows one more tool than the one behind it."""

    behind: CallExecutor
    toolbox: ToolSelection
    shelf: ToolRegistry
    counter: TokenCounter
    clock: Clock

    async def execute(self, call: DecidedCall, scope: CallScope, *, direct_limit: int) -> CallOutcome:
        """The outcome of a call. Raises nothing but cancellation."""
        if call.tool.source != SOURCE:
            return await self.behind.execute(call, scope, direct_limit=direct_limit)
        begun = DataCall(call, scope, self.counter, self.clock, self.clock.monotonic())
        names = await asyncio.to_thread(self.toolbox.best, str(call.arguments["query"]))
        self.toolbox.found(names)
        scope.emitter.emit(await asyncio.to_thread(offered, self.toolbox, self.shelf))
        sent = ResultEnvelope(
            status=EnvelopeStatus.SUCCESS,
            tool=call.tool.name,
            query=call.arguments,
            data=[about(self.shelf[name]) for name in names],
            next_action_hint=FOUND if names else f"{NOT_FOUND}{areas_of(self.shelf)}.",
        )
        return await begun.finish(sent, DataCallResult(coverage=data_call_coverage()))


def offered(toolbox: ToolSelection, shelf: ToolRegistry) -> ToolsOffered:
    """The event that tells of a list of tools and of its price; blocking."""
    now = tuple(toolbox.offered)
    return ToolsOffered(tools=tuple(schema.name for schema in now), total=len(shelf), tokens=toolbox.tokens_of(now))
