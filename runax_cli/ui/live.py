"""The log on stderr: plain lines, or on a terminal a live view that shows the progress below the lines."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import Protocol

from rich.cells import cell_len, set_cell_size
from rich.live import Live
from rich.text import Text

from runax_cli.core import event_types as ev
from runax_cli.core.events import Event
from runax_cli.ui.console import STYLES, Environment, SafeStream, Tone, one_line
from runax_cli.ui.log_lines import LogLine, StyledText, lines_of, usd
from runax_cli.ui.progress import CallProgress, ProgressCell, RunProgress, condensed, fold

_SYMBOLS: Mapping[ProgressCell, str] = {
    ProgressCell.WAITING: "·",
    ProgressCell.FETCHED: "▒",
    ProgressCell.REDUCED: "█",
    ProgressCell.FAILED: "✗",
}
_ASCII_SYMBOLS: Mapping[ProgressCell, str] = {
    ProgressCell.WAITING: ".",
    ProgressCell.FETCHED: "o",
    ProgressCell.REDUCED: "#",
    ProgressCell.FAILED: "x",
}
_TONES: Mapping[ProgressCell, Tone | None] = {
    ProgressCell.WAITING: Tone.ASIDE,
    ProgressCell.FETCHED: Tone.TOOL_RESULT,
    ProgressCell.REDUCED: Tone.RESPONSE,
    ProgressCell.FAILED: Tone.TOKENS,
}
_GRID_ROWS = 3
_CALLS_SHOWN = 3
_REDRAWS_PER_SECOND = 8


def draw(
    state: RunProgress, width: int, *, now: datetime, height: int = 24, is_unicode: bool = True
) -> tuple[LogLine, ...]:
    """The lines of the live region, at most `height - 1` of at most `width` cells; none if no run is active."""
    if state.started_at is None or state.is_finished:
        return ()
    elapsed_s = max(0.0, (now - state.started_at).total_seconds())
    running = [call for call in state.calls.values() if not call.is_finished and call.cells][-_CALLS_SHOWN:]
    lines = [_status(state, elapsed_s)]
    for call in running:
        lines += [_heading(call), *_grid(call, width, is_unicode=is_unicode)]
    return tuple(_cut(line, width, is_unicode=is_unicode) for line in lines[: max(height - 1, 1)])


def _status(state: RunProgress, elapsed_s: float) -> LogLine:
    tokens = state.tokens_in + state.tokens_out
    cost = usd(state.cost_usd) if state.is_cost_whole else f"{usd(state.cost_usd)}+?"
    retries = f" · retries {state.retries}" if state.retries else ""
    share = f" · context {state.context_used / state.effective_tokens:.0%}" if state.effective_tokens else ""
    figures = f"{elapsed_s:.0f} s · {_short_count(tokens)} tok · {cost}"
    return LogLine((StyledText(figures, Tone.TOKENS), StyledText(f" {state.stage}{retries}{share}")))


def _heading(call: CallProgress) -> LogLine:
    counts = {cell: call.cells.count(cell) for cell in ProgressCell}
    fetched = counts[ProgressCell.FETCHED] + counts[ProgressCell.REDUCED]
    parts = [f"{fetched}/{len(call.cells)} pages"]
    if counts[ProgressCell.FAILED]:
        parts.append(f"{counts[ProgressCell.FAILED]} failed")
    if call.chunks_done or call.chunks_of:
        parts.append(f"{call.chunks_done}/{call.chunks_of or '?'} chunks")
    parts.append(f"{call.items}/{'?' if call.total_items is None else call.total_items} records")
    return LogLine((StyledText(f"{one_line(call.tool, limit=24)} ", Tone.TOOL_RESULT), StyledText(" · ".join(parts))))


def _grid(call: CallProgress, width: int, *, is_unicode: bool) -> list[LogLine]:
    symbols = _SYMBOLS if is_unicode else _ASCII_SYMBOLS
    row_width = max(width - 2, 1)
    cells = condensed(call.cells, row_width * _GRID_ROWS)
    rows = [cells[start : start + row_width] for start in range(0, len(cells), row_width)]
    return [LogLine(tuple(StyledText(symbols[cell], _TONES[cell]) for cell in row)) for row in rows]


def _cut(line: LogLine, width: int, *, is_unicode: bool) -> LogLine:
    """`line` cut to `width` cells, so that the terminal does not wrap it and the region keeps its height."""
    room, spans = width - 1, []
    for span in line.spans:
        text = span.text if is_unicode else span.text.replace("·", "-").encode("ascii", "replace").decode()
        kept = text if cell_len(text) <= room else set_cell_size(text, room)
        spans.append(StyledText(kept, span.tone))
        room -= cell_len(kept)
        if room <= 0:
            break
    return LogLine(tuple(spans))


def _short_count(number: int) -> str:
    """A count in at most five characters."""
    if number < 10_000:
        return str(number)
    return f"{number / 1000:.0f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"


def _utc_now() -> datetime:
    return datetime.now(UTC)


class LiveLog:
    """Log lines with a live region below, on a terminal.

    Events shown in the region (pages, chunks, reducer requests) get lines of their own only with `is_verbose`.
    """

    def __init__(self, env: Environment, *, is_verbose: bool = False, now: Callable[[], datetime] = _utc_now) -> None:
        self._outlet = SafeStream(env.stderr)
        self._console = env.console(self._outlet, "stderr")
        self._is_verbose, self._now = is_verbose, now
        self._state = RunProgress()
        self._live: Live | None = None

    def emit(self, event: Event) -> None:
        """Show an event above the region or in it."""
        self._state = fold(self._state, event)
        if self._state.is_finished:
            self.close()
        elif self._live is None and not isinstance(event.body, ev.AnswerDelta):
            self._start_live()
        if self._is_verbose or not _is_in_region(event, self._state):
            for line in lines_of(event, is_verbose=self._is_verbose):
                self._console.print(line.rich(), soft_wrap=True)

    def warn(self, text: str) -> None:
        """Show a warning that belongs to no run."""
        self._console.print(Text(f"runax: {one_line(text)}"), soft_wrap=True)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Erase the region for a block; the next event that is not part of the answer shows it again."""
        self.close()
        yield

    def close(self) -> None:
        """Erase the region."""
        live, self._live = self._live, None
        if live is not None:
            live.stop()

    def _start_live(self) -> None:
        self._live = Live(
            self,
            console=self._console,
            transient=True,
            refresh_per_second=_REDRAWS_PER_SECOND,
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="crop",
        )
        self._live.start()

    def __rich__(self) -> Text:
        """The current region; Rich calls this for every redraw and for every line printed above it."""
        size = self._console.size
        lines = draw(self._state, size.width, now=self._now(), height=size.height, is_unicode=self._outlet.is_unicode)
        # An empty region would leave a blank line when it is erased.
        return Text("\n").join(line.rich() for line in lines) if lines else Text(" ", STYLES[Tone.ASIDE])


