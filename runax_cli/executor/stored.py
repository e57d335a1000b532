"""A page in the journal: a pointer into the spool with a checksum, and what the page said of the walk.

Knows the form. A pointer whose bytes are gone or changed counts as no page.
"""

import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import Field, TypeAdapter, ValidationError

from adapters.base import Convention, Json, PageAddress, Pagination
from runax_cli.executor.compact import parsed
from runax_cli.executor.page import Page
from runax_cli.executor.spool import PageEntry
from runax_cli.executor.ways import Way
from runax_cli.results import Stored

_PAGINATION = TypeAdapter(Pagination)


class StoredAddress(Stored):
    """Where a page is."""

    arguments: dict[str, Json]
    url: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    operation: str | None = None

    @classmethod
    def of(cls, place: PageAddress) -> "StoredAddress":
        """The stored form of an address."""
        return cls(
            arguments=dict(place.arguments), url=place.url, headers=dict(place.headers), operation=place.operation
        )

    def restored(self) -> PageAddress:
        """The address."""
        return PageAddress(self.arguments, url=self.url, headers=self.headers, operation=self.operation)


class StoredWay(Stored):
    """Another way to go on from a first page."""

    pagination: dict[str, Any]
    place: StoredAddress


class StoredPage(Stored):
    """The journal's entry of a page: where its bytes stand, and what it said of the walk."""

    spool: str
    offset: int
    n_bytes: int
    checksum: int
    dropped: int = 0
    has_more: bool | None = None
    next: StoredAddress | None = None
    kind: Convention | None = None
    total: int | None = None
    ways: tuple[StoredWay, ...] = ()


def to_journal(page: Page, entry: PageEntry, spool: Path) -> bytes:
    """The payload of a page's journal entry."""
    stored = StoredPage(
        spool=str(spool),
        offset=entry.offset,
        n_bytes=entry.n_bytes,
        checksum=entry.checksum,
        dropped=page.dropped,
        has_more=page.has_more,
        next=None if page.next is None else StoredAddress.of(page.next),
        kind=page.kind,
        total=page.total,
        ways=tuple(
            StoredWay(pagination=asdict(way.pagination), place=StoredAddress.of(way.place)) for way in page.ways
        ),
    )
    return stored.model_dump_json(exclude_none=True).encode()


def from_journal(payload: bytes) -> Page | None:
    """The page behind a journal entry, read from its spool; None where the spool no longer has it. Blocking."""
    try:
        stored = StoredPage.model_validate_json(payload)
        ways = tuple(Way(_PAGINATION.validate_python(way.pagination), way.place.restored()) for way in stored.ways)
        with Path(stored.spool).open("rb") as file:
            file.seek(stored.offset)
            body = file.read(stored.n_bytes)
    except (ValidationError, OSError):
        return None
    if zlib.crc32(body) != stored.checksum:
        return None
    return Page(
        records=[parsed(line) for line in body.splitlines()],
        dropped=stored.dropped,
        has_more=stored.has_more,
        next=None if stored.next is None else stored.next.restored(),
        total=stored.total,
        requests=0,
        from_store=True,
        kind=stored.kind,
        ways=ways,
    )
