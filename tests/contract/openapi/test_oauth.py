"""OAuth client credentials against a token server: caching, renewal, limits and masking."""

import asyncio
import base64
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from pydantic import SecretStr

from adapters.clock import ManualClock
from adapters.errors import HttpStatusError, MissingCredential, SourceError, TokenRequestFailed
from adapters.openapi.adapter import OpenApiSettings, OpenApiSource
from adapters.openapi.settings import OAuthClient

NAME, SECRET = "client:one", "hush+hush/secret 1"
BASIC = "Basic " + base64.b64encode(b"client%3Aone:hush%2Bhush%2Fsecret+1").decode()
LIST = {"200": {"description": "", "content": {"application/json": {"schema": {"type": "array"}}}}}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(start=1_000.0)


Opened = Callable[..., Awaitable[OpenApiSource]]


@pytest.fixture
async def signed(tmp_path: Path, server: Any, other_server: Any, clock: ManualClock) -> AsyncIterator[Opened]:
    """Opens a source whose settings name the other server's `/token`, unless the test has its own flows or document."""
    opened: list[OpenApiSource] = []

    async def open_(*, flows: Any = None, document: Any = None, timeout_s: float = 5.0, **client: Any) -> OpenApiSource:
        if flows is None and document is None:
            client = {"token_url": f"{other_server.url}/token?tenant=t-one"} | client
        flows = flows or {"clientCredentials": {"tokenUrl": "https://idp.example/token", "scopes": {}}}
        path = tmp_path / "openapi.json"
        path.write_text(json.dumps(document or described({"type": "oauth2", "flows": flows})))
        settings = OpenApiSettings(
            name="api",
            document=str(path),
            base_url=server.url,
            timeout_s=timeout_s,
            clients={"sso": OAuthClient(client_id=SecretStr(NAME), client_secret=SecretStr(SECRET), **client)},
        )
        opened.append(await OpenApiSource.open(settings, clock=clock))
        return opened[-1]

    yield open_
    for source in opened:
        await source.aclose()


def described(scheme: Any) -> dict[str, Any]:
    return {
        "openapi": "3.0.3",
        "info": {"title": "t", "version": "1"},
        "paths": {"/t": {"get": {"operationId": "l", "responses": LIST}}},
        "components": {"securitySchemes": {"sso": scheme}},
        "security": [{"sso": []}],
    }


def token(tools: Any, value: str = "tok-1.abc/def", **fields: Any) -> Any:
    return tools.answer({"access_token": value, "token_type": "Bearer"} | fields)


def sent_to(server: Any) -> list[str | None]:
    return [one.headers.get("authorization") for one in server.received]


async def test_a_token_is_cached_until_shortly_before_it_expires(signed, server, other_server, tools, clock):
    other_server.then(token(tools, "tok-1", expires_in=3600), token(tools, "tok-2", expires_in="3600"))
    source = await signed(scope="read write", audience="https://api.example")
    for hand in (0, 3_500, 3_575):
        clock.now = 1_000 + hand
        await source.call("l", {})
    assert sent_to(server) == ["Bearer tok-1", "Bearer tok-1", "Bearer tok-2"]
    first = other_server.received[0]
    assert (first.method, first.target, first.headers["authorization"]) == ("POST", "/token?tenant=t-one", BASIC)
    assert parse_qs(first.body.decode()) == {
        "grant_type": ["client_credentials"],
        "scope": ["read write"],
        "audience": ["https://api.example"],
    }


async def test_a_token_without_a_lifetime_is_used_until_it_is_refused(signed, server, other_server, tools, clock):
    other_server.then(token(tools))
    source = await signed()
    await source.call("l", {})
    clock.now += 10**6
    await source.call("l", {})
    assert len(other_server.received) == 1


async def test_concurrent_requests_share_one_token_request(signed, server, other_server, tools):
    other_server.routes["/token"] = token(tools, expires_in=60)
    source = await signed()
    await asyncio.gather(*(source.call("l", {}) for _ in range(8)))
    assert len(other_server.received) == 1
    assert sent_to(server) == ["Bearer tok-1.abc/def"] * 8


async def test_concurrent_requests_share_a_failed_token_request(signed, server, other_server, tools):
    other_server.routes["/token"] = tools.answer({"error": "unauthorized_client"}, status=400)
    source = await signed()
    await source.list_tools()
    found = await asyncio.gather(*(source.call("l", {}) for _ in range(8)), return_exceptions=True)
    assert [type(one) for one in found] == [TokenRequestFailed] * 8
    assert len({str(one) for one in found}) == 1
    assert len(other_server.received) == 1
    assert server.received == []


