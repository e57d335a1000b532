"""The table catalog: what figures are based on, which rows are selected, and use by several threads."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from runax_cli.core.results import Coverage, Lineage, Reason, ReasonCode
from runax_cli.executor.sql.engine import QueryFailed, SqlEngine
from runax_cli.executor.sql.parquet import seal
from runax_cli.executor.sql.tables import LabelTable, TableCatalog
from runax_cli.executor.store.dataset import Dataset, DatasetStore
from runax_cli.models.base import ByteCounter

WHOLE = Coverage(records_read=3, records_total=3)
SHORT = WHOLE.model_copy(update={"is_complete": False, "records_total": 9})
FIRST_N = WHOLE.model_copy(update={"reasons": (Reason(code=ReasonCode.FIRST_N, text="the first 3"),)})


@pytest.fixture
def tables(tmp_path: Path) -> Iterator[TableCatalog]:
    """A whole dataset `a_1`, an incomplete one `b_1`, the first three of more as `c_1`."""
    store, made = DatasetStore(tmp_path), TableCatalog(tmp_path, ByteCounter())
    for noun, coverage in (("a", WHOLE), ("b", SHORT), ("c", FIRST_N)):
        dataset = store.create(noun)
        dataset.add_page(0, [{"id": n, "city": "Brno", "at": {"zip": n}} for n in range(3)], position="all")
        seal(dataset)
        made.register(dataset, coverage)
    yield made
    made.close()


def labels(of: str, *, agreement: float | None = 1.0, n_unusable: int = 0) -> dict[str, LabelTable]:
    name, joined = f"{of}_labels_1", f"{of}_labelled_1"
    table = LabelTable(name=name, joined=joined, of=of, agreement=agreement, n_sample=5, n_unusable=n_unusable)
    return {name: table, joined: table}


@pytest.mark.parametrize(
    ("read", "lineage", "datasets"),
    [
        (["a_1"], Lineage.EXACT, ("a_1",)),
        (["a_1", "b_1"], Lineage.LOWER_BOUND, ("a_1", "b_1")),
        (["c_1"], Lineage.LOWER_BOUND, ("c_1",)),
        (["a_1_labelled_1"], Lineage.BY_LABEL, ("a_1",)),
        (["a_1", "a_1_labels_1"], Lineage.BY_LABEL, ("a_1",)),
        (["b_1_labels_1"], Lineage.LOWER_BOUND, ("b_1",)),
        (["a_1", "c_1_labels_1"], Lineage.LOWER_BOUND, ("a_1", "c_1")),
    ],
)
def test_the_lineage_of_a_figure_is_that_of_its_weakest_source(
    tables: TableCatalog, read: list[str], lineage: Lineage, datasets: tuple[str, ...]
) -> None:
    for name in "abc":
        tables.labels = {**tables.labels, **labels(f"{name}_1")}
    basis = tables.basis(read)
    assert (basis.lineage, basis.datasets) == (lineage, datasets)


def test_missing_labels_make_a_lower_bound(tables: TableCatalog) -> None:
    tables.labels = labels("a_1", n_unusable=1)
    assert tables.basis(["a_1_labels_1"]).lineage is Lineage.LOWER_BOUND


def test_the_lowest_agreement_counts(tables: TableCatalog) -> None:
    tables.labels = labels("a_1", agreement=0.9) | labels("b_1", agreement=0.7) | labels("c_1", agreement=None)
    assert tables.basis(["a_1_labels_1", "b_1_labels_1", "c_1_labels_1"]).agreement == 0.7
    assert tables.basis(["a_1"]).agreement is None


async def test_a_card_says_how_much_of_the_data_it_covers(tables: TableCatalog) -> None:
    assert "complete: 3 of 3 records" in (await tables.card("a_1"))["table"]
    assert "INCOMPLETE: 3 of 9 records" in (await tables.card("b_1"))["table"]


async def test_a_dataset_becomes_a_table_on_first_use(tables: TableCatalog) -> None:
    await tables.select("SELECT count(*) FROM A_1")
    assert [entry.is_table for entry in tables.entries.values()] == [True, False, False]


async def test_an_unknown_table_names_the_existing_ones(tables: TableCatalog) -> None:
    with pytest.raises(QueryFailed, match="a_1, b_1, c_1"):
        await tables.select("SELECT count(*) FROM a_2")


async def test_a_condition_selects_rows_and_cannot_add_any(tables: TableCatalog) -> None:
    assert await tables.rows("a_1", None) == [1, 2, 3]
    assert await tables.rows("a_1", "id > 0 -- but the first") == [2, 3]
    assert await tables.rows("a_1", "id > 1) UNION (SELECT 99") == [3]
    with pytest.raises(QueryFailed):
        await tables.rows("a_1", "true) UNION SELECT 99 -- ")


async def test_texts_are_of_one_column_of_several_or_of_fields(tables: TableCatalog) -> None:
    assert await tables.texts("a_1", ["city"], "row = 1") == [(1, "Brno")]
    assert await tables.texts("a_1", ["city", "at.zip"], "row = 2") == [(2, '["Brno","1"]')]
    assert await tables.texts("a_1", ["at"], "row = 3") == [(3, '{"zip":2}')]


async def test_a_dataset_that_is_not_sealed_is_not_a_table(tmp_path: Path) -> None:
    made: Any = TableCatalog(tmp_path, ByteCounter())
    made.register(DatasetStore(tmp_path).create("x"), WHOLE)
    with pytest.raises(QueryFailed, match="none yet"):
        await made.card("x_1")


def named(n: int, folder: Path) -> Dataset:
    """Make a dataset that counts as sealed and is never queried."""
    dataset = Dataset(f"other_{n}", folder)
    dataset.is_sealed = True
    return dataset


@pytest.mark.usefixtures("switch_threads_often")
async def test_datasets_can_be_registered_while_a_statement_runs(tables: TableCatalog, tmp_path: Path) -> None:
    numbers = count(1)
    for _ in range(20):
        asking = asyncio.create_task(tables.select("SELECT count(*) FROM a_1"))
        while not asking.done():
            tables.register(named(next(numbers), tmp_path), WHOLE)
            await asyncio.sleep(0)
        assert (await asking).rows == ((3,),)


@pytest.mark.usefixtures("switch_threads_often")
def test_tables_can_be_added_while_results_are_read(tmp_path: Path) -> None:
    dataset = DatasetStore(tmp_path).create("a")
    dataset.add_page(0, [{"id": 1}], position="all")
    seal(dataset)
    engine = SqlEngine(tmp_path)
    engine.add_table("a_1", dataset.table_path)
    with ThreadPoolExecutor(max_workers=1) as pool:
        adding = pool.submit(lambda: [engine.add_table(f"a_{n}", dataset.table_path) for n in range(2, 200)])
        while not adding.done():
            assert engine.select("SELECT id FROM a_1").tables == ("a_1",)
        adding.result()


async def test_closing_interrupts_a_running_statement(tables: TableCatalog) -> None:
    endless = "SELECT count(*) FROM a_1, range(1000000) b, range(1000000) c WHERE b.range % 7 = c.range % 5"
    await tables.select("SELECT * FROM a_1")
    asking = asyncio.create_task(tables.select(endless))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    tables.close()
    tables.close()
    with pytest.raises(QueryFailed, match="the session has ended"):
        await tables.select("SELECT * FROM a_1")
