"""Datasets are sealed without loss, and exported whole and in order."""

import csv
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from runax_cli.core.errors import StoreError
from runax_cli.executor.sql.engine import SqlEngine
from runax_cli.executor.sql.export import ExportFormat, export, export_file, open_dataset
from runax_cli.executor.sql.parquet import seal
from runax_cli.executor.store.dataset import Dataset, DatasetStore

RECORDS: list[dict[str, Any]] = [
    {"id": n, "name": f'Žluťoučký, "kůň" {n}', "tags": ["a", str(n)], "address": {"city": "Brno"}} for n in range(7)
]


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    made = DatasetStore(tmp_path / "state").create("tickets")
    made.add_page(1, RECORDS[3:], position="offset=3")
    made.add_page(0, RECORDS[:3], position="offset=0")
    return made


@pytest.mark.parametrize("is_sealed", [True, False])
@pytest.mark.parametrize("form", list(ExportFormat))
def test_every_record_is_exported_in_order(
    dataset: Dataset, tmp_path: Path, form: ExportFormat, is_sealed: bool
) -> None:
    if is_sealed:
        seal(dataset)
    target = tmp_path / f"out.{form.value}"
    export(open_dataset(dataset.folder), target, form)
    match form:
        case ExportFormat.NDJSON:
            assert [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()] == RECORDS
        case ExportFormat.PARQUET:
            rows = duckdb.sql(f"SELECT id, name, address.city FROM read_parquet('{target}')").fetchall()
            assert rows == [(one["id"], one["name"], "Brno") for one in RECORDS]
        case ExportFormat.CSV:
            with target.open(encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
            assert [row["name"] for row in rows] == [one["name"] for one in RECORDS]
            assert json.loads(rows[2]["tags"]) == ["a", "2"]
            assert json.loads(rows[2]["address"]) == {"city": "Brno"}


def test_an_opened_dataset_has_its_rows(dataset: Dataset) -> None:
    again = open_dataset(dataset.folder)
    assert again.n_records == len(RECORDS)
    assert again.record(5) == RECORDS[4]


def test_an_unreadable_manifest_is_an_error(dataset: Dataset, tmp_path: Path) -> None:
    (dataset.folder / "manifest.jsonl").write_bytes(b'{"index": 0}\n')
    with pytest.raises(StoreError, match="cannot be read"):
        open_dataset(dataset.folder)
    with pytest.raises(StoreError, match="cannot be read"):
        open_dataset(tmp_path / "nothing_1")


def test_a_failed_export_leaves_no_file(dataset: Dataset, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(StoreError, match="--out"):
        export(dataset, out / "tickets_1.ndjson", ExportFormat.NDJSON)
    out.mkdir()
    dataset.spool.path.unlink()
    with pytest.raises(StoreError):
        export(dataset, out / "tickets_1.ndjson", ExportFormat.NDJSON)
    assert list(out.iterdir()) == []


@pytest.mark.parametrize(
    "values",
    [
        [-1, 5],
        [-9007199254740993, 9007199254740993],
        [9223372036854775807, -9223372036854775808],
        [18446744073709551615, -1],
    ],
)
def test_negative_integers_keep_every_digit(tmp_path: Path, values: list[int]) -> None:
    dataset = DatasetStore(tmp_path).create("orders")
    dataset.add_page(0, [{"n": value, "deep": {"n": value}} for value in values], position="all")
    seal(dataset)
    engine = SqlEngine(tmp_path)
    engine.add_table(dataset.name, dataset.table_path)
    rows = engine.select("SELECT n, deep.n FROM orders_1 ORDER BY row").rows
    assert [(int(a), int(b)) for a, b in rows] == [(value, value) for value in values]


def test_numbers_that_json_does_not_have_are_null(tmp_path: Path) -> None:
    source, target = tmp_path / "a.parquet", tmp_path / "a.ndjson"
    duckdb.sql(
        "SELECT 'nan'::DOUBLE AS n, '-inf'::FLOAT AS i, 1.5::DOUBLE AS d, 123456789012345678901::DECIMAL(38, 0) AS big"
    ).write_parquet(str(source))
    export_file(source, target, ExportFormat.NDJSON)
    assert json.loads(target.read_text()) == {"n": None, "i": None, "d": 1.5, "big": 123456789012345678901}


def test_a_damaged_file_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    source = tmp_path / "a.parquet"
    source.write_bytes(b"no parquet")
    with pytest.raises(StoreError, match=r"a\.csv"):
        export_file(source, tmp_path / "a.csv", ExportFormat.CSV)
    assert sorted(path.name for path in tmp_path.glob("*a.*")) == ["a.parquet"]
