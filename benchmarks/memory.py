"""Measures the peak memory of reading a long dataset over HTTP, with tokenizer, journal and sealing.

100,000 and 200,000 records of over 1 KB each, from a mock API in another process, each read in a child process whose
peak resident set is measured. Prints one JSON object. Exits with 10 if a peak reaches 450 MB, if the longer dataset
takes more than 1.2 times the memory of the shorter one, or if a record is missing.
"""

import asyncio
import json
import resource
import subprocess
import sys
import time
from typing import Any

from benchmarks.setting import MISSED, Instant, call_of, executor_over, scope

LIMIT_MB, RATIO_LIMIT = 450, 1.2
SHORT, LONG = 100_000, 200_000
EFFECTIVE = 32_768


async def read(url: str) -> dict[str, Any]:
    """Read everything from `url`, in this process."""
    from adapters.openapi.adapter import OpenApiSettings, OpenApiSource
    from runax_cli.models.tokens import CalibratedCounter, O200kCounter

    settings = OpenApiSettings(name="mock", document=f"{url}/openapi.json", base_url=url)
    source = await OpenApiSource.open(settings)
    try:
        (tool,) = (await source.list_tools()).tools
        counter, reducer = CalibratedCounter(O200kCounter(), ratio=1.0), Instant()
        async with executor_over(source, counter, effective_tokens=EFFECTIVE) as executor:
            began = time.perf_counter()
            outcome = await executor.execute(call_of(tool), scope(reducer), direct_limit=EFFECTIVE // 4)
            took = time.perf_counter() - began
            assert outcome.dataset is not None
            spooled, is_sealed = outcome.dataset.spool.n_bytes, outcome.dataset.is_sealed
    finally:
        await source.aclose()
    return {
        "records_read": outcome.coverage.records_read,
        "read_by_model": outcome.coverage.read_by_model,
        "is_complete": outcome.coverage.is_complete,
        "reasons": [reason.text for reason in outcome.coverage.reasons],
        "is_sealed": is_sealed,
        "json_mb": round(spooled / 1e6, 1),
        "tokens": outcome.report.tokens_raw,
        "chunks": reducer.requests,
        "took_s": round(took, 1),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }


def child(n_records: int) -> dict[str, Any]:
    """The same in a child process, with the server in another one."""
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.synthetic", str(n_records)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        url = server.stdout.readline().strip()
        try:
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.memory", "--read", url], stdout=subprocess.PIPE, check=True
            )
        finally:
            server.stdin.close()
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def main() -> int:
    if sys.argv[1:2] == ["--read"]:
        print(json.dumps(asyncio.run(read(sys.argv[2]))))
        return 0
    short, long = child(SHORT), child(LONG)
    ratio = long["peak_mb"] / short["peak_mb"]
    are_whole = all(
        run["records_read"] == run["read_by_model"] == n and run["is_complete"] and run["is_sealed"]
        for run, n in ((short, SHORT), (long, LONG))
    )
    is_reached = max(short["peak_mb"], long["peak_mb"]) < LIMIT_MB and ratio <= RATIO_LIMIT and are_whole
    told = {
        "short": short,
        "long": long,
        "ratio": round(ratio, 3),
        "ratio_limit": RATIO_LIMIT,
        "limit_mb": LIMIT_MB,
        "is_reached": is_reached,
    }
    print(json.dumps(told, indent=2))
    return 0 if is_reached else MISSED


if __name__ == "__main__":
    sys.exit(main())
