"""HTTP transport: deadlines, limits, retries, redirects and masking, against a misbehaving server."""

import asyncio
import gzip
import logging
from collections.abc import AsyncIterator, Callable
from email.utils import formatdate
from typing import Any

import httpx2
import pytest

from adapters.clock import ManualClock
from adapters.errors import (
    CircuitOpen,
    ConnectionFailed,
    ForeignOrigin,
    HttpStatusError,
    MalformedResponse,
    ResponseTooLarge,
    TimedOut,
)
from adapters.http.circuit_breaker import MAX_CONSECUTIVE_FAILURES
from adapters.http.secret_mask import SecretMask
from adapters.http.transport import HttpLimits, HttpRequest, HttpTransport, new_client
from adapters.source_events import RequestSent, RequestThrottled, RetryPlanned, RetryRefused

SECRET = "s3cr3t-token-value"


@pytest.fixture
async def client() -> AsyncIterator[httpx2.AsyncClient]:
    async with new_client() as client:
        yield client


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(start=1_000_000.0)


@pytest.fixture
def transport(client: httpx2.AsyncClient, clock: ManualClock) -> Callable[..., HttpTransport]:
    def make(**limits: Any) -> HttpTransport:
        mask = SecretMask([SECRET], names=["hush"])
        return HttpTransport(
            "api", client, mask=mask, limits=HttpLimits(**{"timeout_s": 5.0} | limits), clock=clock, uniform=lambda: 0.5
        )

    return make


def get(server: Any, target: str = "/things", **fields: Any) -> HttpRequest:
    url = httpx2.URL(server.url + target)
    return HttpRequest(**{"method": "GET", "url": url, "is_repeatable": True} | fields)


async def test_a_429_is_retried_after_retry_after_seconds(server, tools, transport, clock, said):
    server.then(tools.answer({}, status=429, headers={"Retry-After": "7"}), tools.answer([1]))
    result = await transport().send(get(server), observer=said)
    assert result.payload == [1]
    assert result.requests == 2
    assert clock.slept == [7.25]
    assert [notice.attempt for notice in said.of(RetryPlanned)] == [2]
    assert len(said.of(RequestSent)) == 2


async def test_a_429_is_retried_after_a_retry_after_date(server, tools, transport, clock):
    date = formatdate(clock.wall() + 9, usegmt=True)
    server.then(tools.answer({}, status=429, headers={"Retry-After": date}), tools.answer([]))
    await transport().send(get(server))
    assert clock.slept == [9.25]


async def test_a_long_retry_after_is_not_waited_for(server, tools, transport, clock):
    server.then(tools.answer({}, status=503, headers={"Retry-After": "3600"}))
    with pytest.raises(HttpStatusError) as failed:
        await transport().send(get(server))
    assert failed.value.retry_after_s == 3600
    assert clock.slept == []
    assert len(server.received) == 1


@pytest.mark.parametrize("status", [500, 502, 503, 504])
async def test_server_errors_are_retried_with_growing_waits(server, tools, transport, clock, status):
    server.then(*[tools.answer({}, status=status)] * 3)
    with pytest.raises(HttpStatusError) as failed:
        await transport(max_attempts=3).send(get(server))
    assert (failed.value.status, failed.value.requests, failed.value.is_retryable) == (status, 3, True)
    assert clock.slept == [0.25, 0.5]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422])
async def test_a_client_error_is_not_retried(server, tools, transport, status):
    server.then(tools.answer({"why": "because"}, status=status))
    with pytest.raises(HttpStatusError) as failed:
        await transport().send(get(server))
    assert (failed.value.status, failed.value.requests, failed.value.is_retryable) == (status, 1, False)
    assert "because" in failed.value.body


async def test_a_write_is_not_retried(server, tools, transport):
    server.then(tools.answer({}, status=503))
    with pytest.raises(HttpStatusError):
        await transport().send(get(server, method="POST", body=b"{}", is_repeatable=False))
    assert len(server.received) == 1


