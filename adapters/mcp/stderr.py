"""What a server process writes to stderr: its last words at hand, all of it in a file, nothing on the terminal.

Knows a pipe, a mask and a file. Knows no protocol. A server that writes without end fills no disk: beyond a limit the
rest is counted and not kept.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from adapters.masking import Mask

_LOG = logging.getLogger(__name__)
_LAST_WORDS = 1000
_LONGEST_LINE = 2000
_MOST_BYTES = 1_000_000
_AT_ONCE = 65_536


@dataclass
class ServerWords:
    """The stderr of one server; `last` is the end of it, at most 1,000 characters, free of secrets."""

    name: str
    mask: Mask
    path: Path | None = None
    last: str = ""
    n_bytes: int = 0
    _is_opened: bool = False
    _file: TextIO | None = field(default=None, repr=False)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[TextIO]:
        """The stream that the process writes to. Leaving the block reads what is still there, and closes all."""
        reading, writing = os.pipe()
        loop = asyncio.get_running_loop()
        stream = asyncio.StreamReader(limit=_AT_ONCE)
        protocol = asyncio.StreamReaderProtocol(stream)
        transport, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(reading, "rb", buffering=0))
        listener = asyncio.create_task(self._listen(stream), name=f"stderr of {self.name}")
        ours: TextIO = os.fdopen(writing, "w", encoding="utf-8", errors="replace")
        try:
            yield ours
        finally:
            with suppress(OSError):
                ours.close()
            # A child of the server may hold the pipe open: its words are not waited for.
            await asyncio.wait({listener}, timeout=0.2)
            listener.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait({listener})
            transport.close()
            if self._file is not None:
                self._file.close()

    async def _listen(self, stream: asyncio.StreamReader) -> None:
        """Take line after line; what has no line ends is taken in pieces."""
        rest = b""
        while data := await stream.read(_AT_ONCE):
            self.n_bytes += len(data)
            *lines, rest = (rest + data).split(b"\n")
            if len(rest) > _LONGEST_LINE:
                lines, rest = [*lines, rest], b""
            for line in lines:
                self._take(line)
        if rest:
            self._take(rest)

    def _take(self, line: bytes) -> None:
        text = self.mask.text(line.decode("utf-8", "replace").rstrip("\r"))[:_LONGEST_LINE]
        self.last = f"{self.last}{text}\n"[-_LAST_WORDS:]
        if self._file is None and not self._is_opened:
            self._open()
        if self._file is None or self.n_bytes > _MOST_BYTES:
            return
        try:
            self._file.write(f"{text}\n")
            self._file.flush()
        except OSError as error:
            _LOG.warning("the log of MCP server '%s' cannot be written: %s", self.name, error)
            self._file = None

    def _open(self) -> None:
        """Open the file, at the first line: most servers say nothing."""
        self._is_opened = True
        if self.path is None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            _LOG.warning("the log of MCP server '%s' cannot be opened: %s", self.name, error)
            return
        self._file = os.fdopen(descriptor, "a", encoding="utf-8")
