"""Integers keep every digit in a sealed table."""

from pathlib import Path

import pytest

from runax_cli.executor.sql.engine import SqlEngine
from runax_cli.executor.sql.parquet import seal
from runax_cli.executor.store.dataset import DatasetStore


@pytest.mark.parametrize(
    "values",
    [
        [-1, 5],
        [-9007199254740993, 9007199254740993],
        [9223372036854775807, -9223372036854775808],
        [18446744073709551615, -1],
    ],
)
def test_a_column_with_negative_numbers_is_kept_to_the_last_digit(tmp_path: Path, values: list[int]) -> None:
    dataset = DatasetStore(tmp_path).create("orders")
    dataset.add_page(0, [{"n": value, "deep": {"n": value}} for value in values], position="all")
    seal(dataset)
    engine = SqlEngine(tmp_path)
    engine.add(dataset.name, dataset.table_path)
    rows = engine.select("SELECT n, deep.n FROM orders_1 ORDER BY row").rows
    assert [(int(a), int(b)) for a, b in rows] == [(value, value) for value in values]
