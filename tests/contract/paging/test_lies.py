"""Servers with false metadata: the read ends, and its coverage is correct."""

import random
from typing import Any

import pytest

from mock_api.conventions import Collection, ConventionName, PagingFault, RequestLog, faults_of

N_EACH = 3
MOST_REQUESTS = 160
"""For at most 120 records in pages of 7 and more: endless empty pages cost the most."""


def drawn(style: ConventionName, lie: PagingFault, seed: int) -> Collection:
    """A collection of several pages. Records that are silently omitted are noticed only if a total is announced."""
    draw = random.Random(f"{style}:{lie}:{seed}")
    default = draw.choice([7, 10, 20])
    return Collection(
        convention=style,
        fault=lie,
        name=f"{style}_{lie}_{seed}",
        total=draw.randint(3 * default, 120),
        default_size=default,
        cap=draw.choice([default, 25]),
        says_total=lie is PagingFault.SILENT_WINDOW_END or draw.random() < 0.6,
        window=2 * default,
    )


CASES = [(style, lie) for style in ConventionName for lie in sorted(faults_of(style))]


@pytest.mark.parametrize("style", [style for style in ConventionName if faults_of(style)])
async def test_the_verdict_over_a_server_that_lies_is_true(style: ConventionName, opened: Any) -> None:
    served = [drawn(style, lie, seed) for lie in sorted(faults_of(style)) for seed in range(N_EACH)]
    log = RequestLog()
    async with opened(*served, log=log) as bench:
        for collection in served:
            for kind in (None, "odd"):
                log.responses.clear()
                read = await bench.read(collection, log, kind=kind, concurrency=3)
                assert not read.says_complete or read.is_whole, read
                assert read.says_complete or read.codes, read
                assert len(read.ids) == len(set(read.ids)), read
                assert set(read.ids) <= set(read.wanted) or collection.fault is PagingFault.DROPPED_ARGUMENTS, read
                assert len(log.responses) < MOST_REQUESTS, read
