"""Every pagination style leads a client to every record, once and in order."""

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import openapi_core
import pytest

from mock_api.app import create_app, default_resources
from mock_api.serving import serve
from mockdata.tables import tables

RESOURCES = default_resources()
OWN = tables()["tickets"].find({"customer_id": 4})


@asynccontextmanager
async def client_of(**settings: Any) -> AsyncIterator[httpx2.AsyncClient]:
    app = create_app(RESOURCES, **settings)
    async with serve(app, port=0) as base_url, httpx2.AsyncClient(base_url=base_url) as client:
        yield client


def ids(records: list[dict[str, Any]]) -> list[int]:
    return [record["id"] for record in records]


async def walk_offset(client: httpx2.AsyncClient) -> list[int]:
    read: list[int] = []
    while True:
        page = (await client.get(f"/tickets?customer_id=4&limit=50&offset={len(read)}")).json()
        read += ids(page["tickets"])
        if len(read) >= page["total"]:
            return read


async def walk_page(client: httpx2.AsyncClient) -> list[int]:
    first = (await client.get("/tickets?customer_id=4&per_page=50")).json()
    numbers = range(2, first["total_pages"] + 1)
    others = [(await client.get(f"/tickets?customer_id=4&per_page=50&page={number}")).json() for number in numbers]
    return [number for page in (first, *others) for number in ids(page["tickets"])]


async def walk_cursor(client: httpx2.AsyncClient) -> list[int]:
    read, cursor = [], ""
    while cursor is not None:
        page = (await client.get("/tickets", params={"customer_id": 4, "limit": 50, "cursor": cursor})).json()
        read += ids(page["tickets"])
        cursor = page["next_cursor"]
    return read


async def walk_link(client: httpx2.AsyncClient) -> list[int]:
    read: list[int] = []
    url: str | None = "/tickets?customer_id=4&per_page=50"
    while url:
        response = await client.get(url)
        assert response.headers["x-total-count"] == "261"
        read += ids(response.json())
        found = re.fullmatch(r'<(.+)>; rel="next"', response.headers.get("link", ""))
        url = found[1] if found else None
    return read


async def walk_next_url(client: httpx2.AsyncClient) -> list[int]:
    read: list[int] = []
    url: str | None = "/tickets?customer_id=4&page_size=50"
    while url:
        page = (await client.get(url)).json()
        assert page["count"] == 261
        read += ids(page["results"])
        url = page["next"]
    return read


async def walk_single(client: httpx2.AsyncClient) -> list[int]:
    return ids((await client.get("/tickets?customer_id=4")).json()["tickets"])


WALKS: dict[str, Callable[[httpx2.AsyncClient], Awaitable[list[int]]]] = {
    "offset": walk_offset,
    "page": walk_page,
    "cursor": walk_cursor,
    "link": walk_link,
    "next_url": walk_next_url,
    "single": walk_single,
}


@pytest.mark.parametrize("style", WALKS)
async def test_following_a_style_reads_every_record_once(style: str) -> None:
    async with client_of(styles={"tickets": style}) as client:
        assert await WALKS[style](client) == list(OWN)


@pytest.mark.parametrize("style", WALKS)
async def test_the_document_is_valid_and_shows_the_arguments_of_the_style(style: str) -> None:
    document = create_app(RESOURCES, styles={"tickets": style}).openapi()
    openapi_core.OpenAPI.from_dict(document)  # validates the document
    shown = {each["name"] for each in document["paths"]["/tickets"]["get"]["parameters"]}
    assert (
        shown - {"customer_id", "status", "priority", "category"}
        == {
            "offset": {"offset", "limit", "meta_only"},
            "page": {"page", "per_page", "meta_only"},
            "cursor": {"cursor", "limit"},
            "link": {"page", "per_page"},
            "next_url": {"page_size"},
            "single": set(),
        }[style]
    )


def test_the_document_names_every_operation() -> None:
    document = create_app(RESOURCES).openapi()
    names = {path["get"]["operationId"] for path in document["paths"].values()}
    assert names >= {
        "list_customers", "get_customer", "list_tickets", "get_ticket", "list_payments", "list_messages", "list_events",
    }  # fmt: skip
    assert all(path["get"]["description"] for path in document["paths"].values())
    limit = next(each for each in document["paths"]["/tickets"]["get"]["parameters"] if each["name"] == "limit")
    assert (limit["schema"]["default"], limit["schema"]["maximum"], limit["schema"]["minimum"]) == (20, 200, 1)


def test_all_schema_references_resolve() -> None:
    text = json.dumps(create_app(RESOURCES).openapi())
    referred = set(re.findall(r'"#/components/schemas/([^"]+)"', text))
    assert referred <= set(json.loads(text)["components"]["schemas"])


