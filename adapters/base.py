"""The interface of sources: tools, one request at a time, and its result.

An adapter never truncates a result, summarizes it or swallows an error. It does not paginate either:
`adapters.pagination` says how to request a page, and the executor walks over the pages.
"""

import hashlib
import itertools
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias, runtime_checkable

from adapters.source_events import OnEvent, ignore_events

Json: TypeAlias = Any
JsonObject: TypeAlias = dict[str, Any]


def _empty_mapping() -> Mapping[str, Any]:
    return MappingProxyType({})


class Effect(StrEnum):
    """What a tool does to data. Only a READ runs without approval."""

    READ = "read"
    WRITE = "write"
    DESTRUCTIVE = "destructive"


class ApprovalMode(StrEnum):
    """Whether a tool that changes data runs: after asking the user, always, or never."""

    ASK = "ask"
    ALLOW = "allow"
    DENY = "deny"


class PaginationStyle(StrEnum):
    """How a tool's results are divided into pages.

    `KEYSET` pages begin after the last record read, whose key becomes an argument; `RANGE` pages are requested with
    the header `Range: items=0-24` (RFC 9110, section 14). JSON:API, OData, SCIM, search engines and AWS-like services
    are variants of these.
    """

    SINGLE = "single"
    OFFSET = "offset"
    PAGE = "page"
    CURSOR = "cursor"
    NEXT_URL = "next_url"
    LINK_HEADER = "link_header"
    KEYSET = "keyset"
    RANGE = "range"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pagination:
    """How one tool paginates: its convention, and the arguments (by their name in the tool) that take part in it.

    An argument may be nested: `page/limit` is the member `limit` of the object `page`.

    - `position` is the argument that says where a page begins (offset, page number, cursor, key of the last record);
      `first` is its value for the first page.
    - `size` is the argument for the number of records of a page; `min_size`, `max_size` and `default_size` are None if
      unknown, and `sizes` are the only ones allowed, ascending, if the document lists them.
    - `range_end` is the argument for the last record of a page, used instead of a size: `range_size` records are
      requested, and servers that exclude the last one return one less.
    - `metadata` is a flag that requests counts instead of records, by the value `metadata_value`; `total_flags` are
      arguments that add the total to a page (`$count=true`).
    - `count_operation` names another tool of the source that returns the total, `next_operation` one that returns the
      pages after the first (a scroll). `is_total_by_head`: the document has a HEAD of the same path.
    - `window` is the number of records that can be reached at most. `unit` is the unit of a range.
    - `key` is the dotted path inside a record of the value that a KEYSET page begins after.
    - `next_path` and `total_path` are dotted paths in a response ("" is none), set only if a document or the user
      says so. `is_declared` is False for a guess from names alone.
    - `numeric_strings` are numeric arguments that the document declares as strings; they are sent as digits.
    - `rule` is the name of the detection rule that matched.
    """

    convention: PaginationStyle = PaginationStyle.SINGLE
    position: str | None = None
    size: str | None = None
    range_end: str | None = None
    range_size: int | None = None
    metadata: str | None = None
    metadata_value: Json = True
    total_flags: tuple[tuple[str, Json], ...] = ()
    count_operation: str | None = None
    next_operation: str | None = None
    is_total_by_head: bool = False
    first: int = 0
    min_size: int | None = None
    max_size: int | None = None
    default_size: int | None = None
    sizes: tuple[int, ...] = ()
    window: int | None = None
    key: str | None = None
    next_path: str | None = None
    total_path: str | None = None
    is_declared: bool = False
    numeric_strings: tuple[str, ...] = ()
    other_hidden: tuple[str, ...] = ()
    unit: str = "items"
    rule: str = field(default="", compare=False)

    @property
    def hidden(self) -> tuple[str, ...]:
        """Names of the arguments that the model does not see."""
        names = (self.position, self.size, self.range_end, self.metadata, *(name for name, _ in self.total_flags))
        return tuple(dict.fromkeys(name for name in names if name)) + self.other_hidden

    @property
    def is_addressable(self) -> bool:
        """Whether any page can be requested without reading the one before it."""
        if self.convention is PaginationStyle.RANGE:
            return True
        return self.convention in (PaginationStyle.OFFSET, PaginationStyle.PAGE) and self.position is not None


