"""Streams, terminals and colors. Tests replace the real ones with another `Environment`."""

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

from runax_cli.core.paths import state_folder
from runax_cli.core.untrusted_text import one_line as one_line
from runax_cli.core.untrusted_text import strip_control as strip_control

StreamName = Literal["stdout", "stderr"]


class ColorChoice(StrEnum):
    """The values of `--color`."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class Tone(StrEnum):
    """The kind of a piece of text, which determines its color."""

    REQUEST = "request"
    RESPONSE = "response"
    TOOL_RESULT = "tool_result"
    REDUCER_REQUEST = "reducer_request"
    REDUCER_RESPONSE = "reducer_response"
    STRUCTURE = "structure"
    TOKENS = "tokens"
    ASIDE = "aside"
    FAILURE = "failure"


# Reducers use a lighter blue and green than the main model: plain blue on blue is unreadable.
STYLES: Mapping[Tone, str] = {
    Tone.REQUEST: "blue",
    Tone.RESPONSE: "green",
    Tone.TOOL_RESULT: "yellow",
    Tone.REDUCER_REQUEST: "color(69) on color(17)",
    Tone.REDUCER_RESPONSE: "color(84) on color(17)",
    Tone.STRUCTURE: "magenta",
    Tone.TOKENS: "red on white",
    Tone.ASIDE: "dim",
    Tone.FAILURE: "bold red",
}


class SafeStream:
    """A stream that never raises if its reader closes the pipe or its encoding lacks a character.

    After the first failure, `is_broken` is set and nothing more is written. If standard output fails for another
    reason, such as a full disk, the error is kept in `lost_output` and reported when the process exits. Rich can use
    it as a file.
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
        """Write `text`; characters that the encoding lacks are replaced with `?`."""
        if not self.is_broken:
            encodable = text if self.is_unicode else text.encode(self.encoding, "replace").decode(self.encoding)
            self._attempt(encodable)
        return len(text)

    def line(self, text: str) -> None:
        """Write one line and flush it."""
        self.write(text + "\n")
        self.flush()

    def flush(self) -> None:
        """Flush the stream."""
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
        self._redirect_to_null()

    def _redirect_to_null(self) -> None:
        """Redirect a broken standard stream to the null device, since the interpreter flushes it at exit."""
        if self._stream not in (sys.stdout, sys.stderr):
            return
        # A replaced stream without a descriptor is not flushed at exit.
        with suppress(OSError, ValueError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self._stream.fileno())
            os.close(null)


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The environment of the process: streams, which of them are terminals, colors and folders.

    If `width` and `height` are None, the size of the terminal at the time of drawing is used.
    """

    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    is_stdin_terminal: bool
    is_stdout_terminal: bool
    is_stderr_terminal: bool
    variables: Mapping[str, str]
    state_folder: Path
    color: ColorChoice = ColorChoice.AUTO
    width: int | None = None
    height: int | None = None

    @classmethod
    def of_process(cls, *, color: ColorChoice = ColorChoice.AUTO) -> "Environment":
        """The environment of this process. A stream that is closed is replaced with the null device."""
        stdin, stdout, stderr = _open(sys.stdin, "r"), _open(sys.stdout, "w"), _open(sys.stderr, "w")
        return cls(
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            is_stdin_terminal=stdin.isatty(),
            is_stdout_terminal=stdout.isatty(),
            is_stderr_terminal=stderr.isatty(),
            variables=os.environ,
            state_folder=state_folder(),
            color=color,
        )

    @property
    def columns(self) -> int:
        """The current width of the terminal."""
        return self.width or shutil.get_terminal_size().columns

    @property
    def is_dumb(self) -> bool:
        """Whether the terminal has no control sequences (TERM=dumb)."""
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
        """Whether to use colors: `--color`, else NO_COLOR, else FORCE_COLOR, else whether the stream is a terminal."""
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
        """A Rich console on `outlet` that follows this color policy and interprets no markup."""
        is_terminal = self.is_stdout_terminal if stream == "stdout" else self.is_stderr_terminal
        color_system: Literal["auto", "standard"] = "standard" if self.is_dumb else "auto"
        return Console(
            file=outlet,  # type: ignore[arg-type]  # Rich uses write, flush, isatty and encoding only
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
    # Python sets a standard stream to None if its descriptor is closed.
    return stream if stream is not None else Path(os.devnull).open(mode, encoding="utf-8")  # type: ignore[return-value]
