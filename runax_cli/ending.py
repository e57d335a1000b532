"""How the process ends: every error becomes one line on stderr and one exit code.

Knows errors and streams. The table of codes is `exits`; no other place maps an error.
"""

import asyncio
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from typing import NoReturn, TextIO

import typer

from runax_cli.errors import RunaxError
from runax_cli.exits import ExitCode, exit_code_of


@dataclass(slots=True)
class Ending:
    """The exit code that the process will leave with."""

    code: int = ExitCode.COMPLETE


@contextmanager
def ended(*, is_debug: bool) -> Iterator[Ending]:
    """Run a block and turn whatever ends it into `code` and, where there is something to say, one line."""
    ending = Ending()
    try:
        yield ending
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has what it wanted. Python would complain when it flushes the stream at exit.
        _point_to_nowhere(sys.stdout)
        ending.code = ExitCode.COMPLETE
    except (typer.Exit, SystemExit) as leaving:
        ending.code = _code_of_exit(leaving)
    except BaseException as error:
        # The last handler: what passed it would be a traceback for the user.
        if is_debug:
            traceback.print_exception(error)
        ending.code = _told(_first_cause(error))


def _code_of_exit(leaving: typer.Exit | SystemExit) -> int:
    code = leaving.exit_code if isinstance(leaving, typer.Exit) else leaving.code
    return code if isinstance(code, int) else ExitCode.COMPLETE


def _first_cause(error: BaseException) -> BaseException:
    """The first error inside groups of errors: a group says nothing to a user."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _told(error: BaseException) -> int:
    if isinstance(error, KeyboardInterrupt | asyncio.CancelledError | typer.Abort):
        _say("interrupted")
        return ExitCode.INTERRUPTED
    if (format_message := getattr(error, "format_message", None)) is not None:
        return _usage(error, format_message())
    if isinstance(error, RunaxError):
        _say(f"error: {error}")
    else:
        _say(f"internal error: {type(error).__name__}: {error}. Run it again with --debug and report the traceback.")
    return exit_code_of(error)


def _usage(error: BaseException, message: str) -> int:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "runax"
    if not message:
        return ExitCode.USAGE
    _say(f"error: {message.rstrip('.')}. '{path} --help' shows what is possible.")
    return ExitCode.USAGE


def _say(text: str) -> None:
    line = " ".join(text.split())
    try:
        sys.stderr.write(f"runax: {line}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        _point_to_nowhere(sys.stderr)


def _point_to_nowhere(stream: object) -> None:
    descriptor = getattr(stream, "fileno", lambda: -1)()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    if descriptor >= 0:
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


def abort() -> NoReturn:
    """End the process at once: what is stored was written through, and for the rest the user does not want to wait."""
    os._exit(ExitCode.INTERRUPTED)


def _reconfigure(stream: TextIO, *, errors: str, encoding: str | None = None) -> None:
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(encoding=encoding, errors=errors)


def prepare_process() -> None:
    """Make streams and signals fit: open what was closed, let no character break them, stop as interrupted."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free descriptor is taken: without this a database could become the standard output.
            os.open(os.devnull, os.O_RDWR)
    sys.stdin = sys.stdin or open(0, encoding="utf-8")  # noqa: SIM115  lives as long as the process
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8")  # noqa: SIM115
    # Where no locale is set, Python would read bytes that are no text as if they were.
    _reconfigure(sys.stdin, encoding="utf-8", errors="strict")
    _reconfigure(sys.stdout, errors="backslashreplace")
    _reconfigure(sys.stderr, errors="backslashreplace")
    if not (os.environ.get("FORCE_COLOR") or sys.stdout.isatty()):
        # Typer would colour help in a pipe wherever GITHUB_ACTIONS is set.
        os.environ["_TYPER_FORCE_DISABLE_TERMINAL"] = "1"
    # A container is stopped by SIGTERM: it ends a turn as Ctrl-C does.
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
