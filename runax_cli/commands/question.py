"""The question: the argument, the text from a pipe, or both.

Knows standard input. Knows nothing of what is asked.
"""

import select
import stat
from collections.abc import Callable
from os import fstat
from typing import TextIO

from runax_cli.core.errors import UsageError

_PATIENCE_S = 2.0
STANDARD_INPUT = "-"


def question_of(argument: str | None, stdin: TextIO, *, is_terminal: bool, note: Callable[[str], None]) -> str:
    """The pipe's text first, then the argument. Raises UsageError where there is neither.

    Waits for the end of a pipe, and tells so by `note` after two seconds. A terminal is read only for `-`.
    """
    is_asked_for = argument == STANDARD_INPUT
    piped = _read(stdin, note) if is_asked_for else "" if is_terminal else piped_text(stdin, note=note)
    spoken = "" if argument is None or is_asked_for else _text(argument)
    question = "\n\n".join(part for part in (piped, spoken) if part)
    if not question:
        raise UsageError(
            'there is no question. Write it as an argument, `runax query "…"`, or pipe text into the command.'
        )
    return question


def _text(argument: str) -> str:
    """The argument; bytes that are no text reach Python as lone surrogates."""
    try:
        argument.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"the question is not text in UTF-8 (at character {error.start + 1}).") from error
    return argument.strip()


def piped_text(stdin: TextIO, *, note: Callable[[str], None]) -> str:
    """What a pipe, a file or a socket holds, to its end; nothing where standard input is none of these."""
    return _read(stdin, note) if _may_hold_text(stdin) else ""


def _may_hold_text(stdin: TextIO) -> bool:
    """Whether standard input is a pipe, a file or a socket; a closed one and /dev/null are not."""
    try:
        mode = fstat(stdin.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def _read(stdin: TextIO, note: Callable[[str], None]) -> str:
    try:
        ready, _, _ = select.select([stdin], [], [], _PATIENCE_S)
        if not ready:
            note("runax: reading the question from standard input; end it with Ctrl-D, or give `< /dev/null` for none")
        return stdin.read().strip()
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is not text in UTF-8 ({error.reason} at byte {error.start}).") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"standard input cannot be read ({error}). Write the question as an argument.") from error
