from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from runax_cli.core import event_types as ev
from runax_cli.ui.live import LiveLog, draw
from runax_cli.ui.progress import CallProgress, ProgressCell, RunProgress

START = datetime(2026, 11, 21, 12, tzinfo=UTC)
NOW = START + timedelta(seconds=7)
calls = st.builds(
    CallProgress,
    tool=st.text(max_size=40),
    cells=st.lists(st.sampled_from(list(ProgressCell)), max_size=400).map(tuple),
    items=st.integers(0, 10**9),
    total_items=st.none() | st.integers(0, 10**9),
    chunks_done=st.integers(0, 500),
    chunks_of=st.none() | st.integers(1, 500),
)
states = st.builds(
    RunProgress,
    started_at=st.just(START),
    stage=st.sampled_from(["fetching pages", "calling 顧客の一覧を取得する"]),
    tokens_in=st.integers(0, 10**9),
    cost_usd=st.floats(0, 1e4),
    is_cost_whole=st.booleans(),
    calls=st.dictionaries(st.text(max_size=3), calls, max_size=5),
    effective_tokens=st.integers(0, 10**6),
    context_used=st.integers(0, 10**6),
    retries=st.integers(0, 99),
)


@given(states, st.integers(10, 200), st.integers(3, 60), st.booleans())
def test_region_fits_the_terminal(state: RunProgress, width: int, height: int, is_unicode: bool) -> None:
    lines = draw(state, width, now=NOW, height=height, is_unicode=is_unicode)
    assert 1 <= len(lines) < height
    assert all(cell_len(line.text) < width for line in lines)
    assert all("\n" not in line.text for line in lines)
    if not is_unicode:
        assert all(line.text.isascii() for line in lines)


def test_forty_columns_show_pages_tokens_cost_and_time() -> None:
    cells = (
        (ProgressCell.REDUCED,) * 3 + (ProgressCell.FETCHED,) * 2 + (ProgressCell.FAILED,) + (ProgressCell.WAITING,) * 3
    )
    call = CallProgress(tool="get_tickets", cells=cells, items=145, total_items=261, chunks_done=3, chunks_of=9)
    state = RunProgress(started_at=START, stage="reading", tokens_in=12_345, cost_usd=0.004, calls={"a": call})
    assert [line.text for line in draw(state, 40, now=NOW)] == [
        "7 s · 12k tok · $0.004 reading",
        "get_tickets 5/9 pages · 1 failed · 3/9 ",
        "███▒▒✗···",
    ]


def test_a_thousand_pages_are_condensed_to_three_rows() -> None:
    call = CallProgress(tool="t", cells=(ProgressCell.FETCHED,) * 1000)
    lines = draw(RunProgress(started_at=START, calls={"a": call}), 40, now=NOW)
    assert len(lines) <= 2 + 3


def test_without_unicode_the_grid_is_ascii() -> None:
    call = CallProgress(tool="t", cells=tuple(ProgressCell))
    assert draw(RunProgress(started_at=START, calls={"a": call}), 40, now=NOW, is_unicode=False)[-1].text == ".o#x"


def test_nothing_is_drawn_without_a_run() -> None:
    assert draw(RunProgress(), 80, now=NOW) == ()
    assert draw(RunProgress(started_at=START, is_finished=True), 80, now=NOW) == ()


def test_unknown_price_is_marked() -> None:
    state = RunProgress(started_at=START, cost_usd=0.5, is_cost_whole=False)
    assert "$0.5+?" in draw(state, 80, now=NOW)[0].text


@pytest.fixture
def live(world):
    log = LiveLog(world.environment(is_stderr_terminal=True), now=lambda: NOW)
    yield log
    log.close()


STARTED = ev.RunStarted(question="q", model="m", reducer_model="r", effective_tokens=100, counter="c")


def test_pages_are_shown_in_the_region_only(live, world, event_of) -> None:
    live.emit(event_of(STARTED))
    live.emit(event_of(ev.PageFetched(index=1, of=2, position="offset=0", limit=1, items=1, retries=0)))
    live.emit(event_of(ev.PageFailed(index=2, of=2, position="offset=1", why="503")))
    assert "[PAGE 1/2]" not in world.err.getvalue()
    assert "[PAGE 2/2] FAILED" in world.err.getvalue()


def test_verbose_mode_shows_pages_as_lines(world, event_of) -> None:
    log = LiveLog(world.environment(is_stderr_terminal=True), is_verbose=True)
    log.emit(event_of(ev.PageFetched(index=1, of=2, position="offset=0", limit=1, items=1, retries=0)))
    log.close()
    assert "[PAGE 1/2] offset=0" in world.err.getvalue()


def test_closing_restores_the_cursor(live, world, event_of) -> None:
    live.emit(event_of(STARTED))
    assert world.err.getvalue().rfind("\x1b[?25l") > world.err.getvalue().rfind("\x1b[?25h")
    live.close()
    live.close()
    assert world.err.getvalue().rfind("\x1b[?25h") > world.err.getvalue().rfind("\x1b[?25l")


def test_markup_in_untrusted_text_is_not_interpreted(live, world, event_of) -> None:
    live.emit(event_of(ev.Warned(code="x", text="[/x] [bold red]alert[/]")))
    live.warn("[/y]")
    assert "[/x] [bold red]alert[/]" in world.err.getvalue()
    assert "[/y]" in world.err.getvalue()


def test_pause_erases_the_region_until_the_next_stage(live, world, event_of) -> None:
    live.emit(event_of(STARTED))
    with live.paused():
        assert world.err.getvalue().endswith("\x1b[2K")
        before = world.err.getvalue()
        live.emit(event_of(ev.AnswerDelta(text="x")))
        assert world.err.getvalue() == before
    live.emit(event_of(ev.Resumed(text="x")))
    assert "[RESUME] x" in world.err.getvalue()[len(before) :]