async def test_a_truncated_body_is_retried(server, tools, transport):
    cut = tools.raw("HTTP/1.1 200 OK\ncontent-type: application/json\ncontent-length: 50", b'[{"id": 1}, {"i')
    server.then(cut, tools.answer([{"id": 1}]))
    result = await transport().send(get(server))
    assert (result.payload, result.requests) == ([{"id": 1}], 2)


async def test_a_body_truncated_every_time_is_a_connection_error(server, tools, transport):
    chunked = "HTTP/1.1 200 OK\ncontent-type: application/json\ntransfer-encoding: chunked"
    server.then(*[tools.raw(chunked, b"5\r\n[1,2,\r\n")] * 3)
    with pytest.raises(ConnectionFailed) as failed:
        await transport().send(get(server))
    assert failed.value.requests == 3


async def test_a_truncated_body_without_content_length_is_retried(server, tools, transport):
    silent = tools.raw("HTTP/1.0 200 OK\ncontent-type: application/json", b'[{"id": 1}, {"name": "Bal')
    server.then(silent, tools.answer([7]))
    assert (await transport().send(get(server))).payload == [7]


async def test_a_slow_body_ends_at_the_deadline(server, tools, transport):
    server.then(tools.dripping(0.01))
    started = asyncio.get_running_loop().time()
    with pytest.raises(TimedOut) as failed:
        await transport(timeout_s=0.3, max_attempts=1).send(get(server))
    assert asyncio.get_running_loop().time() - started < 60
    assert failed.value.is_retryable


async def test_cancellation_propagates(server, tools, transport):
    server.then(tools.dripping(0.01))
    task = asyncio.create_task(transport().send(get(server)))
    await server.arrived.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_decompression_bomb_is_stopped_at_the_size_limit(server, tools, transport):
    bomb = gzip.compress(b"[" + b" " * 50_000_000 + b"]")
    assert len(bomb) < 100_000
    server.then(tools.answer(bomb, headers={"content-encoding": "gzip"}))
    with pytest.raises(ResponseTooLarge, match="1,000,000"):
        await transport(max_bytes=1_000_000).send(get(server))


async def test_a_nested_content_encoding_is_refused(server, tools, transport):
    bomb = gzip.compress(gzip.compress(b"[]"))
    server.then(tools.answer(bomb, headers={"content-encoding": "gzip, gzip"}))
    with pytest.raises(MalformedResponse, match="gzip, gzip"):
        await transport().send(get(server))


async def test_the_size_of_a_compressed_body_is_measured_decompressed(server, tools, transport):
    server.then(tools.answer(gzip.compress(b"[1, 2, 3]"), headers={"content-encoding": "gzip"}))
    result = await transport().send(get(server))
    assert (result.payload, result.n_bytes) == ([1, 2, 3], 9)


async def test_a_body_with_the_wrong_encoding_is_malformed(server, tools, transport):
    server.then(tools.answer(b"no gzip at all", headers={"content-encoding": "gzip"}))
    with pytest.raises(MalformedResponse):
        await transport(max_attempts=1).send(get(server))


async def test_a_redirect_to_another_origin_is_not_followed(server, other_server, tools, transport):
    server.then(tools.answer({}, status=302, headers={"location": f"{other_server.url}/steal?hush={SECRET}"}))
    with pytest.raises(ForeignOrigin) as failed:
        await transport().send(get(server, headers=(("x-api-key", SECRET), ("authorization", f"Bearer {SECRET}"))))
    assert other_server.received == []
    assert SECRET not in f"{failed.value} {failed.value.location}"


@pytest.mark.parametrize(
    "target",
    ["//127.0.0.1:1/x", "https://127.0.0.1/x", "ftp://127.0.0.1/", "http://user@127.0.0.2/", "\\\\evil.example/x"],
)
async def test_no_spelling_of_a_redirect_leaves_the_origin(server, tools, transport, target):
    server.then(tools.answer({}, status=307, headers={"location": target}))
    request = get(server, headers=(("x-api-key", SECRET),))
    try:
        await transport().send(request)
    except ForeignOrigin:
        assert len(server.received) == 1
    else:  # read as a path of the same server
        assert len(server.received) == 2


