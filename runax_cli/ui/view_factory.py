"""Which view a run gets: what shows the stages, and what prints the answer, put together by the output asked for.

Knows the kinds there are. Draws and prints nothing itself.
"""

from contextlib import AbstractContextManager
from typing import Literal, TypeAlias, assert_never

from runax_cli.core.events import Event
from runax_cli.core.results import RunResult
from runax_cli.ui.answer import AnswerNotes, AnswerView, Certificate, StreamedAnswer, WholeAnswer
from runax_cli.ui.console import Environment
from runax_cli.ui.json_output import JsonAnswer, JsonlAnswer
from runax_cli.ui.live import LiveLog, LogView, PlainLog

Output: TypeAlias = Literal["text", "json", "jsonl"]


class View:
    """Shows a run: an event sink for the time that it takes, and then the result."""

    def __init__(self, log: LogView, answer: AnswerView) -> None:
        self._log, self._answer = log, answer

    def emit(self, event: Event) -> None:
        """Show one event; never raises."""
        self._log.emit(event)
        self._answer.emit(event)

    def print_result(self, result: RunResult) -> None:
        """The run is over: print the answer, and what belongs under it."""
        self._log.close()
        self._answer.finish(result)

    def warn(self, text: str) -> None:
        """Show a line on stderr that belongs to no run."""
        self._log.warn(text)

    def paused(self) -> AbstractContextManager[None]:
        """Leave the terminal to somebody else, a question to the user say, for the length of a block."""
        return self._log.paused()

    def close(self) -> None:
        """Take down what is drawn. Closing twice changes nothing."""
        self._log.close()


def build_view(
    output: Output,
    env: Environment,
    *,
    certificate: Certificate,
    quiet: bool = False,
    verbose: bool = False,
    evidence: bool = False,
) -> View:
    """The view for `output`. `quiet` leaves only trouble on stderr; `verbose` adds bodies to the log lines."""
    log = _log(output, env, quiet=quiet, verbose=verbose)
    match output:
        case "json":
            return View(log, JsonAnswer(env))
        case "jsonl":
            return View(log, JsonlAnswer(env))
        case "text":
            notes = AnswerNotes(env, certificate=certificate, is_quiet=quiet, has_evidence=evidence)
            answer = StreamedAnswer(env, notes, paused=log.paused) if env.can_render else WholeAnswer(env, notes)
            return View(log, answer)
        case _:
            assert_never(output)


def _log(output: Output, env: Environment, *, quiet: bool, verbose: bool) -> LogView:
    # A stream of JSON lines on the same terminal would run into the live region.
    is_contested = output == "jsonl" and env.is_stdout_terminal
    if env.can_draw and not quiet and not is_contested:
        return LiveLog(env, is_verbose=verbose)
    return PlainLog(env, is_quiet=quiet, is_verbose=verbose)