async def test_meta_only_returns_totals_without_records() -> None:
    async with client_of() as client:
        meta = (await client.get("/tickets?customer_id=4&meta_only=true")).json()
    assert meta["data_path"] == "tickets"
    assert meta["total_items"] == 261
    assert meta["tokens_estimation"] == pytest.approx(355_000, rel=0.1)
    assert "tickets" not in meta


async def test_meta_only_of_an_empty_result_is_zero() -> None:
    async with client_of() as client:
        meta = (await client.get("/tickets?customer_id=9999&meta_only=true")).json()
    assert (meta["total_items"], meta["tokens_estimation"]) == (0, 0)


async def test_metadata_and_totals_can_be_disabled() -> None:
    async with client_of(has_metadata=False, has_total=False, total_header=True) as client:
        response = await client.get("/tickets?customer_id=4&meta_only=true&limit=3")
    assert set(response.json()) == {"tickets", "offset", "limit"}
    assert response.headers["x-total-count"] == "261"


@pytest.mark.parametrize(
    "path",
    ["/tickets?limit=0", "/tickets?limit=201", "/tickets?offset=-1", "/tickets?status=lost", "/tickets?customer_id=x"],
)
async def test_invalid_arguments_are_rejected(path: str) -> None:
    async with client_of() as client:
        assert (await client.get(path)).status_code == 422


@pytest.mark.parametrize("cursor", ["nonsense", "ZnJvbTo", "ZnJvbTotMQ", "é"])
async def test_an_unknown_cursor_is_rejected(cursor: str) -> None:
    async with client_of(styles={"tickets": "cursor"}) as client:
        assert (await client.get("/tickets", params={"cursor": cursor})).status_code == 400


async def test_a_record_is_returned_by_id() -> None:
    async with client_of() as client:
        assert (await client.get("/customers/4")).json()["name"].endswith("Baláž")
        missing = await client.get("/customers/501")
    assert missing.status_code == 404
    assert "501" in missing.json()["detail"]


async def test_a_page_beyond_the_end_is_empty() -> None:
    async with client_of() as client:
        page = (await client.get("/tickets?customer_id=4&offset=261")).json()
    assert (page["tickets"], page["total"]) == ([], 261)


async def test_a_token_is_declared_and_required() -> None:
    async with client_of(token="secret") as client:
        document = (await client.get("/openapi.json")).json()
        refused = await client.get("/tickets/1")
        wrong = await client.get("/tickets", headers={"Authorization": "Bearer other"})
        let_in = await client.get("/tickets", headers={"Authorization": "Bearer secret"})
    assert [response.status_code for response in (refused, wrong, let_in)] == [401, 401, 200]
    (scheme,) = document["components"]["securitySchemes"].values()
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    assert document["paths"]["/tickets"]["get"]["security"]


def test_a_style_for_an_unknown_resource_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"unknown resource 'ticket'.*tickets"):
        create_app(RESOURCES, styles={"ticket": "page"})
    with pytest.raises(ValueError, match="'pages'"):
        create_app(RESOURCES, styles={"tickets": "pages"})


async def test_responses_match_the_document() -> None:
    api = openapi_core.OpenAPI.from_dict(create_app(RESOURCES).openapi())
    async with client_of() as client:
        for path in (
            "/customers",
            "/tickets",
            "/payments",
            "/messages",
            "/events",
            "/tickets?meta_only=true",
            "/tickets/7",
        ):
            response = await client.get(path)
            url = httpx2.URL(str(response.request.url))
            api.validate_response(_Asked(url), _Answered(response))


class _Asked:
    """A request in the form of openapi-core."""

    def __init__(self, url: httpx2.URL) -> None:
        self.host_url, self.path, self.method, self.content_type = "http://localhost", url.path, "get", ""
        self.parameters = openapi_core.datatypes.RequestParameters(query=dict(url.params))
        self.body = None


class _Answered:
    """A response in the form of openapi-core."""

    def __init__(self, response: httpx2.Response) -> None:
        self.data, self.status_code, self.headers = response.content, response.status_code, response.headers
        self.content_type = response.headers["content-type"]


@pytest.mark.parametrize(
    ("style", "path", "following"),
    [
        ("cursor", "/tickets?customer_id=4&limit=87&cursor=ZnJvbToxNzQ", "next_cursor"),
        ("next_url", "/tickets?customer_id=4&page_size=87&cursor=ZnJvbToxNzQ", "next"),
    ],
)
async def test_a_full_last_page_has_no_next_page(style: str, path: str, following: str) -> None:
    async with client_of(styles={"tickets": style}) as client:
        page = (await client.get(path)).json()
    assert len(page.get("tickets", page.get("results"))) == 87
    assert page[following] is None
