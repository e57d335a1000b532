"""Datasets: the records of one call under one name, with row numbers from 1 in page order."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice
from pathlib import Path

from adapters.base import Json, JsonObject
from adapters.json_text import compact_json_bytes, parse_json
from runax_cli.core.errors import StoreError
from runax_cli.executor.store.query_results import ResultStore
from runax_cli.executor.store.spool import PageEntry, Spool
from runax_cli.telemetry.credential_mask import CREDENTIAL_MASK, CredentialMask


class Dataset:
    """The records of one call. While pages still arrive, rows can be read up to the first missing page."""

    def __init__(self, name: str, folder: Path, *, mask: CredentialMask = CREDENTIAL_MASK) -> None:
        self.name = name
        self.folder = folder
        self._mask = mask
        self.spool = Spool(folder)
        self.is_sealed = False

    @property
    def table_path(self) -> Path:
        """The path of the Parquet file, which exists once the dataset is sealed."""
        return self.folder / "records.parquet"

    @property
    def n_records(self) -> int:
        """The number of records in all stored pages."""
        return self.spool.n_records

    def add_page(self, index: int, records: Sequence[Json], *, position: str) -> PageEntry:
        """Write a page; blocking. A record that is not an object is wrapped as `{"value": …}`. Raises StoreError.

        Credentials are masked here, because everything that is stored or sent to a model passes through the spool.
        """
        lines = [to_json_line(record) for record in records]
        if self._mask.has_credentials(b"\n".join(lines)):
            lines = [self._mask.data(line) for line in lines]
        return self.spool.write(index, lines, position=position)

    def record(self, row: int) -> JsonObject:
        """Return the record of a row. Raises KeyError if there is no such row, and StoreError if the disk fails."""
        record = next(self.records(row, row + 1), None)
        if record is None:
            raise KeyError(f"dataset '{self.name}' has rows 1 to {self.n_records}, but no row {row}")
        return record

    def records(self, start: int = 1, stop: int | None = None) -> Iterator[JsonObject]:
        """Yield the records of rows `start` to `stop` (exclusive), read from disk one by one.

        Raises StoreError if the disk fails or a record is damaged.
        """
        for row, line in enumerate(self.lines(start, stop), start=start):
            try:
                yield parse_json(line)
            except ValueError as error:
                path = str(self.spool.path)
                text = (
                    f"record {row} of '{self.name}' is damaged in '{path}'. Ask the question again to fetch it again."
                )
                raise StoreError(text, path=path) from error

    def lines(self, start: int = 1, stop: int | None = None) -> Iterator[bytes]:
        """Yield the same records as compact JSON lines."""
        count = None if stop is None else max(0, stop - start)
        return islice(self._lines_from(start), count) if start >= 1 else iter(())

    def _lines_from(self, start: int) -> Iterator[bytes]:
        pages = self.spool.pages_in_order
        ends = list(accumulate(page.records for page in pages))
        at = bisect_right(ends, start - 1)
        for number, page in enumerate(pages[at:], start=at):
            before = ends[number] - page.records
            yield from self.spool.lines(page.index, max(0, start - 1 - before))


class DatasetStore:
    """Creates datasets in one folder (mode 0700). A name is `<noun>_<number>` and is never used twice."""

    def __init__(self, folder: Path, *, mask: CredentialMask = CREDENTIAL_MASK) -> None:
        self.folder, self._mask = folder, mask
        self._reserved: set[str] = set()

    def reserve_names(self, names: Iterable[str]) -> None:
        """Exclude names from use, because a conversation already refers to other datasets or results by them."""
        self._reserved.update(names)

    def results(self, *, max_bytes: int) -> ResultStore:
        """The store of the SQL results of a new session over these datasets, within `max_bytes`."""
        return ResultStore(self.folder, max_bytes=max_bytes, reserved=self._reserved, mask=self._mask)

    def create(self, noun: str) -> Dataset:
        """Create an empty dataset named `<noun>_<number>`. Raises StoreError if its folder cannot be created."""
        stem = _stem(noun)
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return self._create_folder(stem)
        except OSError as error:
            raise StoreError(
                f"no dataset can be created in '{self.folder}': {error.strerror or error}. "
                "Free some space or point XDG_STATE_HOME to another disk.",
                path=str(self.folder),
            ) from error

    def _create_folder(self, stem: str) -> Dataset:
        names = {*self._reserved, *(path.name for path in self.folder.iterdir())}
        number = 1 + max((_ordinal(name, stem) for name in names), default=0)
        while True:
            folder = self.folder / f"{stem}_{number}"
            try:
                folder.mkdir(mode=0o700)
            except FileExistsError:
                number += 1
                continue
            return Dataset(folder.name, folder, mask=self._mask)


def to_json_line(record: Json) -> bytes:
    """Return a record as one compact JSON line; a record that is not an object is wrapped as `{"value": …}`."""
    return compact_json_bytes(record if isinstance(record, dict) else {"value": record})


def _stem(noun: str) -> str:
    plain = unicodedata.normalize("NFKD", noun).encode("ascii", "ignore").decode().lower()
    stem = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:40].strip("_")
    return stem if stem and stem[0].isalpha() else f"records_{stem}".rstrip("_")


def _ordinal(name: str, stem: str) -> int:
    head, _, tail = name.rpartition("_")
    return int(tail) if head == stem and tail.isdigit() else 0
