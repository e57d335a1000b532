"""Credentials outside declared security schemes: configured locations and credential parameters."""

from typing import Any

import pytest
from pydantic import SecretStr

from adapters.openapi.settings import ANY_SCHEME

SECRET = SecretStr("s3cret/1")


def described(tools: Any, *names: str, place: str = "header", schemes: Any = None, **stated: Any) -> Any:
    parameters = [{"name": name, "in": place, "required": True, "schema": {"type": "string"}} for name in names]
    operation = {"operationId": "l", "parameters": parameters, "responses": {}}
    return tools.described({"/t": {"get": operation}}, components={"securitySchemes": schemes or {}}, **stated)


def shown(server: Any) -> tuple[str, str | None, str | None]:
    """Query, Authorization and X-Key of the only received request."""
    (one,) = server.received
    return one.target.partition("?")[2], one.headers.get("authorization"), one.headers.get("x-key")


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("header X-Key", ("", None, "s3cret/1")),
        ("Header  X-Key", ("", None, "s3cret/1")),
        ("header Authorization", ("", "s3cret/1", None)),
        ("query api key", ("api%20key=s3cret%2F1", None, None)),
    ],
)
async def test_a_configured_location_is_filled_whatever_the_document_says(opened, server, tools, place, expected):
    source = await opened(described(tools), base_url=server.url, credentials={place: SECRET})
    await source.call("l", {})
    assert shown(server) == expected


async def test_a_configured_location_is_sent_beside_required_schemes(opened, server, tools):
    schemes = {"own": {"type": "http", "scheme": "bearer"}}
    credentials = {"header X-Key": SECRET, "own": SecretStr("token")}
    document = described(tools, schemes=schemes, security=[{"own": []}])
    source = await opened(document, base_url=server.url, credentials=credentials)
    await source.call("l", {})
    assert shown(server) == ("", "Bearer token", "s3cret/1")


async def test_a_configured_location_replaces_schemes_without_credentials(opened, server, tools):
    document = described(tools, schemes={"own": {"type": "http", "scheme": "bearer"}}, security=[{"own": []}])
    source = await opened(document, base_url=server.url, credentials={"header X-Key": SECRET})
    await source.call("l", {})
    assert shown(server) == ("", None, "s3cret/1")


async def test_a_parameter_filled_by_a_credential_is_no_argument(opened, server, tools):
    document = described(tools, "x-key", "other")
    source = await opened(document, base_url=server.url, credentials={"header X-Key": SECRET})
    (spec,) = (await source.list_tools()).tools
    assert list(spec.parameters["properties"]) == ["other"]


@pytest.mark.parametrize(
    ("name", "place"),
    [("X-Key", "header"), ("api_key", "query"), ("apiKey", "query"), ("access_token", "query")],
)
async def test_without_schemes_a_credential_parameter_gets_the_credential(opened, server, tools, name, place):
    source = await opened(described(tools, name, place=place), base_url=server.url, credentials={ANY_SCHEME: SECRET})
    await source.call("l", {})
    filled = ("", None, "s3cret/1") if place == "header" else (f"{name}=s3cret%2F1", None, None)
    assert shown(server) == filled


@pytest.mark.parametrize(
    ("name", "place"),
    [("page_token", "query"), ("key", "query"), ("Idempotency-Key", "header"), ("next-page-token", "header")],
)
async def test_an_ordinary_parameter_gets_no_credential(opened, server, tools, name, place):
    source = await opened(described(tools, name, place=place), base_url=server.url, credentials={ANY_SCHEME: SECRET})
    await source.call("l", {name: "mine"})
    assert shown(server)[1] == "Bearer s3cret/1"


async def test_a_parameter_beside_a_scheme_stays_an_argument(opened, server, tools):
    schemes = {"own": {"type": "http", "scheme": "bearer"}}
    document = described(tools, "X-Key", schemes=schemes, security=[{"own": []}])
    source = await opened(document, base_url=server.url, credentials={ANY_SCHEME: SECRET})
    await source.call("l", {"X-Key": "mine"})
    assert shown(server) == ("", "Bearer s3cret/1", "mine")


async def test_neither_of_two_credential_parameters_is_chosen(opened, server, tools):
    document = described(tools, "X-App-Key", "X-User-Key")
    source = await opened(document, base_url=server.url, credentials={ANY_SCHEME: SECRET})
    (spec,) = (await source.list_tools()).tools
    assert set(spec.parameters["required"]) == {"X-App-Key", "X-User-Key"}


async def test_a_credential_for_an_unknown_scheme_is_reported(opened, server, tools):
    source = await opened(described(tools), base_url=server.url, credentials={"X-Key": SECRET})
    (skipped,) = [one for one in (await source.list_tools()).skipped if "X-Key" in one.reason]
    assert "write 'header X-Key'" in skipped.reason
