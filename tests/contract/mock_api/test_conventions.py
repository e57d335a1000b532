"""Every pagination convention returns every record once; every fault behaves as its name says."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx2
import jsonschema
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from mock_api.app import create_app
from mock_api.conventions import (
    CONVENTIONS,
    Collection,
    ConventionName,
    PagingFault,
    RequestLog,
    all_conventions,
    create_conventions_app,
    faults_of,
    record_id,
)
from mock_api.conventions.request import spec_of
from mock_api.conventions.spec import Addressing, ConventionSpec, NextMarker

UNUSUAL = {"offset": "ab_satz", "limit": "hoechstens", "page": "blatt", "cursor": "merker", "total": "gesamt"}
MOST_PAGES = 60


@asynccontextmanager
async def client_of(*collections: Collection, log: RequestLog | None = None) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=create_conventions_app(collections, log=log))
    async with httpx2.AsyncClient(transport=transport, base_url="http://mock") as client:
        yield client


def member(body: Any, path: str) -> Any:
    for segment in path.split("/") if path else []:
        body = body.get(segment) if isinstance(body, dict) else None
    return body


def nested(arguments: dict[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    for path, value in arguments.items():
        *outer, last = path.split("/")
        inner = body
        for segment in outer:
            inner = inner.setdefault(segment, {})
        inner[last] = value
    return body


class Walker:
    """Follows one collection as its convention spells it, without any checks."""

    def __init__(self, client: httpx2.AsyncClient, collection: Collection, size: int) -> None:
        self.client, self.collection, self.size = client, collection, size
        self.spelling: ConventionSpec = spec_of(collection)
        self.ids: list[int] = []
        self.pages: list[list[int]] = []

    async def walk(self, **own: Any) -> list[int]:
        arguments = dict(own) | ({self.spelling.size: self.size} if self.spelling.size else {})
        response = await self._send(arguments, {"Range": f"items=0-{self.size - 1}"})
        while (following := self._following(response)) is not None and len(self.pages) < MOST_PAGES:
            response = await self._go(following, arguments)
        return self.ids

    async def _go(self, following: Any, arguments: dict[str, Any]) -> httpx2.Response:
        if isinstance(following, str) and self.spelling.marker not in (NextMarker.TOKEN, NextMarker.NONE):
            return self._kept(await self.client.get(following))
        if self.spelling.next_route:
            path = f"{self.collection.path}/{self.spelling.next_route}"
            return self._kept(await self.client.post(path, json={self.spelling.position: following}))
        if self.spelling.addressing is Addressing.RANGE:
            return await self._send(arguments, {"Range": f"items={following}-{following + self.size - 1}"})
        return await self._send({**arguments, self.spelling.position or "": following}, {})

    async def _send(self, arguments: dict[str, Any], headers: dict[str, str]) -> httpx2.Response:
        if self.spelling.method == "POST":
            return self._kept(await self.client.post(self.collection.path, json=nested(arguments)))
        return self._kept(await self.client.get(self.collection.path, params=arguments, headers=headers))

    def _kept(self, response: httpx2.Response) -> httpx2.Response:
        assert response.status_code in (200, 206), response.text
        self.pages.append([record_id(each) for each in member(response.json(), self.spelling.records)])
        self.ids += self.pages[-1]
        return response

    def _following(self, response: httpx2.Response) -> Any:
        body, spelling = response.json(), self.spelling
        match spelling.marker:
            case NextMarker.LINK_HEADER:
                return response.links.get("next", {}).get("url")
            case NextMarker.URL_HEADER:
                return response.headers.get(spelling.next or "")
            case NextMarker.LINKS_LIST:
                return next((link["href"] for link in body["links"] if link["rel"] == "next"), None)
            case NextMarker.NONE:
                return self._counted() if self.pages[-1] else None
            case _ if spelling.next_route:
                return member(body, spelling.next or "") if self.pages[-1] else None
            case _:
                url = member(body, spelling.next or "") or None
                return urljoin(str(response.url), url) if url and spelling.marker is not NextMarker.TOKEN else url

    def _counted(self) -> Any:
        match self.spelling.addressing:
            case Addressing.OFFSET:
                return len(self.ids) + self.spelling.first
            case Addressing.PAGE:
                return len(self.pages) + self.spelling.first
            case Addressing.KEY | Addressing.KEY_DESCENDING:
                return self.ids[-1]
            case Addressing.SORT_VALUES:
                return [self.ids[-1]]
            case Addressing.RANGE:
                return len(self.ids)
            case _:
                return None


@pytest.mark.parametrize("style", ConventionName)
@pytest.mark.parametrize(
    "settings",
    [
        {"total": 57},
        {"total": 0},
        {"total": 40, "clamp": 8},
        {"total": 60, "cap": 7},
        {"total": 33, "names": UNUSUAL},
    ],
    ids=["plain", "empty", "clamped", "capped", "renamed"],
)
async def test_every_convention_leads_to_every_record_once(style: ConventionName, settings: dict[str, Any]) -> None:
    collection = Collection(convention=style, **settings)
    async with client_of(collection) as client:
        ids = await Walker(client, collection, 10).walk()
    assert sorted(ids) == list(collection.ids())


@pytest.mark.parametrize("style", ConventionName)
async def test_the_filter_applies_to_every_page(style: ConventionName) -> None:
    collection = Collection(convention=style, total=50)
    async with client_of(collection) as client:
        ids = await Walker(client, collection, 10).walk(kind="odd")
    assert sorted(ids) == list(collection.ids("odd"))
    assert len(ids) == 25


def _walkable(lie: PagingFault) -> list[ConventionName]:
    return [style for style in ConventionName if lie in faults_of(style)]


ENDLESS = {PagingFault.ENDLESS_CURSOR, PagingFault.EMPTY_FOR_EVER, PagingFault.SAME_MARKER, PagingFault.ABA_CYCLE}


@pytest.mark.parametrize("style", [style for style in ConventionName if PagingFault.ENDLESS_CURSOR in faults_of(style)])
@pytest.mark.parametrize("lie", sorted(ENDLESS))
async def test_an_endless_walk_does_not_end_by_itself(style: ConventionName, lie: PagingFault) -> None:
    collection = Collection(convention=style, total=45, fault=lie)
    async with client_of(collection) as client:
        walker = Walker(client, collection, 10)
        await walker.walk()
    assert len(walker.pages) == MOST_PAGES
    assert (set(walker.ids) == set(collection.ids())) is (
        lie in {PagingFault.ENDLESS_CURSOR, PagingFault.EMPTY_FOR_EVER}
    )


@pytest.mark.parametrize("style", _walkable(PagingFault.OVERLAPPING_PAGES))
async def test_overlapping_pages_begin_with_the_last_record_of_the_page_before(style: ConventionName) -> None:
    collection = Collection(convention=style, total=45, fault=PagingFault.OVERLAPPING_PAGES)
    async with client_of(collection) as client:
        walker = Walker(client, collection, 10)
        await walker.walk()
    assert walker.pages[1][0] == walker.pages[0][-1]
    assert len(walker.ids) > len(set(walker.ids))


@pytest.mark.parametrize("style", _walkable(PagingFault.PAGING_IGNORED))
async def test_paging_ignored_repeats_the_first_page(style: ConventionName) -> None:
    collection = Collection(convention=style, total=45, fault=PagingFault.PAGING_IGNORED)
    async with client_of(collection) as client:
        walker = Walker(client, collection, 10)
        await walker.walk()
    assert len(walker.pages) > 1
    assert all(page == walker.pages[0] for page in walker.pages)


@pytest.mark.parametrize("style", _walkable(PagingFault.SHORT_PAGES))
async def test_short_pages_have_fewer_records_than_requested(style: ConventionName) -> None:
    collection = Collection(convention=style, total=45, fault=PagingFault.SHORT_PAGES)
    async with client_of(collection) as client:
        walker = Walker(client, collection, 10)
        ids = await walker.walk()
    assert 0 < len(walker.pages[0]) < 10
    is_lost = CONVENTIONS[style].addressing is Addressing.PAGE
    assert (sorted(ids) == list(collection.ids())) is not is_lost


@pytest.mark.parametrize("style", _walkable(PagingFault.FOREIGN_NEXT))
async def test_a_foreign_next_names_another_host(style: ConventionName) -> None:
    collection = Collection(convention=style, total=45, fault=PagingFault.FOREIGN_NEXT)
    async with client_of(collection) as client:
        response = await client.get(collection.path)
        told = response.text + str(response.headers)
    assert urlsplit(collection.foreign).netloc in told


@pytest.mark.parametrize("style", _walkable(PagingFault.DROPPED_ARGUMENTS))
async def test_dropped_arguments_lose_the_filter_on_later_pages(style: ConventionName) -> None:
    collection = Collection(convention=style, total=45, fault=PagingFault.DROPPED_ARGUMENTS)
    async with client_of(collection) as client:
        ids = await Walker(client, collection, 10).walk(kind="odd")
    assert not set(ids) <= set(collection.ids("odd"))


async def test_the_log_keeps_all_responses() -> None:
    log, collection = RequestLog(), Collection(convention=ConventionName.OFFSET, total=30)
    async with client_of(collection, log=log) as client:
        ids = await Walker(client, collection, 10).walk()
        refused = await client.get(collection.path, params={"limit": 0})
    assert log.ids == ids
    assert refused.status_code == log.responses[-1].status == 400
    assert log.responses[0].n_bytes > 0


@pytest.mark.parametrize(
    ("style", "arguments", "path", "expected"),
    [
        (ConventionName.TOTAL_FLAG, {"include_totals": "true"}, "total", 250),
        (ConventionName.TOTAL_FLAG, {}, "total", None),
        (ConventionName.ODATA, {"$count": "true", "$top": 1}, "@odata.count", 250),
        (ConventionName.META_ONLY, {"meta_only": "true"}, "total_items", 250),
        (ConventionName.HITS_FLAG, {"resulttype": "hits", "kind": "odd"}, "numberMatched", 125),
        (ConventionName.SCIM, {"count": 1}, "totalResults", 250),
        (ConventionName.CONTINUE, {"limit": 1}, "metadata/remainingItemCount", 249),
    ],
)
async def test_totals_are_reported_where_the_convention_has_them(
    style: ConventionName, arguments: dict[str, Any], path: str, expected: int | None
) -> None:
    collection = Collection(convention=style)
    async with client_of(collection) as client:
        body = (await client.get(collection.path, params=arguments)).json()
    assert member(body, path) == expected


async def test_totals_outside_of_bodies() -> None:
    collections = all_conventions(total=250)
    async with client_of(*collections) as client:
        head = await client.head("/by/header_url")
        counted = (await client.get("/by/count_sibling/count", params={"kind": "odd"})).json()
        ranged = await client.get("/by/range", headers={"Range": "items=0-0", "Prefer": "count=exact"})
        linked = await client.get("/by/link", params={"per_page": 1})
        refused = await client.head("/by/offset")
    assert head.headers["total-records"] == "250"
    assert counted == {"count": 125}
    assert ranged.headers["content-range"] == "0-0/250"
    assert ranged.status_code == 206
    assert "page=250" in linked.links["last"]["url"]
    assert refused.status_code == 405


@pytest.mark.parametrize("style", ConventionName)
async def test_responses_match_the_openapi_document(style: ConventionName) -> None:
    collection = Collection(convention=style)
    method = CONVENTIONS[style].method
    async with client_of(collection) as client:
        document = (await client.get("/openapi.json")).json()
        response = await client.request(method, collection.path, json={} if method == "POST" else None)
    operation = document["paths"][collection.path][method.lower()]
    documented = operation["responses"][str(response.status_code)]
    jsonschema.validate(response.json(), documented["content"]["application/json"]["schema"])
    assert set(documented.get("headers", {})) <= {name.title() for name in response.headers}


def test_the_document_is_valid() -> None:
    assert list(OpenAPIV31SpecValidator(create_conventions_app().openapi()).iter_errors()) == []


async def test_the_result_window_ends_with_400_or_silently() -> None:
    loud = Collection(convention=ConventionName.SEARCH_FROM, total=60, fault=PagingFault.WINDOW_END, window=40)
    silent = Collection(convention=ConventionName.SCIM, total=60, fault=PagingFault.SILENT_WINDOW_END, window=40)
    async with client_of(loud, silent) as client:
        refused = await client.get(loud.path, params={"from": 31, "size": 10})
        assert (await client.get(loud.path, params={"from": 30, "size": 10})).status_code == 200
        ids = await Walker(client, silent, 10).walk()
        body = (await client.get(silent.path)).json()
    assert refused.status_code == 400
    assert len(ids) == 40
    assert body["totalResults"] == 60


async def test_conventions_in_the_mock_api_require_its_token() -> None:
    app = create_app((), token="secret", collections=all_conventions())
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://mock") as client:
        refused = await client.get("/by/offset")
        given = await client.get("/by/offset", headers={"Authorization": "Bearer secret"})
        document = (await client.get("/openapi.json", headers={"Authorization": "Bearer secret"})).json()
    assert (refused.status_code, given.status_code) == (401, 200)
    assert {collection.path for collection in all_conventions()} <= set(document["paths"])
