"""How the process ends: every error becomes one line on stderr and one exit code.

Knows errors and streams. The table of codes is `exits`; no other place maps an error.
"""

import asyncio
import errno
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from typing import Any, NoReturn, TextIO

import typer

from runax_cli.core.errors import RunaxError, first_cause
from runax_cli.core.exit_codes import ExitCode, exit_code_of
from runax_cli.core.untrusted_text import one_line, strip_control
from runax_cli.core.validation_messages import describe_error
from runax_cli.telemetry.credential_mask import CREDENTIAL_MASK

_OUTPUT_LOST = frozenset({errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG})


@dataclass(slots=True)
class ExitState:
    """The exit code that the process will leave with."""

    code: int = ExitCode.COMPLETE


@contextmanager
def ended(*, is_debug: bool) -> Iterator[ExitState]:
    """Run a block and turn whatever ends it into `code` and, where there is something to say, one line."""
    ending = ExitState()
    try:
        yield ending
        sys.stdout.flush()
        if ending.code == ExitCode.COMPLETE and (failure := _lost_output()) is not None:
            raise failure
    except BrokenPipeError:
        # The reader has what it wanted. Python would complain when it flushes the stream at exit.
        _point_to_nowhere(sys.stdout)
        ending.code = ExitCode.COMPLETE
    except (typer.Exit, SystemExit) as leaving:
        ending.code = _code_of_exit(leaving)
    except BaseException as error:
        # The last handler: what passed it would be a traceback for the user.
        if is_debug:
            sys.stderr.write(CREDENTIAL_MASK.text(strip_control("".join(traceback.format_exception(error)))))
        ending.code = _told(first_cause(error))


def _lost_output() -> OSError | None:
    """Why the standard output could not be written, if it could not. Without a view nothing was written by one."""
    console = sys.modules.get("runax_cli.ui.console")
    return console.SafeStream.lost_output if console is not None else None


def _code_of_exit(leaving: typer.Exit | SystemExit) -> int:
    if isinstance(leaving.__context__, BrokenPipeError):
        return ExitCode.COMPLETE
    code = leaving.exit_code if isinstance(leaving, typer.Exit) else leaving.code
    return code if isinstance(code, int) else ExitCode.COMPLETE


def _told(error: BaseException) -> int:
    if isinstance(error, KeyboardInterrupt | asyncio.CancelledError | typer.Abort):
        _say("interrupted")
        return ExitCode.INTERRUPTED
    if (format_message := getattr(error, "format_message", None)) is not None:
        return _usage(error, format_message())
    if isinstance(error, RunaxError):
        _say(f"error: {error}")
    elif isinstance(error, OSError) and error.errno in _OUTPUT_LOST:
        _say(
            f"error: the standard output cannot be written: {error.strerror}. Point it elsewhere; `runax runs show` "
            "prints an answer again."
        )
    else:
        _say(f"internal error: {type(error).__name__}: {error}. Run it again with --debug and report the traceback.")
    return exit_code_of(error)


def _of_option(error: BaseException, fault: dict[str, Any]) -> str:
    """What is wrong with the value of an option, with the value; nothing where it is not known whose it is."""
    names = getattr(getattr(error, "param", None), "opts", None)
    return f"'{names[0]} {fault['input']}': {describe_error(fault)}" if names else ""


def _usage(error: BaseException, message: str) -> int:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "runax"
    if not message:
        return ExitCode.USAGE
    if faults := getattr(error.__cause__, "errors", None):
        message = _of_option(error, faults()[0]) or message
    _say(f"error: {message.rstrip('.')}. '{path} --help' shows what is possible.")
    return ExitCode.USAGE


def _say(text: str) -> None:
    line = CREDENTIAL_MASK.text(one_line(text))
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
    # Whatever is written belongs to this user alone: logs, exports, and what libraries spill to disk.
    os.umask(0o077)
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
    signal.signal(signal.SIGTERM, lambda *_: _interrupt())


def _interrupt() -> None:
    """As Ctrl-C. A job in the background of a script inherits SIGINT as ignored: raising it alone would do nothing."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.raise_signal(signal.SIGINT)
