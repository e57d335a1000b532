"""Repair of HTTP responses: content type by the first bytes, and the reply for the request that was sent."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.mcp.connection.http_repair import RepairingClient

URL = "http://127.0.0.1/mcp"
RESULT = {"content": [{"type": "text", "text": "é"}]}
REPLY = {"jsonrpc": "2.0", "id": 4, "result": RESULT}
LOG = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
JSON, EVENTS = "application/json", "text/event-stream"


async def answered(
    kind: str | None, body: bytes | AsyncIterator[bytes], *, status: int = 200, max_bytes: int = 10_000
) -> httpx2.Response:
    headers = {"content-type": kind} if kind else {}

    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, headers=headers, content=body)

    sent = {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {}}
    client = RepairingClient(max_bytes=max_bytes, has_endless_events=True, transport=httpx2.MockTransport(answer))
    async with client:
        return await client.post(URL, json=sent)


def messages(response: httpx2.Response) -> list[Any]:
    if response.headers["content-type"] == JSON:
        return [response.json()]
    events = response.text.replace("\r\n", "\n").replace("\r", "\n").split("\n\n")
    datas = ("".join(line[5:] for line in event.split("\n") if line.startswith("data:")) for event in events)
    return [json.loads(data) for data in datas if data.strip()]


def coded(value: Any) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize("kind", [JSON, "text/plain", None, "text/html", "application/vnd.api+json", EVENTS])
async def test_a_json_reply_is_recognized_by_its_first_bytes(kind: str | None) -> None:
    assert messages(await answered(kind, coded(REPLY))) == [REPLY]


@pytest.mark.parametrize("kind", [EVENTS, JSON, "text/plain"])
async def test_events_are_recognized_by_their_first_bytes(kind: str) -> None:
    response = await answered(kind, b"event: message\ndata: " + coded(REPLY) + b"\n\n")
    assert response.headers["content-type"] == EVENTS
    assert messages(response) == [REPLY]


@pytest.mark.parametrize(
    "body",
    [
        b"\xef\xbb\xbf" + coded(REPLY),
        coded([LOG, REPLY]),
        coded([REPLY, LOG]),
        coded(REPLY | {"id": None}),
        coded(REPLY | {"id": 99}),
        coded({"id": 4, "result": RESULT}),
        coded({"result": RESULT}),
        coded(RESULT),
        json.dumps(REPLY, ensure_ascii=False).encode("latin-1").replace(b"\xe9", "é".encode()),
    ],
)
async def test_the_reply_is_found_in_a_json_body(body: bytes) -> None:
    assert messages(await answered(JSON, body)) == [REPLY]


@pytest.mark.parametrize(
    "body",
    [
        b"data: " + coded(REPLY) + b"\n",
        b"event: response\ndata: " + coded(REPLY) + b"\n\n",
        b": hello\n\nretry: 5\n\ndata: ping\n\ndata: " + coded(REPLY) + b"\n\ndata: [DONE]\n\n",
        b"data: " + coded([REPLY]) + b"\n\n",
        b"data: " + coded(REPLY | {"id": None}) + b"\n\n",
        b"\xef\xbb\xbfdata: " + coded(REPLY) + b"\r\n\r\n",
        b"data: " + coded(REPLY) + b"\r\r",
        b"data: " + json.dumps(REPLY, indent=1).encode().replace(b"\n", b"\ndata: ") + b"\n\n",
        b"event: message\ndata: " + json.dumps(REPLY, indent=1).encode().replace(b"\n", b"\ndata: ") + b"\n\n",
        b"data: " + coded(REPLY | {"id": 99}) + b"\n\n",
        b"data: " + coded([REPLY | {"id": 99, "result": {"content": []}}, REPLY]) + b"\n\n",
    ],
)
async def test_the_reply_is_found_in_a_stream_of_events(body: bytes) -> None:
    assert messages(await answered(EVENTS, body)) == [REPLY]


async def test_a_reply_with_the_right_id_comes_before_others() -> None:
    stranger = REPLY | {"id": 99, "result": {"content": []}}
    response = await answered(EVENTS, b"data: " + coded(stranger) + b"\n\ndata: " + coded(REPLY) + b"\n\n")
    assert messages(response)[0] == REPLY


async def test_a_202_response_with_a_reply_becomes_200() -> None:
    response = await answered(JSON, coded(REPLY), status=202)
    assert (response.status_code, messages(response)) == (200, [REPLY])
    assert (await answered(None, b"", status=202)).status_code == 202
    assert (await answered("text/plain", b"Accepted", status=202)).status_code == 202


@given(st.lists(st.integers(1, 40), min_size=1, max_size=30))
def test_events_do_not_depend_on_chunk_sizes(sizes: list[int]) -> None:
    body = (
        b"id: 1\ndata: "
        + coded(LOG)
        + b"\n\nevent: message\r\nid: 2\r\ndata: "
        + coded(REPLY | {"id": None})
        + b"\r\n\r\n"
    )

    async def pieces() -> AsyncIterator[bytes]:
        at = 0
        for size in sizes:
            yield body[at : at + size]
            at += size
        yield body[at:]

    response = asyncio.run(answered(EVENTS, pieces()))
    assert messages(response) == [LOG, REPLY]
    assert "id: 2" in response.text


async def test_event_ids_are_kept_without_a_message() -> None:
    response = await answered(EVENTS, b"id: 7\nretry: 50\ndata:\n\nid: 8\ndata: ping\n\n")
    assert "id: 7" in response.text
    assert "id: 8" in response.text
    assert "ping" not in response.text


async def test_a_truncated_stream_has_no_reply() -> None:
    response = await answered(EVENTS, b"data: " + coded(REPLY)[:40])
    assert not response.text.endswith("\n\n")


async def test_an_event_above_the_size_limit_is_passed_through() -> None:
    body = b"data: " + coded(REPLY | {"x": "y" * 500}) + b"\n\n"
    assert (await answered(EVENTS, body, max_bytes=100)).content == body


@pytest.mark.parametrize(("kind", "body"), [("text/html", b"<html></html>"), (None, b""), (JSON, b"no json")])
async def test_a_body_without_a_reply_is_passed_through(kind: str | None, body: bytes) -> None:
    assert (await answered(kind, body)).content == body


async def test_an_error_response_is_passed_through() -> None:
    assert (await answered(JSON, b'{"error": "no"}', status=400)).content == b'{"error": "no"}'


async def test_an_unanswered_notification_does_not_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapters.mcp.connection.http_repair._NOTIFICATION_TIMEOUT_S", 0.01)

    async def never(_: httpx2.Request) -> httpx2.Response:
        await asyncio.Event().wait()
        raise AssertionError

    async with RepairingClient(max_bytes=100, transport=httpx2.MockTransport(never)) as client:
        response = await client.post(URL, json={"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert response.status_code == 202
