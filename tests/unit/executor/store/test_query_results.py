"""Stored results: names, drafts, and the space that they may take."""

from pathlib import Path

from runax_cli.executor.store.dataset import DatasetStore
from runax_cli.executor.store.query_results import ResultStore


def store_result(results: ResultStore, data: bytes = b"data") -> Path:
    with results.draft() as draft:
        assert draft.path is not None
        draft.path.write_bytes(data)
        return results.keep(draft.path, results.next_ref())


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*.parquet"))


def test_results_are_named_in_order_and_drafts_that_were_not_kept_are_removed(tmp_path: Path) -> None:
    results = ResultStore(tmp_path, max_bytes=100)
    with results.draft() as failed:
        assert failed.path is not None
        failed.path.write_bytes(b"part")
    assert [store_result(results).name for _ in range(2)] == ["q1.parquet", "q2.parquet"]
    assert files_in(tmp_path) == ["q1.parquet", "q2.parquet"]


def test_sessions_that_share_a_folder_do_not_write_over_each_other(tmp_path: Path) -> None:
    datasets = DatasetStore(tmp_path)
    one, other = (store_result(datasets.results(max_bytes=100), data) for data in (b"one", b"other"))
    assert (one.name, other.name) == ("q1.parquet", "q1.parquet")
    assert (one.read_bytes(), other.read_bytes()) == (b"one", b"other")
    assert datasets.create("query results").name == "query_results_1"


def test_names_that_a_conversation_uses_are_not_given_again(tmp_path: Path) -> None:
    datasets = DatasetStore(tmp_path)
    results = datasets.results(max_bytes=100)
    datasets.reserve_names(["q1", "q2", "tickets_1"])
    assert [results.next_ref(), results.next_ref()] == ["q3", "q4"]


def test_space_that_is_used_up_is_told(tmp_path: Path) -> None:
    results = ResultStore(tmp_path, max_bytes=10)
    store_result(results, b"12345678")
    assert results.bytes_left == 2
    store_result(results, b"12345678")
    with results.draft() as draft:
        assert (draft.path, "STATE_MAX_GB" in draft.note) == (None, True)


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with ResultStore(blocked, max_bytes=10).draft() as draft:
        assert draft.path is None
        assert "cannot be written" in draft.note


def test_closing_removes_what_a_cancelled_statement_left_behind(tmp_path: Path) -> None:
    results = ResultStore(tmp_path, max_bytes=100)
    kept = store_result(results)
    (kept.parent / "draft-9.parquet").write_bytes(b"part")
    results.close()
    assert files_in(tmp_path) == ["q1.parquet"]
