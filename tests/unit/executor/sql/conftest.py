"""A SQL engine over records."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pytest

from runax_cli.executor.sql.engine import SqlEngine

EngineOver: TypeAlias = Callable[..., SqlEngine]


def engine_over_records(folder: Path, records: list[dict[str, Any]], **limits: Any) -> SqlEngine:
    lines, path = folder / "records.ndjson", folder / "orders_1.parquet"
    lines.write_text("\n".join(json.dumps(record) for record in records))
    with duckdb.connect() as connection:
        connection.execute(f"COPY (FROM read_json('{lines}', sample_size=-1)) TO '{path}' (FORMAT parquet)")
    engine = SqlEngine(folder, **limits)
    engine.add_table("orders_1", path)
    return engine


@pytest.fixture
def engine_over(tmp_path: Path) -> EngineOver:
    """Make an engine whose table `orders_1` has these records."""
    return lambda records, **limits: engine_over_records(tmp_path, records, **limits)


@pytest.fixture
def orders(engine_over: EngineOver) -> SqlEngine:
    return engine_over([{"id": n, "city": ["Brno", "Plzeň"][n % 2], "price": f"{n},50 Kč"} for n in range(1, 5)])
