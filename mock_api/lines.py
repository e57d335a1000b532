"""JSON records in a file, one a line, found by byte offset: any number of them in flat memory.

Knows bytes and offsets. Knows nothing of columns and filters.
"""

import os
from array import array
from collections.abc import Iterable, Iterator
from typing import BinaryIO

import orjson

_LONGEST_EXCERPT = 60


class DataFileInvalid(ValueError):
    """A file that cannot be served as records; the message names the file, the place and what would do."""


class Lines:
    """The records of an open file. Twelve bytes of memory a record; safe to read from several threads."""

    def __init__(self, file: BinaryIO, *, name: str) -> None:
        self._file = file
        self._starts, self._lengths = array("Q"), array("I")
        self._name = name
        self._index()

    def __len__(self) -> int:
        return len(self._starts)

    def read(self, positions: Iterable[int]) -> list[bytes]:
        """The records at these positions, from 0, as JSON."""
        handle = self._file.fileno()
        return [os.pread(handle, self._lengths[at], self._starts[at]) for at in positions]

    def each(self) -> Iterator[dict[str, object]]:
        """Every record in order, parsed. Raises DataFileInvalid where a line is no JSON object."""
        for at in range(len(self)):
            yield self._parsed(at)

    def _parsed(self, at: int) -> dict[str, object]:
        (line,) = self.read([at])
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise DataFileInvalid(f"record {at + 1} of '{self._name}' is not JSON ({error})") from error
        if not isinstance(record, dict):
            excerpt = line[:_LONGEST_EXCERPT].decode(errors="replace")
            raise DataFileInvalid(f"record {at + 1} of '{self._name}' is `{excerpt}`; every record must be an object")
        return record

    def _index(self) -> None:
        start = 0
        self._file.seek(0)
        for line in self._file:
            if text := line.strip():
                self._starts.append(start + line.index(text))
                self._lengths.append(len(text))
            start += len(line)


def spooled(records: Iterable[object], file: BinaryIO, *, name: str) -> Lines:
    """The records written to `file`, one a line, and indexed."""
    file.writelines(orjson.dumps(record) + b"\n" for record in records)
    file.flush()
    return Lines(file, name=name)
