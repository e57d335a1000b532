"""Runs that share a journal do not disturb each other, and no run takes another one's old result for its own."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from runax_cli.core.errors import StoreError
from runax_cli.memory.journal import EntryKind, Journal, MemoryJournal

HOUR_S = 3600.0


def age(path: Path, key: str, by: timedelta) -> None:
    """Make a unit look as if it was done at another time."""
    at = (datetime.now(UTC) - by).isoformat()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE units SET started_at=?, done_at=? WHERE key=?", (at, at, key))
        connection.commit()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


def test_an_old_result_does_not_become_a_runs_own_because_it_began_the_same_unit(path: Path) -> None:
    journal = Journal.open(path)
    journal.store_entries(EntryKind.PAGE, "first", {"k": b"old"})
    age(path, "k", timedelta(days=3))
    assert journal.get("k", run_id="second", max_age_s=HOUR_S) is None

    journal.start_entry("k", EntryKind.PAGE, "second")

    assert journal.get("k", run_id="second", max_age_s=HOUR_S) is None
    assert len(journal.unfinished_entries("second")) == 1


def test_a_unit_that_failed_leaves_the_older_result_to_nobody_in_particular(path: Path) -> None:
    journal = Journal.open(path)
    journal.store_entries(EntryKind.PAGE, "first", {"k": b"old"})
    age(path, "k", timedelta(days=3))
    journal.start_entry("k", EntryKind.PAGE, "second")

    journal.discard_entry("k", "second")

    assert journal.unfinished_entries("second") == ()
    assert journal.get("k", run_id="second", max_age_s=HOUR_S) is None
    assert journal.get("k") == b"old"


def test_a_run_that_stores_a_unit_anew_finds_it_whatever_its_age(path: Path) -> None:
    journal = Journal.open(path)
    journal.store_entries(EntryKind.PAGE, "first", {"k": b"old"})
    journal.start_entry("k", EntryKind.PAGE, "second")
    journal.store_entries(EntryKind.PAGE, "second", {"k": b"new"})

    assert journal.get("k", run_id="second", max_age_s=0.0) == b"new"
    assert journal.get("k", run_id="third", max_age_s=0.0) is None


def test_a_run_whose_request_fails_does_not_take_the_unit_from_another_that_waits_for_it() -> None:
    journal = MemoryJournal()
    journal.start_entry("k", EntryKind.REDUCTION, "first")
    journal.start_entry("k", EntryKind.REDUCTION, "second")

    journal.discard_entry("k", "first")
    assert len(journal.unfinished_entries("second")) == 1

    journal.discard_entry("k", "second")
    journal.store_entries(EntryKind.REDUCTION, "first", {"k": b"found"})
    assert journal.get("k") == b"found"


def test_a_result_from_the_future_counts_for_its_own_run_alone(path: Path) -> None:
    journal = Journal.open(path)
    journal.store_entries(EntryKind.PAGE, "first", {"k": b"ahead"})
    age(path, "k", -timedelta(days=30))

    assert journal.get("k", run_id="second", max_age_s=HOUR_S) is None
    assert journal.get("k", run_id="first", max_age_s=HOUR_S) == b"ahead"


def test_a_clock_that_is_put_back_between_begin_and_end_costs_the_run_nothing(path: Path) -> None:
    journal = Journal.open(path)
    journal.start_entry("k", EntryKind.STEP, "first")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE units SET started_at='2099-01-01T00:00:00+00:00'")
        connection.commit()

    journal.finish_entry("k", b"reply")

    assert journal.get("k", run_id="first") == b"reply"
    assert journal.unfinished_entries("first") == ()


def test_a_journal_of_another_form_is_refused_and_stays_as_it_is(path: Path) -> None:
    Journal.open(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version=7")

    with pytest.raises(StoreError, match=r"schema version 7.*move the file away"):
        Journal.open(path)

    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (7,)
