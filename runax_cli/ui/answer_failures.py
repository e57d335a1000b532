"""Prints to stderr why an answer must not be relied on: statements that failed their check, and missing data."""

from collections.abc import Iterator

from rich.text import Text

from runax_cli.core.results import ReasonCode, RunResult, RunStatus, counted
from runax_cli.ui.console import STYLES, Environment, SafeStream, Tone, one_line

REPORTED_AS_FAILURE = (ReasonCode.UNSUPPORTED_STATEMENT, ReasonCode.NO_DATA_USED)
"""The reasons of a result that are printed here."""
_STATEMENTS_SHOWN = 5
_JUDGED = (RunStatus.COMPLETE, RunStatus.INCOMPLETE, RunStatus.LIMIT)


class AnswerFailures:
    """Prints one line for each failure, also with `--quiet` and whatever the output format, in a color of its own."""

    def __init__(self, env: Environment) -> None:
        self._outlet = SafeStream(env.stderr)
        self._console = env.console(self._outlet, "stderr") if env.has_color("stderr") else None

    def print(self, result: RunResult) -> None:
        """Print the failures of a result; nothing if it has none."""
        for line in failure_lines(result):
            if self._console is None:
                self._outlet.line(line)
            else:
                self._console.print(Text(line, STYLES[Tone.FAILURE]), soft_wrap=True)
                self._outlet.flush()


def failure_lines(result: RunResult) -> Iterator[str]:
    """The failures of a result: the first statements that failed, and whether it was given without data.

    A run that was interrupted or failed has none: its answer was cut off.
    """
    if result.status not in _JUDGED:
        return
    for reason in result.coverage.reasons:
        if reason.code is ReasonCode.NO_DATA_USED:
            yield f"NO DATA USED: {one_line(reason.text)}"
    failed = [entry for entry in result.evidence if entry.has_failed]
    for entry in failed[:_STATEMENTS_SHOWN]:
        yield f"UNSUPPORTED: {one_line(entry.statement)} ({one_line(entry.why_failed)})"
    if more := len(failed) - len(failed[:_STATEMENTS_SHOWN]):
        yield f"and {counted(more, 'more statement')} that failed (use -o json for all)"
