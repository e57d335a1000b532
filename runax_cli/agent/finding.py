"""A call of `find_tools`: answered here, while every other call goes on to the executor.

Knows the toolbox of one part. Fetches nothing, so it is neither coverage nor evidence of an answer.
"""

import asyncio
from dataclasses import dataclass

from adapters.clock import Clock
from runax_cli.agent.calls import CallExecutor
from runax_cli.agent.toolbox import SOURCE, Shelf, Toolbox, about, areas_of
from runax_cli.events import ToolsOffered
from runax_cli.executor.datacall import DataCall, Ends, of_nothing_fetched
from runax_cli.executor.envelope import Envelope, EnvelopeStatus
from runax_cli.executor.outcome import CallOutcome, DecidedCall, Scope
from runax_cli.models.base import TokenCounter

FOUND = "These tools are on your list now; call the one that fits. If none does, ask again in other words."
NOT_FOUND = "No tool has these words. Ask again in other words, by what the API calls things; it has tools about: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """An executor that knows one more tool than the one behind it."""

    behind: CallExecutor
    toolbox: Toolbox
    shelf: Shelf
    counter: TokenCounter
    clock: Clock

    async def execute(self, call: DecidedCall, scope: Scope, *, direct_limit: int) -> CallOutcome:
        """The outcome of a call. Raises nothing but cancellation."""
        if call.tool.source != SOURCE:
            return await self.behind.execute(call, scope, direct_limit=direct_limit)
        begun = DataCall(call, scope, self.counter, self.clock, self.clock.monotonic())
        names = await asyncio.to_thread(self.toolbox.best, str(call.arguments["query"]))
        self.toolbox.found(names)
        scope.emitter.emit(await asyncio.to_thread(offered, self.toolbox, self.shelf))
        sent = Envelope(
            status=EnvelopeStatus.SUCCESS,
            tool=call.tool.name,
            query=call.arguments,
            data=[about(self.shelf[name]) for name in names],
            next_action_hint=FOUND if names else f"{NOT_FOUND}{areas_of(self.shelf)}.",
        )
        return await begun.ended(sent, Ends(coverage=of_nothing_fetched()))


def offered(toolbox: Toolbox, shelf: Shelf) -> ToolsOffered:
    """The event that tells of a list of tools and of its price; blocking."""
    now = tuple(toolbox.offered)
    return ToolsOffered(tools=tuple(schema.name for schema in now), total=len(shelf), tokens=toolbox.tokens_of(now))
