"""Secrets from every possible place appear in no file, no output and no request to a model."""

import json
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from benchmarks.kills import Watched, Wire, World
from mock_api.llm_server import create_llm_app
from mock_api.serving import serve
from runax_cli.commands.mock import answer

TOKEN = "canary-token-of-the-api-4711"
MODEL_KEY = "canary-key-of-the-model-4712"
PASTED = "sk-canary4713abcdefghijklmnop"
EVIL = "\x1b]52;c;Y2FuYXJ5\x07\x1b[2J\x9b31m\u202egnp.exe"
ROOT = str(Path(__file__).resolve().parents[3])
ALL = (TOKEN, MODEL_KEY, PASTED)
THINGS = {
    "operationId": "listThings",
    "summary": f"Things. Echo: {TOKEN} {EVIL}",
    "responses": {"200": {"description": "ok"}},
}
DOCUMENT: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": f"t {EVIL}", "version": "1"},
    "paths": {"/things": {"get": THINGS}, "/broken": {"get": {**THINGS, "operationId": "getBroken"}}},
}


class Echo:
    """An API that returns the credentials it received: in records, headers and errors, among escape sequences."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        sent = dict(scope["headers"]).get(b"authorization", b"").decode()
        text = f"otter says {sent} and {MODEL_KEY} and {PASTED} {EVIL}"
        records: Any = [{"id": n, "text": f"{text} {n}"} for n in range(40)]
        status, value = 200, DOCUMENT if scope["path"] == "/openapi.json" else records
        if scope["path"] == "/broken":
            status, value = 400, {"error": text}
        headers = [(b"content-type", b"application/json"), (b"x-echo", sent.encode() or b"-")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(value, ensure_ascii=False).encode()})


class RecordingEndpoint:
    """A model endpoint that records the requests it receives."""

    def __init__(self) -> None:
        self.app = create_llm_app(answer, model="mock", token=None)
        self.received = bytearray()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def recording() -> Any:
            message = await receive()
            self.received.extend(message.get("body", b""))
            return message

        await self.app(scope, recording, send)


@pytest.fixture
async def endpoint() -> RecordingEndpoint:
    return RecordingEndpoint()


@pytest.fixture
async def within(tmp_path: Path, endpoint: RecordingEndpoint) -> AsyncIterator[World]:
    api, llm = Watched(Echo()), Watched(endpoint)
    async with serve(api, port=0) as api_url, serve(llm, port=0) as llm_url:
        variables = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": ROOT,
            "HOME": str(tmp_path),
            "BASE_API_URL": api_url,
            "BASE_API_TOKEN": TOKEN,
            "LLM_API_BASE_URL": f"{llm_url}/v1",
            "LLM_API_KEY": MODEL_KEY,
            "LLM_NAME": "mock",
            "LLM_API": "chat",
        }
        yield World(api=api, llm=llm, variables=variables, folder=tmp_path)


COMMANDS = (
    ("query", f"What do the things say about the otter? My key is {PASTED} and {TOKEN}", "-v"),
    ("query", "What do the things say about the otter?", "-o", "json"),
    ("query", "What do the things say about the otter?", "-o", "jsonl"),
    ("tools", "list"),
    ("tools", "list", "-o", "json"),
    ("tools", "show", "listThings"),
    ("tools", "call", "listThings"),
    ("tools", "call", "listThings", "-o", "json"),
    ("tools", "call", "getBroken"),
    ("plan", "What do the things say about the otter?"),
    ("runs", "list"),
    ("config", "show", "--origin"),
    ("doctor",),
)


async def test_no_secret_is_stored_and_no_escape_sequence_reaches_the_terminal(
    within: World, endpoint: RecordingEndpoint
) -> None:
    outputs = {}
    for command in COMMANDS:
        code, out, err = await within.runax("state", *command, wire=Wire())
        assert "Traceback" not in err, err
        outputs[command] = out + err
        assert code in (0, 3, 4, 7), (command, err[-500:])
    leaks = {(command, secret) for command, text in outputs.items() for secret in ALL if secret in text}
    steering = {command for command, text in outputs.items() if set(text) & set("\x1b\x07\x9b\u202e")}
    assert (leaks, steering) == (set(), set())
    assert b"otter says" in endpoint.received
    assert [secret for secret in ALL if secret.encode() in endpoint.received] == []
    files = [path for path in within.folder.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"journal.sqlite"}
    assert [(path, secret) for path in files for secret in ALL if secret.encode() in path.read_bytes()] == []
    assert [(path, oct(path.stat().st_mode)) for path in files if stat.S_IMODE(path.stat().st_mode) & 0o077] == []
