"""Log files of runs: `debug_<time>_<run>.log` for people and `….events.jsonl` for programs.

If the disk is full or read-only, the run continues without its files after one warning.
"""

import json
import logging
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from runax_cli.core.event_types import AnswerDelta, RunFinished
from runax_cli.core.events import Event, EventSink
from runax_cli.telemetry.metrics import MetricsSink
from runax_cli.telemetry.redaction import Redactor

LineOf: TypeAlias = Callable[[Event], str | None]
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
_ATTEMPTS = 100


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The open files of one run."""

    log: int
    events: int
    events_path: Path

    def close(self) -> None:
        """Close both files."""
        for descriptor in (self.log, self.events):
            # An error of the disk was reported at writing.
            with suppress(OSError):
                os.close(descriptor)


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Recorder:
    """Writes every event of every run to the two files of that run (mode 0600), unbuffered, with secrets masked.

    `line_of` formats an event for the log, or returns None to leave it out. The last line of the log has the metrics of
    the run. `on_failure` is called once with the reason if nothing can be written any more.
    """

    def __init__(
        self,
        folder: Path,
        *,
        line_of: LineOf,
        redactor: Redactor,
        on_failure: Callable[[str], None],
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        self._folder, self._line_of, self._redactor = folder, line_of, redactor
        self._on_failure, self._now = on_failure, now
        self._open: dict[str, RunFiles] = {}
        self._paths: dict[str, str] = {}
        self._is_failed = False
        self._metrics = MetricsSink()

    def trace_path(self, run_id: str) -> str | None:
        """The path of the events file of a run, which is opened if necessary; None if nothing can be written."""
        if run_id not in self._paths:
            self._files(run_id)
        return self._paths.get(run_id)

    def emit(self, event: Event) -> None:
        """Write one event. The files of a run are closed after `run.finished`."""
        run_id = event.stamp.run_id
        files = self._files(run_id)
        if files is None:
            return
        try:
            self._write(files, event)
        except OSError as error:
            self._give_up(error)
        if isinstance(event.body, RunFinished):
            self._close(run_id)
            self._metrics.forget(run_id)

    def close(self) -> None:
        """Close every file."""
        for run_id in tuple(self._open):
            self._close(run_id)

    def _write(self, files: RunFiles, event: Event) -> None:
        stored = self._redactor.value(event.as_json())
        _write_all(files.events, json.dumps(stored, separators=(",", ":"), default=str) + "\n")
        line = None if isinstance(event.body, AnswerDelta) else self._line_of(event)
        clock = event.ts.strftime("%H:%M:%S.%f")[:-3]
        if line is not None:
            _write_all(files.log, f"{clock} {self._redactor.text(line)}\n")
        self._metrics.emit(event)
        if isinstance(event.body, RunFinished):
            figures = json.dumps(asdict(self._metrics.of(event.stamp.run_id)), separators=(",", ":"))
            _write_all(files.log, f"{clock} [agent] METRICS: {figures}\n")

    def _files(self, run_id: str) -> RunFiles | None:
        """The open files of a run; None if nothing can be written or the run is finished."""
        if not self._is_failed and run_id not in self._paths:
            try:
                files = open_files(self._folder, run_id, at=self._now())
            except OSError as error:
                self._give_up(error)
                return None
            self._open[run_id], self._paths[run_id] = files, str(files.events_path)
        return self._open.get(run_id)

    def _close(self, run_id: str) -> None:
        files = self._open.pop(run_id, None)
        if files is not None:
            files.close()

    def _give_up(self, error: OSError) -> None:
        self._is_failed = True
        self.close()
        why = error.strerror or str(error)
        self._on_failure(f"cannot write the log in '{self._folder}': {why}; the run continues without a log")


def open_files(folder: Path, run_id: str, *, at: datetime) -> RunFiles:
    """Create the files of a run; a number is appended to a name that exists. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"debug_{at.astimezone(UTC):%Y%m%dT%H%M%SZ}_{re.sub(r'[^A-Za-z0-9-]', '', run_id)[:40]}"
    for number in range(1, _ATTEMPTS + 1):
        name = stem if number == 1 else f"{stem}-{number}"
        events_path = folder / f"{name}.events.jsonl"
        try:
            log = os.open(folder / f"{name}.log", _FLAGS, 0o600)
        except FileExistsError:
            continue
        try:
            return RunFiles(log, os.open(events_path, _FLAGS, 0o600), events_path.absolute())
        except OSError:
            os.close(log)
            raise
    raise FileExistsError(f"'{stem}' and {_ATTEMPTS} further names exist already")


def _write_all(descriptor: int, text: str) -> None:
    rest = memoryview(text.encode("utf-8", "backslashreplace"))
    while rest:
        rest = rest[os.write(descriptor, rest) :]


_log = logging.getLogger(__name__)


class FanOutSink:
    """Passes each event to several sinks, in order.

    A sink must not raise; the first error of one that does is logged, and it still receives later events.
    """

    def __init__(self, sinks: Sequence[EventSink]) -> None:
        self._sinks = tuple(sinks)
        self._reported: set[int] = set()

    def emit(self, event: Event) -> None:
        """Pass one event to every sink."""
        for position, sink in enumerate(self._sinks):
            try:
                sink.emit(event)
            except Exception:
                if position not in self._reported:
                    self._reported.add(position)
                    _log.exception("the event sink '%s' failed on '%s'", type(sink).__name__, event.body.type)