def _is_in_region(event: Event, state: RunProgress) -> bool:
    """Whether the region or the streamed answer already shows the event."""
    match event.body:
        case ev.PageFetched() | ev.ChunkPacked() | ev.RunFinished():
            return True
        case ev.SourceRequested():
            return bool(state.calls.get(event.stamp.call_id or "", CallProgress()).cells)
        case ev.ModelRequested():
            return event.stamp.role == "reducer"
        case ev.ModelReplied():
            return event.stamp.role == "reducer" or state.is_answering
        case _:
            return False


class LogView(Protocol):
    """Shows stages on stderr."""

    def emit(self, event: Event) -> None:
        """Show one event; never raises."""

    def warn(self, text: str) -> None:
        """Show a warning that belongs to no run."""

    def paused(self) -> AbstractContextManager[None]:
        """Clear the terminal for another prompt for the duration of a block."""

    def close(self) -> None:
        """Erase the live region. May be called twice."""


class PlainLog:
    """One line per stage, not wrapped. With `is_quiet`, only warnings and failures."""

    def __init__(self, env: Environment, *, is_quiet: bool = False, is_verbose: bool = False) -> None:
        self._outlet = SafeStream(env.stderr)
        self._console = env.console(self._outlet, "stderr") if env.has_color("stderr") else None
        self._is_quiet, self._is_verbose = is_quiet, is_verbose

    def emit(self, event: Event) -> None:
        """Show one event."""
        if not self._is_quiet or is_failure(event.body):
            for line in lines_of(event, is_verbose=self._is_verbose):
                self._show(line)

    def warn(self, text: str) -> None:
        """Show a warning that belongs to no run."""
        self._show(LogLine((StyledText(f"runax: {one_line(text)}"),)))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Plain lines need no clearing."""
        yield

    def close(self) -> None:
        """Plain lines need no erasing."""

    def _show(self, line: LogLine) -> None:
        if self._console is None:
            self._outlet.line(line.text)
        else:
            self._console.print(line.rich(), soft_wrap=True)
            self._outlet.flush()


def is_failure(body: ev.AnyEvent) -> bool:
    """Whether an event reports a failure or a warning, which is shown even with `--quiet`."""
    match body:
        case ev.Warned() | ev.PageFailed() | ev.ChunkFailed():
            return True
        case ev.BudgetNoted(is_exhausted=is_exhausted):
            return is_exhausted
        case _:
            return False
