"""A process that runs model-written SQL and can be killed: limits of time, memory and result size that hold.

DuckDB ends a statement only where it looks for an interrupt, and some functions never look; its memory limit does not
cover every allocation. A process has limits that the kernel keeps. It starts when the first table is defined, stays
warm between statements, and is started again after it was killed.
"""

import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from runax_cli.executor.sql.engine import (
    MAX_ROWS,
    MEMORY_LIMIT,
    TIME_LIMIT_S,
    QueryFailed,
    QueryResult,
    timeout_message,
)
from runax_cli.executor.sql.frames import Definition, Failed, Request, read_frame, write_frame
from runax_cli.executor.sql.stored_result import StoreRequest

ADDRESS_SPACE_BYTES = 4 * 2**30
"""DuckDB at its memory limit of 1 GB, Python, threads' stacks, and room for what is reserved and not used."""
RESULT_BYTES = 256 * 2**20
_GRACE_S = 2.0
_START_S = 60.0
_STOPPING_S = 0.02
_PASSED_ON = (
    "PATH",
    "LANG",
    "LC_ALL",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "TMPDIR",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "PYTHONHOME",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLimits:
    """Limits of one statement. The worker is killed `_GRACE_S` after `time_limit_s` if the statement ignores it."""

    time_limit_s: float = TIME_LIMIT_S
    memory_limit: str = MEMORY_LIMIT
    address_space_bytes: int = ADDRESS_SPACE_BYTES
    result_bytes: int = RESULT_BYTES


class SqlWorker:
    """Runs SELECTs over defined tables in a process of its own. Blocking; threads may share it, one runs at a time."""

    def __init__(self, folder: Path, limits: WorkerLimits | None = None) -> None:
        self._folder, self._limits = folder.resolve(), limits or WorkerLimits()
        self._definitions: list[Definition] = []
        self._n_sent = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._finalizer: weakref.finalize[..., SqlWorker] | None = None
        self._lock = threading.Lock()
        self._killed_because = ""
        self._is_killed = self._is_closed = False

    def define(self, definition: Definition) -> None:
        """Make views known; they are created before the next statement runs. Starts the process if none runs."""
        with self._lock:
            self._definitions.append(definition)
            if not self._is_closed:
                self._running()

    def select(self, sql: str, *, max_rows: int | None = MAX_ROWS, store: StoreRequest | None = None) -> QueryResult:
        """Run one SELECT and keep `max_rows` rows (None: all). Raises QueryFailed, also for a limit or an interrupt.

        With `store` the process writes all rows to a file; a failure may leave a part of it behind.
        """
        with self._lock:
            self._killed_because = ""
            if self._is_closed:
                raise QueryFailed("the tables are closed because the session has ended.")
            reply = self._exchange(Request(sql, max_rows, store))
        if isinstance(reply, Failed):
            raise QueryFailed(reply.message)
        return reply

    def interrupt(self) -> None:
        """Kill the statement that runs, at once; it fails with QueryFailed."""
        self._kill("the statement was stopped.")

    def close(self) -> None:
        """End the process; a statement that still runs is killed. A second call changes nothing."""
        self._is_closed = True
        # A statement that is only about to begin does not hear the first one.
        while True:
            self._kill("the statement was stopped because the session has ended.")
            if self._lock.acquire(timeout=_STOPPING_S):
                break
        try:
            self._end()
        finally:
            self._lock.release()

    def _exchange(self, request: Request) -> QueryResult | Failed:
        process, limit_s = self._running(), self._limits.time_limit_s
        try:
            with self._killed_after(_START_S, "the SQL process did not start in time."):
                self._send_definitions(process)
            with self._killed_after(limit_s + _GRACE_S, timeout_message(limit_s)):
                write_frame(_pipe(process.stdin), request)
                reply = read_frame(_pipe(process.stdout))
        except (BrokenPipeError, ConnectionResetError):
            reply = None
        return self._died() if reply is None else reply

    @contextmanager
    def _killed_after(self, limit_s: float, why: str) -> Iterator[None]:
        watch = threading.Timer(limit_s, self._kill, [why])
        watch.start()
        try:
            yield
        finally:
            # A timer that fires later would kill the process under the next statement.
            watch.cancel()
            watch.join()

    def _send_definitions(self, process: subprocess.Popen[bytes]) -> None:
        """Each is confirmed, so that neither the start of the process nor a view counts as time of the statement."""
        for definition in self._definitions[self._n_sent :]:
            write_frame(_pipe(process.stdin), definition)
            if read_frame(_pipe(process.stdout)) is None:
                raise BrokenPipeError
            self._n_sent += 1

    def _died(self) -> Failed:
        """Why there is no reply: killed here, or ended by the kernel or by a fault of its own."""
        process = self._process
        self._end()
        code = None if process is None else process.returncode
        crash = f"the SQL process ended (exit code {code}), perhaps for lack of memory. Filter or group earlier."
        return Failed(self._killed_because or crash)

    def _running(self) -> subprocess.Popen[bytes]:
        process = self._process
        if process is None or self._is_killed or process.poll() is not None:
            self._end()
            self._process = process = self._started()
            self._finalizer = weakref.finalize(self, _end, process)
            self._n_sent, self._is_killed = 0, False
        return process

    def _started(self) -> subprocess.Popen[bytes]:
        limits = self._limits
        numbers = (limits.time_limit_s, limits.address_space_bytes, limits.result_bytes)
        command = [sys.executable, "-P", "-m", "runax_cli.executor.sql.worker_main", str(self._folder)]
        return subprocess.Popen(
            [*command, limits.memory_limit, *map(str, numbers)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=_environment(),
            # Ctrl-C reaches the whole foreground group; the parent decides what it means.
            start_new_session=True,
        )  # fmt: skip

    def _kill(self, why: str) -> None:
        process = self._process
        if process is not None and process.poll() is None:
            self._killed_because, self._is_killed = self._killed_because or why, True
            process.kill()

    def _end(self) -> None:
        self._process = None
        if self._finalizer is not None:
            self._finalizer()


def _environment() -> dict[str, str]:
    """No credential reaches the process: it gets what Python needs to start, and the way to this package."""
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    root = str(Path(__file__).parents[3])
    return kept | {"PYTHONPATH": os.pathsep.join(filter(None, (root, kept.get("PYTHONPATH"))))}


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # noqa: S101  both are pipes: see _started
    return stream


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process, reap it and close its pipes; also called for a worker that was not closed."""
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            # What is still buffered has no reader any more.
            with suppress(OSError):
                stream.close()
