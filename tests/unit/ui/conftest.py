"""Environments with and without a terminal, and the events of a run, for tests of the views."""

import io
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from runax_cli.core import event_types as ev
from runax_cli.core.events import Event, Stamp
from runax_cli.core.results import Coverage, Reason, ReasonCode, RunResult, RunStatus, TotalIs
from runax_cli.ui.console import ColorChoice, Environment

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


@dataclass
class World:
    """An environment whose streams are kept in memory."""

    folder: Path
    out: io.StringIO = field(default_factory=io.StringIO)
    err: io.StringIO = field(default_factory=io.StringIO)

    def environment(
        self,
        *,
        is_stdout_terminal: bool = False,
        is_stderr_terminal: bool = False,
        color: ColorChoice = ColorChoice.AUTO,
        width: int | None = 80,
        **variables: str,
    ) -> Environment:
        return Environment(
            stdin=io.StringIO(),
            stdout=self.out,
            stderr=self.err,
            is_stdin_terminal=False,
            is_stdout_terminal=is_stdout_terminal,
            is_stderr_terminal=is_stderr_terminal,
            variables={"TERM": "xterm-256color", **variables},
            state_folder=self.folder / "state",
            color=color,
            width=width,
            height=24,
        )


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def event_of() -> Callable[..., Event]:
    """Makes an event of a body."""

    def make(body: ev.AnyEvent, *, seq: int = 1, role: str | None = None, call_id: str | None = None) -> Event:
        stamp = Stamp(run_id="7f3a", session_id="s1", span_id="a1", role=role, call_id=call_id)
        return Event(seq, NOON + timedelta(seconds=seq), stamp, body)

    return make


@pytest.fixture
def result_of() -> Callable[..., RunResult]:
    """Makes a result with given fields."""

    def make(**fields: object) -> RunResult:
        base = {
            "run_id": "7f3a",
            "session_id": "s1",
            "status": RunStatus.COMPLETE,
            "exit_code": 0,
            "question": "How many?",
            "answer": "Two.",
        }
        return RunResult.model_validate(base | fields)

    return make


@pytest.fixture
def incomplete() -> Coverage:
    return Coverage(
        records_read=244,
        records_total=261,
        total_is=TotalIs.EXACT,
        pages_read=15,
        pages_failed=1,
        is_complete=False,
        reasons=(Reason(code=ReasonCode.PAGE_FAILED, text="page 5 (offset=68): 503"),),
    )