async def test_a_redirect_within_the_origin_is_followed(server, tools, transport):
    server.then(tools.answer({}, status=301, headers={"location": "/things/"}), tools.answer([1]))
    result = await transport().send(get(server, headers=(("x-api-key", SECRET),)))
    assert result.payload == [1]
    assert [(one.target, one.headers["x-api-key"]) for one in server.received] == [
        ("/things", SECRET),
        ("/things/", SECRET),
    ]


async def test_circular_redirects_end(server, tools, transport):
    server.routes["/things"] = tools.answer({}, status=302, headers={"location": "/things"})
    with pytest.raises(MalformedResponse, match="redirects"):
        await transport().send(get(server))
    assert len(server.received) == 6


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"[1e999]", "range"),
        (b"[" * 100_000 + b"]" * 100_000, "deep"),
        (b'{"n": ' + b"9" * 10_000 + b"}", "digits"),
        (b"\xff\xfe[]", "UTF-8"),
        (b"{'id': 1}", "invalid JSON"),
        (b"<html>", "invalid JSON"),
    ],
)
async def test_invalid_json_is_malformed(server, tools, transport, body, why):
    server.then(tools.answer(body))
    with pytest.raises(MalformedResponse, match=why):
        await transport().send(get(server))


async def test_large_integers_keep_every_digit(server, tools, transport):
    server.then(tools.answer(b'{"id": 123456789012345678901234567890, "n": -9223372036854775809}'))
    result = await transport().send(get(server))
    assert result.payload == {"id": 123456789012345678901234567890, "n": -9223372036854775809}


async def test_a_lone_surrogate_is_replaced(server, tools, transport):
    server.then(tools.answer(rb'{"text": "a\ud800b", "n": 12345678901234567890123}'))
    payload = (await transport().send(get(server))).payload
    assert payload == {"text": "a?b", "n": 12345678901234567890123}


@pytest.mark.parametrize(
    ("kind", "body", "payload"),
    [
        ("application/json; charset=iso-8859-1", '["žluť"]'.encode("iso-8859-2"), ["\xbelu\xbb"]),
        ("application/x-ndjson", b'{"id":1}\n{"id":2}\n', [{"id": 1}, {"id": 2}]),
        ("text/csv", b"a,b\n1,2\n", [{"a": 1, "b": 2}]),
        ("text/csv", b"1,2\n", "1,2\n"),
        ("application/vnd.api+json", b'{"data":[]}', {"data": []}),
        ("text/plain", b' [{"id":1}]', [{"id": 1}]),
        ("application/json", b"", None),
        ("application/json", b"\xef\xbb\xbf[1]", [1]),
    ],
)
async def test_a_body_is_parsed_by_its_content_type(server, tools, transport, kind, body, payload):
    server.then(tools.answer(body, kind=kind))
    assert (await transport().send(get(server))).payload == payload


async def test_an_image_is_malformed(server, tools, transport):
    server.then(tools.answer(b"\x89PNG....", kind="image/png"))
    with pytest.raises(MalformedResponse, match="image/png"):
        await transport().send(get(server))


async def test_a_refused_connection_is_retryable(transport, clock):
    request = HttpRequest(method="GET", url=httpx2.URL("http://127.0.0.1:1/"), is_repeatable=True)
    with pytest.raises(ConnectionFailed) as failed:
        await transport().send(request)
    assert (failed.value.requests, failed.value.is_retryable, len(clock.slept)) == (3, True, 2)


async def test_secrets_are_masked_in_errors_events_and_logs(server, tools, transport, said, caplog):
    caplog.set_level(logging.DEBUG)
    for name in ("httpx2", "httpcore2", "httpcore2.http11", "httpcore2.connection"):
        caplog.set_level(logging.DEBUG, logger=name)
    server.then(*[tools.answer({"echo": SECRET}, status=500)] * 3)
    with pytest.raises(HttpStatusError) as failed:
        await transport().send(get(server, f"/things?hush=abc&q={SECRET}&token=abcdef&page=2"), observer=said)
    error = failed.value
    seen = f"{error} {error.location} {error.body} {said.notices} {caplog.text} {error.__cause__}"
    assert SECRET not in seen
    assert "abcdef" not in seen
    assert "hush=abc" not in seen
    assert "page=2" in error.location
    assert "HTTP Request" in caplog.text


