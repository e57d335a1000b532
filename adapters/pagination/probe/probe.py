"""The probe before a call: how many records there are, where they are, and how the tool really pages.

It takes the cheapest way: a metadata flag, an operation that counts, the smallest legal page, HEAD if the document has
it, else the first page. A page that can serve as the first page of the call is kept.
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
    smallest_page_size,
)
from adapters.pagination.probe.prober import Prober, Send
from adapters.pagination.probe.result import FirstPage, LearnedPagination, ProbeMemory, ProbeMethod, ProbeResult
from adapters.pagination.probe.trial import MAX_TRIALS, ArgumentTrial


async def refresh_total(tool: ToolSpec, send: Send, *, memory: ProbeMemory | None = None) -> int | None:
    """The exact total by one cheap request; None if that request does not return it. Raises SourceError.

    It uses the method of the probe (metadata flag, count operation or smallest page): totals of another method could
    differ although the data did not change.
    """
    total = await _total(tool, send, (memory or ProbeMemory()).get(tool))
    return total.value if total is not None and total.certainty is Certainty.EXACT else None


async def _total(tool: ToolSpec, send: Send, learned: LearnedPagination) -> Total | None:
    pagination = learned.pagination
    if pagination.metadata and ProbeMethod.METADATA not in learned.failed_methods:
        metadata = read_metadata(await send(metadata_address(pagination)))
        return None if metadata is None else Total(metadata.total, metadata.certainty)
    if pagination.count_operation and ProbeMethod.COUNT_OPERATION not in learned.failed_methods:
        return read_count(await send(PageAddress(operation=pagination.count_operation)))
    size = smallest_page_size(pagination)
    if size is not None and pagination.convention is not PaginationStyle.SINGLE:
        address = first_address(pagination, size=size, with_totals=learned.accepts_total_flags)
        result = await send(address)
        reading = read_page(result, pagination, records_path=tool.records_path, size=size, address=address)
        if reading.certainty is Certainty.EXACT or not pagination.is_total_by_head:
            return Total(reading.total, reading.certainty)
    if pagination.is_total_by_head and ProbeMethod.HEAD not in learned.failed_methods:
        return read_headers((await send(PageAddress(is_head=True))).headers)
    return None


__all__ = ["FirstPage", "ProbeMemory", "ProbeMethod", "ProbeResult", "Send", "probe", "refresh_total"]


async def probe(
    tool: ToolSpec, send: Send, *, memory: ProbeMemory | None = None, given: Mapping[str, Json] | None = None
) -> ProbeResult:
    """Run the probe and remember what worked. Raises SourceError if no method works.

    If a tool without known pagination returns a list that looks truncated, arguments that are not in `given` are tried.
    `memory` is shared by the calls of a program; without it, every call repeats the refused requests of the first.
    """
    known = memory or ProbeMemory()
    prober = Prober(tool, send, known.get(tool))
    found = await prober.run()
    trial = ArgumentTrial(tool, prober.attempt, given or {}, is_allowed=prober.learned.failed_trials < MAX_TRIALS)
    found = replace(await trial.run(found), requests=prober.requests)
    trials = prober.learned.failed_trials + trial.was_run
    known.remember(tool, replace(prober.learned, pagination=found.pagination, failed_trials=trials))
    return found