async def test_a_refused_token_is_renewed_once(signed, server, other_server, tools):
    other_server.then(token(tools, "tok-1"), token(tools, "tok-2"))
    server.then(tools.answer({}, status=401), tools.answer([7]))
    result = await (await signed()).call("l", {})
    assert (result.payload, result.requests) == ([7], 2)
    assert sent_to(server) == ["Bearer tok-1", "Bearer tok-2"]


async def test_a_second_401_is_raised(signed, server, other_server, tools):
    other_server.routes["/token"] = token(tools)
    server.routes["/t"] = tools.answer({}, status=401)
    with pytest.raises(HttpStatusError, match="401"):
        await (await signed()).call("l", {})
    assert (len(server.received), len(other_server.received)) == (2, 2)


async def test_a_403_keeps_the_token(signed, server, other_server, tools):
    other_server.then(token(tools))
    server.then(tools.answer({}, status=403))
    source = await signed()
    with pytest.raises(HttpStatusError, match="403"):
        await source.call("l", {})
    await source.call("l", {})
    assert len(other_server.received) == 1


@pytest.mark.parametrize("refusal", [(401, {}), (400, {"error": "invalid_client"}), (401, {"error": "invalid_client"})])
async def test_client_credentials_are_sent_in_the_body_if_the_header_is_refused(
    signed, server, other_server, tools, clock, refusal
):
    status, body = refusal
    other_server.then(tools.answer(body, status=status), token(tools, expires_in=10), token(tools, "tok-2"))
    source = await signed()
    await source.call("l", {})
    clock.now += 100
    await source.call("l", {})
    _, second, third = other_server.received
    assert "authorization" not in second.headers
    assert parse_qs(second.body.decode())["client_secret"] == [SECRET]
    assert parse_qs(third.body.decode())["client_id"] == [NAME], "what worked is what is tried first from then on"
    assert sent_to(server) == ["Bearer tok-1.abc/def", "Bearer tok-2"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            (400, {"error": "invalid_client", "error_description": SECRET}),
            "400 'invalid_client'; check the environment variables",
        ),
        ((401, {"error": "invalid_client"}), "401 'invalid_client'"),
        ((400, {"error": "invalid_scope"}), "400 'invalid_scope'; check 'scope'"),
        ((400, {"error": "hush"}), "answered 400$"),
        ((500, {"error": SECRET}), "answered 500$"),
        ((200, {"token": "x"}), "no valid 'access_token'"),
        ((200, {"access_token": "line\r\nbreak"}), "no valid 'access_token'"),
        ((200, ["tok-en-1234"]), "no valid 'access_token'"),
        ((200, b"tok-en-1234"), "no valid 'access_token'"),
        ((200, {"access_token": "tok-en-1234", "token_type": "mac"}), "not 'Bearer'"),
    ],
)
async def test_a_failed_token_request_names_scheme_url_and_code_but_no_secret(
    signed, server, other_server, tools, answer, words
):
    status, body = answer
    other_server.routes["/token"] = tools.answer(body, status=status)
    with pytest.raises(TokenRequestFailed, match=words) as caught:
        await (await signed()).call("l", {})
    text = f"{caught.value} {caught.value.location}"
    assert f"cannot get a token for the scheme 'sso' from '{other_server.url}/token'" in text
    assert not [hidden for hidden in (SECRET, BASIC[6:], "tenant", "tok-en", "hush") if hidden in text]
    assert server.received == []


async def test_a_slow_token_server_times_out(signed, server, other_server, tools):
    other_server.routes["/token"] = tools.dripping(0.01)
    source = await signed(timeout_s=0.3)
    async with asyncio.timeout(60):
        with pytest.raises(TokenRequestFailed, match=r"timed out after 0\.3 s") as caught:
            await source.call("l", {})
    assert caught.value.is_retryable


@pytest.mark.parametrize("status", [302, 303, 307, 308])
async def test_the_client_secret_does_not_follow_redirects(signed, server, other_server, tools, status):
    for target in (f"{server.url}/token", "/elsewhere"):
        other_server.then(tools.answer({}, status=status, headers={"location": target}))
    source = await signed()
    for _ in range(2):
        with pytest.raises(TokenRequestFailed, match="redirect"):
            await source.call("l", {})
    assert server.received == []
    assert [one.target.split("?")[0] for one in other_server.received] == ["/token", "/token"]


