"""Which columns of a result come from data, read off DuckDB's own parse of the statement."""

import json
from decimal import Decimal

import duckdb
import pytest

from runax_cli.executor.sql.lineage import ColumnLineage, column_lineage

TABLES = {
    "orders_1": ("row", "id", "price", "city", "tags"),
    "items_1": ("row", "order_id", "n"),
    "orders_1_labels_1": ("row", "label"),
}
LABELS = {"orders_1_labels_1": "orders_1"}


def lineage(sql: str) -> tuple[ColumnLineage, ...]:
    with duckdb.connect() as connection:
        found = connection.execute("SELECT json_serialize_sql(?)", [sql]).fetchone()
    assert found is not None
    return column_lineage(json.loads(found[0]), TABLES, {name: name for name in ("orders_1", "items_1")} | LABELS)


def is_invented(column: ColumnLineage, number: int) -> bool:
    return not column.is_data or Decimal(number) in column.literals or bool(column.operands)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 987 AS n /* orders_1 */",
        "SELECT 987 AS n FROM orders_1",
        "SELECT 986 + 1 AS n FROM orders_1",
        "SELECT max(987) AS n FROM orders_1",
        "SELECT avg(987) AS n FROM orders_1",
        "WITH x(n) AS (VALUES (987)) SELECT n FROM x",
        "WITH x AS (SELECT 987 AS n) SELECT x.n FROM x, orders_1",
        "SELECT n FROM (SELECT 987 AS n) CROSS JOIN orders_1 LIMIT 1",
        "SELECT 120.0 / 300 * 100 + 947 AS n FROM orders_1",
        "SELECT CAST('987' AS INTEGER) AS n FROM orders_1",
        "SELECT list_transform([price], x -> 987)[1] AS n FROM orders_1",
        "SELECT list_transform([price], lambda x: 987)[1] AS n FROM orders_1",
        "SELECT list_sum(list_transform([price], x -> 987)) AS n FROM orders_1",
        "SELECT (SELECT 987) AS n FROM orders_1",
        "SELECT count(*) AS n FROM range(987)",
        "SELECT count(*) AS n FROM (SELECT * FROM orders_1 LIMIT 987)",
        "SELECT length(repeat('x', 987)) AS n FROM orders_1",
        "SELECT coalesce(NULL, 987) AS n FROM orders_1",
        "SELECT coalesce(nullif(id, id), 987) AS n FROM orders_1",
        "SELECT CASE WHEN id > 0 THEN 987 END AS n FROM orders_1",
        "SELECT if(id > 0, 987, 1) AS n FROM orders_1",
        "SELECT greatest(id, 987) AS n FROM orders_1",
        "SELECT count(*) + 541 AS n FROM orders_1",
        "SELECT count(*) * 0 + 987 AS n FROM orders_1",
        "SELECT sum(987) AS n FROM orders_1 LIMIT 1",
        "SELECT id - id + 987 AS n FROM orders_1",
        "SELECT 987 AS n UNION ALL SELECT id FROM orders_1",
        "SELECT unnest([987]) AS n FROM orders_1",
        "SELECT a + 1 AS n FROM (SELECT 986 AS a, id FROM orders_1)",
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 987) SELECT max(n) AS n FROM r",
        "SELECT any_value(987) OVER () AS n FROM orders_1",
        "SELECT list_sum([900, 87]) AS n FROM orders_1",
        "SELECT * FROM (VALUES (987)) v(n)",
        "SELECT date_part('year', DATE '0987-01-01') AS n FROM orders_1",
    ],
)
def test_a_number_that_stands_in_the_statement_is_no_evidence(sql: str) -> None:
    (column,) = lineage(sql)
    assert is_invented(column, 987)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM orders_1",
        "SELECT list_sum(list_filter([price], x -> x > 987)) FROM orders_1",
        "SELECT list_sum(list_transform([price], lambda x: x / 100)) FROM orders_1",
        "SELECT count(1) FROM orders_1 WHERE price > 987",
        "SELECT sum(price) AS total FROM orders_1 o WHERE o.city = 'Brno'",
        "SELECT round(avg(price), 2) FROM orders_1",
        "SELECT 100.0 * count(*) FILTER (WHERE city = 'Brno') / count(*) FROM orders_1",
        "SELECT sum(price) / 3600 FROM orders_1",
        "SELECT max(o.id) FROM orders_1 AS o JOIN items_1 AS i ON i.order_id = o.id",
        "WITH c AS (SELECT city, count(*) AS n FROM orders_1 GROUP BY 1) SELECT max(n) FROM c",
        "SELECT (SELECT max(id) FROM orders_1)",
        "SELECT count(DISTINCT city) FROM orders_1",
        "SELECT sum(CASE WHEN city = 'Brno' THEN 1 ELSE 0 END) FROM orders_1",
        "SELECT t FROM orders_1, unnest(orders_1.tags) AS u(t)",
        "SELECT row_number() OVER (ORDER BY price) FROM orders_1",
        "SELECT price FROM orders_1 ORDER BY 1 DESC LIMIT 1",
        "SELECT max(price) - min(price) FROM orders_1",
        "SELECT address.zip FROM orders_1",
        "SELECT id FROM orders_1 UNION ALL SELECT order_id FROM items_1",
        "SELECT substr(city, 1, 3) FROM orders_1",
        "SELECT date_diff('day', DATE '2020-01-01', price) FROM orders_1",
    ],
)
def test_a_value_computed_from_rows_is_evidence(sql: str) -> None:
    (column,) = lineage(sql)
    assert column.is_data
    assert not column.operands


