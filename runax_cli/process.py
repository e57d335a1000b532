"""How the process starts and ends: streams and signals, and one line on stderr and one exit code per error."""

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
    """The exit code of the process."""

    code: int = ExitCode.COMPLETE


@contextmanager
def exit_guard(*, is_debug: bool) -> Iterator[ExitState]:
    """Run a block; turn any exception into an exit code, and an error into one line on stderr."""
    state = ExitState()
    try:
        yield state
        sys.stdout.flush()
        if state.code == ExitCode.COMPLETE and (failure := _lost_output()) is not None:
            raise failure
    except BrokenPipeError:
        # The reader closed the pipe. Python would report an error when it flushes the stream at exit.
        _redirect_to_null(sys.stdout)
        state.code = ExitCode.COMPLETE
    except (typer.Exit, SystemExit) as error:
        state.code = _code_of_exit(error)
    except BaseException as error:
        # The last handler: anything else would reach the user as a traceback.
        if is_debug:
            sys.stderr.write(CREDENTIAL_MASK.text(strip_control("".join(traceback.format_exception(error)))))
        state.code = _report(first_cause(error))


def _is_cancellation(error: BaseException) -> bool:
    """Whether asyncio cancelled the command. Help runs without asyncio, which is slow to import."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and isinstance(error, asyncio.CancelledError)


def _lost_output() -> OSError | None:
    """The error that writing to standard output failed with, if any; only views write there."""
    console = sys.modules.get("runax_cli.ui.console")
    return console.SafeStream.lost_output if console is not None else None


def _code_of_exit(error: typer.Exit | SystemExit) -> int:
    if isinstance(error.__context__, BrokenPipeError):
        return ExitCode.COMPLETE
    code = error.exit_code if isinstance(error, typer.Exit) else error.code
    return code if isinstance(code, int) else ExitCode.COMPLETE


def _report(error: BaseException) -> int:
    """Print an error; its exit code."""
    if (format_message := getattr(error, "format_message", None)) is not None:
        return _report_usage(error, format_message())
    if isinstance(error, KeyboardInterrupt | typer.Abort) or _is_cancellation(error):
        _print_line("interrupted")
        return ExitCode.INTERRUPTED
    if isinstance(error, RunaxError):
        _print_line(f"error: {error}")
    elif isinstance(error, OSError) and error.errno in _OUTPUT_LOST:
        _print_line(
            f"error: cannot write to standard output: {error.strerror}. Redirect it elsewhere; `runax runs show` "
            "prints the answer again."
        )
    else:
        _print_line(
            f"internal error: {type(error).__name__}: {error}. Run the command with --debug and report the traceback."
        )
    return exit_code_of(error)


def _describe_option_error(error: BaseException, fault: dict[str, Any]) -> str:
    """The error of an option with its value; empty if the option is unknown."""
    names = getattr(getattr(error, "param", None), "opts", None)
    return f"'{names[0]} {fault['input']}': {describe_error(fault)}" if names else ""


def _report_usage(error: BaseException, message: str) -> int:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "runax"
    if not message:
        return ExitCode.USAGE
    if faults := getattr(error.__cause__, "errors", None):
        message = _describe_option_error(error, faults()[0]) or message
    _print_line(f"error: {message.rstrip('.')}. See '{path} --help'.")
    return ExitCode.USAGE


def _print_line(text: str) -> None:
    line = CREDENTIAL_MASK.text(one_line(text))
    try:
        sys.stderr.write(f"runax: {line}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        _redirect_to_null(sys.stderr)


def _redirect_to_null(stream: object) -> None:
    descriptor = getattr(stream, "fileno", lambda: -1)()
    null = os.open(os.devnull, os.O_WRONLY)
    if descriptor >= 0:
        os.dup2(null, descriptor)
    os.close(null)


def abort() -> NoReturn:
    """Exit immediately, without closing connections. Stored data is already on disk."""
    os._exit(ExitCode.INTERRUPTED)


def _reconfigure(stream: TextIO, *, errors: str, encoding: str | None = None) -> None:
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(encoding=encoding, errors=errors)


def prepare_process() -> None:
    """Prepare streams and signals: reopen closed streams, set encodings, treat SIGTERM and SIGHUP as Ctrl-C."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # The next file opened, a database for example, would otherwise become a standard stream.
            os.open(os.devnull, os.O_RDWR)
    # All files are private to the user: logs, exports, and temporary files of libraries.
    os.umask(0o077)
    sys.stdin = sys.stdin or open(0, encoding="utf-8")  # noqa: SIM115  lives as long as the process
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8")  # noqa: SIM115
    # Without a locale, Python would accept bytes that are not valid text.
    _reconfigure(sys.stdin, encoding="utf-8", errors="strict")
    _reconfigure(sys.stdout, errors="backslashreplace")
    _reconfigure(sys.stderr, errors="backslashreplace")
    # Containers are stopped by SIGTERM.
    signal.signal(signal.SIGTERM, lambda *_: _interrupt())
    # A closed terminal or a lost connection sends SIGHUP; `nohup` ignores it, and Windows has none.
    hangup = getattr(signal, "SIGHUP", None)
    if hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN:
        signal.signal(hangup, lambda *_: _interrupt())


def _interrupt() -> None:
    """Raise SIGINT. Background jobs of a script inherit it as ignored, so its handler is restored first."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.raise_signal(signal.SIGINT)
