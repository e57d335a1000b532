"""Every convention over real HTTP, with totals, sizes and clamps drawn at random: every record exactly once."""

import random
from typing import Any

import pytest

from mock_api.conventions import SPELLINGS, Collection, Log, Style
from mock_api.conventions.lying import has_total

N_EACH = 6
UNUSUAL = {
    Style.OFFSET: {"offset": "ab_satz", "total": "gesamt", "kind": "sorte"},
    Style.PAGE: {"page": "blatt", "per_page": "je_blatt", "total": "gesamt", "kind": "sorte"},
}


def drawn(style: Style, seed: int) -> Collection:
    """A collection whose figures are drawn; every fifth or so has no record, one page, or a full last page."""
    draw = random.Random(f"{style}:{seed}")
    default = draw.choice([1, 3, 7, 10, 20, 25, 50])
    cap = draw.choice([None, default, 2 * default, 100])
    clamp = draw.choice([None, None, max(1, default - 1), 13])
    total = draw.choice([0, 1, default, 3 * default, draw.randint(2, 60), draw.randint(60, 400)])
    return Collection(
        style=style,
        name=f"{style}_{seed}",
        total=total,
        default_size=default,
        cap=cap,
        clamp=clamp,
        says_total=draw.random() < 0.6,
    )


def drawn_all(style: Style) -> tuple[Collection, ...]:
    return tuple(drawn(style, seed) for seed in range(N_EACH))


@pytest.mark.parametrize("style", Style)
async def test_every_record_comes_once_whatever_totals_sizes_and_clamps(style: Style, opened: Any) -> None:
    log = Log()
    async with opened(*drawn_all(style), log=log) as bench:
        for collection in drawn_all(style):
            for concurrency, kind in ((4, None), (1, "odd")):
                log.given.clear()
                read = await bench.read(collection, log, kind=kind, concurrency=concurrency)
                assert read.is_whole, read
                assert read.says_complete, read
                assert len(read.ids) == len(set(read.ids))
                assert len(log.given) <= 2 * max(1, len(read.wanted)) + 12, read


@pytest.mark.parametrize("style", list(UNUSUAL))
async def test_unusual_names_make_no_difference(style: Style, opened: Any) -> None:
    collection = Collection(style=style, total=133, names=UNUSUAL[style])
    log = Log()
    async with opened(collection, log=log) as bench:
        read = await bench.read(collection, log)
    assert read.is_whole, read
    assert read.says_complete


@pytest.mark.parametrize("style", [style for style in Style if SPELLINGS[style].size and has_total(style)])
async def test_the_first_n_suffice_where_that_was_asked(style: Style, opened: Any) -> None:
    collection, log = Collection(style=style, total=133, default_size=10, cap=20), Log()
    async with opened(collection, log=log) as bench:
        read = await bench.read(collection, log, at_most=37)
    ids = read.wanted if style is not Style.KEYSET_MAX_ID else read.wanted[::-1]
    assert read.ids == ids[:37], read
    assert read.codes == {"first_n"}
