"""Frames between the SQL worker and its parent: a length of 8 bytes (big-endian) and a pickled value.

Both ends are the same program on the same machine, as the same user: the pickle crosses no trust boundary.
"""

import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any

from runax_cli.executor.sql.engine import QueryableTable
from runax_cli.executor.sql.stored_result import StoreRequest

_LENGTH_BYTES = 8


@dataclass(frozen=True, slots=True)
class Definition:
    """Tables to make known, by name."""

    tables: Mapping[str, QueryableTable]


@dataclass(frozen=True, slots=True)
class Request:
    """One SELECT; `max_rows` rows are kept (None: all), and all are stored if `store` says where."""

    sql: str
    max_rows: int | None
    store: StoreRequest | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The statement was refused or failed."""

    message: str


def read_frame(stream: IO[bytes]) -> Any:
    """The next value; None at the end of the stream, also one inside a frame."""
    head = stream.read(_LENGTH_BYTES)
    if len(head) < _LENGTH_BYTES:
        return None
    length = int.from_bytes(head, "big")
    body = stream.read(length)
    return None if len(body) < length else pickle.loads(body)  # noqa: S301  both ends are this program


def write_frame(stream: IO[bytes], value: object, *, max_bytes: int = 0) -> bool:
    """Write one value and flush. False, with nothing written, if it takes more than `max_bytes` (0: no limit)."""
    body = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    if max_bytes and len(body) > max_bytes:
        return False
    stream.write(len(body).to_bytes(_LENGTH_BYTES, "big"))
    stream.write(body)
    stream.flush()
    return True
