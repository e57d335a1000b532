"""The records of the generated tables, made once a session."""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import pytest

from mockdata.tables import tables

AllRecords: TypeAlias = Callable[[str], list[dict[str, Any]]]


@pytest.fixture(scope="session")
def all_records() -> AllRecords:
    """A function that returns all records of a resource by a full scan, in the order of their numbers."""
    made = tables()

    @cache
    def scan(resource: str) -> list[dict[str, Any]]:
        return [made[resource].record(n) for n in range(1, made[resource].count + 1)]

    return scan
