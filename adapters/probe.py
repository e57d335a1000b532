"""The cheap look before a call: how many records there are, where they lie, and how the tool really pages.

The door to `adapters.probing`. Cheapest first: a metadata flag, a sibling operation that counts, the smallest legal
page (which also shows where records, markers and headers are), HEAD where the document has it, the first page as it
comes. Whatever brought records that serve as the first page is kept.
"""

from collections.abc import Mapping
from dataclasses import replace

from adapters.base import Json, ToolSpec
from adapters.probing.again import total_again
from adapters.probing.ladder import Ladder, Send
from adapters.probing.memory import ProbeMemory
from adapters.probing.outcome import FirstPage, Probe, Rung
from adapters.probing.trial import MOST_TRIALS, Trial

__all__ = ["FirstPage", "Probe", "ProbeMemory", "Rung", "Send", "probe", "total_again"]


async def probe(
    tool: ToolSpec, send: Send, *, memory: ProbeMemory | None = None, given: Mapping[str, Json] | None = None
) -> Probe:
    """Climb down the ladder until something is known, and remember what worked. Raises SourceError where nothing holds.

    A list that seems cut, of a tool without known pages, is tried for a way on by arguments that are not in `given`.
    `memory` belongs to whoever outlives the call: without one, every call of a tool asks what the first had answered.
    """
    known = memory or ProbeMemory()
    ladder = Ladder(tool, send, known.recalled(tool))
    found = await ladder.climb()
    trial = Trial(tool, ladder.attempt, given or {}, is_wanted=ladder.learnt.trials < MOST_TRIALS)
    found = replace(await trial.of(found), requests=ladder.requests)
    trials = ladder.learnt.trials + trial.was_made
    known.keep(tool, replace(ladder.learnt, pagination=found.pagination, trials=trials))
    return found
