"""The engine and the card: what may run, what is counted, how text reads as numbers and dates."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runax_cli.executor.sql.columns import identifier
from runax_cli.executor.sql.engine import QueryableTable, QueryFailed, SqlEngine
from runax_cli.executor.sql.table_card import profile_table, render_card, sample_rows
from runax_cli.models.base import ByteCounter


def engine_over(folder: Path, records: list[dict[str, Any]], name: str = "orders_1", **limits: Any) -> SqlEngine:
    lines, path = folder / "records.ndjson", folder / f"{name}.parquet"
    lines.write_text("\n".join(json.dumps(record) for record in records))
    with duckdb.connect() as connection:
        connection.execute(f"COPY (FROM read_json('{lines}', sample_size=-1)) TO '{path}' (FORMAT parquet)")
    engine = SqlEngine(folder, **limits)
    engine.add(name, path)
    return engine


@pytest.fixture
def orders(tmp_path: Path) -> SqlEngine:
    return engine_over(
        tmp_path, [{"id": n, "city": ["Brno", "Plzeň"][n % 2], "price": f"{n},50 Kč"} for n in range(1, 5)]
    )


def test_rows_are_numbered_from_one_in_the_order_of_the_file(orders: SqlEngine) -> None:
    assert orders.select("SELECT row, id FROM orders_1 ORDER BY row").rows == ((1, 1), (2, 2), (3, 3), (4, 4))


def test_a_column_that_is_called_row_keeps_its_values_beside_the_row_number(tmp_path: Path) -> None:
    engine = engine_over(tmp_path, [{"row": 70}, {"row": 80}])
    assert engine.select("SELECT row, row_1 FROM orders_1").rows == ((1, 70), (2, 80))


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("DROP VIEW orders_1", "only SELECT"),
        ("COPY orders_1 TO 'x.csv'", "only SELECT"),
        ("SELECT 1; SELECT 2", "one statement"),
        ("", "one statement"),
        ("SELEC 1", "cannot be read"),
        ("SET memory_limit = '10GB'", "only SELECT"),
        ("ATTACH 'x.db'", "only SELECT"),
        ("SELECT * FROM read_text('/etc/passwd')", "Permission"),
        ("SELECT * FROM glob('/etc/*')", "Permission"),
        ("SELECT * FROM 'https://example.com/x.parquet'", "does not exist|Permission"),
        ("SELECT * FROM read_text('{folder}/../secret.txt')", "Permission"),
    ],
)
def test_nothing_but_one_select_over_the_own_folder_runs(tmp_path: Path, orders: SqlEngine, sql: str, why: str) -> None:
    (tmp_path.parent / "secret.txt").write_text("secret")
    with pytest.raises(QueryFailed, match=why):
        orders.select(sql.replace("{folder}", str(tmp_path)))


def test_an_unknown_column_is_answered_with_the_nearest_names(orders: SqlEngine) -> None:
    with pytest.raises(QueryFailed, match=r"Nearest columns: price"):
        orders.select("SELECT sum(prices) FROM orders_1")


def test_an_unknown_table_is_answered_with_the_tables_there_are(orders: SqlEngine) -> None:
    with pytest.raises(QueryFailed, match="Tables: orders_1"):
        orders.select("SELECT * FROM ordrs")


def test_a_statement_over_its_time_is_stopped_and_the_engine_goes_on(tmp_path: Path) -> None:
    engine = engine_over(tmp_path, [{"id": 1}], time_limit_s=0.2)
    with pytest.raises(QueryFailed, match=r"limit of 0\.2 s"):
        engine.select("SELECT count(*) FROM range(100000000) a, range(100000000) b")
    assert engine.select("SELECT 1").rows == ((1,),)


def test_a_long_result_keeps_its_first_rows_and_its_full_count(orders: SqlEngine) -> None:
    result = orders.select("SELECT * FROM range(5000)")
    assert (len(result.rows), result.n_rows) == (1000, 5000)


def test_a_result_names_the_tables_it_rests_on(orders: SqlEngine) -> None:
    assert orders.select('WITH o AS (SELECT * FROM "orders_1") SELECT count(*) FROM o').tables == ("orders_1",)


DIRTY = [
    ("1 234,50 Kč", 1234.5, "31.12.2024", "2024-12-31"),
    ("12,00", 12.0, "1. 2. 2024", "2024-02-01"),
    ("99,9 Kč", 99.9, "2024-05-06", "2024-05-06"),
    ("n/a", None, "unknown", None),
]


def test_numbers_and_dates_written_as_text_are_offered_beside_the_original(tmp_path: Path) -> None:
    engine = engine_over(tmp_path, [{"amount": a, "paid": d} for a, _, d, _ in DIRTY])
    rows = engine.select("SELECT amount, amount_num, CAST(paid_date AS DATE)::VARCHAR FROM orders_1 ORDER BY row").rows
    assert rows == tuple((text, number, date) for text, number, _, date in DIRTY)
    assert {t.name: t.misfits for t in engine.tables["orders_1"].typed} == {"amount_num": 1, "paid_date": 1}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1,234.5", "$7", "12"], [1234.5, 7.0, 12.0]),
        (["50 %", "7%", "-3.5"], [50.0, 7.0, -3.5]),
        (["1.234,5", "1,5", "2,25"], [1234.5, 1.5, 2.25]),
    ],
)
def test_the_decimal_mark_is_decided_for_a_column_as_a_whole(
    tmp_path: Path, values: list[str], expected: list[float]
) -> None:
    engine = engine_over(tmp_path, [{"v": value} for value in values])
    assert [row[0] for row in engine.select("SELECT v_num FROM orders_1 ORDER BY row").rows] == expected


@pytest.mark.parametrize("values", [["007", "012"], ["T-38A", "B-52"], ["12 Main St", "4 High St"], ["", " "]])
def test_codes_and_words_are_not_taken_for_numbers(tmp_path: Path, values: list[str]) -> None:
    assert engine_over(tmp_path, [{"v": value} for value in values]).tables["orders_1"].typed == ()


@pytest.mark.parametrize(
    "values",
    [
        ["+420 674 711 060", "+420 771 514 245"],
        ["20251100001", "20251100002", "20261000500"],
        ["00123", "4567", "0891"],
    ],
)
def test_telephones_and_numbers_that_name_things_are_not_quantities(tmp_path: Path, values: list[str]) -> None:
    assert engine_over(tmp_path, [{"v": value} for value in values]).tables["orders_1"].typed == ()


def test_one_value_with_a_leading_zero_does_not_hide_a_column_of_numbers(tmp_path: Path) -> None:
    engine = engine_over(tmp_path, [{"v": str(n)} for n in range(5, 200)] + [{"v": "007"}])
    assert engine.select("SELECT count(v_num), max(v_num) FROM orders_1").rows == ((196, 199.0),)


def test_a_column_of_few_dates_among_many_blanks_is_still_read(tmp_path: Path) -> None:
    engine = engine_over(tmp_path, [{"v": "" if n % 500 else f"{n // 500 + 1}.2.2024"} for n in range(6000)])
    assert engine.select("SELECT count(v_date), min(v_date)::DATE::VARCHAR FROM orders_1").rows == ((12, "2024-02-01"),)


FOUR_NOTATIONS = ["31.12.2024", "2024-12-31", "12/31/2024", "31 December 2024", "2024-12-31T01:30:00+02:00"]


def test_dates_in_mixed_notations_are_read_and_offsets_applied(tmp_path: Path) -> None:
    engine = engine_over(tmp_path, [{"day": day} for day in FOUR_NOTATIONS])
    rows = engine.select("SELECT day_date::VARCHAR FROM orders_1 ORDER BY row").rows
    assert [row[0] for row in rows] == ["2024-12-31 00:00:00"] * 4 + ["2024-12-30 23:30:00"]


def test_instants_are_timestamps_in_utc_wherever_they_stand(tmp_path: Path) -> None:
    engine = engine_over(tmp_path, [{"at": "2024-05-06T10:00:00Z", "log": [{"at": "2024-05-06T12:00:00+02:00"}]}])
    expected = dt.datetime.fromisoformat("2024-05-06T10:00:00")
    assert engine.select('SELECT "at", log FROM orders_1').rows == ((expected, [{"at": expected}]),)


def test_a_result_with_a_time_zone_is_given_in_utc_under_its_name_and_in_its_order(tmp_path: Path) -> None:
    engine = engine_over(tmp_path, [{"ts": "2024-05-06T10:00:00"}, {"ts": "2024-05-07T10:00:00"}])
    result = engine.select(
        "SELECT ts AT TIME ZONE 'Europe/Prague' AS local, 1 AS n FROM orders_1 ORDER BY ts DESC -- x"
    )
    assert result.columns == ("local", "n")
    assert [row[0].isoformat() for row in result.rows] == ["2024-05-07T08:00:00", "2024-05-06T08:00:00"]


def test_day_first_and_month_first_are_told_apart_by_the_values(tmp_path: Path) -> None:
    engine = engine_over(tmp_path, [{"eu": "13/02/2024", "us": "02/13/2024"}, {"eu": "01/02/2024", "us": "02/01/2024"}])
    row = engine.select("SELECT eu_date::DATE::VARCHAR, us_date::DATE::VARCHAR FROM orders_1 ORDER BY row").rows[1]
    assert row == ("2024-02-01", "2024-02-01")


def card_of(engine: SqlEngine, table: QueryableTable, budget: int) -> tuple[str, tuple[str, ...]]:
    names = tuple(column.name for column in table.columns)
    samples = [dict(zip(names, row, strict=True)) for row in sample_rows(engine, table, names, 2)]
    told = render_card(
        profile_table(engine, table), samples, ByteCounter(), coverage="complete: 4 of 4 records", budget_tokens=budget
    )
    return told.text, told.dropped


def test_a_card_tells_columns_types_values_and_coverage(orders: SqlEngine) -> None:
    text, dropped = card_of(orders, orders.tables["orders_1"], 4000)
    assert "Table orders_1: 4 rows; complete: 4 of 4 records." in text
    assert "city VARCHAR; Brno (2), Plzeň (2)" in text
    assert "price_num DOUBLE; price read as number, decimal comma; 1.5 … 4.5" in text
    assert dropped == ()


@settings(max_examples=15, deadline=None)
@given(width=st.integers(1, 120), budget=st.integers(300, 4000))
def test_a_card_stays_within_its_tokens_whatever_the_width(tmp_path_factory: Any, width: int, budget: int) -> None:
    folder = tmp_path_factory.mktemp("wide")
    engine = engine_over(folder, [{f"column_number_{n}": n * k for n in range(width)} for k in (1, 2)])
    text, dropped = card_of(engine, engine.tables["orders_1"], budget)
    assert len(text.encode()) <= budget
    assert f"column_number_{width - 1} " in text or dropped
    engine.close()


def test_constant_and_empty_columns_are_the_first_to_go(tmp_path: Path) -> None:
    records = [{"id": n, "constant": "same", "empty": None, "city": f"town {n % 3}"} for n in range(9)]
    engine = engine_over(tmp_path, records)
    _, dropped = card_of(engine, engine.tables["orders_1"], 270)
    assert dropped
    assert set(dropped) <= {"constant", "empty"}


def test_every_word_that_needs_quotes_gets_them_in_the_card(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        words = [row[0] for row in connection.execute("SELECT DISTINCT keyword_name FROM duckdb_keywords()").fetchall()]
        for word in words:
            statement = f'SELECT {identifier(word)} FROM (SELECT 1 AS "{word}") WHERE {identifier(word)} > 0'
            assert connection.execute(statement).fetchall() == [(1,)], word


def test_a_column_named_like_a_word_of_sql_is_told_apart_in_the_error(tmp_path: Path) -> None:
    engine = engine_over(tmp_path, [{"at": 1}])
    with pytest.raises(QueryFailed, match=r'need double quotes: "at"'):
        engine.select("SELECT at FROM orders_1")


NESTED = [
    {"id": n, "plan": {"code": ["a", "b"][n % 2], "fee": 10 * n, "at": {"lat": n + 0.5}}, "tags": ["x", "y"][: n % 3]}
    for n in range(4)
]


def test_a_card_tells_the_values_of_fields_and_of_items(tmp_path: Path) -> None:
    engine = engine_over(tmp_path, NESTED)
    text, _ = card_of(engine, engine.tables["orders_1"], 4000)
    assert "  in plan: code: a, b; fee: 0 … 30; at.lat: 0.5 … 3.5" in text
    assert "  in tags: x, y" in text
    assert '"plan":{"code":"a","fee":0,"at":{"lat":0.5}}' in text


def test_fields_of_structures_in_a_list_are_told_over_all_items(tmp_path: Path) -> None:
    lines = [{"lines": [{"kind": "tariff", "amount": 5}, {"kind": "extra", "amount": n}]} for n in (1, 9)]
    engine = engine_over(tmp_path, lines)
    text, _ = card_of(engine, engine.tables["orders_1"], 4000)
    assert "  in lines: kind: extra, tariff; amount: 1 … 9" in text


@pytest.mark.parametrize("name", ["te xt", 'a "quoted" one', "comma, inside", "plain"])
def test_names_of_fields_are_read_from_types_as_they_are(tmp_path: Path, name: str) -> None:
    engine = engine_over(tmp_path, [{"box": {name: 1, "inner": {"deep": 2}, "list": [{"x": 1}]}}])
    box = next(column for column in engine.tables["orders_1"].columns if column.name == "box")
    assert [field.name for field in box.fields] == [name, "inner", "list"]
    assert box.fields[1].fields[0].name == "deep"
