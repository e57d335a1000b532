"""The journal keeps runs and units of work, on disk, private, and notices damage."""

import sqlite3
import stat
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from runax_cli.core.errors import StoreError, UsageError
from runax_cli.core.results import RunResult, RunStatus
from runax_cli.memory.journal import EntryKind, Journal, MemoryJournal
from runax_cli.models.base import Role, Usage

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def begin(journal: Journal, run_id: str, *, at: datetime = NOON) -> None:
    journal.begin_run(run_id, "s1", question="how many?", settings={"LLM_NAME": "rules"}, started_at=at)


def result_of(run_id: str) -> RunResult:
    return RunResult(
        run_id=run_id, session_id="s1", status=RunStatus.INCOMPLETE, exit_code=7, question="how many?", answer="Čtyři."
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.sqlite"


def test_a_run_is_read_back_after_the_file_was_closed(path: Path) -> None:
    journal = Journal.open(path)
    begin(journal, "7f3a01")
    journal.finish_run(result_of("7f3a01"))
    journal.close()

    stored = Journal.open(path).find_run("7f3a")

    assert stored is not None
    assert stored.result == result_of("7f3a01")
    assert (stored.status, stored.exit_code, stored.started_at) == (RunStatus.INCOMPLETE, 7, NOON)
    assert stored.settings == {"LLM_NAME": "rules"}
    assert stored.finished_at is not None


def test_a_run_whose_process_died_has_no_end() -> None:
    journal = MemoryJournal()
    begin(journal, "a1")

    stored = journal.find_run("a1")

    assert stored is not None
    assert (stored.finished_at, stored.status, stored.result) == (None, None, None)


def test_runs_are_listed_newest_first_and_up_to_the_limit() -> None:
    journal = MemoryJournal()
    for hour, run_id in enumerate(("a", "b", "c")):
        begin(journal, run_id, at=NOON + timedelta(hours=hour))

    assert [run.run_id for run in journal.latest_runs(2)] == ["c", "b"]


def test_an_ambiguous_run_id_prefix_is_an_error_that_names_the_runs() -> None:
    journal = MemoryJournal()
    begin(journal, "ab1")
    begin(journal, "ab2")

    with pytest.raises(UsageError, match=r"'ab'.*'ab"):
        journal.find_run("ab")
    assert journal.find_run("zz") is None


def test_a_run_id_that_is_also_a_prefix_of_another_is_found() -> None:
    journal = MemoryJournal()
    begin(journal, "ab")
    begin(journal, "ab2")

    found = journal.find_run("ab")

    assert found is not None
    assert found.run_id == "ab"


def test_percent_signs_in_a_prefix_are_no_wildcards() -> None:
    journal = MemoryJournal()
    begin(journal, "ab1")
    assert journal.find_run("%") is None


def test_an_entry_is_found_only_when_it_is_finished() -> None:
    journal = MemoryJournal()
    journal.start_entry("k", EntryKind.PAGE, "r1", reserved_tokens=10)
    assert journal.get("k") is None

    journal.finish_entry("k", b"payload")

    assert journal.get("k") == b"payload"
    assert journal.get("other") is None


def test_an_empty_payload_is_a_result() -> None:
    journal = MemoryJournal()
    journal.start_entry("k", EntryKind.REDUCTION, "r1")
    journal.finish_entry("k", b"")
    assert journal.get("k") == b""


def test_a_restarted_entry_keeps_its_old_result_until_it_is_replaced() -> None:
    journal = MemoryJournal()
    journal.start_entry("k", EntryKind.PAGE, "r1")
    journal.finish_entry("k", b"one")
    journal.start_entry("k", EntryKind.PAGE, "r2")
    assert journal.get("k") == b"one"

    journal.finish_entry("k", b"two")

    assert journal.get("k") == b"two"


def test_an_entry_that_was_not_started_cannot_be_finished() -> None:
    with pytest.raises(ValueError, match="'k'"):
        MemoryJournal().finish_entry("k", b"x")


def test_a_damaged_payload_is_not_returned(path: Path) -> None:
    journal = Journal.open(path)
    journal.start_entry("k", EntryKind.PAGE, "r1")
    journal.finish_entry("k", b"payload")
    with sqlite3.connect(path) as other:
        other.execute("UPDATE units SET payload = ?", (b"pay1oad",))
    other.close()

    assert journal.get("k") is None


def test_nobody_else_may_read_the_journal(path: Path) -> None:
    journal = Journal.open(path)
    begin(journal, "a1")

    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}

    assert set(modes.values()) == {0o600}, modes
    assert len(modes) > 1, "the WAL file is there too"
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_writes_are_synchronous_and_in_wal_mode(path: Path) -> None:
    connection = Journal.open(path)._connection
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_journal_of_another_version_is_rejected(path: Path) -> None:
    Journal.open(path).close()
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA user_version=99")
    other.close()

    with pytest.raises(StoreError, match="version 99") as caught:
        Journal.open(path)
    assert caught.value.path == str(path)


def test_a_file_that_is_not_a_journal_is_rejected(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is not a database, but long enough to be taken for one" * 100)
    with pytest.raises(StoreError, match="journal"):
        Journal.open(path)


def test_a_full_disk_is_a_store_error(path: Path) -> None:
    journal = Journal.open(path)
    (pages,) = journal._connection.execute("PRAGMA page_count").fetchone()
    journal._connection.execute(f"PRAGMA max_page_count={pages}")
    journal.start_entry("k", EntryKind.PAGE, "r1")

    with pytest.raises(StoreError, match="full"):
        journal.finish_entry("k", b"x" * 1_000_000)
    assert journal.get("k") is None


def test_a_folder_that_cannot_be_made_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="cannot read or write the journal"):
        Journal.open(tmp_path / "file" / "journal.sqlite")


