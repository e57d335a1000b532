"""Columns: text is read as numbers or dates, names are quoted if needed."""

import duckdb
import pytest

from runax_cli.executor.sql.columns import identifier
from tests.unit.executor.sql.conftest import EngineOver

DIRTY = [
    ("1 234,50 Kč", 1234.5, "31.12.2024", "2024-12-31"),
    ("12,00", 12.0, "1. 2. 2024", "2024-02-01"),
    ("99,9 Kč", 99.9, "2024-05-06", "2024-05-06"),
    ("n/a", None, "unknown", None),
]


def test_numbers_and_dates_in_text_get_typed_columns(engine_over: EngineOver) -> None:
    engine = engine_over([{"amount": a, "paid": d} for a, _, d, _ in DIRTY])
    rows = engine.select("SELECT amount, amount_num, CAST(paid_date AS DATE)::VARCHAR FROM orders_1 ORDER BY row").rows
    assert rows == tuple((text, number, date) for text, number, _, date in DIRTY)
    assert {t.name: t.n_unconverted for t in engine.tables["orders_1"].typed} == {"amount_num": 1, "paid_date": 1}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1,234.5", "$7", "12"], [1234.5, 7.0, 12.0]),
        (["50 %", "7%", "-3.5"], [50.0, 7.0, -3.5]),
        (["1.234,5", "1,5", "2,25"], [1234.5, 1.5, 2.25]),
    ],
)
def test_the_decimal_separator_is_that_of_the_whole_column(
    engine_over: EngineOver, values: list[str], expected: list[float]
) -> None:
    engine = engine_over([{"v": value} for value in values])
    assert [row[0] for row in engine.select("SELECT v_num FROM orders_1 ORDER BY row").rows] == expected


@pytest.mark.parametrize("values", [["007", "012"], ["T-38A", "B-52"], ["12 Main St", "4 High St"], ["", " "]])
def test_codes_and_words_are_not_numbers(engine_over: EngineOver, values: list[str]) -> None:
    assert engine_over([{"v": value} for value in values]).tables["orders_1"].typed == ()


@pytest.mark.parametrize(
    "values",
    [
        ["+420 674 711 060", "+420 771 514 245"],
        ["20251100001", "20251100002", "20261000500"],
        ["00123", "4567", "0891"],
        ["113803", "373450", "A/5 21171", "330877", "STON/O2. 3101282", "17463"],
        ["10001", "94110", "02134-1234", "60614", "73301"],
        ["1001", "1002", "1003", "P-1004"],
        ["12", "14", "14a", "16"],
    ],
)
def test_telephone_and_document_numbers_are_not_quantities(engine_over: EngineOver, values: list[str]) -> None:
    assert engine_over([{"v": value} for value in values]).tables["orders_1"].typed == ()


def test_one_value_with_a_leading_zero_does_not_hide_a_column_of_numbers(engine_over: EngineOver) -> None:
    engine = engine_over([{"v": str(n)} for n in range(5, 200)] + [{"v": "007"}])
    assert engine.select("SELECT count(v_num), max(v_num) FROM orders_1").rows == ((196, 199.0),)


@pytest.mark.parametrize("other", [">100", "10+", "n/a", "unknown", "-"])
def test_a_bound_or_a_word_does_not_make_quantities_to_codes(engine_over: EngineOver, other: str) -> None:
    engine = engine_over([{"v": value} for value in ("5", "12.5", "7", other)])
    assert engine.select("SELECT sum(v_num) FROM orders_1").rows == ((24.5,),)


def test_few_dates_among_many_blanks_are_found(engine_over: EngineOver) -> None:
    engine = engine_over([{"v": "" if n % 500 else f"{n // 500 + 1}.2.2024"} for n in range(6000)])
    assert engine.select("SELECT count(v_date), min(v_date)::DATE::VARCHAR FROM orders_1").rows == ((12, "2024-02-01"),)


FOUR_NOTATIONS = ["31.12.2024", "2024-12-31", "12/31/2024", "31 December 2024", "2024-12-31T01:30:00+02:00"]


def test_dates_in_mixed_notations_are_read_and_offsets_applied(engine_over: EngineOver) -> None:
    engine = engine_over([{"day": day} for day in FOUR_NOTATIONS])
    rows = engine.select("SELECT day_date::VARCHAR FROM orders_1 ORDER BY row").rows
    assert [row[0] for row in rows] == ["2024-12-31 00:00:00"] * 4 + ["2024-12-30 23:30:00"]


def test_day_first_and_month_first_are_distinguished_by_the_values(engine_over: EngineOver) -> None:
    engine = engine_over([{"eu": "13/02/2024", "us": "02/13/2024"}, {"eu": "01/02/2024", "us": "02/01/2024"}])
    row = engine.select("SELECT eu_date::DATE::VARCHAR, us_date::DATE::VARCHAR FROM orders_1 ORDER BY row").rows[1]
    assert row == ("2024-02-01", "2024-02-01")


def test_every_keyword_that_needs_quotes_is_quoted() -> None:
    with duckdb.connect() as connection:
        words = [row[0] for row in connection.execute("SELECT DISTINCT keyword_name FROM duckdb_keywords()").fetchall()]
        for word in words:
            statement = f'SELECT {identifier(word)} FROM (SELECT 1 AS "{word}") WHERE {identifier(word)} > 0'
            assert connection.execute(statement).fetchall() == [(1,)], word


@pytest.mark.parametrize("name", ["te xt", 'a "quoted" one', "comma, inside", "plain"])
def test_field_names_are_parsed_from_the_type(engine_over: EngineOver, name: str) -> None:
    engine = engine_over([{"box": {name: 1, "inner": {"deep": 2}, "list": [{"x": 1}]}}])
    box = next(column for column in engine.tables["orders_1"].columns if column.name == "box")
    assert [field.name for field in box.fields] == [name, "inner", "list"]
    assert box.fields[1].fields[0].name == "deep"
