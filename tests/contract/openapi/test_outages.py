"""Outages: which are waited out, for how long, and which are not."""

from collections.abc import AsyncIterator, Callable

import httpx2
import pytest

from adapters.base import CallResult
from adapters.clock import ManualClock
from adapters.errors import ConnectError, ConnectionFailed, HttpStatusError
from adapters.http.retry import OUTAGE_WAIT_S
from adapters.http.secret_mask import SecretMask
from adapters.http.transport import HttpLimits, HttpRequest, HttpTransport, new_client
from adapters.source_events import RequestThrottled, RetryPlanned, RetryRefused

USUAL = 3
AWAY = [502, 503, 504]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(start=1_000.0)


def transport_over(client: httpx2.AsyncClient, clock: ManualClock) -> HttpTransport:
    limits = HttpLimits(timeout_s=5.0, max_attempts=USUAL)
    return HttpTransport("api", client, mask=SecretMask([]), limits=limits, clock=clock, uniform=lambda: 0.5)


@pytest.fixture
async def sending(clock: ManualClock) -> AsyncIterator[HttpTransport]:
    async with new_client() as client:
        yield transport_over(client, clock)


def get(server, target: str = "/things") -> HttpRequest:
    return HttpRequest(method="GET", url=httpx2.URL(server.url + target), is_repeatable=True)


async def _closed(writer) -> None:
    writer.close()


def _after(clock: ManualClock, seconds: float, tools, *, before) -> Callable:
    """The behavior of a server that is down for the next seconds."""
    back_at = clock.now + seconds

    async def reply(writer) -> None:
        await (before if clock.now < back_at else tools.answer([1]))(writer)

    return reply


@pytest.mark.parametrize("status", AWAY)
async def test_an_outage_of_ten_seconds_is_waited_out(server, tools, sending, clock, said, status):
    await sending.send(get(server))
    server.routes["/things"] = _after(clock, 10.0, tools, before=tools.answer({}, status=status))
    began = clock.now
    result = await sending.send(get(server), observer=said)
    assert result.payload == [1]
    assert 10.0 <= clock.now - began < OUTAGE_WAIT_S
    assert [notice.attempt for notice in said.of(RetryPlanned)] == list(range(2, result.requests + 1))


async def test_an_outage_with_closed_connections_is_waited_out(server, tools, sending, clock):
    await sending.send(get(server))
    server.routes["/things"] = _after(clock, 10.0, tools, before=_closed)
    assert (await sending.send(get(server))).payload == [1]


async def test_a_server_that_never_responded_is_not_waited_for(server, tools, sending, clock):
    server.routes["/things"] = _closed
    with pytest.raises(ConnectError) as failed:
        await sending.send(get(server))
    assert (failed.value.requests, clock.slept) == (USUAL, [0.25, 0.5])


async def test_concurrent_requests_share_one_outage_wait(server, tools, sending, clock):
    await sending.send(get(server))
    server.routes["/things"] = tools.answer({}, status=503)
    began = clock.now
    with pytest.raises(HttpStatusError):
        await sending.send(get(server))
    assert clock.now - began <= OUTAGE_WAIT_S
    clock.slept.clear()
    with pytest.raises(HttpStatusError) as failed:
        await sending.send(get(server))
    assert (failed.value.requests, clock.slept) == (USUAL, [0.25, 0.5])


async def test_retry_after_is_kept_during_an_outage(server, tools, sending, clock):
    await sending.send(get(server))
    away = tools.answer({}, status=503, headers={"Retry-After": "3"})
    server.routes["/things"] = _after(clock, 10.0, tools, before=away)
    assert (await sending.send(get(server))).payload == [1]
    assert min(wait for wait in clock.slept) >= 3.0


async def test_rate_limited_requests_are_retried_beyond_the_usual_attempts(server, tools, sending, clock):
    await sending.send(get(server))
    server.routes["/things"] = _after(clock, 10.0, tools, before=tools.answer({}, status=429))
    began = clock.now
    assert (await sending.send(get(server))).payload == [1]
    assert 10.0 <= clock.now - began < OUTAGE_WAIT_S


async def test_permanent_rate_limiting_ends_the_retries(server, tools, sending, clock):
    await sending.send(get(server))
    server.routes["/things"] = tools.answer({}, status=429)
    began = clock.now
    for _ in range(3):
        with pytest.raises(HttpStatusError) as failed:
            await sending.send(get(server))
    assert clock.now - began <= OUTAGE_WAIT_S + 5.0
    assert failed.value.requests == USUAL


async def test_a_429_without_retry_after_pauses_all_requests(server, tools, sending, clock, said):
    server.routes |= {"/things": tools.answer({}, status=429), "/good": tools.answer([1])}
    with pytest.raises(HttpStatusError):
        await sending.send(get(server))
    clock.now -= clock.slept[-1]
    await sending.send(get(server, "/good"), observer=said)
    assert [notice.wait_s for notice in said.of(RequestThrottled)] == [clock.slept[-1]]


async def test_other_error_responses_are_no_outage(server, tools, sending):
    await sending.send(get(server))
    server.routes["/things"] = tools.answer({}, status=500)
    with pytest.raises(HttpStatusError) as failed:
        await sending.send(get(server))
    assert failed.value.requests == USUAL


async def test_truncated_bodies_are_no_outage(server, tools, sending):
    await sending.send(get(server))
    server.routes["/things"] = tools.raw("HTTP/1.1 200 OK\ntransfer-encoding: chunked", b"5\r\n[1,2,\r\n")
    with pytest.raises(ConnectionFailed) as failed:
        await sending.send(get(server))
    assert failed.value.requests == USUAL


async def test_a_failing_page_among_successes_is_no_outage(server, tools):
    server.routes |= {"/bad": tools.answer({}, status=503), "/good": tools.answer([1])}
    between: list[CallResult] = []

    class Meanwhile(ManualClock):
        async def sleep(self, seconds: float) -> None:
            await super().sleep(seconds)
            between.append(await others.send(get(server, "/good")))

    async with new_client() as client:
        others = transport_over(client, Meanwhile())
        with pytest.raises(HttpStatusError) as failed:
            await others.send(get(server, "/bad"))
    assert (failed.value.requests, len(between)) == (USUAL, USUAL - 1)


async def test_an_observer_can_end_the_outage_wait(server, tools, sending, clock):
    await sending.send(get(server))
    server.routes["/things"] = tools.answer({}, status=503)

    def five_at_most(notice: object) -> None:
        if isinstance(notice, RetryPlanned) and notice.attempt > 5:
            raise RetryRefused("enough")

    with pytest.raises(HttpStatusError) as failed:
        await sending.send(get(server), observer=five_at_most)
    assert failed.value.requests == 5
