"""The progress of a run as a value, folded from its events: `state = fold(state, event)`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import IntEnum

from runax_cli.core import event_types as ev
from runax_cli.core.events import Event


class ProgressCell(IntEnum):
    """The state of a page, in the order of processing."""

    WAITING = 0
    FETCHED = 1
    REDUCED = 2
    FAILED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CallProgress:
    """The progress of one call.

    `cells` has the state of each page, `open_chunks` the number of its chunks that are not reduced yet.
    """

    tool: str = ""
    strategy: str = ""
    total_items: int | None = None
    items: int = 0
    cells: tuple[ProgressCell, ...] = ()
    open_chunks: tuple[int, ...] = ()
    chunks_of: int | None = None
    chunks_done: int = 0
    is_finished: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """The progress of a run. `cost_usd` sums the known prices; `is_cost_whole` is False if one was unknown."""

    started_at: datetime | None = None
    stage: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    is_cost_whole: bool = True
    context_used: int = 0
    effective_tokens: int = 0
    retries: int = 0
    calls: Mapping[str, CallProgress] = field(default_factory=dict)
    is_answering: bool = False
    is_finished: bool = False


def fold(state: RunProgress, event: Event) -> RunProgress:
    """The state after `event`."""
    match event.body:
        case ev.RunStarted() as body:
            return RunProgress(
                started_at=event.ts, stage="reading the question", effective_tokens=body.effective_tokens
            )
        case ev.RunFinished():
            return replace(state, stage="done", is_finished=True)
        case ev.ModelRequested():
            is_main = event.stamp.call_id is None
            return replace(state, stage="waiting for the model", is_answering=False) if is_main else state
        case ev.ModelReplied() as body:
            return _with_usage(state, body)
        case ev.AnswerDelta():
            return replace(state, stage="answering", is_answering=True)
        case ev.ContextMeasured() as body:
            return replace(state, context_used=body.used_tokens, effective_tokens=body.effective_tokens)
        case ev.RetryScheduled():
            return replace(state, retries=state.retries + 1)
        case ev.PlanMade():
            return replace(state, stage="planned")
        case _:
            return _with_call(state, event)


def _with_usage(state: RunProgress, body: ev.ModelReplied) -> RunProgress:
    return replace(
        state,
        tokens_in=state.tokens_in + body.input_tokens,
        tokens_out=state.tokens_out + body.output_tokens,
        cost_usd=state.cost_usd + (body.cost_usd or 0.0),
        is_cost_whole=state.is_cost_whole and body.cost_usd is not None,
    )


def _with_call(state: RunProgress, event: Event) -> RunProgress:
    key = event.stamp.call_id or ""
    before = state.calls.get(key, CallProgress())
    after = fold_call(before, event.body)
    if after is before:
        return state
    return replace(state, stage=_stage_of(event.body) or state.stage, calls={**state.calls, key: after})


def _stage_of(body: ev.AnyEvent) -> str:
    match body:
        case ev.ToolSelected(tool=tool):
            return f"calling {tool}"
        case ev.CallProbed(tool=tool):
            return f"measured {tool}"
        case ev.PageFetched() | ev.PageFailed():
            return "fetching pages"
        case ev.ChunkPacked() | ev.ChunkReduced() | ev.ChunkFailed():
            return "reading chunks"
        case ev.CallFinished(tool=tool):
            return f"{tool} is done"
        case _:
            return ""


def fold_call(call: CallProgress, body: ev.AnyEvent) -> CallProgress:
    """The call after `body`; the same object if the event does not concern it."""
    match body:
        case ev.ToolSelected(tool=tool):
            return replace(call, tool=tool)
        case ev.CallProbed(tool=tool, total_items=total):
            return replace(call, tool=tool, total_items=total)
        case ev.StrategyChosen(strategy=strategy):
            return replace(call, strategy=strategy)
        case ev.ChunkingPlanned(pages=pages, chunks=chunks):
            return replace(_with_plan(call, pages), chunks_of=chunks)
        case ev.PageFetched(index=index, of=of, items=items):
            return replace(
                _with_state(_with_at_least(call, of), (index,), ProgressCell.FETCHED), items=call.items + items
            )
        case ev.PageFailed(index=index, of=of):
            return _with_state(_with_at_least(call, of), (index,), ProgressCell.FAILED)
        case ev.CallFinished(tool=tool):
            return replace(call, tool=tool, is_finished=True)
        case ev.ChunkPacked() | ev.ChunkReduced() | ev.ChunkFailed():
            return _fold_chunk(call, body)
        case _:
            return call


def _fold_chunk(call: CallProgress, body: ev.ChunkPacked | ev.ChunkReduced | ev.ChunkFailed) -> CallProgress:
    match body:
        case ev.ChunkPacked(pages=pages, of=of):
            return replace(_with_open_chunks(call, pages, by=1), chunks_of=of or call.chunks_of)
        case ev.ChunkReduced(pages=pages, of=of):
            done = replace(_with_open_chunks(call, pages, by=-1), chunks_of=of or call.chunks_of)
            reduced = tuple(page for page in pages if _is_reduced(done, page))
            return replace(_with_state(done, reduced, ProgressCell.REDUCED), chunks_done=call.chunks_done + 1)
        case ev.ChunkFailed(pages=pages):
            return replace(
                _with_state(_with_open_chunks(call, pages, by=-1), pages, ProgressCell.FAILED),
                chunks_done=call.chunks_done + 1,
            )


def _with_plan(call: CallProgress, pages: int | None) -> CallProgress:
    """The call with the planned number of pages; a corrected plan may have fewer pages, so waiting cells are cut."""
    if pages is None:
        return call
    last_started = max((i for i, cell in enumerate(call.cells, 1) if cell is not ProgressCell.WAITING), default=0)
    keep = max(pages, last_started)
    return _with_at_least(replace(call, cells=call.cells[:keep], open_chunks=call.open_chunks[:keep]), pages)


def _with_at_least(call: CallProgress, pages: int | None) -> CallProgress:
    missing = (pages or 0) - len(call.cells)
    if missing <= 0:
        return call
    return replace(
        call, cells=call.cells + (ProgressCell.WAITING,) * missing, open_chunks=call.open_chunks + (0,) * missing
    )


def _with_state(call: CallProgress, pages: Iterable[int], cell: ProgressCell) -> CallProgress:
    """Set the state of `pages` (from 1). A failed page stays failed until it is fetched."""
    extended = _with_at_least(call, max(pages := tuple(pages), default=0))
    cells = list(extended.cells)
    for page in pages:
        if cells[page - 1] is not ProgressCell.FAILED or cell is ProgressCell.FETCHED:
            cells[page - 1] = cell
    return replace(extended, cells=tuple(cells))


def _with_open_chunks(call: CallProgress, pages: Iterable[int], *, by: int) -> CallProgress:
    extended = _with_at_least(call, max(pages := tuple(pages), default=0))
    counts = list(extended.open_chunks)
    for page in pages:
        counts[page - 1] = max(0, counts[page - 1] + by)
    return replace(extended, open_chunks=tuple(counts))


def _is_reduced(call: CallProgress, page: int) -> bool:
    return call.open_chunks[page - 1] == 0


def condensed(cells: tuple[ProgressCell, ...], room: int) -> tuple[ProgressCell, ...]:
    """At most `room` cells, each for an equal number of consecutive pages.

    A cell shows a failure if there is one, else the state of its least advanced page.
    """
    if len(cells) <= room:
        return cells
    per_cell = -(-len(cells) // max(room, 1))
    groups = (cells[start : start + per_cell] for start in range(0, len(cells), per_cell))
    return tuple(ProgressCell.FAILED if ProgressCell.FAILED in group else min(group) for group in groups)
