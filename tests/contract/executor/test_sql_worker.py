"""Model-written SQL runs in a process that can be killed, under limits that hold."""

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from runax_cli.executor.sql.engine import QueryFailed, SqlEngine
from runax_cli.executor.sql.frames import Definition
from runax_cli.executor.sql.stored_result import StoreRequest
from runax_cli.executor.sql.worker import SqlWorker, WorkerLimits

MakeWorker = Callable[..., SqlWorker]
ENDLESS = "SELECT max(levenshtein(repeat(title, 200000), repeat(title, 199999))) FROM orders_1"
"""It asks for no interrupt while it runs: DuckDB alone cannot end it."""


@pytest.fixture
def make_worker(tmp_path: Path) -> Iterator[MakeWorker]:
    made: list[SqlWorker] = []
    path = tmp_path / "orders_1.parquet"
    lines = tmp_path / "records.ndjson"
    lines.write_text("\n".join(json.dumps({"id": n, "title": f"order {n}"}) for n in range(1, 51)))
    with duckdb.connect() as connection:
        connection.execute(f"COPY (FROM read_json('{lines}')) TO '{path}' (FORMAT parquet)")
    engine = SqlEngine(tmp_path)
    table = engine.add_table("orders_1", path)
    engine.close()

    def make(**limits: float) -> SqlWorker:
        worker = SqlWorker(tmp_path, WorkerLimits(**limits))  # type: ignore[arg-type]
        worker.define(Definition({"orders_1": table}))
        made.append(worker)
        return worker

    yield make
    for worker in made:
        worker.close()


def test_a_select_gives_what_the_engine_gives(make_worker: MakeWorker) -> None:
    found = make_worker().select("SELECT count(*) AS n, sum(id) AS total FROM orders_1")
    assert (found.columns, found.rows, found.n_rows, found.tables) == (("n", "total"), ((50, 1275),), 1, ("orders_1",))


def test_all_rows_are_counted_and_the_first_are_kept(make_worker: MakeWorker) -> None:
    found = make_worker().select("SELECT row, id FROM orders_1 ORDER BY row", max_rows=3)
    assert (found.rows, found.n_rows) == (((1, 1), (2, 2), (3, 3)), 50)


@pytest.mark.parametrize(
    "sql", ["DROP VIEW orders_1", "SELECT nothing FROM orders_1", "SELECT 1; SELECT 2", "SET threads=8"]
)
def test_a_refused_statement_leaves_the_worker_running(make_worker: MakeWorker, sql: str) -> None:
    worker = make_worker()
    with pytest.raises(QueryFailed):
        worker.select(sql)
    assert worker.select("SELECT count(*) FROM orders_1").rows == ((50,),)


def test_files_outside_the_folder_stay_out_of_reach(make_worker: MakeWorker) -> None:
    with pytest.raises(QueryFailed, match="disabled"):
        make_worker().select("SELECT * FROM read_text('/etc/hostname')")


def test_a_statement_that_ignores_its_time_limit_is_killed_and_the_next_one_runs(make_worker: MakeWorker) -> None:
    worker = make_worker(time_limit_s=0.2)
    began = time.monotonic()
    with pytest.raises(QueryFailed, match=r"timed out after 0\.2 s"):
        worker.select(ENDLESS)
    assert time.monotonic() - began < 30
    assert worker.select("SELECT count(*) FROM orders_1").rows == ((50,),)


def test_an_interrupt_ends_a_statement_at_once(make_worker: MakeWorker) -> None:
    worker = make_worker(time_limit_s=600.0)
    worker.select("SELECT 1 FROM orders_1")
    failures: list[str] = []

    def run() -> None:
        with pytest.raises(QueryFailed) as failure:
            worker.select(ENDLESS)
        failures.append(str(failure.value))

    thread = threading.Thread(target=run)
    thread.start()
    while thread.is_alive():
        worker.interrupt()
        thread.join(0.05)
    assert failures == ["the statement was stopped."]
    assert worker.select("SELECT count(*) FROM orders_1").rows == ((50,),)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of address space for a process")
def test_a_statement_that_takes_all_memory_fails_and_the_next_one_runs(make_worker: MakeWorker) -> None:
    worker = make_worker(address_space_bytes=2**30)
    with pytest.raises(QueryFailed, match=r"(?i)memory"):
        worker.select("SELECT length(array_to_string(range(100000000), ',')) FROM orders_1 LIMIT 1")
    assert worker.select("SELECT count(*) FROM orders_1").rows == ((50,),)


def test_a_result_that_is_too_large_is_refused_with_its_limit(make_worker: MakeWorker) -> None:
    worker = make_worker(result_bytes=2**20)
    with pytest.raises(QueryFailed, match="larger than 1 MiB"):
        worker.select("SELECT repeat(title, 10000) FROM orders_1")
    assert worker.select("SELECT count(*) FROM orders_1").rows == ((50,),)


