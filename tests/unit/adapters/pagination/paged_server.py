"""A server in memory that pages in any of the conventions, with common deviations."""

import base64
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from adapters.base import CallResult, JsonObject, PageAddress, PaginationStyle, ToolSpec
from adapters.errors import HttpStatusError
from adapters.pagination import detect

URL = "https://desk.example/v1/tickets"
WHOLE: JsonObject = {"type": "integer"}
NAMES = {
    PaginationStyle.OFFSET: ("offset", "limit"),
    PaginationStyle.PAGE: ("page", "per_page"),
    PaginationStyle.CURSOR: ("cursor", "limit"),
    PaginationStyle.NEXT_URL: ("page_ref", "limit"),
    PaginationStyle.LINK_HEADER: ("page_ref", "limit"),
}


@dataclass
class PagedServer:
    """`clamp` is the largest page that it returns, `default` the size if none is requested.

    `total` is announced as given (None: not at all), true or not. `end` is the marker of the last page: absent, null,
    empty, or a flag.
    """

    convention: PaginationStyle
    n_records: int
    clamp: int = 50
    default: int = 20
    total: int | None = None
    total_in: str = "body"
    path: str = "items"
    first_page: int = 1
    reports_page: bool = False
    end: str = "absent"
    is_relative: bool = False
    honors_size: bool = True
    has_metadata: bool = False
    refuses: frozenset[int] = frozenset()
    requests: list[dict[str, Any]] = field(default_factory=list)

    @property
    def records(self) -> list[JsonObject]:
        """Records that look like envelopes."""
        return [
            {"id": n, "total": 1, "next": "/x", "has_more": False, "items": [{"n": n}]} for n in range(self.n_records)
        ]

    def tool(self, **schema: Any) -> ToolSpec:
        """The tool as an adapter would build it from names alone; `schema` is that of the position."""
        position, size = NAMES[self.convention]
        text: JsonObject = {"type": "string"}
        kind = text if self.convention is PaginationStyle.CURSOR else WHOLE
        parameters = {size: WHOLE, "q": text}
        if self.convention in (PaginationStyle.OFFSET, PaginationStyle.PAGE, PaginationStyle.CURSOR):
            parameters[position] = {**kind, **schema}
        if self.has_metadata:
            parameters["meta_only"] = {"type": "boolean"}
        return ToolSpec(
            name="get_tickets",
            description="",
            parameters={"type": "object"},
            source="desk",
            locator="GET /tickets",
            pagination=detect(parameters),
        )

    async def send(self, page: PageAddress | None) -> CallResult:
        """Answer one request."""
        asked = dict(page.arguments) if page else {}
        if page is not None and page.url is not None:
            assert page.url.startswith(URL)
            asked = {k: v[0] if k == "cursor" else int(v[0]) for k, v in parse_qs(urlsplit(page.url).query).items()}
        self.requests.append(asked)
        if asked.get("meta_only") and self.has_metadata:
            figures = {"data_path": self.path, "tokens_estimation": 900, "total_items": self.n_records}
            return CallResult(payload=figures, location=f"GET {URL}?meta_only=true", n_bytes=80)
        return self._page(asked)

    def _page(self, asked: dict[str, Any]) -> CallResult:
        position, size_name = NAMES[self.convention]
        wanted = int(asked.get(size_name, self.default)) if self.honors_size else self.default
        if wanted in self.refuses:
            raise HttpStatusError("refused", source="desk", location=URL, status=422)
        size = min(wanted, self.clamp)
        start = self._start(asked.get(position), size)
        rows = self.records[start : start + size]
        following = start + size if start + size < self.n_records else None
        headers: dict[str, str] = {}
        body: Any = self._wrapped(rows, self._beside(asked, start, size, following))
        if self.total is not None and self.total_in == "header":
            headers["x-total-count"] = str(self.total)
        if self.convention is PaginationStyle.LINK_HEADER:
            headers["link"] = self._links(following, size)
        return CallResult(payload=body, location=f"GET {URL}?q=***", headers=headers, n_bytes=100)

    def _start(self, given: Any, size: int) -> int:
        if given is None:
            return 0
        if self.convention is PaginationStyle.PAGE:
            if given < self.first_page:
                raise HttpStatusError("no such page", source="desk", location=URL, status=404)
            return int((given - self.first_page) * size)
        if self.convention is PaginationStyle.CURSOR:
            return int(base64.b64decode(given))
        return int(given)

    def _wrapped(self, rows: list[JsonObject], beside: JsonObject) -> Any:
        if not self.path:
            return rows
        *outer, last = self.path.split(".")
        body: JsonObject = {"schemas": ["urn:a", "urn:b"], "included": [{"x": 1}] * 60, last: rows, **beside}
        for key in reversed(outer):
            body = {key: body, "status": "ok"}
        return body

    def _beside(self, asked: JsonObject, start: int, size: int, following: int | None) -> JsonObject:
        beside: JsonObject = {}
        if self.total is not None and self.total_in == "body":
            beside["meta"] = {"total": self.total}
        if self.reports_page and self.convention is PaginationStyle.PAGE:
            beside |= {"page": start // size + self.first_page, "first": start == 0}
        if self.convention is PaginationStyle.CURSOR:
            self._mark(beside, "next_cursor", following, lambda at: base64.b64encode(str(at).encode()).decode())
        if self.convention is PaginationStyle.NEXT_URL:
            self._mark(beside, "next", following, lambda at: self._url(at, size))
        return beside

    def _mark(self, beside: JsonObject, name: str, following: int | None, write: Any) -> None:
        if following is not None:
            beside[name] = write(following)
        elif self.end == "flag":
            beside |= {name: write(self.n_records), "has_more": False}
        elif self.end != "absent":
            beside[name] = None if self.end == "null" else ""

    def _url(self, at: int, size: int) -> str:
        query = f"?page_ref={at}&limit={size}"
        return query if self.is_relative else URL + query

    def _links(self, following: int | None, size: int) -> str:
        links = [f'<{self._url(0, size)}>; rel="first"']
        if following is not None:
            links.append(f'<{self._url(following, size)}>; rel="next"; title="a, b"; results="true"')
        elif self.end == "flag":
            links.append(f'<{self._url(self.n_records, size)}>; rel="next"; results="false"')
        return ", ".join(links)
