"""Datasets: all records of one call under one name, with row numbers from 1 in page order.

Knows names, rows and where their records stand. Knows nothing of requests and models.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice
from pathlib import Path

from adapters.base import Json, JsonObject
from adapters.json_text import compact_bytes, parsed
from runax_cli.core.errors import StoreError
from runax_cli.executor.store.spool import PageEntry, Spool
from runax_cli.telemetry.credential_mask import CREDENTIAL_MASK, CredentialMask


class Dataset:
    """The records of one call. Rows can be read while pages still arrive, as far as all earlier pages are in."""

    def __init__(self, name: str, folder: Path, *, mask: CredentialMask = CREDENTIAL_MASK) -> None:
        self.name = name
        self.folder = folder
        self._mask = mask
        self.spool = Spool(folder)
        self.is_sealed = False

    @property
    def table_path(self) -> Path:
        """Where the Parquet file stands once the dataset is sealed."""
        return self.folder / "records.parquet"

    @property
    def n_records(self) -> int:
        """Records in all pages that are in."""
        return self.spool.n_records

    def add_page(self, index: int, records: Sequence[Json], *, position: str) -> PageEntry:
        """Write a page; blocking. What is no object is wrapped as `{"value": …}`. Raises StoreError.

        Credentials in records are masked here: all that is kept, and all that a model sees, has been through the spool.
        """
        lines = [line_of(record) for record in records]
        if self._mask.has_credentials(b"\n".join(lines)):
            lines = [self._mask.data(line) for line in lines]
        return self.spool.write(index, lines, position=position)

    def first_row(self, index: int) -> int:
        """The row number of a page's first record."""
        return 1 + sum(entry.records for entry in self.spool.entries.values() if entry.index < index)

    def record(self, row: int) -> JsonObject:
        """The record of a row number. Raises KeyError where there is no such row, and StoreError as `records` does."""
        found = next(self.records(row, row + 1), None)
        if found is None:
            raise KeyError(f"dataset '{self.name}' has rows 1 to {self.n_records}, and no row {row}")
        return found

    def records(self, start: int = 1, stop: int | None = None) -> Iterator[JsonObject]:
        """Records of the rows from `start` up to and without `stop`, read from disk one by one.

        Raises StoreError where the disk does not give back what it took.
        """
        for row, line in enumerate(self.lines(start, stop), start=start):
            try:
                yield parsed(line)
            except ValueError as error:
                path = str(self.spool.path)
                text = f"record {row} of '{self.name}' is damaged in '{path}'. Ask again: it is fetched anew."
                raise StoreError(text, path=path) from error

    def lines(self, start: int = 1, stop: int | None = None) -> Iterator[bytes]:
        """The same as compact JSON lines."""
        count = None if stop is None else max(0, stop - start)
        return islice(self._lines_from(start), count) if start >= 1 else iter(())

    def _lines_from(self, start: int) -> Iterator[bytes]:
        pages = self.spool.in_order
        ends = list(accumulate(page.records for page in pages))
        at = bisect_right(ends, start - 1)
        for number, page in enumerate(pages[at:], start=at):
            before = ends[number] - page.records
            yield from self.spool.lines(page.index, max(0, start - 1 - before))


class DatasetStore:
    """Makes datasets in one folder (0700). Names are noun and ordinal, and are never given twice."""

    def __init__(self, folder: Path, *, mask: CredentialMask = CREDENTIAL_MASK) -> None:
        self.folder, self._mask = folder, mask
        self._given: set[str] = set()

    def never_again(self, names: Iterable[str]) -> None:
        """Keep names from being given: a conversation speaks of other datasets by them."""
        self._given.update(names)

    def create(self, noun: str) -> Dataset:
        """A new empty dataset, `<noun>_<n>`. Raises StoreError where the folder cannot be made."""
        stem = _stem(noun)
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return self._first_free(stem)
        except OSError as error:
            raise StoreError(
                f"no dataset can be made in '{self.folder}': {error.strerror or error}. "
                "Free some space or point XDG_STATE_HOME to another disk.",
                path=str(self.folder),
            ) from error

    def _first_free(self, stem: str) -> Dataset:
        names = {*self._given, *(path.name for path in self.folder.iterdir())}
        number = 1 + max((_ordinal(name, stem) for name in names), default=0)
        while True:
            folder = self.folder / f"{stem}_{number}"
            try:
                folder.mkdir(mode=0o700)
            except FileExistsError:
                number += 1
                continue
            return Dataset(folder.name, folder, mask=self._mask)


def line_of(record: Json) -> bytes:
    """A record as one compact JSON line."""
    return compact_bytes(record if isinstance(record, dict) else {"value": record})


def _stem(noun: str) -> str:
    plain = unicodedata.normalize("NFKD", noun).encode("ascii", "ignore").decode().lower()
    stem = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:40].strip("_")
    return stem if stem and stem[0].isalpha() else f"records_{stem}".rstrip("_")


def _ordinal(name: str, stem: str) -> int:
    head, _, tail = name.rpartition("_")
    return int(tail) if head == stem and tail.isdigit() else 0