async def test_the_token_does_not_follow_redirects(signed, server, other_server, tools):
    other_server.then(token(tools))
    server.then(tools.answer({}, status=307, headers={"location": f"{other_server.url}/catch"}))
    with pytest.raises(SourceError, match="another origin"):
        await (await signed()).call("l", {})
    assert [one.method for one in other_server.received] == ["POST"]


async def test_tokens_and_secrets_are_masked_everywhere(signed, server, other_server, tools, said, caplog):
    caplog.set_level(logging.DEBUG)
    value = "tok-1.abc/def"
    other_server.then(token(tools, value))
    echo = json.dumps([{"heard": f"Bearer {value}"}]).replace("/", "\\/").encode()
    server.then(tools.answer(echo), tools.answer({"heard": value}, status=409))
    source = await signed()
    result = await source.call("l", {}, observer=said)
    assert result.payload == [{"heard": "Bearer ***"}]
    with pytest.raises(HttpStatusError) as caught:
        await source.call("l", {}, observer=said)
    everything = f"{said.notices} {caught.value} {caught.value.body} {result} {caplog.text} {vars(source)}"
    assert said.notices
    assert not [hidden for hidden in (value, SECRET, BASIC[6:]) if hidden in everything]


async def test_the_token_url_of_the_settings_overrides_the_document(signed, server, other_server, tools):
    other_server.then(token(tools))
    await (await signed(token_url=f"{other_server.url}/mine")).call("l", {})
    assert [one.target for one in other_server.received] == ["/mine"]


async def test_a_token_url_of_the_document_may_be_relative(signed, server, tools):
    server.routes["/oauth/token"] = token(tools)
    await (await signed(flows={"clientCredentials": {"tokenUrl": "/oauth/token"}})).call("l", {})
    assert [one.target for one in server.received] == ["/oauth/token", "/t"]


async def test_the_swagger_2_flow_is_supported(signed, server, tools):
    server.routes["/token"] = token(tools)
    scheme = {"type": "oauth2", "flow": "application", "tokenUrl": f"{server.url}/token", "scopes": {}}
    document = described({}) | {"swagger": "2.0", "securityDefinitions": {"sso": scheme}}
    await (await signed(document={key: value for key, value in document.items() if key != "openapi"})).call("l", {})
    assert sent_to(server) == [BASIC, "Bearer tok-1.abc/def"]


@pytest.mark.parametrize("scheme", [{"type": "http", "scheme": "bearer"}, {"type": "openIdConnect"}])
async def test_a_fetched_token_works_for_any_bearer_scheme(signed, server, other_server, tools, scheme):
    other_server.then(token(tools))
    await (await signed(document=described(scheme), token_url=f"{other_server.url}/token")).call("l", {})
    assert sent_to(server) == ["Bearer tok-1.abc/def"]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://idp.example/token?a=b", "'http://idp.example/token' of the scheme 'sso' is not encrypted"),
        ("http://169.254.169.254/token", "is not encrypted"),
        ("https://169.254.169.254/token", "link-local"),
        ("https://metadata.google.internal/token", "link-local"),
        ("ftp://idp.example/token", "must be an https URL"),
    ],
)
async def test_the_client_secret_is_not_sent_to_unsafe_urls(signed, server, url, words):
    with pytest.raises(SourceError, match=words):
        await (await signed(token_url=url)).call("l", {})
    assert server.received == []


@pytest.mark.parametrize("trick", ["{other}/token", "https://idp.example", "{here}@idp.example/t", "//idp.example/t"])
async def test_the_client_secret_does_not_follow_the_document_to_another_site(signed, server, other_server, trick):
    url = trick.format(other=other_server.url, here=server.url.replace("http:", "https:"))
    with pytest.raises(MissingCredential, match=r"another site.*|is not encrypted") as caught:
        await (await signed(flows={"clientCredentials": {"tokenUrl": url}})).call("l", {})
    assert "'token_url' in 'auth'" in str(caught.value)
    assert (server.received, other_server.received) == ([], [])


async def test_a_missing_token_url_names_the_setting(signed, server):
    with pytest.raises(MissingCredential, match="no token URL for the scheme 'sso'; set 'token_url'"):
        await (await signed(flows={"authorizationCode": {"tokenUrl": "https://idp.example/token"}})).call("l", {})


async def test_an_oauth_client_for_another_kind_of_scheme_is_reported(signed, server):
    source = await signed(document=described({"type": "apiKey", "in": "header", "name": "X-Key"}))
    assert [one.reason for one in (await source.list_tools()).skipped if "'sso'" in one.reason]
    with pytest.raises(MissingCredential, match="'sso'"):
        await source.call("l", {})
