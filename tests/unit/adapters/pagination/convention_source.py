"""A source in memory that pages as one of the mock API's conventions, and counts its responses."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import orjson

from adapters.base import CallResult, JsonObject, PageAddress, Pagination, PaginationStyle, ToolSpec
from adapters.errors import HttpStatusError
from adapters.pagination import ResponseSchema, detect, first_address, offset_address, page_address, read_page
from adapters.pagination.probe.probe import ProbeResult
from mock_api.conventions import Collection, ConventionName, RequestLog, record_id
from mock_api.conventions.document import declared_arguments, example_response, response_schema
from mock_api.conventions.http_app import ConventionServer
from mock_api.conventions.request import ConventionRequest, ConventionResponse, RequestRejected, spec_of

HOST = "https://things.example"
LIMIT_OF_REQUESTS = 1500


@dataclass
class ConventionSource:
    """`own` are the caller's arguments, `sent` the requested addresses, `n_bytes` the size of the returned bodies."""

    collection: Collection
    own: JsonObject = field(default_factory=dict)
    sent: list[PageAddress | None] = field(default_factory=list)
    n_bytes: int = 0
    server: ConventionServer = field(default_factory=lambda: ConventionServer(RequestLog()))

    @property
    def pagination(self) -> Pagination:
        """As detected from the document, completed by what needs words or other operations of it."""
        spec = spec_of(self.collection)
        arguments = {each.path: each.schema for each in declared_arguments(self.collection)}
        found = detect(arguments, response=self.shape)
        if self.collection.convention is ConventionName.RELAY:
            found = replace(found, convention=PaginationStyle.CURSOR, position=spec.position, size=spec.size)
        if spec.next_route:
            found = replace(
                found,
                convention=PaginationStyle.CURSOR,
                position=spec.position,
                next_operation=spec.next_route,
                size=spec.size,
            )
        return replace(found, count_operation=spec.count_path, is_total_by_head=bool(spec.is_total_by_head))

    @property
    def shape(self) -> ResponseSchema:
        """The response schema in the document."""
        schema = response_schema(self.collection)
        headers = frozenset(name.lower() for name in example_response(self.collection).headers)
        return ResponseSchema(dict(_members(schema, "", 3)), headers=headers, is_list=schema.get("type") == "array")

    def tool(self, pagination: Pagination | None = None) -> ToolSpec:
        """The tool of the collection."""
        return ToolSpec(
            name=self.collection.operation,
            description="",
            parameters={"type": "object"},
            source="things",
            locator=f"GET {self.collection.path}",
            pagination=self.pagination if pagination is None else pagination,
        )

    async def send(self, page: PageAddress | None) -> CallResult:
        """Answer one request."""
        self.sent.append(page)
        address = page or PageAddress()
        arguments: JsonObject = {**self.own, **address.arguments}
        url = f"{HOST}{self.collection.path}"
        if address.url is not None:
            if not address.url.startswith(HOST):
                raise AssertionError(address.url)
            url, arguments = address.url, dict(parse_qsl(urlsplit(address.url).query))
        elif spec_of(self.collection).method == "GET" and arguments:
            url = f"{url}?{urlencode(arguments)}"
        in_header = {each.path for each in declared_arguments(self.collection) if each.location == "header"}
        headers = {name: value for name, value in arguments.items() if name in in_header} | dict(address.headers)
        headers = {name.lower(): value for name, value in headers.items()}
        try:
            response = self.server.respond(
                self.collection,
                ConventionRequest(arguments=arguments, url=url, headers=headers),
                route=address.operation or "",
            )
        except RequestRejected as refused:
            raise HttpStatusError(str(refused), source="things", location=url, status=refused.status) from None
        return self._result(response, url, is_head=address.is_head)

    def _result(self, response: ConventionResponse, url: str, *, is_head: bool) -> CallResult:
        body = orjson.dumps(response.body)
        n_bytes = 0 if is_head else len(body)
        self.n_bytes += n_bytes
        return CallResult(
            payload=None if is_head else orjson.loads(body),
            location=f"{spec_of(self.collection).method} {url}",
            headers={name.lower(): value for name, value in response.headers.items()},
            n_bytes=n_bytes,
            status=response.status,
        )

    async def read_all(self, probed: ProbeResult, *, size: int | None) -> list[int]:
        """The ids of all records, as a minimal walker reads them after the probe."""
        pagination, ids, path = probed.pagination, list[int](), probed.records_path
        size = None if pagination.size is None and pagination.convention is not PaginationStyle.RANGE else size
        address: PageAddress | None = first_address(pagination, size=size)
        for index in range(LIMIT_OF_REQUESTS):
            result = await self.send(address)
            reading = read_page(result, pagination, records_path=path, size=size, address=address)
            ids += [_id_of(record) for record in reading.records]
            is_end = reading.has_more is False or not reading.records
            if pagination.convention is PaginationStyle.SINGLE or (pagination.is_addressable and is_end):
                return ids
            if pagination.convention is PaginationStyle.PAGE:
                address = page_address(pagination, page_index=index + 1, size=size)
            elif pagination.is_addressable:
                address = offset_address(pagination, offset=len(ids), size=size)
            elif reading.next is None:
                return ids
            else:
                address = reading.next
        raise AssertionError("the walk does not end")


def _id_of(record: Any) -> int:
    return record_id(record if "attributes" not in record else record | record["attributes"])


def _members(schema: JsonObject, above: str, depth: int) -> Iterator[tuple[str, str]]:
    for name, inner in schema.get("properties", {}).items():
        kinds = inner.get("type", "")
        kind = next((one for one in kinds if one != "null"), "") if isinstance(kinds, list) else kinds
        yield f"{above}{name}", kind
        if depth > 1:
            yield from _members(inner, f"{above}{name}.", depth - 1)
