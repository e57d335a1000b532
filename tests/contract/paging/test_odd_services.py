"""Services that paginate in unusual ways: all records if they can be read, and a correct verdict everywhere."""

from typing import Any

import pytest

from adapters.clock import ManualClock
from adapters.openapi.adapter import OpenApiSource
from adapters.openapi.settings import OpenApiSettings
from mock_api.conventions import Collection, ConventionName, RequestLog
from mock_api.conventions.unusual_services import UNUSUAL_SERVICES, create_unusual_app
from mock_api.serving import serve

MOST_REQUESTS = 40
READABLE = [odd.name for odd in UNUSUAL_SERVICES if odd.is_readable]
LYING = [odd.name for odd in UNUSUAL_SERVICES if not odd.is_readable]


async def read(name: str, n: int, bench_over: Any) -> Any:
    """One service of `n` records, read by the adapter that users have."""
    asked: list[str] = []
    async with serve(create_unusual_app(n, requested_urls=asked), port=0) as url:
        settings = OpenApiSettings(name="odd", document=f"{url}/openapi.json", base_url=url)
        source = await OpenApiSource.open(settings, clock=ManualClock())
        try:
            collection = Collection(convention=ConventionName.SINGLE, name=name, total=n)
            outcome = (await bench_over(source).read(_Named(collection, name), RequestLog())).outcome
        finally:
            await source.aclose()
    assert len(asked) <= MOST_REQUESTS, asked
    return outcome


class _Named:
    """A collection under the name of an odd service's own operation."""

    def __init__(self, collection: Collection, operation: str) -> None:
        self.operation, self.names = operation, collection.names


def ids(outcome: Any) -> list[int]:
    return [] if outcome.dataset is None else [one.get("id") for one in outcome.dataset.records()]


@pytest.mark.parametrize("n", [0, 1, 20, 133])
@pytest.mark.parametrize("name", READABLE)
async def test_all_records_come_once(name: str, n: int, bench_over: Any) -> None:
    outcome = await read(name, n, bench_over)
    assert sorted(ids(outcome)) == list(range(1, n + 1)), outcome.coverage
    assert outcome.coverage.is_complete, outcome.coverage


@pytest.mark.parametrize("name", LYING)
async def test_what_cannot_be_had_is_told(name: str, bench_over: Any) -> None:
    outcome = await read(name, 133, bench_over)
    assert not outcome.coverage.is_complete
    assert outcome.coverage.reasons
