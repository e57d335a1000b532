"""The outside world of the views: streams, terminals, colours, and text that is safe to show.

Knows which stream is a terminal, what may be coloured, and how foreign text is disarmed. Knows no event and no
result. Tests replace the world by another `Environment`.
"""

import os
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, ClassVar, Literal, TextIO

from rich.console import Console

from runax_cli.core.untrusted_text import one_line as one_line
from runax_cli.core.untrusted_text import strip_control as strip_control

StreamName = Literal["stdout", "stderr"]


class ColorChoice(StrEnum):
    """What `--color` says."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class Tone(StrEnum):
    """What a piece of text is, by which it is coloured."""

    REQUEST = "request"
    RESPONSE = "response"
    TOOL_RESULT = "tool_result"
    REDUCER_REQUEST = "reducer_request"
    REDUCER_RESPONSE = "reducer_response"
    STRUCTURE = "structure"
    TOKENS = "tokens"
    ASIDE = "aside"


# The reducers' text is a lighter blue or green than the main model's: plain blue on blue cannot be read.
STYLES: Mapping[Tone, str] = {
    Tone.REQUEST: "blue",
    Tone.RESPONSE: "green",
    Tone.TOOL_RESULT: "yellow",
    Tone.REDUCER_REQUEST: "color(69) on color(17)",
    Tone.REDUCER_RESPONSE: "color(84) on color(17)",
    Tone.STRUCTURE: "magenta",
    Tone.TOKENS: "red on white",
    Tone.ASIDE: "dim",
}


class SafeStream:
    """A stream that never raises: whoever reads it may go away, and its encoding may lack a character.

    After the first failure nothing more is written, and `is_broken` says so. A standard output that failed otherwise
    than by its reader going away (a full disk) is kept in `lost_output`, for the end of the process to tell. Has what
    Rich needs of a file.
    """

    lost_output: ClassVar[OSError | None] = None

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self.encoding = getattr(stream, "encoding", None) or "utf-8"
        self.is_broken = False

    @property
    def is_unicode(self) -> bool:
        """Whether every character can be written."""
        return self.encoding.lower().replace("-", "").replace("_", "").startswith("utf")

    def write(self, text: str) -> int:
        """Write `text`; characters that the encoding lacks become `?`."""
        if not self.is_broken:
            known = text if self.is_unicode else text.encode(self.encoding, "replace").decode(self.encoding)
            self._attempt(known)
        return len(text)

    def line(self, text: str) -> None:
        """Write one line and flush it."""
        self.write(text + "\n")
        self.flush()

    def flush(self) -> None:
        """Hand over what was written."""
        if not self.is_broken:
            self._attempt(None)

    def isatty(self) -> bool:
        """Whether the stream is a terminal."""
        return bool(getattr(self._stream, "isatty", lambda: False)())

    def _attempt(self, text: str | None) -> None:
        try:
            if text is None:
                self._stream.flush()
            else:
                self._stream.write(text)
        except BrokenPipeError:
            self._break()
        except OSError as error:
            if self._stream is sys.stdout:
                SafeStream.lost_output = error
            self._break()
        except ValueError:
            self._break()

    def _break(self) -> None:
        self.is_broken = True
        self._forget_rest()

    def _forget_rest(self) -> None:
        """Point the descriptor of a broken standard stream to nowhere: the interpreter flushes it when it ends."""
        if self._stream not in (sys.stdout, sys.stderr):
            return
        # A stand-in without a descriptor is flushed by nobody.
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The world outside: streams, whether each is a terminal, colours, folders of configuration and state.

    `width` and `height` None: as the terminal says at the moment of drawing.
    """

    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    is_stdin_terminal: bool
    is_stdout_terminal: bool
    is_stderr_terminal: bool
    variables: Mapping[str, str]
    config_folder: Path
    state_folder: Path
    color: ColorChoice = ColorChoice.AUTO
    width: int | None = None
    height: int | None = None

    @classmethod
    def of_process(cls, *, color: ColorChoice = ColorChoice.AUTO) -> "Environment":
        """The world of this process. A stream that was closed before the start reads and writes nothing."""
        stdin, stdout, stderr = _open(sys.stdin, "r"), _open(sys.stdout, "w"), _open(sys.stderr, "w")
        return cls(
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            is_stdin_terminal=stdin.isatty(),
            is_stdout_terminal=stdout.isatty(),
            is_stderr_terminal=stderr.isatty(),
            variables=os.environ,
            config_folder=_folder("XDG_CONFIG_HOME", ".config"),
            state_folder=_folder("XDG_STATE_HOME", ".local/state"),
            color=color,
        )

    @property
    def columns(self) -> int:
        """How wide the terminal is now."""
        return self.width or shutil.get_terminal_size().columns

    @property
    def is_dumb(self) -> bool:
        """Whether the terminal can do nothing but print."""
        return self.variables.get("TERM", "") == "dumb"

    @property
    def can_draw(self) -> bool:
        """Whether a live view may be drawn on stderr."""
        return self.is_stderr_terminal and not self.is_dumb

    @property
    def can_render(self) -> bool:
        """Whether an answer on stdout may be rendered from Markdown."""
        return self.is_stdout_terminal and not self.is_dumb

    def has_color(self, stream: StreamName) -> bool:
        """`--color`, else NO_COLOR, else FORCE_COLOR, else whether the stream is a terminal that knows colours."""
        match self.color:
            case ColorChoice.ALWAYS:
                return True
            case ColorChoice.NEVER:
                return False
            case ColorChoice.AUTO:
                return self._has_color_by_itself(stream)

    def _has_color_by_itself(self, stream: StreamName) -> bool:
        if self.variables.get("NO_COLOR"):
            return False
        if self.variables.get("FORCE_COLOR", "0") not in ("", "0"):
            return True
        is_terminal = self.is_stdout_terminal if stream == "stdout" else self.is_stderr_terminal
        return is_terminal and not self.is_dumb

    def console(self, outlet: SafeStream, stream: StreamName) -> Console:
        """A Rich console on `outlet` that follows this policy and interprets no markup in what it prints."""
        is_terminal = self.is_stdout_terminal if stream == "stdout" else self.is_stderr_terminal
        color_system: Literal["auto", "standard"] = "standard" if self.is_dumb else "auto"
        return Console(
            file=outlet,  # type: ignore[arg-type]  # Rich asks for IO[str], and uses write, flush, isatty, encoding
            force_terminal=is_terminal or self.has_color(stream),
            force_interactive=is_terminal and not self.is_dumb,
            color_system=color_system if self.has_color(stream) else None,
            width=self.width,
            height=self.height,
            markup=False,
            emoji=False,
            highlight=False,
            _environ={k: v for k, v in self.variables.items() if k not in ("NO_COLOR", "FORCE_COLOR")},
        )


def _open(stream: TextIO | None, mode: str) -> TextIO:
    # Python sets a standard stream to None where its descriptor was closed.
    return stream if stream is not None else Path(os.devnull).open(mode, encoding="utf-8")  # type: ignore[return-value]


def _folder(variable: str, default: str) -> Path:
    """The XDG base folder that `variable` names, else `default` under home; a relative one does not count."""
    named = Path(os.environ.get(variable, ""))
    return (named if named.is_absolute() else Path.home() / default) / "runax"