@dataclass(frozen=True, slots=True)
class PageAddress:
    """How to request one page: arguments to add to the call's own, headers, or a URL that replaces the request's.

    The argument `page/limit` goes into the object `page`. `operation` names another tool of the same source to call
    instead; it gets those of the call's arguments that it has. `is_head` sends HEAD: the response has no payload.
    """

    arguments: Mapping[str, Json] = field(default_factory=_empty_mapping)
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=_empty_mapping)
    operation: str | None = None
    is_head: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """One operation as the model sees it.

    `parameters` is a JSON Schema of type object without pagination parameters. `noun` names the records in the plural
    ("tickets") and becomes the dataset's name. `returns_many` is False only if the result is certainly one record.
    `records_path` is the dotted path of the records in a response ("" is the payload itself), or None if the document
    does not say. `locator` is `GET /tickets` or the MCP tool's own name. `timeout_s` overrides the source's timeout.
    """

    name: str
    description: str
    parameters: JsonObject
    source: str
    locator: str
    effect: Effect = Effect.READ
    pagination: Pagination = Pagination()
    noun: str = "records"
    returns_many: bool = True
    records_path: str | None = None
    parallel_safe: bool = True
    requires_fresh_input: bool = False
    timeout_s: float | None = None
    approval: ApprovalMode = ApprovalMode.ASK


@dataclass(frozen=True, slots=True)
class SkippedTool:
    """A part of a source that cannot be used: its location (JSON pointer or tool name) and the reason."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class ToolList:
    """The tools of a source, and the parts of it that were skipped."""

    tools: tuple[ToolSpec, ...]
    skipped: tuple[SkippedTool, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """One complete response.

    `payload` is the parsed body (None if there was none); `headers` have lower-case names and are empty for MCP;
    `n_bytes` is the size of the body after decompression; `requests` counts retries too; `location` has its secrets
    masked. `flaw` says why a part of the response could not be parsed: it may hold further records.
    """

    payload: Json
    location: str
    headers: Mapping[str, str] = field(default_factory=_empty_mapping)
    n_bytes: int = 0
    duration_s: float = 0.0
    requests: int = 1
    status: int | None = None
    flaw: str = ""


class ToolSource(Protocol):
    """A connection to an OpenAPI service or an MCP server."""

    @property
    def name(self) -> str:
        """The name of the source in the settings."""

    async def list_tools(self) -> ToolList:
        """List all usable tools. Raises SourceError if the source cannot be used at all."""

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Json],
        page: PageAddress | None = None,
        *,
        observer: OnEvent = ignore_events,
    ) -> CallResult:
        """Send one request, with retries, and return the complete response. Raises SourceError."""

    async def aclose(self) -> None:
        """Close every connection."""


@dataclass(frozen=True, slots=True)
class RequestPreview:
    """A request that would be sent: `GET`, `POST` … or an MCP tool, the URL or the server, and the body if any."""

    method: str
    target: str
    body: Json = None


@runtime_checkable
class PreviewsRequests(Protocol):
    """A source that can preview the request of a call."""

    async def preview_request(self, tool: str, arguments: Mapping[str, Json]) -> RequestPreview:
        """Return the request of a call without sending it. Raises SourceError if it would send none."""


MAX_TOOL_NAME = 64
_FORBIDDEN = re.compile(r"[^A-Za-z0-9_-]+")


def tool_name(text: str, *, taken: Collection[str] = ()) -> str:
    """Return a legal tool name for `text`; one that is too long or taken gets a hash of `text` as its suffix."""
    name = _FORBIDDEN.sub("_", text).strip("_") or "tool"
    if len(name) <= MAX_TOOL_NAME and name not in taken:
        return name
    for salt in itertools.count():
        digest = hashlib.sha256(f"{text}{salt or ''}".encode()).hexdigest()[:8]
        hashed = f"{name[: MAX_TOOL_NAME - len(digest) - 1]}_{digest}"
        if hashed not in taken:
            break
    return hashed
