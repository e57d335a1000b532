"""The stdio transport: runs the server as a process, exchanges JSON-RPC messages as lines, and stops the process group.

The SDK's own transport re-joins a long line with every chunk, and leaves behind child processes of a server that exits
by itself. It is used on Windows only, which has no process groups.
"""

import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TextIO

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, ObjectReceiveStream, ObjectSendStream, Process
from mcp import StdioServerParameters
from mcp.client._transport import TransportStreams
from mcp.client.stdio import get_default_environment, stdio_client
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter


class LineTooLong(Exception):
    """A line exceeds the limit; the rest of it is dropped."""


@dataclass
class LineBuffer:
    """Collects the chunks of the current line; `max_bytes` is the longest line that is kept."""

    max_bytes: int
    _parts: list[bytes] = field(default_factory=list)
    _size: int = 0

    def feed(self, chunk: bytes) -> Iterator[bytes | LineTooLong]:
        """The lines that end in this chunk, without line ends."""
        *complete, unfinished = chunk.split(b"\n")
        for part in complete:
            yield from self._append(part)
            yield from self.finish()
        yield from self._append(unfinished)

    def finish(self) -> Iterator[bytes]:
        """The current line ends here; yields nothing if it was too long."""
        if self._size <= self.max_bytes:
            yield b"".join(self._parts)
        self._parts.clear()
        self._size = 0

    def _append(self, part: bytes) -> Iterator[LineTooLong]:
        was_short = self._size <= self.max_bytes
        self._size += len(part)
        if self._size <= self.max_bytes:
            self._parts.append(part)
        elif was_short:
            self._parts.clear()
            yield LineTooLong(f"a line exceeds {self.max_bytes:,} bytes")


_EXIT_TIMEOUT_S = 2.0
"""How long a server may take to exit once its stdin is closed, and again after SIGTERM."""
_FLUSH_TIMEOUT_S = 0.5
_POLL_INTERVAL_S = 0.01
_PIPE_CLOSED = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError)


def stdio_transport(
    server: StdioServerParameters, *, errlog: TextIO, max_bytes: int
) -> AbstractAsyncContextManager[TransportStreams]:
    """A transport that starts and stops the server; a line longer than `max_bytes` is delivered as `LineTooLong`.

    Raises OSError if the program cannot be started.
    """
    if sys.platform == "win32":
        return stdio_client(server, errlog=errlog)
    return _run_process(server, errlog=errlog, max_bytes=max_bytes)


@asynccontextmanager
async def _run_process(
    server: StdioServerParameters, *, errlog: TextIO, max_bytes: int
) -> AsyncGenerator[TransportStreams, None]:
    process = await anyio.open_process(
        [server.command, *server.args],
        env=get_default_environment() | (server.env or {}),
        stderr=errlog,
        cwd=server.cwd,
        start_new_session=True,
    )
    stdin, stdout = process.stdin, process.stdout
    if stdin is None or stdout is None:
        raise OSError(f"'{server.command}' was started without pipes")
    pipes = _ProcessPipes(process, stdin, stdout, LineBuffer(max_bytes))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pipes.read)
        tasks.start_soon(pipes.write)
        try:
            yield pipes.incoming, pipes.outgoing
        finally:
            with anyio.CancelScope(shield=True):
                await pipes.stop()
            tasks.cancel_scope.cancel()


@dataclass
class _ProcessPipes:
    """The pipes of a process, and the message streams connected to them."""

    process: Process
    stdin: ByteSendStream
    stdout: ByteReceiveStream
    lines: LineBuffer
    incoming: ObjectReceiveStream[SessionMessage | Exception] = field(init=False)
    outgoing: ObjectSendStream[SessionMessage] = field(init=False)
    _incoming_writer: ObjectSendStream[SessionMessage | Exception] = field(init=False)
    _outgoing_reader: ObjectReceiveStream[SessionMessage] = field(init=False)
    _all_sent: anyio.Event = field(default_factory=anyio.Event)

    def __post_init__(self) -> None:
        self._incoming_writer, self.incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        self.outgoing, self._outgoing_reader = anyio.create_memory_object_stream[SessionMessage](0)

    async def read(self) -> None:
        """Forward the server's messages until the server or the session ends; the last line may lack its end."""
        async with self._incoming_writer:
            with suppress(*_PIPE_CLOSED):
                async for piece in self.stdout:
                    for line in self.lines.feed(piece):
                        await self._incoming_writer.send(_parse_message(line))
                for line in self.lines.finish():
                    if line.strip():
                        await self._incoming_writer.send(_parse_message(line))
        await self._drain()

    async def write(self) -> None:
        """Send messages to the server; on failure the session sees that the connection ended."""
        try:
            async with self._outgoing_reader:
                async for item in self._outgoing_reader:
                    line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await self.stdin.send(f"{line}\n".encode("utf-8", "replace"))
        except _PIPE_CLOSED:
            await self._incoming_writer.aclose()
        finally:
            self._all_sent.set()

    async def stop(self) -> None:
        """Wait for the server to exit, then terminate it, then kill it, together with its process group."""
        await self.incoming.aclose()
        await self.outgoing.aclose()
        with anyio.move_on_after(_FLUSH_TIMEOUT_S):
            await self._all_sent.wait()
        with suppress(*_PIPE_CLOSED):
            await self.stdin.aclose()
        await self._wait_for_end()
        from mcp.os.posix.utilities import terminate_posix_process_tree

        await terminate_posix_process_tree(self.process, _EXIT_TIMEOUT_S)
        await self._wait_for_end()
        with suppress(*_PIPE_CLOSED):
            await self.stdout.aclose()
        _close_transport(self.process)
        await self._incoming_writer.aclose()
        await self._outgoing_reader.aclose()

    async def _drain(self) -> None:
        """Read and discard output: a server that blocks on a full pipe does not notice that stdin was closed."""
        with suppress(*_PIPE_CLOSED), anyio.CancelScope(shield=True):
            while True:
                await self.stdout.receive()

    async def _wait_for_end(self) -> None:
        """Wait for the process only: its children may keep the pipes open."""
        with anyio.move_on_after(_EXIT_TIMEOUT_S):
            while self.process.returncode is None:  # noqa: ASYNC110  `wait` would wait for the pipes too
                await anyio.sleep(_POLL_INTERVAL_S)


def _parse_message(line: bytes | LineTooLong) -> SessionMessage | Exception:
    if isinstance(line, LineTooLong):
        return line
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line.decode("utf-8", "replace"), by_name=False))
    except ValueError as error:
        return error


def _close_transport(process: Process) -> None:
    """Close pipes that a surviving child keeps open; the public API of a process has no access to them."""
    transport = getattr(getattr(process, "_process", None), "_transport", None)
    close = getattr(transport, "close", None)
    if callable(close):
        with suppress(PermissionError):
            close()