def test_columns_are_told_apart_and_stars_are_expanded() -> None:
    columns = lineage("SELECT 987 AS n, o.*, i.n AS m FROM orders_1 o JOIN items_1 i USING (row)")
    assert [column.is_data for column in columns] == [False, *[True] * 5, True]


def test_a_statement_that_cannot_be_serialized_tells_nothing() -> None:
    assert lineage("PIVOT orders_1 ON city USING sum(price)") == ()


@pytest.mark.parametrize(
    ("sql", "counted"),
    [
        ("SELECT row, id FROM orders_1", ["orders_1", ""]),
        ('SELECT o.row AS "záznam" FROM orders_1 o', ["orders_1"]),
        ("SELECT * FROM items_1", ["items_1", "", ""]),
        ("SELECT i.row, o.row FROM orders_1 o JOIN items_1 i ON i.order_id = o.id", ["items_1", "orders_1"]),
        ("SELECT * FROM orders_1_labels_1 JOIN orders_1 USING (row)", ["orders_1", *[""] * 5]),
        ("SELECT o.* FROM orders_1_labels_1 JOIN orders_1 o USING (row)", ["orders_1", *[""] * 4]),
        ("SELECT r FROM (SELECT row AS r FROM orders_1) WHERE r > 3", ["orders_1"]),
        ("WITH x(a, b) AS (SELECT id, row FROM orders_1) SELECT b, a FROM x", ["orders_1", ""]),
        ("SELECT row::INTEGER FROM orders_1", ["orders_1"]),
        ("SELECT arg_max(row, price), max(price) FROM orders_1", ["orders_1", ""]),
        ("SELECT city, min(row) FROM orders_1 GROUP BY city", ["", "orders_1"]),
        ("SELECT row FROM orders_1 UNION ALL SELECT row FROM orders_1_labels_1", ["orders_1"]),
        ("SELECT (SELECT max(row) FROM items_1) AS r FROM orders_1", ["items_1"]),
        ("SELECT row FROM orders_1 UNION ALL SELECT row FROM items_1", [""]),
        ("SELECT row FROM orders_1 UNION ALL SELECT 5", [""]),
        ("SELECT row FROM orders_1 JOIN items_1 USING (row)", [""]),
        ("SELECT coalesce(i.row, o.row) FROM orders_1 o LEFT JOIN items_1 i ON i.order_id = o.id", [""]),
        ("SELECT row + 1 FROM orders_1", [""]),
        ("SELECT count(row), sum(row), max(row, 3) FROM orders_1", ["", "", ""]),
        ("SELECT CASE WHEN id > 0 THEN row ELSE 5 END FROM orders_1", [""]),
        ("SELECT coalesce(row, 5) FROM orders_1", [""]),
        ("SELECT greatest(row, 5) FROM orders_1", [""]),
        ("SELECT row_number() OVER () AS row FROM orders_1", [""]),
        ("SELECT id AS row FROM orders_1", [""]),
        ("SELECT 5 AS row FROM orders_1", [""]),
        ("SELECT row.member FROM orders_1", [""]),
        ("SELECT row FROM (VALUES (5)) AS v(row)", [""]),
    ],
)
def test_a_column_counts_the_rows_of_a_dataset_only_if_it_hands_them_on(sql: str, counted: list[str]) -> None:
    assert [column.row_of for column in lineage(sql)] == counted
