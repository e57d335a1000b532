import json
import logging
import resource
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from runax_cli.core import event_types as ev
from runax_cli.core.events import CollectingSink, Event, Stamp
from runax_cli.core.results import RunResult
from runax_cli.telemetry.recorder import FanOutSink, Recorder, open_files
from runax_cli.telemetry.redaction import MASK, Redactor

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
SECRET = "s3cret-value"


def event(body: ev.AnyEvent, *, run_id: str = "7f3a", seq: int = 1) -> Event:
    return Event(seq, NOON, Stamp(run_id=run_id, session_id="s", span_id="x"), body)


def finished(run_id: str) -> ev.RunFinished:
    return ev.RunFinished(
        result=RunResult(run_id=run_id, session_id="s", status="complete", exit_code=0, question="q", answer="a")
    )


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def record(tmp_path: Path, warnings: list[str]) -> Callable[..., Recorder]:
    def make(folder: Path = tmp_path / "logs") -> Recorder:
        return Recorder(
            folder,
            line_of=lambda event: None if event.body.type == "resumed" else str(event.body),
            redactor=Redactor([SECRET]),
            on_failure=warnings.append,
            now=lambda: NOON,
        )

    return make


def test_a_run_leaves_a_log_and_its_events(record, tmp_path: Path) -> None:
    recorder = record()
    recorder.emit(event(ev.Warned(code="x", text="Baláž")))
    recorder.emit(event(ev.Resumed(text="no line"), seq=2))
    recorder.emit(event(finished("7f3a"), seq=3))
    log, events = sorted((tmp_path / "logs").iterdir(), reverse=True)
    assert log.name == "debug_20261121T120000Z_7f3a.log"
    assert events.name == "debug_20261121T120000Z_7f3a.events.jsonl"
    assert log.read_text().splitlines()[0] == "12:00:00.000 type='warned' code='x' text='Baláž'"
    assert len(log.read_text().splitlines()) == 3
    assert [json.loads(line)["seq"] for line in events.read_text().splitlines()] == [1, 2, 3]


def test_the_last_line_of_a_log_has_the_figures_of_its_run(record, tmp_path: Path) -> None:
    recorder = record()
    for run_id in ("a", "b"):
        recorder.emit(event(ev.RetryScheduled(what="GET /", attempt=2, wait_s=0.5, why="503"), run_id=run_id))
        recorder.emit(event(finished(run_id), run_id=run_id))
    for log in (tmp_path / "logs").glob("*.log"):
        figures = json.loads(log.read_text().splitlines()[-1].partition("METRICS: ")[2])
        assert (figures["retries"], figures["waited_s"], figures["by_type"]["run.finished"]) == (1, 0.5, 1)


def test_only_the_owner_may_read_the_files(record, tmp_path: Path) -> None:
    record().emit(event(ev.Resumed(text="x")))
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "logs").iterdir()} == {0o600}


def test_what_is_written_is_there_before_the_run_ends(record) -> None:
    recorder = record()
    recorder.emit(event(ev.Resumed(text="x")))
    assert Path(recorder.trace_path("7f3a") or "").read_text().count("\n") == 1


def test_two_runs_in_one_second_do_not_collide(record, tmp_path: Path) -> None:
    first, second = record(), record()
    paths = {first.trace_path("a"), first.trace_path("b"), second.trace_path("a"), second.trace_path("b")}
    assert len(paths) == 4
    assert len(list((tmp_path / "logs").iterdir())) == 8


def test_the_trace_is_named_after_the_run_too_and_nothing_follows_its_end(record) -> None:
    recorder = record()
    path = recorder.trace_path("7f3a")
    recorder.emit(event(finished("7f3a")))
    recorder.emit(event(ev.Resumed(text="late")))
    assert recorder.trace_path("7f3a") == path
    assert "late" not in Path(path or "").read_text()


def test_no_secret_reaches_the_disk(record, tmp_path: Path) -> None:
    recorder = record()
    arguments = {"q": f"a {SECRET} b", "password": "hunter2", SECRET: 1}
    recorder.emit(event(ev.ToolSelected(tool="t", arguments=arguments)))
    recorder.emit(event(ev.SourceRequested(source="s", location="GET http://h/?api_key=hunter2")))
    written = "".join(path.read_text() for path in (tmp_path / "logs").iterdir())
    assert SECRET not in written
    assert '"password":"***"' in written
    assert f"api_key={MASK}" in written


def test_a_lone_surrogate_is_written(record) -> None:
    recorder = record()
    recorder.emit(event(ev.Warned(code="x", text="half \ud83d")))
    recorder.emit(event(ev.Resumed(text="next"), seq=2))
    lines = Path(recorder.trace_path("7f3a") or "").read_text().splitlines()
    assert [json.loads(line)["seq"] for line in lines] == [1, 2]


def test_an_unwritable_folder_causes_one_warning(record, tmp_path: Path, warnings: list[str]) -> None:
    (tmp_path / "file").touch()
    recorder = record(tmp_path / "file" / "logs")
    for _ in range(3):
        recorder.emit(event(ev.Resumed(text="x")))
    assert recorder.trace_path("7f3a") is None
    assert len(warnings) == 1
    assert "the run continues without a log" in warnings[0]


def test_a_full_disk_causes_one_warning(record, warnings: list[str]) -> None:
    recorder = record()
    recorder.emit(event(ev.Resumed(text="x")))
    # A limit on file size simulates a full disk: both make a write fail in the middle of a run.
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400, hard))
    try:
        for _ in range(5):
            recorder.emit(event(ev.Warned(code="x", text="y" * 300)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert len(warnings) == 1


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_no_descriptor_stays_open_after_the_run(record) -> None:
    recorder, before = record(), open_descriptors()
    recorder.emit(event(ev.Resumed(text="x")))
    recorder.emit(event(finished("7f3a")))
    assert open_descriptors() == before


def test_a_run_id_cannot_escape_the_folder(tmp_path: Path) -> None:
    files = open_files(tmp_path, "../../etc/passwd", at=NOON)
    files.close()
    assert files.events_path.parent == tmp_path


def test_a_link_in_the_place_of_a_log_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "debug_20261121T120000Z_7f3a.log").symlink_to(tmp_path / "victim")
    open_files(tmp_path, "7f3a", at=NOON).close()
    assert not (tmp_path / "victim").exists()


class Broken:
    """A sink that always fails."""

    def emit(self, event: Event) -> None:
        raise RuntimeError("no")


def test_every_sink_receives_every_event_in_order() -> None:
    first, second = CollectingSink(), CollectingSink()
    sink = FanOutSink([first, second])
    events = [event(ev.Resumed(text="x"), seq=1), event(ev.Resumed(text="x"), seq=2)]
    for each in events:
        sink.emit(each)
    assert first.events == second.events == events


def test_a_failing_sink_is_reported_once_and_does_not_affect_the_others(caplog: pytest.LogCaptureFixture) -> None:
    kept = CollectingSink()
    sink = FanOutSink([Broken(), kept])
    with caplog.at_level(logging.ERROR):
        sink.emit(event(ev.Resumed(text="x"), seq=1))
        sink.emit(event(ev.Resumed(text="x"), seq=2))
    assert len(kept.events) == 2
    assert [record.getMessage() for record in caplog.records] == ["the event sink 'Broken' failed on 'resumed'"]
