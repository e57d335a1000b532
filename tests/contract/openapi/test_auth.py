"""Security schemes: every kind and location, combinations and alternatives."""

import base64
from typing import Any

import pytest
from pydantic import SecretStr

from adapters.errors import MissingCredential
from adapters.openapi.settings import OAuthClient

SCHEMES: dict[str, Any] = {
    "bearer": {"type": "http", "scheme": "Bearer"},
    "basic": {"type": "http", "scheme": "basic"},
    "head": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "query": {"type": "apiKey", "in": "query", "name": "api key"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "other": {"type": "apiKey", "in": "cookie", "name": "tenant"},
    "sso": {"type": "oauth2", "flows": {}},
}
VALUES = {name: SecretStr(f"{name}-value/1") for name in SCHEMES if name != "sso"} | {
    "basic": SecretStr("me:pass word")
}
BASIC = "Basic " + base64.b64encode(b"me:pass word").decode()


def described(tools: Any, security: Any, *, own: Any = None) -> Any:
    operation = {"operationId": "l", "responses": {}} | ({} if own is None else {"security": own})
    stated = {} if security is None else {"security": security}
    return tools.described({"/t": {"get": operation}}, components={"securitySchemes": SCHEMES}, **stated)


def shown(server: Any) -> tuple[str, str | None, str | None, str | None]:
    """Query, Authorization, X-Key and Cookie of the only received request."""
    (one,) = server.received
    found = one.headers.get
    return one.target.partition("?")[2], found("authorization"), found("x-key"), found("cookie")


QUERY, COOKIE = "api%20key=query-value%2F1", "sid=cookie-value%2F1"


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ([{"bearer": []}], ("", "Bearer bearer-value/1", None, None)),
        ([{"basic": []}], ("", BASIC, None, None)),
        ([{"head": []}], ("", None, "head-value/1", None)),
        ([{"query": []}], (QUERY, None, None, None)),
        ([{"cookie": []}], ("", None, None, COOKIE)),
        ([{"cookie": [], "other": []}], ("", None, None, f"{COOKIE}; tenant=other-value%2F1")),
        (
            [{"basic": [], "head": [], "query": [], "cookie": []}],
            (QUERY, BASIC, "head-value/1", COOKIE),
        ),
        ([{"bearer": [], "basic": []}], ("", "Bearer bearer-value/1", None, None)),
        ([{"sso": []}, {"query": [], "sso": []}, {"head": [], "cookie": []}], ("", None, "head-value/1", COOKIE)),
        ([{"unknown": []}, {}, {"head": []}], ("", None, "head-value/1", None)),
        ([{"sso": []}, {}], ("", None, None, None)),
        (None, (QUERY, "Bearer bearer-value/1", "head-value/1", f"{COOKIE}; tenant=other-value%2F1")),
        ([], ("", None, None, None)),
    ],
)
async def test_the_first_fully_configured_alternative_is_used(opened, server, tools, requirement, expected):
    source = await opened(described(tools, requirement), base_url=server.url, credentials=VALUES)
    await source.call("l", {})
    assert shown(server) == expected


async def test_security_of_an_operation_overrides_the_document(opened, server, tools):
    document = described(tools, [{"bearer": []}], own=[{"query": [], "head": []}])
    await (await opened(document, base_url=server.url, credentials=VALUES)).call("l", {})
    assert shown(server) == (QUERY, None, "head-value/1", None)


async def test_a_partly_configured_alternative_is_not_used(opened, server, tools):
    document = described(tools, [{"head": [], "query": []}, {"cookie": [], "sso": []}])
    source = await opened(
        document, base_url=server.url, credentials={"head": VALUES["head"], "cookie": VALUES["cookie"]}
    )
    with pytest.raises(MissingCredential, match="'head, query'"):
        await source.call("l", {})
    assert server.received == []


async def test_a_fetched_token_and_an_api_key_are_combined(opened, server, other_server, tools):
    other_server.then(tools.answer({"access_token": "tok-1", "token_type": "bearer"}))
    client = OAuthClient(
        client_id=SecretStr("me"), client_secret=SecretStr("hush-hush"), token_url=f"{other_server.url}/token"
    )
    document = described(tools, [{"sso": ["read"], "query": []}])
    source = await opened(
        document, base_url=server.url, credentials={"query": VALUES["query"]}, clients={"sso": client}
    )
    await source.call("l", {})
    assert shown(server) == (QUERY, "Bearer tok-1", None, None)


async def test_a_wildcard_oauth_client_works_without_schemes(opened, server, other_server, tools):
    other_server.then(tools.answer({"access_token": "tok-1"}))
    client = OAuthClient(
        client_id=SecretStr("me"), client_secret=SecretStr("hush-hush"), token_url=f"{other_server.url}/token"
    )
    document = tools.described({"/t": {"get": {"operationId": "l", "responses": {}}}})
    await (await opened(document, base_url=server.url, clients={"*": client})).call("l", {})
    assert shown(server) == ("", "Bearer tok-1", None, None)


async def test_an_api_key_is_no_argument_and_masked_in_events(opened, server, tools, said):
    parameters = [
        {"name": name, "in": place, "required": True, "schema": {"type": "string"}}
        for name, place in (("X-Key", "header"), ("api key", "query"), ("sid", "cookie"))
    ]
    document = described(tools, [{"head": [], "query": [], "cookie": []}])
    document["paths"]["/t"]["get"]["parameters"] = parameters
    source = await opened(document, base_url=server.url, credentials=VALUES)
    (spec,) = (await source.list_tools()).tools
    assert not spec.parameters.get("properties")
    result = await source.call("l", {}, observer=said)
    assert "-value" not in f"{said.notices}{result}"
    assert shown(server) == (QUERY, None, "head-value/1", COOKIE)
