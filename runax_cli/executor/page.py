"""One page as it came: records, what it says of itself, where it stood; and its form in the journal.

Knows readings and positions. Knows no walk and sends nothing. A page in the journal is a pointer into the spool with
a checksum: a pointer whose bytes are gone or changed counts as no page.
"""

import zlib
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from adapters.base import CallResult, Convention, Json, PageAddress, Pagination
from adapters.pagination import Certainty, PageReading, read_page
from runax_cli.executor.compact import parsed
from runax_cli.executor.spool import PageEntry
from runax_cli.executor.ways import Way
from runax_cli.results import Stored

_SHOWN_POSITION = 60


@dataclass(slots=True, kw_only=True)
class Page:
    """`total` is what the page announces with certainty, else None; `requests` counts retries and repetitions.

    `dropped` records were held by the page and are not kept: repetitions, and what goes beyond the first n. `kind` is
    the convention by which the page names its next one. `ways` are other ways to go on from it, known of a first page.
    """

    records: list[Json]
    dropped: int = 0
    has_more: bool | None = None
    next: PageAddress | None = None
    total: int | None = None
    requests: int = 1
    from_store: bool = False
    kind: Convention | None = None
    ways: tuple[Way, ...] = ()

    @property
    def held(self) -> int:
        """Records that the page held when it came."""
        return len(self.records) + self.dropped


class StoredPage(Stored):
    """The journal's entry of a page: where its bytes stand, and what it said of the walk."""

    spool: str
    offset: int
    n_bytes: int
    checksum: int
    dropped: int = 0
    has_more: bool | None = None
    next_url: str | None = None
    next_arguments: dict[str, Json] | None = None
    next_operation: str | None = None
    kind: Convention | None = None
    total: int | None = None


def page_of(
    result: CallResult,
    pagination: Pagination,
    *,
    records_path: str,
    size: int | None,
    asked: PageAddress | None = None,
) -> Page:
    """Read a response as a page; `asked` is its address."""
    reading = read_page(result, pagination, records_path=records_path, size=size, asked=asked)
    return page_of_reading(reading, requests=result.requests)


def page_of_reading(reading: PageReading, *, requests: int) -> Page:
    """A page from its reading."""
    return Page(
        records=list(reading.records),
        has_more=reading.has_more,
        next=reading.next,
        total=reading.total if reading.certainty is Certainty.EXACT else None,
        requests=requests,
        kind=reading.kind,
    )


def position_of(place: PageAddress | None, pagination: Pagination, *, index: int) -> str:
    """Where a page stands, for the log; the query of a URL may hold secrets and is left out."""
    if place is not None and place.url is not None:
        return place.url.split("?", 1)[0]
    if place is not None and "Range" in place.headers:
        return place.headers["Range"][:_SHOWN_POSITION]
    name = pagination.position
    if place is not None and name is not None and name in place.arguments:
        return f"{name}={place.arguments[name]}"[:_SHOWN_POSITION]
    return f"page {index + 1}"


def to_journal(page: Page, entry: PageEntry, spool: Path) -> bytes:
    """The payload of a page's journal entry."""
    stored = StoredPage(
        spool=str(spool),
        offset=entry.offset,
        n_bytes=entry.n_bytes,
        checksum=entry.checksum,
        dropped=page.dropped,
        has_more=page.has_more,
        next_url=page.next.url if page.next else None,
        next_arguments=dict(page.next.arguments) if page.next else None,
        next_operation=page.next.operation if page.next else None,
        kind=page.kind,
        total=page.total,
    )
    return stored.model_dump_json(exclude_none=True).encode()


def from_journal(payload: bytes) -> Page | None:
    """The page behind a journal entry, read from its spool; None where the spool no longer has it. Blocking."""
    try:
        stored = StoredPage.model_validate_json(payload)
        with Path(stored.spool).open("rb") as file:
            file.seek(stored.offset)
            body = file.read(stored.n_bytes)
    except (ValidationError, OSError):
        return None
    if zlib.crc32(body) != stored.checksum:
        return None
    following = None
    if stored.next_url is not None or stored.next_arguments is not None:
        following = PageAddress(stored.next_arguments or {}, url=stored.next_url, operation=stored.next_operation)
    return Page(
        records=[parsed(line) for line in body.splitlines()],
        dropped=stored.dropped,
        has_more=stored.has_more,
        next=following,
        total=stored.total,
        requests=0,
        from_store=True,
        kind=stored.kind,
    )
