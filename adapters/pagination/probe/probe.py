"""The cheap look before a call: how many records there are, where they lie, and how the tool really pages.

The door to `adapters.probing`. Cheapest first: a metadata flag, a sibling operation that counts, the smallest legal
page (which also shows where records, markers and headers are), HEAD where the document has it, the first page as it
comes. Whatever brought records that serve as the first page is kept.
"""

from collections.abc import Mapping
from dataclasses import replace

from adapters.base import Json, PageAddress, PaginationStyle, ToolSpec
from adapters.pagination import (
    Certainty,
    Total,
    first_address,
    metadata_address,
    read_count,
    read_headers,
    read_metadata,
    read_page,
    smallest_size,
)
from adapters.pagination.probe.ladder import Prober, Send
from adapters.pagination.probe.result import FirstPage, LearnedPagination, ProbeMemory, ProbeMethod, ProbeResult
from adapters.pagination.probe.trial import MOST_TRIALS, SizeTrial


async def total_again(tool: ToolSpec, send: Send, *, memory: ProbeMemory | None = None) -> int | None:
    """The exact total by one cheap request; None where that cannot tell it. Raises SourceError.

    By the metadata flag, the operation that counts or the smallest page, as the probe had it: figures of another rung
    could differ without any change of the data.
    """
    total = await _total(tool, send, (memory or ProbeMemory()).recalled(tool))
    return total.value if total is not None and total.certainty is Certainty.EXACT else None


async def _total(tool: ToolSpec, send: Send, learnt: LearnedPagination) -> Total | None:
    pagination = learnt.pagination
    if pagination.metadata and ProbeMethod.METADATA not in learnt.vain:
        figures = read_metadata(await send(metadata_address(pagination)))
        return None if figures is None else Total(figures.total, figures.certainty)
    if pagination.count_operation and ProbeMethod.COUNT_OPERATION not in learnt.vain:
        return read_count(await send(PageAddress(operation=pagination.count_operation)))
    size = smallest_size(pagination)
    if size is not None and pagination.convention is not PaginationStyle.SINGLE:
        place = first_address(pagination, size=size, with_totals=learnt.takes_totals)
        result = await send(place)
        reading = read_page(result, pagination, records_path=tool.records_path, size=size, asked=place)
        if reading.certainty is Certainty.EXACT or not pagination.is_total_by_head:
            return Total(reading.total, reading.certainty)
    if pagination.is_total_by_head and ProbeMethod.HEAD not in learnt.vain:
        return read_headers((await send(PageAddress(is_head=True))).headers)
    return None


__all__ = ["FirstPage", "ProbeMemory", "ProbeMethod", "ProbeResult", "Send", "probe", "total_again"]


async def probe(
    tool: ToolSpec, send: Send, *, memory: ProbeMemory | None = None, given: Mapping[str, Json] | None = None
) -> ProbeResult:
    """Climb down the ladder until something is known, and remember what worked. Raises SourceError where nothing holds.

    A list that seems cut, of a tool without known pages, is tried for a way on by arguments that are not in `given`.
    `memory` belongs to whoever outlives the call: without one, every call of a tool asks what the first had answered.
    """
    known = memory or ProbeMemory()
    ladder = Prober(tool, send, known.recalled(tool))
    found = await ladder.climb()
    trial = SizeTrial(tool, ladder.attempt, given or {}, is_wanted=ladder.learnt.trials < MOST_TRIALS)
    found = replace(await trial.of(found), requests=ladder.requests)
    trials = ladder.learnt.trials + trial.was_made
    known.keep(tool, replace(ladder.learnt, pagination=found.pagination, trials=trials))
    return found
