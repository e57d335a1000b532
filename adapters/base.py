"""The seam to sources: tools, one request at a time, and what comes back.

Knows what every source has in common. Knows no wire, no document, no model. An adapter never truncates, summarises
or swallows an error; it pages nothing by itself: `adapters.pagination` says how, the executor walks.
"""

import hashlib
import itertools
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias, runtime_checkable

from adapters.errors import UnknownTool

Json: TypeAlias = Any
JsonObject: TypeAlias = dict[str, Any]


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


class Effect(StrEnum):
    """What a tool does to the world. Only a READ runs without leave."""

    READ = "read"
    WRITE = "write"
    DESTRUCTIVE = "destructive"


class ApprovalMode(StrEnum):
    """What the user said beforehand of a tool that changes data."""

    ASK = "ask"
    ALLOW = "allow"
    DENY = "deny"


class PaginationStyle(StrEnum):
    """How a tool's results are divided into pages.

    `KEYSET` pages begin after the last record read, whose key becomes an argument; `RANGE` pages are asked for by the
    header `Range: items=0-24` (RFC 9110, section 14). JSON:API, OData, SCIM, search engines and AWS-like services are
    spellings of these.
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
    """How one tool pages: its convention, and the arguments (by their name in the tool) that take part in it.

    An argument may lie inside another one: `page/limit` is the member `limit` of the object `page`. `unit` is what a
    range counts in.

    `position` is the argument that says where a page begins (offset, page number, cursor, key of the last record),
    `size` how many records it may hold (`sizes`: the only ones allowed, ascending, where the document lists them).
    `metadata` is a flag that asks for figures in place of records, by the value `metadata_value`; `totals` are
    arguments that make a page tell the total as well (`$count=true`). `count_operation` names another tool of the same
    source that tells the total of this one, `next_operation` one that gives the pages after the first (a scroll).
    `is_total_by_head` says that the document has a HEAD of the same path.

    `last` is the argument that says which record a page ends with, where there is one in place of a size: `span`
    records are asked for, and one less comes where a server leaves that record out.

    `first` is the position of the first page. Sizes are None where the document says nothing. `window` is the number
    of records that can be reached at most. `key` is the dotted path inside a record of what a KEYSET page begins
    after. `next_path` and `total_path` are dotted paths in a response ("" is none), known only where a document or the
    user says so. `is_declared` is False for a guess from names alone. `texts` are those of the arguments that count
    and that the document calls text: digits are sent. `rule` is the name of the detection rule that matched.
    """

    convention: PaginationStyle = PaginationStyle.SINGLE
    position: str | None = None
    size: str | None = None
    last: str | None = None
    span: int | None = None
    metadata: str | None = None
    metadata_value: Json = True
    totals: tuple[tuple[str, Json], ...] = ()
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
    texts: tuple[str, ...] = ()
    other_hidden: tuple[str, ...] = ()
    unit: str = "items"
    rule: str = field(default="", compare=False)

    @property
    def hidden(self) -> tuple[str, ...]:
        """Names of the arguments that the model does not see."""
        named = (self.position, self.size, self.last, self.metadata, *(name for name, _ in self.totals))
        return tuple(dict.fromkeys(name for name in named if name)) + self.other_hidden

    @property
    def is_addressable(self) -> bool:
        """Whether any page can be asked for without having read the one before."""
        if self.convention is PaginationStyle.RANGE:
            return True
        return self.convention in (PaginationStyle.OFFSET, PaginationStyle.PAGE) and self.position is not None


@dataclass(frozen=True, slots=True)
class PageAddress:
    """Where one page is: arguments to add to the call's own, headers to send, or a URL that replaces the request's.

    The argument `page/limit` goes into the object `page`. `operation` names another tool of the same source that is
    asked in place of the call's own: it gets those of the call's arguments that it knows. `is_head` asks by HEAD: the
    answer has headers and no payload.
    """

    arguments: Mapping[str, Json] = field(default_factory=_nothing)
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=_nothing)
    operation: str | None = None
    is_head: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """One operation as the model sees it.

    `parameters` is a JSON Schema of type object without pagination parameters. `noun` names a record in the plural
    ("tickets") and becomes the dataset's name. `returns_many` is False only where the result is surely one record.
    `records_path` is the dotted path of the records in a response where the document tells ("" is the payload
    itself), else None. `locator` is `GET /tickets` or the MCP tool's own name.
    `timeout_s` is how long one request may take, where that is not as for the whole source.
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
    leave: ApprovalMode = ApprovalMode.ASK


