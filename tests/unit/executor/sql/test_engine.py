"""The SQL engine: what may run, in which limits, and what a failure suggests."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from runax_cli.executor.sql.engine import QueryFailed, SqlEngine
from runax_cli.executor.sql.stored_result import StoreRequest
from tests.unit.executor.sql.conftest import EngineOver


def test_rows_are_numbered_from_one_in_the_order_of_the_file(orders: SqlEngine) -> None:
    assert orders.select("SELECT row, id FROM orders_1 ORDER BY row").rows == ((1, 1), (2, 2), (3, 3), (4, 4))


def test_a_column_named_row_is_kept_beside_the_row_number(engine_over: EngineOver) -> None:
    engine = engine_over([{"row": 70}, {"row": 80}])
    assert engine.select("SELECT row, row_1 FROM orders_1").rows == ((1, 70), (2, 80))


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("DROP VIEW orders_1", "only SELECT"),
        ("COPY orders_1 TO 'x.csv'", "only SELECT"),
        ("SELECT 1; SELECT 2", "expected one statement"),
        ("", "expected one statement"),
        ("SELEC 1", "cannot be parsed"),
        ("SET memory_limit = '10GB'", "only SELECT"),
        ("ATTACH 'x.db'", "only SELECT"),
        ("SELECT * FROM read_text('/etc/passwd')", "Permission"),
        ("SELECT * FROM glob('/etc/*')", "Permission"),
        ("SELECT * FROM 'https://example.com/x.parquet'", "does not exist|Permission"),
        ("SELECT * FROM read_text('{folder}/../secret.txt')", "Permission"),
    ],
)
def test_only_one_select_over_its_own_folder_runs(tmp_path: Path, orders: SqlEngine, sql: str, why: str) -> None:
    (tmp_path.parent / "secret.txt").write_text("secret")
    with pytest.raises(QueryFailed, match=why):
        orders.select(sql.replace("{folder}", str(tmp_path)))


def test_an_unknown_column_names_the_nearest_ones(orders: SqlEngine) -> None:
    with pytest.raises(QueryFailed, match=r"Nearest columns: price"):
        orders.select("SELECT sum(prices) FROM orders_1")


def test_an_unknown_table_names_the_existing_ones(orders: SqlEngine) -> None:
    with pytest.raises(QueryFailed, match="Tables: orders_1"):
        orders.select("SELECT * FROM ordrs")


def test_a_statement_that_times_out_leaves_the_engine_usable(engine_over: EngineOver) -> None:
    engine = engine_over([{"id": 1}], time_limit_s=0.2)
    with pytest.raises(QueryFailed, match=r"timed out after 0\.2 s"):
        engine.select("SELECT count(*) FROM range(100000000) a, range(100000000) b")
    assert engine.select("SELECT 1").rows == ((1,),)


def test_a_long_result_keeps_its_first_rows_and_its_full_count(orders: SqlEngine) -> None:
    result = orders.select("SELECT * FROM range(5000)")
    assert (len(result.rows), result.n_rows) == (1000, 5000)


def test_a_result_names_the_tables_it_read(orders: SqlEngine) -> None:
    assert orders.select('WITH o AS (SELECT * FROM "orders_1") SELECT count(*) FROM o').tables == ("orders_1",)


def test_times_with_zone_become_timestamps_in_utc_at_any_depth(engine_over: EngineOver) -> None:
    engine = engine_over([{"at": "2024-05-06T10:00:00Z", "log": [{"at": "2024-05-06T12:00:00+02:00"}]}])
    expected = dt.datetime.fromisoformat("2024-05-06T10:00:00")
    assert engine.select('SELECT "at", log FROM orders_1').rows == ((expected, [{"at": expected}]),)


def test_a_result_with_zone_is_in_utc_and_keeps_names_and_order(engine_over: EngineOver) -> None:
    engine = engine_over([{"ts": "2024-05-06T10:00:00"}, {"ts": "2024-05-07T10:00:00"}])
    result = engine.select(
        "SELECT ts AT TIME ZONE 'Europe/Prague' AS local, 1 AS n FROM orders_1 ORDER BY ts DESC -- x"
    )
    assert result.columns == ("local", "n")
    assert [row[0].isoformat() for row in result.rows] == ["2024-05-07T08:00:00", "2024-05-06T08:00:00"]


def test_a_column_named_like_a_keyword_is_named_in_the_error(engine_over: EngineOver) -> None:
    engine = engine_over([{"at": 1}])
    with pytest.raises(QueryFailed, match=r'need double quotes: "at"'):
        engine.select("SELECT at FROM orders_1")


@pytest.mark.parametrize("function", ["x -> x * 2", "lambda x: x * 2"])
def test_both_spellings_of_a_lambda_are_accepted(engine_over: EngineOver, function: str) -> None:
    engine = engine_over([{"items": [{"n": 2}, {"n": 3}], "xs": [1, 2]}])
    assert engine.select(f"SELECT list_transform(xs, {function}) FROM orders_1").rows == (([2, 4],),)
    assert engine.select("SELECT list_sum(list_transform(items, m -> m.n)) FROM orders_1").rows == ((5,),)


@pytest.mark.parametrize(
    ("sql", "columns", "rows"),
    [
        ("SELECT sum(id) AS s FROM orders_1", ("s",), ((10,),)),
        ("SELECT 10::HUGEINT ** 0 * 99999999999999999999 AS s FROM orders_1 LIMIT 1", ("s",), None),
        (
            "SELECT sum(99999999999999999999::HUGEINT) AS s, [1::UHUGEINT] AS l FROM orders_1",
            ("s", "l"),
            ((Decimal(399999999999999999996), [1]),),
        ),
        ("SELECT id AS n, id + 1 AS n FROM orders_1 WHERE id = 1", ("n", "n"), ((1, 2),)),
        ("SELECT TIMESTAMPTZ '2024-05-06 07:08:09+02' AS t FROM orders_1 LIMIT 1", ("t",), None),
        ("SELECT INTERVAL '90000.000001 seconds' AS i FROM orders_1 LIMIT 1", ("i",), (("25:00:00.000001",),)),
        ("SELECT id FROM orders_1 WHERE id > 9", ("id",), ()),
        ("SELECT NULL AS z, MAP {'a': id} AS m FROM orders_1 WHERE id = 2", ("z", "m"), ((None, {"a": 2}),)),
        ("SELECT id FROM orders_1 WHERE id = 3; -- the third; or not", ("id",), ((3,),)),
        ("SELECT ';' AS s -- a comment", ("s",), ((";",),)),
        ("WITH x AS (SELECT id FROM orders_1) FROM x ORDER BY id DESC LIMIT 2", ("id",), ((4,), (3,))),
        ("SELECT city, sum(id) AS s FROM orders_1 GROUP BY ALL ORDER BY s DESC", ("city", "s"), None),
    ],
)
def test_a_stored_result_has_the_values_of_the_statement(
    orders: SqlEngine, tmp_path: Path, sql: str, columns: tuple[str, ...], rows: tuple[Any, ...] | None
) -> None:
    plain = orders.select(sql)
    stored = orders.select(sql, store=StoreRequest(tmp_path / "draft.parquet"))
    assert stored.is_stored, stored.not_stored
    assert stored.columns == plain.columns == columns
    assert stored.rows == (plain.rows if rows is None else rows)
    assert (stored.n_rows, stored.tables, stored.sources) == (plain.n_rows, plain.tables, plain.sources)
    assert (tmp_path / "draft.parquet").exists()
