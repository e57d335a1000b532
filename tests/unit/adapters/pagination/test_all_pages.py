"""Reading all pages yields every record exactly once."""

from hypothesis import given
from hypothesis import strategies as st

from adapters.base import Json, PageAddress, Pagination, PaginationStyle
from adapters.pagination import PageReading, first_address, offset_address, page_address, read_page
from adapters.pagination.probe.probe import ProbeResult, probe
from tests.unit.adapters.pagination.paged_server import PagedServer

CHAINED = [PaginationStyle.CURSOR, PaginationStyle.NEXT_URL, PaginationStyle.LINK_HEADER]
PATHS = st.sampled_from(["items", "data", "data.tickets", "result.data.rows"])
LIMIT_OF_REQUESTS = 300


def following(
    pagination: Pagination, reading: PageReading, *, index: int, received: int, size: int
) -> PageAddress | None:
    """A minimal walker: it trusts no total, and stops if nothing follows."""
    if reading.has_more is False:
        return None
    if not pagination.is_addressable:
        return reading.next
    if not reading.records:
        return None
    if pagination.convention is PaginationStyle.OFFSET:
        return offset_address(pagination, offset=received, size=size)
    return page_address(pagination, page_index=index + 1, size=size)


async def walk(server: PagedServer, pagination: Pagination, size: int, *, path: str | None = None) -> list[Json]:
    ids: list[Json] = []
    address: PageAddress | None = first_address(pagination, size=size)
    for index in range(LIMIT_OF_REQUESTS):
        assert address is not None
        reading = read_page(await server.send(address), pagination, records_path=path, size=size)
        path = reading.records_path
        ids += [record["id"] for record in reading.records]
        address = following(pagination, reading, index=index, received=len(ids), size=size)
        if address is None:
            return ids
    raise AssertionError("the walk does not end")


servers = st.builds(
    PagedServer,
    convention=st.sampled_from([PaginationStyle.OFFSET, PaginationStyle.PAGE, *CHAINED]),
    n_records=st.integers(0, 60),
    clamp=st.integers(1, 20),
    total=st.none() | st.integers(0, 150),
    total_in=st.sampled_from(["body", "header"]),
    path=PATHS,
    reports_page=st.booleans(),
    end=st.sampled_from(["absent", "null", "empty", "flag"]),
    is_relative=st.booleans(),
)


@given(server=servers, size=st.integers(1, 30))
async def test_all_pages_from_static_detection_hold_every_record_once(server: PagedServer, size: int) -> None:
    pagination = server.tool().pagination
    if server.convention in (PaginationStyle.NEXT_URL, PaginationStyle.LINK_HEADER):
        pagination = Pagination(convention=server.convention, size="limit")
    assert await walk(server, pagination, size) == list(range(server.n_records))


async def walk_from(server: PagedServer, probed: ProbeResult, size: int) -> list[Json]:
    """Continue after the result of the probe."""
    if probed.first is None:
        return await walk(server, probed.pagination, size, path=probed.records_path)
    reading, pagination = probed.first.reading, probed.pagination
    ids = [record["id"] for record in reading.records]
    size = probed.first.size or len(ids)
    address = following(pagination, reading, index=0, received=len(ids), size=size) if ids else None
    for index in range(1, LIMIT_OF_REQUESTS):
        if address is None:
            return ids
        reading = read_page(await server.send(address), pagination, records_path=probed.records_path, size=size)
        ids += [record["id"] for record in reading.records]
        address = following(pagination, reading, index=index, received=len(ids), size=size)
    raise AssertionError("the walk does not end")


@given(server=servers, size=st.integers(1, 30), first_page=st.integers(0, 1), refuses_one=st.booleans())
async def test_all_pages_after_the_probe_hold_every_record_once(
    server: PagedServer, size: int, first_page: int, refuses_one: bool
) -> None:
    server.first_page, server.reports_page = first_page, True
    server.total = None if server.total is None else server.n_records
    server.refuses = frozenset({1}) if refuses_one else frozenset()
    probed = await probe(server.tool(), server.send)
    server.refuses = frozenset()
    assert await walk_from(server, probed, size) == list(range(server.n_records))
    assert probed.total in (None, server.n_records)


@given(
    convention=st.sampled_from([PaginationStyle.OFFSET, *CHAINED]),
    n_records=st.integers(0, 60),
    default=st.integers(2, 20),
    size=st.integers(1, 30),
)
async def test_a_server_that_ignores_the_size_is_read_completely(
    convention: PaginationStyle, n_records: int, default: int, size: int
) -> None:
    server = PagedServer(convention, n_records, clamp=100, default=default, honors_size=False)
    probed = await probe(server.tool(), server.send)
    assert await walk_from(server, probed, size) == list(range(n_records))
