"""Lines in what a process prints, put together piece by piece.

Knows bytes and line ends. Knows no process and no message. The pieces of a line are joined once, when it ends: adding
each to the text before it would copy a long line as often as it has pieces. A line longer than what is read is told at
once and dropped, so that one that never ends takes no more memory than it may.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field


class LineTooLong(Exception):
    """A line is longer than what is read; the rest of it is dropped."""


@dataclass
class Lines:
    """What has come of the current line; `max_bytes` is the longest that is kept."""

    max_bytes: int
    _parts: list[bytes] = field(default_factory=list)
    _size: int = 0

    def fed(self, piece: bytes) -> Iterator[bytes | LineTooLong]:
        """The lines that end in this piece, without their ends."""
        *ended, begun = piece.split(b"\n")
        for part in ended:
            yield from self._added(part)
            yield from self.ended()
        yield from self._added(begun)

    def ended(self) -> Iterator[bytes]:
        """The current line as far as it has come, which ends here; none where it was too long."""
        if self._size <= self.max_bytes:
            yield b"".join(self._parts)
        self._parts.clear()
        self._size = 0

    def _added(self, part: bytes) -> Iterator[LineTooLong]:
        was_short = self._size <= self.max_bytes
        self._size += len(part)
        if self._size <= self.max_bytes:
            self._parts.append(part)
        elif was_short:
            self._parts.clear()
            yield LineTooLong(f"a line of more than {self.max_bytes:,} bytes")
