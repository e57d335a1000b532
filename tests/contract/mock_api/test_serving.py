"""A server runs exactly as long as its `with` block."""

import asyncio
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from mock_api.serving import serve


async def _hello(_request: Request) -> Response:
    return PlainTextResponse("hello")


APP = Starlette(routes=[Route("/", _hello)])


async def test_port_zero_takes_a_free_port_and_answers_there() -> None:
    async with serve(APP, port=0) as base_url, httpx2.AsyncClient(base_url=base_url) as client:
        assert urlsplit(base_url).port
        assert (await client.get("/")).text == "hello"


async def test_leaving_the_block_frees_the_port_even_with_a_connection_kept_alive() -> None:
    async with httpx2.AsyncClient() as client:
        async with serve(APP, port=0) as base_url:
            await client.get(base_url)
        with pytest.raises(httpx2.ConnectError):
            await client.get(base_url)


async def test_an_error_in_the_block_passes_through_unwrapped() -> None:
    with pytest.raises(KeyError, match="mine"):
        async with serve(APP, port=0):
            raise KeyError("mine")


async def test_no_task_is_left_behind() -> None:
    async with serve(APP, port=0):
        pass
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_cancelling_the_block_stops_the_server() -> None:
    started: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def hold() -> None:
        async with serve(APP, port=0) as base_url:
            started.set_result(base_url)
            await asyncio.Event().wait()

    task = asyncio.create_task(hold())
    base_url = await started
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with httpx2.AsyncClient() as client:
        with pytest.raises(httpx2.ConnectError):
            await client.get(base_url)


async def test_signal_handlers_of_the_process_are_kept() -> None:
    before = signal.getsignal(signal.SIGINT)
    async with serve(APP, port=0):
        assert signal.getsignal(signal.SIGINT) is before


async def test_a_taken_port_is_an_error_that_names_it() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"127.0.0.1:{port}"):
            async with serve(APP, port=port):
                pytest.fail("the port was taken")


async def test_an_app_that_fails_to_start_is_an_error() -> None:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        if app.routes == []:
            raise ValueError("nothing to serve")
        yield

    with pytest.raises(RuntimeError, match="failed during startup"):
        async with serve(Starlette(lifespan=lifespan), port=0):
            pytest.fail("it did not start")
