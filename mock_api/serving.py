"""Runs an ASGI app in the current event loop for the duration of a `with` block.

Signals are left to the process: uvicorn's signal handlers are not installed.
"""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.types import ASGIApp

DEFAULT_PORT = 9001
_GRACE_S = 1
_log = logging.getLogger(__name__)


class _EmbeddedServer(uvicorn.Server):
    """A uvicorn server without signal handlers that signals when it is ready."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_ready = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no signal handlers."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then set `is_ready`."""
        await super().startup(sockets)
        self.is_ready.set()


@asynccontextmanager
async def serve(app: ASGIApp, host: str = "127.0.0.1", port: int = DEFAULT_PORT) -> AsyncIterator[str]:
    """Serve `app` and yield its base URL (without a trailing slash); leaving the block stops the server.

    Port 0 means any free port. Raises OSError if the address is not available, and RuntimeError if the app fails to
    start. Requests still running when the block ends are cancelled after one second.
    """
    listener = _listen(host, port)
    config = uvicorn.Config(
        app, log_config=None, log_level="critical", access_log=False, timeout_graceful_shutdown=_GRACE_S, ws="none"
    )
    server = _EmbeddedServer(config)
    task = asyncio.create_task(_run(server, listener), name=f"serve {host}")
    try:
        await _until_ready(server, task)
        yield _base_url(host, listener)
    finally:
        server.should_exit = True
        await _finished(task)
        listener.close()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio disables Nagle's algorithm only if the protocol is given; otherwise each small response takes 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise OSError(
            error.errno, f"cannot listen on '{host}:{port}' ({error.strerror}); choose another port"
        ) from error
    return listener


def _base_url(host: str, listener: socket.socket) -> str:
    port = listener.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def _run(server: uvicorn.Server, listener: socket.socket) -> None:
    try:
        await server.serve(sockets=[listener])
    except SystemExit as refused:
        # uvicorn ends the process when an app's lifespan fails; here that is the caller's decision.
        raise RuntimeError("the app failed during startup; see its log for the reason") from refused


async def _until_ready(server: _EmbeddedServer, task: "asyncio.Task[None]") -> None:
    ready = asyncio.create_task(server.is_ready.wait())
    try:
        await asyncio.wait({ready, task}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        ready.cancel()
    if task.done():
        task.result()
        raise RuntimeError("the server ended before it was ready")


async def _finished(task: "asyncio.Task[None]") -> None:
    """Wait until the server has stopped, even if the caller is cancelled meanwhile."""
    was_cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            was_cancelled = True
    failure = None if task.cancelled() else task.exception()
    if failure is not None:
        _log.warning("the server failed: %s", failure)
    if was_cancelled:
        raise asyncio.CancelledError
