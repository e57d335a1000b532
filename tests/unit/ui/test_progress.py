from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.core import event_types as ev
from runax_cli.core.results import Coverage, TotalIs
from runax_cli.ui.progress import CallProgress, ProgressCell, RunProgress, condensed, fold, fold_call


def planned(pages: int | None) -> ev.ChunkingPlanned:
    return ev.ChunkingPlanned(
        budget_tokens=9,
        avg_tokens_per_item=1,
        items_per_chunk=1,
        page_size=1,
        pages=pages,
        chunks=4,
        is_corrected=False,
    )


def fetched(index: int, of: int | None = None) -> ev.PageFetched:
    return ev.PageFetched(index=index, of=of, position="", limit=1, items=10, retries=0)


def packed(index: int, *pages: int) -> ev.ChunkPacked:
    return ev.ChunkPacked(index=index, of=None, records=1, tokens=1, pages=pages)


def reduced(index: int, *pages: int) -> ev.ChunkReduced:
    return ev.ChunkReduced(index=index, of=None, findings=1, tokens=1, preview="", pages=pages)


def lost(index: int, *pages: int) -> ev.ChunkFailed:
    return ev.ChunkFailed(index=index, of=None, records=1, why="", pages=pages)


def after(*bodies: ev.AnyEvent) -> CallProgress:
    return reduce(fold_call, bodies, CallProgress())


W, F, R, X = ProgressCell.WAITING, ProgressCell.FETCHED, ProgressCell.REDUCED, ProgressCell.FAILED


@pytest.mark.parametrize(
    ("bodies", "cells"),
    [
        ((planned(3),), (W, W, W)),
        ((planned(3), fetched(2)), (W, F, W)),
        ((fetched(1), fetched(2)), (F, F)),
        ((planned(2), fetched(1), packed(1, 1), reduced(1, 1)), (R, W)),
        ((fetched(1), packed(1, 1), packed(2, 1), reduced(1, 1)), (F,)),
        ((fetched(1), packed(1, 1), packed(2, 1), reduced(1, 1), reduced(2, 1)), (R,)),
        ((fetched(1), fetched(2), packed(1, 1, 2), reduced(1, 1, 2)), (R, R)),
        ((fetched(1), packed(1, 1), lost(1, 1)), (X,)),
        ((fetched(1), packed(1, 1), packed(2, 1), lost(1, 1), reduced(2, 1)), (X,)),
        ((ev.PageFailed(index=2, of=3, position="", why=""),), (W, X, W)),
        ((ev.PageFailed(index=1, of=1, position="", why=""), fetched(1)), (F,)),
        ((planned(9), fetched(1), planned(3)), (F, W, W)),
        ((planned(9), fetched(5), planned(3)), (W, W, W, W, F)),
        ((planned(None), fetched(1)), (F,)),
    ],
)
def test_a_cell_shows_how_far_its_page_is(bodies, cells) -> None:
    assert after(*bodies).cells == cells


def test_records_chunks_and_total_are_counted() -> None:
    probe = ev.CallProbed(
        tool="t", total_items=20, total_is=TotalIs.EXACT, total_tokens_est=None, rung="r", records_path=""
    )
    call = after(probe, planned(2), fetched(1), fetched(2), packed(1, 1), reduced(1, 1), lost(2, 2))
    assert (call.total_items, call.items, call.chunks_done, call.chunks_of) == (20, 20, 2, 4)


@given(st.lists(st.sampled_from(list(ProgressCell)), max_size=300), st.integers(1, 50))
def test_a_condensed_grid_fits_its_room_and_hides_no_failure(cells: list[ProgressCell], room: int) -> None:
    small = condensed(tuple(cells), room)
    assert len(small) <= room
    assert (ProgressCell.FAILED in small) == (ProgressCell.FAILED in cells)
    assert all(cell is R for cell in small) == all(cell is R for cell in cells)


def test_parallel_calls_are_kept_apart(event_of) -> None:
    events = [event_of(fetched(1), call_id="a"), event_of(fetched(2), call_id="b")]
    state = reduce(fold, events, RunProgress())
    assert [call.cells for call in state.calls.values()] == [(F,), (W, F)]


def replied(cost_usd: float | None) -> ev.ModelReplied:
    return ev.ModelReplied(
        model="m", input_tokens=10, output_tokens=2, cost_usd=cost_usd, duration_s=1, first_token_s=None, preview=""
    )


def test_an_unknown_price_is_not_taken_for_nothing(event_of) -> None:
    state = reduce(fold, [event_of(replied(0.5)), event_of(replied(None))], RunProgress())
    assert (state.tokens_in, state.tokens_out, state.cost_usd, state.is_cost_whole) == (20, 4, 0.5, False)


def test_a_new_run_starts_from_nothing(event_of) -> None:
    started = ev.RunStarted(question="q", model="m", reducer_model="r", effective_tokens=100, counter="c")
    state = reduce(fold, [event_of(fetched(1)), event_of(replied(0.5)), event_of(started)], RunProgress())
    assert (state.calls, state.cost_usd, state.effective_tokens) == ({}, 0.0, 100)


def test_a_finished_call_says_so(event_of) -> None:
    body = ev.CallFinished(
        tool="t", status="success", strategy=None, dataset=None, coverage=Coverage(), tokens_to_model=0, preview=""
    )
    state = fold(RunProgress(), event_of(body, call_id="a"))
    assert state.calls["a"].is_finished
    assert state.stage == "t is done"
