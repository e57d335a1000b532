"""Who shows the stages while a run goes on: the seam, and its plainest kind, one line after the other.

Knows events and stderr. Knows no live region (`view`) and no answer (`answer`).
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from runax_cli import events as ev
from runax_cli.ui.console import Environment, Outlet, one_line
from runax_cli.ui.plain import Line, Span, lines_of


class Log(Protocol):
    """Shows stages on stderr."""

    def emit(self, event: ev.Event) -> None:
        """Show one event; never raises."""

    def warn(self, text: str) -> None:
        """Show a line that belongs to no run."""

    def paused(self) -> AbstractContextManager[None]:
        """Leave the terminal to somebody else for the length of a block."""

    def close(self) -> None:
        """Take down what is drawn. Closing twice changes nothing."""


class PlainLog:
    """One line a stage, never wrapped. With `is_quiet` only what went wrong."""

    def __init__(self, env: Environment, *, is_quiet: bool = False, is_verbose: bool = False) -> None:
        self._outlet = Outlet(env.stderr)
        self._console = env.console(self._outlet, "stderr") if env.has_color("stderr") else None
        self._is_quiet, self._is_verbose = is_quiet, is_verbose

    def emit(self, event: ev.Event) -> None:
        """Show one event."""
        if not self._is_quiet or is_trouble(event.body):
            for line in lines_of(event, is_verbose=self._is_verbose):
                self._show(line)

    def warn(self, text: str) -> None:
        """Show a line that belongs to no run."""
        self._show(Line((Span(f"runax: {one_line(text)}"),)))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Nothing is drawn that would be in the way."""
        yield

    def close(self) -> None:
        """Nothing is drawn that would have to be taken down."""

    def _show(self, line: Line) -> None:
        if self._console is None:
            self._outlet.line(line.text)
        else:
            self._console.print(line.rich(), soft_wrap=True)
            self._outlet.flush()


def is_trouble(body: ev.AnyBody) -> bool:
    """Whether a body says that something went wrong, so that it is shown even where silence was asked for."""
    match body:
        case ev.Warned() | ev.PageFailed() | ev.ChunkFailed():
            return True
        case ev.BudgetNoted(is_exhausted=is_exhausted):
            return is_exhausted
        case _:
            return False
