"""The total once more, when everything is read.

Knows the one cheap request that told it, or could have. Remembers nothing.
"""

from adapters.base import Convention, PageAddress, ToolSpec
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
from adapters.probing.ladder import Send
from adapters.probing.memory import Learnt, ProbeMemory
from adapters.probing.outcome import Rung


async def total_again(tool: ToolSpec, send: Send, *, memory: ProbeMemory | None = None) -> int | None:
    """The exact total by one cheap request; None where that cannot tell it. Raises SourceError.

    By the metadata flag, the operation that counts or the smallest page, as the probe had it: figures of another rung
    could differ without any change of the data.
    """
    total = await _total(tool, send, (memory or ProbeMemory()).recalled(tool))
    return total.value if total is not None and total.certainty is Certainty.EXACT else None


async def _total(tool: ToolSpec, send: Send, learnt: Learnt) -> Total | None:
    pagination = learnt.pagination
    if pagination.metadata and Rung.METADATA not in learnt.vain:
        figures = read_metadata(await send(metadata_address(pagination)))
        return None if figures is None else Total(figures.total, figures.certainty)
    if pagination.count_operation and Rung.COUNT_OPERATION not in learnt.vain:
        return read_count(await send(PageAddress(operation=pagination.count_operation)))
    size = smallest_size(pagination)
    if size is not None and pagination.convention is not Convention.SINGLE:
        place = first_address(pagination, size=size, with_totals=learnt.takes_totals)
        result = await send(place)
        reading = read_page(result, pagination, records_path=tool.records_path, size=size, asked=place)
        if reading.certainty is Certainty.EXACT or not pagination.is_total_by_head:
            return Total(reading.total, reading.certainty)
    if pagination.is_total_by_head and Rung.HEAD not in learnt.vain:
        return read_headers((await send(PageAddress(is_head=True))).headers)
    return None
