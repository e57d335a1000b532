"""Builds the view of a run: the log on stderr and the answer on stdout, for the output format and the terminal."""

from contextlib import AbstractContextManager
from typing import Literal, TypeAlias, assert_never

from runax_cli.core.events import Event
from runax_cli.core.results import RunResult
from runax_cli.ui.answer import AnswerNotes, AnswerView, Certificate, StreamedAnswer, WholeAnswer
from runax_cli.ui.answer_failures import AnswerFailures
from runax_cli.ui.console import Environment
from runax_cli.ui.json_output import JsonAnswer, JsonlAnswer
from runax_cli.ui.live import LiveLog, LogView, PlainLog

Output: TypeAlias = Literal["text", "json", "jsonl"]


class View:
    """Shows the events of a run, and then its result."""

    def __init__(self, log: LogView, answer: AnswerView, failures: AnswerFailures) -> None:
        self._log, self._answer, self._failures = log, answer, failures

    def emit(self, event: Event) -> None:
        """Show one event; never raises."""
        self._log.emit(event)
        self._answer.emit(event)

    def print_result(self, result: RunResult) -> None:
        """Print the answer, the lines below it, and why it must not be relied on, at the end of a run."""
        self._log.close()
        self._answer.finish(result)
        self._failures.print(result)

    def warn(self, text: str) -> None:
        """Show a warning on stderr that belongs to no run."""
        self._log.warn(text)

    def paused(self) -> AbstractContextManager[None]:
        """Clear the terminal for another prompt for the duration of a block."""
        return self._log.paused()

    def close(self) -> None:
        """Erase the live region. May be called twice."""
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
    """The view for `output`. `quiet` shows only failures on stderr; `verbose` adds bodies to the log lines."""
    failures = AnswerFailures(env)
    log = _log(output, env, quiet=quiet, verbose=verbose)
    match output:
        case "json":
            return View(log, JsonAnswer(env), failures)
        case "jsonl":
            return View(log, JsonlAnswer(env), failures)
        case "text":
            notes = AnswerNotes(env, certificate=certificate, is_quiet=quiet, has_evidence=evidence)
            answer = StreamedAnswer(env, notes, paused=log.paused) if env.can_render else WholeAnswer(env, notes)
            return View(log, answer, failures)
        case _:
            assert_never(output)


def _log(output: Output, env: Environment, *, quiet: bool, verbose: bool) -> LogView:
    # JSON lines on the same terminal would be mixed with the live region.
    shares_terminal = output == "jsonl" and env.is_stdout_terminal
    if env.can_draw and not quiet and not shares_terminal:
        return LiveLog(env, is_verbose=verbose)
    return PlainLog(env, is_quiet=quiet, is_verbose=verbose)
