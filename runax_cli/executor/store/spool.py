"""The spool: pages of one call on disk, appended as they arrive, and a manifest that says where each stands.

Two files a dataset: `pages.ndjson` (one compact record a line) and `manifest.jsonl` (one entry a page: number, offset,
counts, checksum). Knows bytes and page numbers. Knows no record's meaning, no model, no table.

Durability: data first, its manifest entry after it, no fsync a page. A killed process loses nothing that is in the
manifest; after a power cut the checksum tells a torn page from a whole one, and a torn page is fetched again. Paying
an fsync a page would protect what can be had again for one request.
"""

import os
import threading
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path

import orjson

from runax_cli.core.errors import StoreError

MARK_EVERY = 256
"""A page's manifest entry remembers the offset of every 256th record, so that one record of a huge page is near."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageEntry:
    """Where a page stands: `index` from 0, `offset` and `n_bytes` in the spool, `marks` relative to `offset`."""

    index: int
    position: str
    offset: int
    n_bytes: int
    records: int
    longest: int
    checksum: int
    marks: tuple[int, ...]


class Spool:
    """Append-only pages of one dataset, readable while more arrive; reads open their own handle.

    Pages may be written from several threads: each write has the end of the file to itself.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "pages.ndjson"
        self.entries: dict[int, PageEntry] = {}
        self._manifest = folder / "manifest.jsonl"
        self.n_records = 0
        self._end = 0
        self._told = 0
        self._writing = threading.Lock()

    def reopen(self) -> None:
        """Take up the pages of an earlier process. Raises OSError, and ValueError where the manifest is no manifest."""
        for line in self._manifest.read_bytes().splitlines(keepends=True):
            if not line.endswith(b"\n"):
                return
            try:
                told = orjson.loads(line)
                entry = PageEntry(**told | {"marks": tuple(told["marks"])})
            except (KeyError, TypeError) as error:
                raise ValueError(f"'{self._manifest}' has a line that tells no page") from error
            self._told += len(line)
            self._end = max(self._end, entry.offset + entry.n_bytes)
            self._take(entry)

    def write(self, index: int, lines: Sequence[bytes], *, position: str) -> PageEntry:
        """Append a page; raises StoreError where the disk does not take it (the file is cut back to whole pages)."""
        body = b"".join(line + b"\n" for line in lines)
        with self._writing:
            entry = PageEntry(
                index=index,
                position=position,
                offset=self._end,
                n_bytes=len(body),
                records=len(lines),
                longest=max(map(len, lines), default=0),
                checksum=zlib.crc32(body),
                marks=_marks(lines),
            )
            self._append(entry, body)
        return entry

    def _append(self, entry: PageEntry, body: bytes) -> None:
        told = orjson.dumps(asdict(entry)) + b"\n"
        try:
            _append(self.path, body, at=self._end)
            try:
                _append(self._manifest, told, at=self._told)
            except OSError:
                os.truncate(self.path, self._end)
                raise
        except OSError as error:
            raise StoreError(
                f"page {entry.index + 1} cannot be written to '{self.path}': {error.strerror or error}. "
                "Free some space or point XDG_STATE_HOME to another disk.",
                path=str(self.path),
            ) from error
        self._end += len(body)
        self._told += len(told)
        self._take(entry)

    def _take(self, entry: PageEntry) -> None:
        before = self.entries.get(entry.index)
        self.n_records += entry.records - (before.records if before else 0)
        self.entries[entry.index] = entry

    def lines(self, index: int, start: int = 0) -> Iterator[bytes]:
        """The records of a page from its `start`th on (from 0), one line each, without loading the page.

        Raises StoreError where the disk does not give back what it took.
        """
        entry = self.entries[index]
        mark = start // MARK_EVERY
        if start >= entry.records:
            return
        try:
            with self.path.open("rb") as file:
                file.seek(entry.offset + entry.marks[mark])
                for number in range(mark * MARK_EVERY, entry.records):
                    line = file.readline()
                    if not line.endswith(b"\n"):
                        raise OSError(f"it ends before record {number + 1} of the page does")
                    if number >= start:
                        yield line[:-1]
        except OSError as error:
            raise self.unread(index, error.strerror or str(error)) from error

    def unread(self, index: int, why: str) -> StoreError:
        """The error of a page that cannot be read again."""
        text = f"page {index + 1} cannot be read from '{self.path}': {why}. Ask again: it is fetched anew."
        return StoreError(text, path=str(self.path))

    @property
    def in_order(self) -> tuple[PageEntry, ...]:
        """The pages in their order, whatever the order of their arrival."""
        return tuple(self.entries[index] for index in sorted(self.entries))

    @property
    def is_one_piece(self) -> bool:
        """Whether the file holds its pages in their order and nothing else, so that it can be read from end to end."""
        pages = self.in_order
        ends = accumulate((page.n_bytes for page in pages), initial=0)
        stand_in_order = all(page.offset == end for page, end in zip(pages, ends, strict=False))
        return stand_in_order and self.path.stat().st_size == sum(page.n_bytes for page in pages)

    @property
    def n_bytes(self) -> int:
        """Bytes of all pages."""
        return self._end


def _marks(lines: Sequence[bytes]) -> tuple[int, ...]:
    marks, offset = [], 0
    for number, line in enumerate(lines):
        if number % MARK_EVERY == 0:
            marks.append(offset)
        offset += len(line) + 1
    return tuple(marks)


def _append(path: Path, body: bytes, *, at: int) -> None:
    """Write `body` at `at` and end the file there, or leave the file as long as `at`."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        os.lseek(descriptor, at, os.SEEK_SET)
        try:
            _write_all(descriptor, body)
        except OSError:
            os.ftruncate(descriptor, at)
            raise
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, body: bytes) -> None:
    view = memoryview(body)
    while view:
        view = view[os.write(descriptor, view) :]