@dataclass(frozen=True, slots=True)
class SkippedTool:
    """A part of a source that could not be used: where it stands (JSON pointer or tool name) and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class ToolList:
    """The tools of a source, and what was left out."""

    tools: tuple[ToolSpec, ...]
    left_out: tuple[SkippedTool, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """One response, whole.

    `payload` is the parsed body (None where there was none); `headers` have lower-case names and are empty for MCP;
    `n_bytes` is the size of the body after decompression; `requests` counts retries too; `location` has its secrets
    masked. `flaw` says, in words, why a part of what came could not be read as data: there may be more records in it.
    """

    payload: Json
    location: str
    headers: Mapping[str, str] = field(default_factory=_nothing)
    n_bytes: int = 0
    duration_s: float = 0.0
    requests: int = 1
    status: int | None = None
    flaw: str = ""


@dataclass(frozen=True, slots=True)
class RequestSent:
    """A request leaves."""

    source: str
    location: str


@dataclass(frozen=True, slots=True)
class RetryPlanned:
    """A request failed and will be repeated after `wait_s`; `attempt` is the number of the coming one, from 2."""

    source: str
    location: str
    attempt: int
    wait_s: float
    why: str


@dataclass(frozen=True, slots=True)
class SourceWarning:
    """Something does not fit the document and was used all the same; sent once a tool and code."""

    source: str
    tool: str
    code: str
    text: str


@dataclass(frozen=True, slots=True)
class ProgressReported:
    """A request under way tells how far it is: `done` of `total` (None where it does not say), in its own units."""

    source: str
    location: str
    done: float
    total: float | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class RequestThrottled:
    """A request waits for `wait_s` before it is sent, since the server allows no more at the moment."""

    source: str
    location: str
    wait_s: float
    why: str


class RetryRefused(Exception):
    """What an observer raises at a `RetryPlanned` that must not be: the failure then stands."""


SourceEvent: TypeAlias = RequestSent | RetryPlanned | RequestThrottled | SourceWarning | ProgressReported
OnEvent: TypeAlias = Callable[[SourceEvent], None]
"""Hears of everything. Of all notices it may refuse a `RetryPlanned`, by RetryRefused."""


def nobody(_notice: SourceEvent) -> None:
    """An observer that does not listen."""


class ToolSource(Protocol):
    """One connection to an OpenAPI service or an MCP server."""

    @property
    def name(self) -> str:
        """The name under which the settings know it."""

    async def list_tools(self) -> ToolList:
        """All usable tools. Raises SourceError where the source cannot be used at all."""

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Json],
        page: PageAddress | None = None,
        *,
        observer: OnEvent = nobody,
    ) -> CallResult:
        """Send one request (and its retries) and return the response. Raises SourceError; never returns half."""

    async def aclose(self) -> None:
        """Close every connection."""


Reply: TypeAlias = Callable[[Mapping[str, Json], PageAddress | None], CallResult]


@dataclass
class MemorySource:
    """A source in memory: tools with functions behind them. `requests` keeps what was asked."""

    name: str
    tools: Mapping[str, tuple[ToolSpec, Reply]]
    left_out: tuple[SkippedTool, ...] = ()
    requests: list[tuple[str, JsonObject, PageAddress | None]] = field(default_factory=list)
    is_closed: bool = False

    async def list_tools(self) -> ToolList:
        """The tools it was made with."""
        return ToolList(tuple(spec for spec, _ in self.tools.values()), self.left_out)

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Json],
        page: PageAddress | None = None,
        *,
        observer: OnEvent = nobody,
    ) -> CallResult:
        """What the tool's function returns; its SourceError passes through."""
        if tool not in self.tools:
            raise UnknownTool(f"there is no tool '{tool}' in '{self.name}'", source=self.name)
        self.requests.append((tool, dict(arguments), page))
        observer(RequestSent(self.name, tool))
        return self.tools[tool][1](arguments, page)

    async def aclose(self) -> None:
        """Nothing is open; remember that it was closed."""
        self.is_closed = True


@dataclass(frozen=True, slots=True)
class RequestPreview:
    """What would be sent: `GET`, `POST` … or `tools/call`; the URL or the server; the body, where there is one."""

    method: str
    place: str
    body: Json = None


@runtime_checkable
class PreviewsRequests(Protocol):
    """A source that can say what a call would send."""

    async def shown(self, tool: str, arguments: Mapping[str, Json]) -> RequestPreview:
        """The request of a call, which is not sent. Raises SourceError where there is none."""


MAX_NAME = 64
_FORBIDDEN = re.compile(r"[^A-Za-z0-9_-]+")


def tool_name(text: str, *, taken: Collection[str] = ()) -> str:
    """A legal name for `text`; one that is too long or taken already is told apart by a digest of `text`."""
    name = _FORBIDDEN.sub("_", text).strip("_") or "tool"
    if len(name) <= MAX_NAME and name not in taken:
        return name
    for salt in itertools.count():
        digest = hashlib.sha256(f"{text}{salt or ''}".encode()).hexdigest()[:8]
        told_apart = f"{name[: MAX_NAME - len(digest) - 1]}_{digest}"
        if told_apart not in taken:
            break
    return told_apart