def test_a_process_that_was_killed_from_outside_is_replaced(make_worker: MakeWorker) -> None:
    worker = make_worker()
    worker.select("SELECT 1 FROM orders_1")
    process = worker._process
    assert process is not None
    process.kill()
    process.wait()
    assert worker.select("SELECT count(*) FROM orders_1").rows == ((50,),)


def test_no_credential_reaches_the_process(make_worker: MakeWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_API_KEY", "sk-secret")
    worker = make_worker()
    worker.select("SELECT 1 FROM orders_1")
    with pytest.raises(QueryFailed):
        worker.select("SELECT getenv('LLM_API_KEY') FROM orders_1")
    environment = Path(f"/proc/{worker._process.pid}/environ")  # type: ignore[union-attr]
    if environment.exists():
        assert b"sk-secret" not in environment.read_bytes()


def test_a_closed_worker_refuses_and_leaves_no_process(make_worker: MakeWorker) -> None:
    worker = make_worker()
    worker.select("SELECT 1 FROM orders_1")
    process = worker._process
    worker.close()
    worker.close()
    assert process is not None
    assert process.returncode is not None
    with pytest.raises(QueryFailed, match="closed"):
        worker.select("SELECT 1 FROM orders_1")


def test_a_result_is_stored_whole_and_its_first_rows_come_back(make_worker: MakeWorker, tmp_path: Path) -> None:
    path = tmp_path / "draft.parquet"
    found = make_worker().select(
        "SELECT row, title FROM orders_1 ORDER BY row DESC", max_rows=2, store=StoreRequest(path)
    )
    assert (found.rows, found.n_rows, found.is_stored) == (((50, "order 50"), (49, "order 49")), 50, True)
    with duckdb.connect() as connection:
        rows = connection.execute(f"SELECT row FROM '{path}'").fetchall()
    assert rows == [(row,) for row in range(50, 0, -1)]
    if sys.platform != "win32":
        assert path.stat().st_mode & 0o077 == 0


def test_a_result_larger_than_a_reply_may_be_is_stored_whole(make_worker: MakeWorker, tmp_path: Path) -> None:
    path = tmp_path / "draft.parquet"
    worker = make_worker(result_bytes=2**20)
    found = worker.select("SELECT repeat(title, 10000) AS t FROM orders_1", store=StoreRequest(path))
    assert (found.n_rows, found.is_stored) == (50, True)
    assert 0 < len(found.rows) < 50
    with duckdb.connect() as connection:
        assert connection.execute(f"SELECT count(*), min(length(t)) FROM '{path}'").fetchall() == [(50, 70_000)]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of the size of files for a process")
def test_a_result_over_its_disk_limit_is_not_stored_and_still_answers(make_worker: MakeWorker, tmp_path: Path) -> None:
    path = tmp_path / "draft.parquet"
    worker = make_worker()
    sql = "SELECT uuid() AS u FROM orders_1, range(2000)"
    found = worker.select(sql, max_rows=3, store=StoreRequest(path, max_bytes=100_000))
    assert (found.n_rows, len(found.rows), found.is_stored) == (100_000, 3, False)
    assert "more than the 100,000 bytes" in found.not_stored
    assert not path.exists() or path.stat().st_size <= 100_000
    assert worker.select(sql, store=StoreRequest(path)).is_stored


def test_a_folder_that_cannot_be_written_costs_the_file_and_not_the_answer(
    make_worker: MakeWorker, tmp_path: Path
) -> None:
    found = make_worker().select(
        "SELECT count(*) AS n FROM orders_1", store=StoreRequest(tmp_path / "no" / "f.parquet")
    )
    assert (found.rows, found.is_stored) == (((50,),), False)
    assert found.not_stored


@pytest.mark.parametrize("outside", ["../draft.parquet", "/tmp/runax-outside.parquet"])
def test_nothing_is_stored_outside_the_folder(make_worker: MakeWorker, tmp_path: Path, outside: str) -> None:
    path = tmp_path / outside
    found = make_worker().select("SELECT 1 AS n FROM orders_1 LIMIT 1", store=StoreRequest(path))
    assert not found.is_stored
    assert not path.exists()


@pytest.mark.parametrize(
    "sql",
    ["SELECT nothing FROM orders_1", "DROP VIEW orders_1", "SELECT 1) TO 'x.parquet'; SELECT (1", "SELECT 1/0::INT[]"],
)
def test_a_statement_that_fails_stores_nothing(make_worker: MakeWorker, tmp_path: Path, sql: str) -> None:
    path = tmp_path / "draft.parquet"
    with pytest.raises(QueryFailed):
        make_worker().select(sql, store=StoreRequest(path))
    assert not path.exists()


def test_storing_keeps_to_the_time_limit(make_worker: MakeWorker, tmp_path: Path) -> None:
    worker = make_worker(time_limit_s=0.2)
    with pytest.raises(QueryFailed, match=r"timed out after 0\.2 s"):
        worker.select(ENDLESS, store=StoreRequest(tmp_path / "draft.parquet"))
    assert worker.select("SELECT count(*) FROM orders_1").rows == ((50,),)
