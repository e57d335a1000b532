"""The journal keeps runs and units of work, on disk, private, and notices damage."""

import sqlite3
import stat
import threading
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


def test_a_run_comes_back_after_the_file_was_closed(path: Path) -> None:
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


def test_a_prefix_that_fits_several_runs_is_refused_and_names_them() -> None:
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


def test_a_unit_is_found_only_when_it_is_done() -> None:
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


def test_a_unit_that_begins_again_keeps_its_old_result_until_it_is_replaced() -> None:
    journal = MemoryJournal()
    journal.start_entry("k", EntryKind.PAGE, "r1")
    journal.finish_entry("k", b"one")
    journal.start_entry("k", EntryKind.PAGE, "r2")
    assert journal.get("k") == b"one"

    journal.finish_entry("k", b"two")

    assert journal.get("k") == b"two"


def test_a_unit_that_never_started_cannot_be_done() -> None:
    with pytest.raises(ValueError, match="'k'"):
        MemoryJournal().finish_entry("k", b"x")


def test_a_damaged_payload_is_as_good_as_none(path: Path) -> None:
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


def test_a_journal_of_another_version_is_refused_by_name(path: Path) -> None:
    Journal.open(path).close()
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA user_version=99")
    other.close()

    with pytest.raises(StoreError, match="version 99") as caught:
        Journal.open(path)
    assert caught.value.path == str(path)


def test_a_file_that_is_no_journal_is_refused(path: Path) -> None:
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
    with pytest.raises(StoreError, match="cannot be used"):
        Journal.open(tmp_path / "file" / "journal.sqlite")


def test_two_journals_of_one_file_see_each_other(path: Path) -> None:
    one, two = Journal.open(path), Journal.open(path)
    one.start_entry("k", EntryKind.PAGE, "r1")
    two.finish_entry("k", b"x")
    assert one.get("k") == b"x"


def test_threads_may_share_a_journal(path: Path) -> None:
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


def test_spend_is_written_and_an_unknown_price_stays_unknown() -> None:
    journal = MemoryJournal()
    journal.record_spend("r1", Role.REDUCER, model="m", usage=Usage(input_tokens=5, output_tokens=2), cost_usd=None)
    rows = journal._connection.execute("SELECT run_id, role, model, input_tokens, output_tokens, cost_usd FROM spend")
    assert rows.fetchall() == [("r1", "reducer", "m", 5, 2, None)]
