"""The real command as a process: under pipes, and under a pseudo-terminal."""

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest

RUNAX = str(Path(sys.executable).with_name("runax"))
TIMEOUT_S = 90


@dataclass(frozen=True, slots=True)
class Done:
    """How a process ended."""

    code: int
    out: str
    err: str = ""


def run(
    *arguments: str, stdin: str | None = None, variables: Mapping[str, str] | None = None, redirect: str = ""
) -> Done:
    """`runax` with its streams in pipes. Without `stdin` standard input is /dev/null; `redirect` is shell syntax."""
    command = ["sh", "-c", f'exec "$0" "$@" {redirect}', RUNAX, *arguments] if redirect else [RUNAX, *arguments]
    done = subprocess.run(
        command,
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        env={**os.environ, **(variables or {})},
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


class Terminal:
    """`runax` under a pseudo-terminal: its output is merged, as on a screen."""

    def __init__(self, *arguments: str, variables: Mapping[str, str], columns: int) -> None:
        self.seen = ""
        self._at = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.pid, self._descriptor = pty.fork()
        if self.pid == 0:
            os.execve(RUNAX, [RUNAX, *arguments], {**os.environ, "TERM": "xterm-256color", **variables})
        fcntl.ioctl(self._descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._descriptor, text.encode())

    def wait_for(self, text: str, *, timeout_s: float = TIMEOUT_S) -> None:
        """Read until `text` is printed, after what was expected before."""
        until = time.monotonic() + timeout_s
        while text not in self.seen[self._at :]:
            if time.monotonic() > until or not self._read(1.0):
                raise AssertionError(f"{text!r} was not printed; there was: {self.seen[self._at :][-3000:]}")
        self._at = self.seen.index(text, self._at) + len(text)

    def interrupt(self) -> None:
        """Press Ctrl-C as the kernel would deliver it."""
        os.kill(self.pid, signal.SIGINT)

    def end(self) -> Done:
        """Read to the end and return the exit code."""
        until = time.monotonic() + TIMEOUT_S
        while self._read(1.0):
            if time.monotonic() > until:
                os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        return Done(os.waitstatus_to_exitcode(status), self.seen)

    def close(self) -> None:
        """End a process that still runs."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._descriptor)

    def _read(self, wait_s: float) -> bool:
        """Whether the process may still print."""
        ready, _, _ = select.select([self._descriptor], [], [], wait_s)
        if not ready:
            return True
        try:
            data = os.read(self._descriptor, 65536)
        except OSError:
            # Linux ends a pseudo-terminal without writers by EIO.
            return False
        self.seen += self._decoder.decode(data)
        return bool(data)


@pytest.fixture
def runax() -> Callable[..., Done]:
    """Runs the command under pipes."""
    return run


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    """Opens terminals, and ends the processes that still run."""
    opened: list[Terminal] = []

    def make(*arguments: str, variables: Mapping[str, str] | None = None, columns: int = 100) -> Terminal:
        opened.append(Terminal(*arguments, variables=variables or {}, columns=columns))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


@contextmanager
def served(*arguments: str) -> Iterator[str]:
    """`runax mock` as a process on a free port: its base URL."""
    process = subprocess.Popen(
        [RUNAX, "mock", "--port", "0", *arguments], stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"http://[\d.]+:\d+", line)
        assert found is not None, line + process.stderr.read()
        yield found[0]
    finally:
        process.terminate()
        process.communicate(timeout=TIMEOUT_S)


class SharedMock:
    """One `runax mock` without options for all tests: it is read-only, and starting one takes a second."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._url: str | None = None

    def url(self) -> str:
        """Its base URL. It starts at the first call, in the clean environment of a test."""
        if self._url is None:
            self._url = self._stack.enter_context(served())
        return self._url


@pytest.fixture(scope="session")
def shared_mock() -> Iterator[SharedMock]:
    """Ends the shared mock after the last test."""
    with ExitStack() as stack:
        yield SharedMock(stack)


@pytest.fixture
def mock(shared_mock: SharedMock) -> Callable[..., AbstractContextManager[str]]:
    """Serves mock data in a separate process; without options it is shared by the tests."""

    def mocked(*arguments: str) -> AbstractContextManager[str]:
        return served(*arguments) if arguments else nullcontext(shared_mock.url())

    return mocked