def test_two_journals_of_one_file_see_each_other(path: Path) -> None:
    one, two = Journal.open(path), Journal.open(path)
    one.start_entry("k", EntryKind.PAGE, "r1")
    two.finish_entry("k", b"x")
    assert one.get("k") == b"x"


def test_threads_can_share_a_journal(path: Path) -> None:
    journal = Journal.open(path)

    def work(n: int) -> None:
        for i in range(20):
            journal.start_entry(f"{n}/{i}", EntryKind.REDUCTION, "r1")
            journal.finish_entry(f"{n}/{i}", b"%d" % i)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [journal.get(f"3/{i}") for i in range(20)] == [b"%d" % i for i in range(20)]


def test_spend_is_recorded_and_an_unknown_price_stays_unknown() -> None:
    journal = MemoryJournal()
    journal.record_spend("r1", Role.REDUCER, model="m", usage=Usage(input_tokens=5, output_tokens=2), cost_usd=None)
    rows = journal._connection.execute("SELECT run_id, role, model, input_tokens, output_tokens, cost_usd FROM spend")
    assert rows.fetchall() == [("r1", "reducer", "m", 5, 2, None)]


HOUR_S = 3600.0


def age(path: Path, key: str, by: timedelta) -> None:
    """Make a unit look as if it was done at another time."""
    at = (datetime.now(UTC) - by).isoformat()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE units SET started_at=?, done_at=? WHERE key=?", (at, at, key))
        connection.commit()


def test_starting_an_entry_does_not_make_an_old_result_the_runs_own(path: Path) -> None:
    journal = Journal.open(path)
    journal.store_entries(EntryKind.PAGE, "first", {"k": b"old"})
    age(path, "k", timedelta(days=3))
    assert journal.get("k", run_id="second", max_age_s=HOUR_S) is None

    journal.start_entry("k", EntryKind.PAGE, "second")

    assert journal.get("k", run_id="second", max_age_s=HOUR_S) is None
    assert len(journal.unfinished_entries("second")) == 1


def test_a_discarded_entry_keeps_the_older_result_without_an_owner(path: Path) -> None:
    journal = Journal.open(path)
    journal.store_entries(EntryKind.PAGE, "first", {"k": b"old"})
    age(path, "k", timedelta(days=3))
    journal.start_entry("k", EntryKind.PAGE, "second")

    journal.discard_entry("k", "second")

    assert journal.unfinished_entries("second") == ()
    assert journal.get("k", run_id="second", max_age_s=HOUR_S) is None
    assert journal.get("k") == b"old"


def test_a_run_finds_the_entry_that_it_stored_whatever_its_age(path: Path) -> None:
    journal = Journal.open(path)
    journal.store_entries(EntryKind.PAGE, "first", {"k": b"old"})
    journal.start_entry("k", EntryKind.PAGE, "second")
    journal.store_entries(EntryKind.PAGE, "second", {"k": b"new"})

    assert journal.get("k", run_id="second", max_age_s=0.0) == b"new"
    assert journal.get("k", run_id="third", max_age_s=0.0) is None


def test_discarding_an_entry_does_not_affect_another_run_that_waits_for_it() -> None:
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


def test_a_clock_set_back_between_start_and_finish_loses_no_result(path: Path) -> None:
    journal = Journal.open(path)
    journal.start_entry("k", EntryKind.STEP, "first")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE units SET started_at='2099-01-01T00:00:00+00:00'")
        connection.commit()

    journal.finish_entry("k", b"reply")

    assert journal.get("k", run_id="first") == b"reply"
    assert journal.unfinished_entries("first") == ()


def test_a_journal_with_another_schema_is_rejected_and_unchanged(path: Path) -> None:
    Journal.open(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version=7")

    with pytest.raises(StoreError, match=r"schema version 7.*move the file away"):
        Journal.open(path)

    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (7,)


SECRET = 'sk-canary-"7f3a9b"'


def test_a_secret_that_a_model_or_a_source_echoes_is_masked_in_every_table(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path / "journal.sqlite", secrets=[SECRET])
    journal.begin_run("r1", "s1", question=f"why {SECRET}?", settings={"k": SECRET}, started_at=datetime.now(UTC))
    journal.start_entry("unit", EntryKind.STEP, "r1")
    journal.finish_entry("unit", f"the key is {SECRET}".encode())
    journal.store_entries(EntryKind.LABEL, "r1", {"label": SECRET.encode()})
    answer = f"the key is {SECRET}"
    journal.finish_run(
        RunResult(run_id="r1", session_id="s1", status=RunStatus.COMPLETE, exit_code=0, question="q", answer=answer)
    )
    assert journal.get("unit") == b"the key is ***"
    stored = journal.find_run("r1")
    assert stored is not None
    assert stored.result is not None
    assert stored.result.answer == "the key is ***"
    journal.close()
    assert not any(b"canary" in path.read_bytes() for path in tmp_path.glob("journal*"))


def test_a_value_too_short_to_be_a_secret_is_not_masked(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path / "journal.sqlite", secrets=["x", ""])
    journal.start_entry("unit", EntryKind.STEP, "r1")
    journal.finish_entry("unit", b"an example")
    assert journal.get("unit") == b"an example"
    journal.close()
