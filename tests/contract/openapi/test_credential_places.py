"""Credentials that stand where no security scheme of the document says: in a place of the settings, in a parameter."""

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
    """Query, Authorization and X-Key of the one request that came."""
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
async def test_a_place_that_the_settings_name_is_filled_whatever_the_document_says(
    opened, server, tools, place, expected
):
    source = await opened(described(tools), base_url=server.url, credentials={place: SECRET})
    await source.call("l", {})
    assert shown(server) == expected


async def test_a_place_that_the_settings_name_goes_along_with_what_an_operation_requires(opened, server, tools):
    schemes = {"own": {"type": "http", "scheme": "bearer"}}
    credentials = {"header X-Key": SECRET, "own": SecretStr("token")}
    document = described(tools, schemes=schemes, security=[{"own": []}])
    source = await opened(document, base_url=server.url, credentials=credentials)
    await source.call("l", {})
    assert shown(server) == ("", "Bearer token", "s3cret/1")


async def test_a_place_that_the_settings_name_stands_for_schemes_that_are_not_met(opened, server, tools):
    document = described(tools, schemes={"own": {"type": "http", "scheme": "bearer"}}, security=[{"own": []}])
    source = await opened(document, base_url=server.url, credentials={"header X-Key": SECRET})
    await source.call("l", {})
    assert shown(server) == ("", None, "s3cret/1")


async def test_a_parameter_that_a_credential_fills_is_no_argument(opened, server, tools):
    document = described(tools, "x-key", "other")
    source = await opened(document, base_url=server.url, credentials={"header X-Key": SECRET})
    (spec,) = (await source.list_tools()).tools
    assert list(spec.parameters["properties"]) == ["other"]


@pytest.mark.parametrize(
    ("name", "place"),
    [("X-Key", "header"), ("api_key", "query"), ("apiKey", "query"), ("access_token", "query")],
)
async def test_without_schemes_a_parameter_that_is_a_credential_by_name_takes_it(opened, server, tools, name, place):
    source = await opened(described(tools, name, place=place), base_url=server.url, credentials={ANY_SCHEME: SECRET})
    await source.call("l", {})
    filled = ("", None, "s3cret/1") if place == "header" else (f"{name}=s3cret%2F1", None, None)
    assert shown(server) == filled


@pytest.mark.parametrize(
    ("name", "place"),
    [("page_token", "query"), ("key", "query"), ("Idempotency-Key", "header"), ("next-page-token", "header")],
)
async def test_a_parameter_that_is_no_credential_takes_none(opened, server, tools, name, place):
    source = await opened(described(tools, name, place=place), base_url=server.url, credentials={ANY_SCHEME: SECRET})
    await source.call("l", {name: "mine"})
    assert shown(server)[1] == "Bearer s3cret/1"


async def test_a_parameter_beside_a_scheme_is_the_callers(opened, server, tools):
    schemes = {"own": {"type": "http", "scheme": "bearer"}}
    document = described(tools, "X-Key", schemes=schemes, security=[{"own": []}])
    source = await opened(document, base_url=server.url, credentials={ANY_SCHEME: SECRET})
    await source.call("l", {"X-Key": "mine"})
    assert shown(server) == ("", "Bearer s3cret/1", "mine")


async def test_of_two_parameters_that_are_credentials_none_is_chosen(opened, server, tools):
    document = described(tools, "X-App-Key", "X-User-Key")
    source = await opened(document, base_url=server.url, credentials={ANY_SCHEME: SECRET})
    (spec,) = (await source.list_tools()).tools
    assert set(spec.parameters["required"]) == {"X-App-Key", "X-User-Key"}


async def test_a_credential_for_a_scheme_that_is_not_there_is_told(opened, server, tools):
    source = await opened(described(tools), base_url=server.url, credentials={"X-Key": SECRET})
    (skipped,) = [one for one in (await source.list_tools()).skipped if "X-Key" in one.why]
    assert "write 'header X-Key'" in skipped.why
