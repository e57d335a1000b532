"""Servers with false metadata: the read ends, and its coverage is correct."""

import random
from typing import Any

import pytest

from mock_api.conventions import Collection, ConventionName, PagingFault, RequestLog, faults_of

N_EACH = 3
MOST_REQUESTS = 160
"""For at most 100 records in pages of 7 and more: endless empty pages cost the most."""


def drawn(style: ConventionName, fault: PagingFault, seed: int) -> Collection:
    """A collection of three to five pages. Silently omitted records are noticed only if a total is announced."""
    draw = random.Random(f"{style}:{fault}:{seed}")
    default = draw.choice([7, 10, 20])
    return Collection(
        convention=style,
        fault=fault,
        name=f"{style}_{fault}_{seed}",
        total=draw.randint(3 * default, 5 * default),
        default_size=default,
        cap=draw.choice([default, 25]),
        says_total=fault is PagingFault.SILENT_WINDOW_END or draw.random() < 0.6,
        window=2 * default,
    )


@pytest.mark.parametrize("style", [style for style in ConventionName if faults_of(style)])
async def test_coverage_is_correct_over_a_server_with_false_metadata(style: ConventionName, opened: Any) -> None:
    """Each fault is drawn three times: two collections are read whole, one with an argument that filters."""
    cases = [(drawn(style, fault, seed), seed) for fault in sorted(faults_of(style)) for seed in range(N_EACH)]
    log = RequestLog()
    async with opened(*(collection for collection, _ in cases), log=log) as bench:
        for collection, seed in cases:
            log.responses.clear()
            read = await bench.read(collection, log, kind="odd" if seed % 2 else None, concurrency=3)
            assert not read.says_complete or read.is_whole, read
            assert read.says_complete or read.codes, read
            assert len(read.ids) == len(set(read.ids)), read
            assert set(read.ids) <= set(read.wanted) or collection.fault is PagingFault.DROPPED_ARGUMENTS, read
            assert len(log.responses) < MOST_REQUESTS, read
