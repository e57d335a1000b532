"""Every convention of the mock API is detected, probed and read completely."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.base import PaginationStyle
from adapters.pagination import Certainty
from adapters.pagination.probe.probe import ProbeMemory, ProbeMethod, ProbeResult, probe, refresh_total
from mock_api.conventions import CONVENTIONS, Collection, ConventionName, PagingFault
from tests.unit.adapters.pagination.convention_source import ConventionSource

WITH_TOTAL = [
    ConventionName.OFFSET,
    ConventionName.OFFSET_HEADER,
    ConventionName.OFFSET_IN_BODY,
    ConventionName.START_AT,
    ConventionName.PAGE,
    ConventionName.PAGE_ZERO,
    ConventionName.PAGE_AND_CURSOR,
    ConventionName.RELAY,
    ConventionName.LINK,
    ConventionName.NEXT_URL,
    ConventionName.LINKS_LIST,
    ConventionName.HAL,
    ConventionName.HEADER_URL,
    ConventionName.ODATA,
    ConventionName.JSONAPI_NUMBER,
    ConventionName.JSONAPI_OFFSET,
    ConventionName.SCIM,
    ConventionName.SEARCH_FROM,
    ConventionName.SEARCH_AFTER,
    ConventionName.SCROLL,
    ConventionName.RANGE,
    ConventionName.COUNT_SIBLING,
    ConventionName.TOTAL_FLAG,
    ConventionName.META_ONLY,
    ConventionName.HITS_FLAG,
]
NONSENSE = "zorb fnord quux blip wug dax gorp plumbus vek mib tulo".split()
PAGED = [style for style in ConventionName if style is not ConventionName.SINGLE]


async def probe_result(source: ConventionSource, memory: ProbeMemory | None = None) -> ProbeResult:
    return await probe(source.tool(), source.send, memory=memory)


@pytest.mark.parametrize("style", WITH_TOTAL)
async def test_a_total_costs_two_requests_at_most_and_a_fiftieth_of_the_data(style: ConventionName) -> None:
    collection = Collection(convention=style, total=1000)
    source, whole = ConventionSource(collection), ConventionSource(collection)
    probed = await probe_result(source)
    assert (probed.total, probed.certainty) == (1000, Certainty.EXACT)
    assert len(source.sent) <= 2
    await whole.read_all(probed, size=100)
    assert source.n_bytes < whole.n_bytes / 50


async def test_a_number_of_records_still_to_come_is_a_floor() -> None:
    probed = await probe_result(ConventionSource(Collection(convention=ConventionName.CONTINUE, total=1000)))
    assert (probed.total, probed.certainty) == (1000, Certainty.AT_LEAST)


@pytest.mark.parametrize("style", WITH_TOTAL)
async def test_a_total_is_of_the_records_that_the_arguments_select(style: ConventionName) -> None:
    source = ConventionSource(Collection(convention=style, total=1001), own={"kind": "odd"})
    assert (await probe_result(source)).total == 500


@pytest.mark.parametrize("style", PAGED)
@given(
    total=st.integers(0, 60),
    size=st.integers(1, 30),
    default=st.integers(1, 20),
    clamp=st.none() | st.integers(1, 15),
)
@settings(max_examples=25, deadline=None)
async def test_all_pages_after_the_probe_hold_every_record_once(
    style: ConventionName, total: int, size: int, default: int, clamp: int | None
) -> None:
    granted = min(size, clamp or size)
    by_number = CONVENTIONS[style].position in ("page", "page[number]")
    collection = Collection(convention=style, total=total, default_size=default, clamp=clamp)
    source = ConventionSource(collection)
    probed = await probe_result(source)
    assert await source.read_all(probed, size=granted if by_number else size) == in_order(collection)
    assert probed.total in (None, total)


def in_order(collection: Collection) -> list[int]:
    ids = list(collection.ids())
    return ids[::-1] if collection.convention is ConventionName.KEYSET_MAX_ID else ids


def unusual(style: ConventionName) -> dict[str, str]:
    """A meaningless name for each member of the responses that is not an argument as well."""
    spec = CONVENTIONS[style]
    arguments = {part for name in (spec.position, spec.size, spec.second_position) for part in parts(name)}
    told = (spec.records, spec.next, spec.total, spec.pages, spec.number, spec.start)
    names = [part for name in (*told, spec.more, spec.remaining) for part in parts(name)]
    free = dict.fromkeys(name for name in names if name not in arguments | {"href", "Next-Page"})
    return dict(zip(free, NONSENSE, strict=False))


def parts(name: str | None) -> list[str]:
    return name.split("/") if name else []


@pytest.mark.parametrize("style", PAGED)
@given(total=st.integers(0, 60), size=st.integers(1, 30))
@settings(max_examples=15, deadline=None)
async def test_meaningless_names_are_read_by_structure(style: ConventionName, total: int, size: int) -> None:
    known = ConventionSource(Collection(convention=style)).pagination
    collection = Collection(convention=style, total=total, names=unusual(style))
    source = ConventionSource(collection)
    probed = await probe(source.tool(replace(known, next_path=None, total_path=None)), source.send)
    assert await source.read_all(probed, size=size) == in_order(collection)


async def test_a_cursor_found_by_structure_keeps_its_path() -> None:
    source = ConventionSource(Collection(convention=ConventionName.CURSOR, names={"next_cursor": "fnord"}))
    probed = await probe_result(source)
    assert probed.pagination.next_path == "fnord"
    assert "'fnord'" in probed.notes[-1]


@pytest.mark.parametrize("style", WITH_TOTAL)
async def test_the_refreshed_total_equals_that_of_the_probe(style: ConventionName) -> None:
    source, memory = ConventionSource(Collection(convention=style, total=1000)), ProbeMemory()
    probed = await probe_result(source, memory)
    n_sent = len(source.sent)
    assert await refresh_total(source.tool(), source.send, memory=memory) == probed.total == 1000
    assert len(source.sent) <= n_sent + 2


@pytest.mark.parametrize("style", [ConventionName.SEARCH_FROM, ConventionName.SEARCH_AFTER, ConventionName.SCROLL])
async def test_a_count_that_stops_at_a_bound_is_a_floor(style: ConventionName) -> None:
    probed = await probe_result(
        ConventionSource(Collection(convention=style, total=1000, fault=PagingFault.ESTIMATED_TOTAL))
    )
    assert (probed.total, probed.certainty) == (900, Certainty.AT_LEAST)


async def test_the_smallest_of_enumerated_sizes_is_asked_for() -> None:
    source = ConventionSource(Collection(convention=ConventionName.OFFSET, total=1000, sizes=(25, 50, 10)))
    probed = await probe_result(source)
    assert (probed.total, probed.method) == (1000, ProbeMethod.SMALLEST_PAGE)
    assert source.sent[0] is not None
    assert source.sent[0].arguments["limit"] == 10


async def test_a_next_url_without_the_filter_gets_it_back() -> None:
    source = ConventionSource(
        Collection(convention=ConventionName.HAL, total=60, fault=PagingFault.DROPPED_ARGUMENTS, default_size=7),
        own={"kind": "odd"},
    )
    chained = replace(source.pagination, convention=PaginationStyle.NEXT_URL, position=None, other_hidden=("page",))
    probed = await probe(source.tool(chained), source.send)
    assert len(await source.read_all(probed, size=7)) == 30
