"""Executors that wrap another one: `SingleFlight` and `ToolSearchMiddleware`."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from adapters.base import Effect
from adapters.clock import Clock
from runax_cli.agent.loop.toolbox import SOURCE, ToolRegistry, ToolSelection, describe_tool, list_areas
from runax_cli.core.event_types import GuardDecided, ToolsOffered
from runax_cli.executor.data_tools.base import DataCall, DataCallResult, data_call_coverage
from runax_cli.executor.outcome import CallExecutor, CallOutcome, CallScope, DecidedCall, EnvelopeStatus, ResultEnvelope
from runax_cli.guard.duplicates import data_fingerprint
from runax_cli.guard.visible_tool import SplitArguments
from runax_cli.models.base import TokenCounter


@dataclass(frozen=True, slots=True)
class SingleFlight:
    """Fetches equal calls that run at the same time only once, also those of different sub-questions.

    The first call fetches; the others wait and read its dataset. If that is incomplete, the next of them fetches.
    """

    inner: CallExecutor
    sources: Mapping[str, object]
    _running: dict[str, asyncio.Future[str | None]] = field(default_factory=dict)

    async def execute(self, call: DecidedCall, scope: CallScope, *, direct_limit: int) -> CallOutcome:
        """Run a call. Exceptions of the inner executor, cancellation included, propagate."""
        if not self._is_shareable(call):
            return await self.inner.execute(call, scope, direct_limit=direct_limit)
        key = data_fingerprint(call.tool.name, SplitArguments(api=call.arguments, at_most=call.at_most))
        while (earlier := self._running.get(key)) is not None:
            if (dataset := await asyncio.shield(earlier)) is not None:
                text = f"another call has just fetched its records as {dataset}, nothing is fetched again"
                scope.emitter.emit(GuardDecided(tool=call.tool.name, code="read_again", text=text))
                return await self.inner.execute(replace(call, stored_dataset=dataset), scope, direct_limit=direct_limit)
        return await self._fetch(key, call, scope, direct_limit=direct_limit)

    def _is_shareable(self, call: DecidedCall) -> bool:
        tool = call.tool
        is_plain_read = tool.effect is Effect.READ and not tool.requires_fresh_input
        return is_plain_read and call.stored_dataset is None and tool.name in self.sources

    async def _fetch(self, key: str, call: DecidedCall, scope: CallScope, *, direct_limit: int) -> CallOutcome:
        flight: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._running[key] = flight
        dataset: str | None = None
        try:
            outcome = await self.inner.execute(call, scope, direct_limit=direct_limit)
            if outcome.dataset is not None and outcome.coverage.is_complete:
                dataset = outcome.dataset.name
            return outcome
        finally:
            del self._running[key]
            flight.set_result(dataset)


FOUND_HINT = "These tools are now on your list; call the one that fits. If none does, search again with other words."
NOT_FOUND_HINT = "No tool matches these words. Search again with the terms of the API; it has tools about: "


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSearchMiddleware:
    """Runs `find_tools`, and passes all other calls to the inner executor."""

    inner: CallExecutor
    selection: ToolSelection
    registry: ToolRegistry
    counter: TokenCounter
    clock: Clock

    async def execute(self, call: DecidedCall, scope: CallScope, *, direct_limit: int) -> CallOutcome:
        """Run a call. Only cancellation propagates."""
        if call.tool.source != SOURCE:
            return await self.inner.execute(call, scope, direct_limit=direct_limit)
        data_call = DataCall(call, scope, self.counter, self.clock, self.clock.monotonic())
        names = await asyncio.to_thread(self.selection.search, str(call.arguments["query"]))
        self.selection.add_found(names)
        scope.emitter.emit(await asyncio.to_thread(tools_offered, self.selection, self.registry))
        envelope = ResultEnvelope(
            status=EnvelopeStatus.SUCCESS,
            tool=call.tool.name,
            query=call.arguments,
            data=[describe_tool(self.registry[name]) for name in names],
            next_action_hint=FOUND_HINT if names else f"{NOT_FOUND_HINT}{list_areas(self.registry)}.",
        )
        return await data_call.finish(envelope, DataCallResult(coverage=data_call_coverage()))


def tools_offered(selection: ToolSelection, registry: ToolRegistry) -> ToolsOffered:
    """The event for the current list of tools and its size in tokens. Blocking."""
    schemas = tuple(selection.offered)
    tokens = selection.tokens_of(schemas)
    return ToolsOffered(tools=tuple(schema.name for schema in schemas), total=len(registry), tokens=tokens)
