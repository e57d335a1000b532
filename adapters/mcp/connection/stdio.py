"""A server as a process: messages of JSON-RPC as lines on its stdin and stdout, and its end with all that it started.

Knows processes and pipes. Knows no session and no result. The SDK has a transport of its own for this: it joins a long
line anew with every piece of it, and leaves behind what a server started that ends by itself. Windows has no groups of
processes; there the SDK's transport stands in.
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
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter


class LineTooLong(Exception):
    """A line is longer than what is read; the rest of it is dropped."""


@dataclass
class LineBuffer:
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


_END_S = 2.0
"""How long a server may take to end by itself once its stdin is closed, and again to end when told."""
_FLUSH_S = 0.5
_POLL_S = 0.01
_PIPE_GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError)


def process_client(
    server: StdioServerParameters, *, errlog: TextIO, max_bytes: int
) -> AbstractAsyncContextManager[TransportStreams]:
    """A transport to a server that it starts and stops; a line of more than `max_bytes` is a `LineTooLong`.

    Raises OSError where the program cannot be started.
    """
    if sys.platform == "win32":
        return stdio_client(server, errlog=errlog)
    return _running(server, errlog=errlog, max_bytes=max_bytes)


@asynccontextmanager
async def _running(
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
            yield pipes.received, pipes.to_send
        finally:
            with anyio.CancelScope(shield=True):
                await pipes.stop()
            tasks.cancel_scope.cancel()


@dataclass
class _ProcessPipes:
    """The pipes of a process, and the streams of messages that lead to them."""

    process: Process
    stdin: ByteSendStream
    stdout: ByteReceiveStream
    lines: LineBuffer
    received: ObjectReceiveStream[SessionMessage | Exception] = field(init=False)
    to_send: ObjectSendStream[SessionMessage] = field(init=False)
    _arriving: ObjectSendStream[SessionMessage | Exception] = field(init=False)
    _leaving: ObjectReceiveStream[SessionMessage] = field(init=False)
    _all_sent: anyio.Event = field(default_factory=anyio.Event)

    def __post_init__(self) -> None:
        self._arriving, self.received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        self.to_send, self._leaving = anyio.create_memory_object_stream[SessionMessage](0)

    async def read(self) -> None:
        """Pass on what comes, until the server or the session ends; a last line may lack its end."""
        async with self._arriving:
            with suppress(*_PIPE_GONE):
                async for piece in self.stdout:
                    for line in self.lines.fed(piece):
                        await self._arriving.send(_message(line))
                for line in self.lines.ended():
                    if line.strip():
                        await self._arriving.send(_message(line))
        await self._drain()

    async def write(self) -> None:
        """Send what is to be sent; where that fails, the session hears that the connection ended."""
        try:
            async with self._leaving:
                async for item in self._leaving:
                    line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await self.stdin.send(f"{line}\n".encode("utf-8", "replace"))
        except _PIPE_GONE:
            await self._arriving.aclose()
        finally:
            self._all_sent.set()

    async def stop(self) -> None:
        """End the server: by itself, else when told, else killed; whatever it leaves of its group ends with it."""
        await self.received.aclose()
        await self.to_send.aclose()
        with anyio.move_on_after(_FLUSH_S):
            await self._all_sent.wait()
        with suppress(*_PIPE_GONE):
            await self.stdin.aclose()
        await self._wait_for_end()
        await terminate_posix_process_tree(self.process, _END_S)
        await self._wait_for_end()
        with suppress(*_PIPE_GONE):
            await self.stdout.aclose()
        _close_transport(self.process)
        await self._arriving.aclose()
        await self._leaving.aclose()

    async def _drain(self) -> None:
        """Read on without use: a server that waits for room in the pipe does not see that it is to end."""
        with suppress(*_PIPE_GONE), anyio.CancelScope(shield=True):
            while True:
                await self.stdout.receive()

    async def _wait_for_end(self) -> None:
        """Wait for the process, and not for its pipes, which what it started may hold open."""
        with anyio.move_on_after(_END_S):
            while self.process.returncode is None:  # noqa: ASYNC110  its own wait is for the pipes too
                await anyio.sleep(_POLL_S)


def _message(line: bytes | LineTooLong) -> SessionMessage | Exception:
    if isinstance(line, LineTooLong):
        return line
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line.decode("utf-8", "replace"), by_name=False))
    except ValueError as error:
        return error


def _close_transport(process: Process) -> None:
    """Let go of pipes that a survivor holds open; nothing public of a process reaches them."""
    transport = getattr(getattr(process, "_process", None), "_transport", None)
    close = getattr(transport, "close", None)
    if callable(close):
        with suppress(PermissionError):
            close()