async def test_cookies_are_not_kept(server, tools, transport):
    server.then(tools.answer([], headers={"set-cookie": "session=1; Path=/"}), tools.answer([]))
    sender = transport()
    await sender.send(get(server))
    await sender.send(get(server))
    assert "cookie" not in server.received[1].headers


async def test_requests_wait_for_the_rate_limit_reset(server, tools, transport, clock, said):
    empty = {"RateLimit-Limit": "5", "RateLimit-Remaining": "0", "RateLimit-Reset": "9"}
    server.then(tools.answer([1], headers=empty), tools.answer([2]))
    sending = transport()
    await sending.send(get(server), observer=said)
    assert clock.slept == []
    assert (await sending.send(get(server), observer=said)).requests == 1
    assert clock.slept == [9]
    assert [notice.wait_s for notice in said.of(RequestThrottled)] == [9]
    assert said.of(RetryPlanned) == []


async def test_a_429_without_retry_after_waits_for_the_rate_limit_reset(server, tools, transport, clock):
    reset = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "6"}
    server.then(tools.answer({}, status=429, headers=reset), tools.answer([]))
    await transport().send(get(server))
    assert clock.slept == [6.25]


async def test_an_observer_can_veto_a_retry(server, tools, transport, clock):
    def refuse(notice: object) -> None:
        if isinstance(notice, RetryPlanned):
            raise RetryRefused("enough")

    server.then(tools.answer({}, status=503), tools.answer([]))
    with pytest.raises(HttpStatusError, match="503"):
        await transport().send(get(server), observer=refuse)
    assert (len(server.received), clock.slept) == (1, [])


async def test_the_circuit_opens_after_failures_and_probes_later(server, tools, transport, clock):
    server.then(*[tools.answer({}, status=503)] * MAX_CONSECUTIVE_FAILURES, tools.answer([1]))
    sending = transport(max_attempts=1)
    for _ in range(MAX_CONSECUTIVE_FAILURES):
        with pytest.raises(HttpStatusError):
            await sending.send(get(server))
    with pytest.raises(CircuitOpen, match=r"paused for 20 s: 12 requests failed in a row; .*503") as left:
        await sending.send(get(server))
    assert (left.value.requests, left.value.is_retryable) == (0, False)
    assert len(server.received) == MAX_CONSECUTIVE_FAILURES
    await clock.sleep(20)
    assert (await sending.send(get(server))).payload == [1]


async def test_error_responses_do_not_open_the_circuit(server, tools, transport):
    server.then(*[tools.answer({}, status=404)] * (MAX_CONSECUTIVE_FAILURES + 1), tools.answer([1]))
    sending = transport()
    for _ in range(MAX_CONSECUTIVE_FAILURES + 1):
        with pytest.raises(HttpStatusError):
            await sending.send(get(server))
    assert (await sending.send(get(server))).payload == [1]


TABLE = "\n".join(f"{n},name {n}" for n in range(5_000)).encode()
OPEN = "HTTP/1.1 200 OK\nconnection: close\ncontent-type: "


async def test_a_truncated_gzip_body_is_retried(server, tools, transport):
    packed = gzip.compress(TABLE)
    head = f"{OPEN}text/csv\ncontent-encoding: gzip"
    server.then(tools.raw(head, packed[:-1]), tools.raw(head, packed[: len(packed) // 2]), tools.raw(head, packed))
    result = await transport().send(get(server))
    assert (result.payload, result.requests) == (TABLE.decode(), 3)


async def test_an_unannounced_empty_json_body_is_truncated(server, tools, transport):
    nothing = tools.raw(f"{OPEN}application/json", b"")
    server.then(nothing, tools.answer([1]), tools.raw(f"{OPEN}application/json\ncontent-length: 0", b""))
    sending = transport()
    assert (await sending.send(get(server))).payload == [1]
    assert (await sending.send(get(server))).payload is None


async def test_an_empty_compressed_body_is_complete(server, tools, transport):
    server.then(tools.answer(gzip.compress(b""), headers={"content-encoding": "gzip"}))
    assert (await transport().send(get(server))).payload is None
