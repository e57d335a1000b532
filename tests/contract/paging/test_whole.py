"""Every convention over real HTTP, with totals, sizes and clamps drawn at random: every record exactly once."""

import random
from typing import Any

import pytest

from mock_api.conventions import CONVENTIONS, Collection, ConventionName, RequestLog
from mock_api.conventions.faults import has_total

N_EACH = 6
UNUSUAL = {
    ConventionName.OFFSET: {"offset": "ab_satz", "total": "gesamt", "kind": "sorte"},
    ConventionName.PAGE: {"page": "blatt", "per_page": "je_blatt", "total": "gesamt", "kind": "sorte"},
}


def drawn(style: ConventionName, seed: int) -> Collection:
    """A collection with random figures; about every fifth has no record, one page, or a full last page."""
    draw = random.Random(f"{style}:{seed}")
    default = draw.choice([1, 3, 7, 10, 20, 25, 50])
    cap = draw.choice([None, default, 2 * default, 100])
    clamp = draw.choice([None, None, max(1, default - 1), 13])
    total = draw.choice([0, 1, default, 3 * default, draw.randint(2, 60), draw.randint(60, 400)])
    return Collection(
        convention=style,
        name=f"{style}_{seed}",
        total=total,
        default_size=default,
        cap=cap,
        clamp=clamp,
        says_total=draw.random() < 0.6,
    )


def drawn_all(style: ConventionName) -> tuple[Collection, ...]:
    return tuple(drawn(style, seed) for seed in range(N_EACH))


@pytest.mark.parametrize("style", ConventionName)
async def test_every_record_comes_once_whatever_totals_sizes_and_clamps(style: ConventionName, opened: Any) -> None:
    log = RequestLog()
    async with opened(*drawn_all(style), log=log) as bench:
        for collection in drawn_all(style):
            for concurrency, kind in ((4, None), (1, "odd")):
                log.responses.clear()
                read = await bench.read(collection, log, kind=kind, concurrency=concurrency)
                assert read.is_whole, read
                assert read.says_complete, read
                assert len(read.ids) == len(set(read.ids))
                assert len(log.responses) <= 2 * max(1, len(read.wanted)) + 12, read


@pytest.mark.parametrize("style", list(UNUSUAL))
async def test_unusual_names_make_no_difference(style: ConventionName, opened: Any) -> None:
    collection = Collection(convention=style, total=133, names=UNUSUAL[style])
    log = RequestLog()
    async with opened(collection, log=log) as bench:
        read = await bench.read(collection, log)
    assert read.is_whole, read
    assert read.says_complete


@pytest.mark.parametrize("style", [style for style in ConventionName if CONVENTIONS[style].size and has_total(style)])
async def test_the_first_n_suffice_where_that_was_asked(style: ConventionName, opened: Any) -> None:
    collection, log = Collection(convention=style, total=133, default_size=10, cap=20), RequestLog()
    async with opened(collection, log=log) as bench:
        read = await bench.read(collection, log, at_most=37)
    ids = read.wanted if style is not ConventionName.KEYSET_MAX_ID else read.wanted[::-1]
    assert read.ids == ids[:37], read
    assert read.codes == {"first_n"}
