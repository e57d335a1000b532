"""A mock API in its own process, over records that are generated on request.

`python -m benchmarks.synthetic RECORDS` prints the base URL on a line and serves until its standard input ends.
"""

import asyncio
import sys
from collections.abc import Sequence

import orjson

from mock_api.app import create_app
from mock_api.resources import Filters, Resource
from mock_api.serving import serve

PAGE_CAP = 500
_WORDS = "výpadek internet router faktura signal outage invoice modem technik Brno Plzeň speed line call".split()
_SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}, "text": {"type": "string"}}}


def record(number: int) -> bytes:
    """Record `number` as JSON, about 1,100 bytes."""
    words = " ".join(_WORDS[(number * 7 + at * at) % len(_WORDS)] for at in range(140))
    made = {
        "id": number,
        "customer_id": number % 1000,
        "state": ("open", "closed", "waiting")[number % 3],
        "price": number % 977 / 10,
        "note": None if number % 5 else f"note {number}",
        "owner": {"name": f"agent {number % 17}", "teams": ["a", "b"][: number % 3]},
        "text": words,
    }
    return orjson.dumps(made)


def resource(n_records: int) -> Resource:
    """`n_records` of them; none is stored."""

    def select(_filters: Filters) -> Sequence[int]:
        return range(n_records)

    return Resource(
        name="items",
        description="Made-up tickets.",
        record_schema=_SCHEMA,
        filters=(),
        select=select,
        read=lambda positions: [record(number) for number in positions],
        definitions={},
    )


async def serving(n_records: int) -> None:
    app = create_app([resource(n_records)], max_limit=PAGE_CAP)
    async with serve(app, port=0) as url:
        print(url, flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serving(int(sys.argv[1])))
