"""Datasets: pages on disk, rows in page order, unique names, sealing."""

import itertools
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runax_cli.core.errors import StoreError
from runax_cli.executor.sql.parquet import seal
from runax_cli.executor.store import spool
from runax_cli.executor.store.dataset import Dataset, DatasetStore
from runax_cli.executor.store.spool import MARK_EVERY, Spool

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
records = st.dictionaries(st.text(max_size=6), values, max_size=4)
numbers = itertools.count()


@pytest.fixture(scope="module")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples: a `tmp_path` for each takes longer than the example."""
    return tmp_path_factory.mktemp("datasets")


def fresh(tmp: Path, noun: str = "tickets") -> Dataset:
    return DatasetStore(tmp / str(next(numbers))).create(noun)


@given(st.lists(st.lists(records, max_size=6), min_size=1, max_size=5), st.randoms())
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_records_come_back_as_they_were_in_page_order(
    shared_folder: Path, pages: list[list[dict[str, Any]]], random: Any
) -> None:
    dataset = fresh(shared_folder)
    order = list(enumerate(pages))
    random.shuffle(order)
    for index, page in order:
        dataset.add_page(index, page, position="")
    wanted = [record for page in pages for record in page]
    assert list(dataset.records()) == json.loads(json.dumps(wanted).encode("utf-8", "replace"))
    assert dataset.n_records == len(wanted)
    for row, record in enumerate(wanted, start=1):
        assert dataset.record(row) == record
    with pytest.raises(KeyError, match="no row"):
        dataset.record(len(wanted) + 1)
    with pytest.raises(KeyError, match="no row 0"):
        dataset.record(0)


@given(st.lists(st.lists(records, min_size=1, max_size=6), min_size=1, max_size=4), st.randoms())
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_sealing_keeps_all_records_of_any_shape(
    shared_folder: Path, pages: list[list[dict[str, Any]]], random: Any
) -> None:
    dataset = fresh(shared_folder)
    order = list(enumerate(pages))
    random.shuffle(order)
    for index, page in order:
        dataset.add_page(index, page, position="")
    assert seal(dataset).records == dataset.n_records
    with duckdb.connect() as connection:
        counted = connection.execute(f"SELECT count(*) FROM '{dataset.table_path}'").fetchone()
    assert counted == (dataset.n_records,)


def test_rows_of_the_sealed_file_are_the_rows_of_the_dataset(tmp_path: Path) -> None:
    dataset = fresh(tmp_path)
    for index in (2, 0, 1):
        dataset.add_page(index, [{"n": index * 10 + k, "deep": {"list": [1, None]}} for k in range(10)], position="")
    seal(dataset)
    with duckdb.connect() as connection:
        query = f"SELECT n FROM read_parquet('{dataset.table_path}', file_row_number=true) ORDER BY file_row_number"
        assert [n for (n,) in connection.execute(query).fetchall()] == list(range(30))
        nested = connection.execute(f"SELECT typeof(deep) FROM '{dataset.table_path}' LIMIT 1").fetchone()
    assert nested == ("STRUCT(list BIGINT[])",)
    assert [record["n"] for record in dataset.records()] == list(range(30))


def test_one_record_of_a_huge_page_is_read_without_the_page(tmp_path: Path) -> None:
    dataset = fresh(tmp_path)
    dataset.add_page(0, [{"n": n} for n in range(3 * MARK_EVERY + 5)], position="")
    for row in (1, MARK_EVERY, MARK_EVERY + 1, 2 * MARK_EVERY + 7, 3 * MARK_EVERY + 5):
        assert dataset.record(row) == {"n": row - 1}
    assert [record["n"] for record in dataset.records(300, 303)] == [299, 300, 301]


def test_a_page_that_cannot_be_written_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = fresh(tmp_path)
    dataset.add_page(0, [{"n": 0}], position="")
    inner = spool._write_all

    def full(descriptor: int, body: bytes) -> None:
        inner(descriptor, body[: len(body) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spool, "_write_all", full)
    with pytest.raises(StoreError, match=r"page 2 cannot be written .* No space left"):
        dataset.add_page(1, [{"n": 1}], position="")
    monkeypatch.undo()
    dataset.add_page(2, [{"n": 2}], position="")
    assert list(dataset.records()) == [{"n": 0}, {"n": 2}]
    assert dataset.spool.path.read_bytes() == b'{"n":0}\n{"n":2}\n'
    manifest = (dataset.folder / "manifest.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["index"] for line in manifest] == [0, 2]


def test_a_failed_sealing_names_the_spool_and_leaves_no_draft(tmp_path: Path) -> None:
    dataset = fresh(tmp_path)
    dataset.add_page(0, [{"n": 0}], position="")
    dataset.table_path.mkdir()
    (dataset.table_path / "x").touch()
    with pytest.raises(StoreError, match=r"cannot be sealed.*pages\.ndjson"):
        seal(dataset)
    assert not dataset.is_sealed
    assert not list(dataset.folder.glob("*.draft"))
    assert list(dataset.records()) == [{"n": 0}]


@pytest.mark.parametrize(
    ("noun", "name"),
    [
        ("tickets", "tickets_1"),
        ("Zákaznické platby", "zakaznicke_platby_1"),
        ("../../etc", "etc_1"),
        ("2024", "records_2024_1"),
        ("", "records_1"),
        ("客户", "records_1"),
        ("x" * 100, "x" * 40 + "_1"),
    ],
)
def test_a_name_is_safe_as_a_folder_and_a_table(tmp_path: Path, noun: str, name: str) -> None:
    assert DatasetStore(tmp_path / "d").create(noun).name == name


def test_names_are_unique_across_processes(tmp_path: Path) -> None:
    first, second = DatasetStore(tmp_path / "d"), DatasetStore(tmp_path / "d")
    assert [store.create("tickets").name for store in (first, second, first)] == ["tickets_1", "tickets_2", "tickets_3"]
    assert first.create("tickets_2").name == "tickets_2_1"


def test_folders_are_private(tmp_path: Path) -> None:
    dataset = DatasetStore(tmp_path / "d").create("tickets")
    dataset.add_page(0, [{"n": 0}], position="")
    assert (tmp_path / "d").stat().st_mode & 0o777 == 0o700
    assert dataset.folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in dataset.folder.iterdir()} == {0o600}


def test_an_empty_page_has_no_lines(tmp_path: Path) -> None:
    pages = Spool(tmp_path)
    pages.write(0, [], position="")
    assert list(pages.lines(0)) == []


def test_a_reserved_name_is_not_used(tmp_path: Path) -> None:
    store = DatasetStore(tmp_path)
    store.reserve_names(["tickets_3", "payments_1"])
    assert [store.create("tickets").name, store.create("payments").name] == ["tickets_4", "payments_2"]
