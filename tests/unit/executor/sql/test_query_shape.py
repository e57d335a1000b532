"""The shape of a statement says what it computes, by which conditions, and in which order."""

import json

import duckdb
import pytest

from runax_cli.executor.sql.query_shape import Condition, OrderTerm, QueryShape, query_shape


def shape(sql: str) -> QueryShape:
    """The shape of a statement as DuckDB serializes it."""
    with duckdb.connect() as connection:
        found = connection.execute("SELECT json_serialize_sql(?)", [sql]).fetchone()
    assert found is not None
    known = query_shape(json.loads(found[0]))
    assert known is not None
    return known


@pytest.mark.parametrize(
    ("sql", "columns", "is_descending"),
    [
        ("SELECT city, count(*) AS n FROM t GROUP BY city ORDER BY n DESC", ("n",), True),
        ("SELECT city, count(*) AS n FROM t GROUP BY city ORDER BY 2 DESC", ("n",), True),
        ("SELECT city FROM t ORDER BY price", ("price",), False),
        ("WITH g AS (SELECT city, avg(d) AS m FROM t GROUP BY 1) SELECT city, m FROM g ORDER BY m ASC", ("m",), False),
    ],
)
def test_the_first_order_term_has_columns_and_a_direction(
    sql: str, columns: tuple[str, ...], *, is_descending: bool
) -> None:
    assert shape(sql).order[0] == OrderTerm(columns, is_descending)


def test_the_order_of_a_subquery_with_a_limit_counts() -> None:
    found = shape("SELECT name FROM (SELECT name FROM t ORDER BY price DESC LIMIT 1)")
    assert (found.order[0].is_descending, found.limit) == (True, 1)


@pytest.mark.parametrize(
    ("sql", "aggregate", "is_distinct", "of"),
    [
        ("SELECT count(*) FROM t", "count_star", False, ()),
        ("SELECT count(DISTINCT city) AS n FROM t", "count", True, ("city",)),
        ("SELECT round(avg(delay), 1) FROM t", "avg", False, ("delay",)),
        ("WITH g AS (SELECT max(delay) AS m FROM t) SELECT m FROM g", "max", False, ("m", "delay")),
    ],
)
def test_an_output_column_has_its_aggregate(
    sql: str, aggregate: str, of: tuple[str, ...], *, is_distinct: bool
) -> None:
    (output,) = shape(sql).outputs
    assert (output.aggregate, output.is_distinct, output.of) == (aggregate, is_distinct, of)


def test_conditions_name_their_column_and_constants() -> None:
    found = shape("SELECT count(*) FILTER (WHERE kind = 'x') FROM t WHERE a IN ('k', 'l') AND lower(b) LIKE '%q%'")
    assert set(found.conditions) == {
        Condition("kind", "=", ("x",)),
        Condition("a", "in", ("k", "l")),
        Condition("b", "~~", ("%q%",)),
    }
    assert found.used_columns == {"kind", "a", "b"}


def test_an_unreadable_statement_has_no_shape() -> None:
    assert query_shape({"error": True}) is None
