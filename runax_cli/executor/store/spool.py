"""The pages of one call on disk: appended as they arrive, readable while more arrive.

A spool consists of two files: `pages.ndjson` (one compact record per line) and `manifest.jsonl` (one entry per page:
index, offset, counts, checksum).

Durability: the data is written first and its manifest entry afterwards, without an fsync per page. A killed process
loses no page that is in the manifest. After a power failure the checksum reveals a torn page, which is fetched again:
one request costs less than an fsync for every page.
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
"""A manifest entry holds the offset of every 256th record, so that one record of a huge page is found quickly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageEntry:
    """The manifest entry of a page: `index` from 0, `offset` and `n_bytes` in the spool, `marks` relative to `offset`.

    The field names are the format of the manifest file.
    """

    index: int
    position: str
    offset: int
    n_bytes: int
    records: int
    longest: int
    checksum: int
    marks: tuple[int, ...]


class Spool:
    """The append-only pages of one dataset. Thread-safe: each write has the end of the file for itself."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "pages.ndjson"
        self.entries: dict[int, PageEntry] = {}
        self.n_records = 0
        self._manifest = folder / "manifest.jsonl"
        self._end = 0
        self._manifest_end = 0
        self._write_lock = threading.Lock()

    def reopen(self) -> None:
        """Load the pages of an earlier process. Raises OSError, and ValueError if the manifest is damaged."""
        for line in self._manifest.read_bytes().splitlines(keepends=True):
            if not line.endswith(b"\n"):
                return
            try:
                fields = orjson.loads(line)
                entry = PageEntry(**fields | {"marks": tuple(fields["marks"])})
            except (KeyError, TypeError) as error:
                raise ValueError(f"'{self._manifest}' has a line that does not describe a page") from error
            self._manifest_end += len(line)
            self._end = max(self._end, entry.offset + entry.n_bytes)
            self._add(entry)

    def write(self, index: int, lines: Sequence[bytes], *, position: str) -> PageEntry:
        """Append a page. Raises StoreError if the disk fails; the files are then truncated to whole pages."""
        body = b"".join(line + b"\n" for line in lines)
        with self._write_lock:
            entry = PageEntry(
                index=index,
                position=position,
                offset=self._end,
                n_bytes=len(body),
                records=len(lines),
                longest=max(map(len, lines), default=0),
                checksum=zlib.crc32(body),
                marks=_record_offsets(lines),
            )
            self._append(entry, body)
        return entry

    def _append(self, entry: PageEntry, body: bytes) -> None:
        manifest_line = orjson.dumps(asdict(entry)) + b"\n"
        try:
            _append(self.path, body, at=self._end)
            try:
                _append(self._manifest, manifest_line, at=self._manifest_end)
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
        self._manifest_end += len(manifest_line)
        self._add(entry)

    def _add(self, entry: PageEntry) -> None:
        before = self.entries.get(entry.index)
        self.n_records += entry.records - (before.records if before else 0)
        self.entries[entry.index] = entry

    def lines(self, index: int, start: int = 0) -> Iterator[bytes]:
        """Yield the records of a page from number `start` (from 0), one line each, without loading the whole page.

        Raises StoreError if the disk fails.
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
                        raise OSError(f"the file ends before record {number + 1} of the page")
                    if number >= start:
                        yield line[:-1]
        except OSError as error:
            raise self.read_error(index, error.strerror or str(error)) from error

    def read_error(self, index: int, why: str) -> StoreError:
        """Return the error of a page that cannot be read back."""
        text = f"page {index + 1} cannot be read from '{self.path}': {why}. Ask the question again to fetch it again."
        return StoreError(text, path=str(self.path))

    @property
    def pages_in_order(self) -> tuple[PageEntry, ...]:
        """The pages ordered by index, regardless of the order of their arrival."""
        return tuple(self.entries[index] for index in sorted(self.entries))

    @property
    def is_contiguous(self) -> bool:
        """Whether the file holds exactly its pages, in order, so that it can be read from end to end."""
        pages = self.pages_in_order
        ends = accumulate((page.n_bytes for page in pages), initial=0)
        is_ordered = all(page.offset == end for page, end in zip(pages, ends, strict=False))
        return is_ordered and self.path.stat().st_size == sum(page.n_bytes for page in pages)

    @property
    def n_bytes(self) -> int:
        """The size of all pages."""
        return self._end


def _record_offsets(lines: Sequence[bytes]) -> tuple[int, ...]:
    offsets, offset = [], 0
    for number, line in enumerate(lines):
        if number % MARK_EVERY == 0:
            offsets.append(offset)
        offset += len(line) + 1
    return tuple(offsets)


def _append(path: Path, body: bytes, *, at: int) -> None:
    """Write `body` at offset `at` and end the file there; on failure the file ends at `at`."""
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
