"""No secret is stored, whoever echoed it."""

from datetime import UTC, datetime
from pathlib import Path

from runax_cli.core.results import RunResult, RunStatus
from runax_cli.memory.journal import EntryKind, Journal

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


def test_what_is_too_short_to_be_a_secret_masks_no_words(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path / "journal.sqlite", secrets=["x", ""])
    journal.start_entry("unit", EntryKind.STEP, "r1")
    journal.finish_entry("unit", b"an example")
    assert journal.get("unit") == b"an example"
    journal.close()
