"""A served collection: its records, its pagination convention, and the fault it injects."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

RECORD_KINDS = ("even", "odd")
FIRST_ID = 1000
ID_STEP = 3
DEFAULT_RESULT_WINDOW = 10_000


class ConventionName(StrEnum):
    """A convention as spelled by a widely used API, named after the API where it is specific to one."""

    SINGLE = "single"
    OFFSET = "offset"
    OFFSET_HEADER = "offset_header"  # a top-level array, the total in X-Total-Count
    OFFSET_IN_BODY = "offset_in_body"  # POST, members of a nested object
    START_AT = "start_at"  # Jira: isLast
    PAGE = "page"
    PAGE_ZERO = "page_zero"  # Spring: first page 0, totalPages, last
    PAGE_AND_CURSOR = "page_and_cursor"  # accepts both; responses return a cursor
    CURSOR = "cursor"
    PAGE_TOKEN = "page_token"  # noqa: S105  # Google: the empty string is the end
    CONTINUE = "continue"  # Kubernetes: metadata.continue, remainingItemCount
    RELAY = "relay"  # edges, pageInfo
    TOKEN_IN_BODY = "token_in_body"  # noqa: S105  # POST
    MARKER = "marker"  # IsTruncated, NextMarker
    AWS_POST = "aws_post"
    LINK = "link"  # RFC 8288, numbered pages of a bare array
    LINK_CURSOR = "link_cursor"  # the position appears only in the links
    NEXT_URL = "next_url"  # Django REST framework
    NEXT_URL_RELATIVE = "next_url_relative"
    LINKS_LIST = "links_list"  # OGC API Features
    HAL = "hal"
    HEADER_URL = "header_url"  # Kinto: Next-Page, total by HEAD
    ODATA = "odata"
    KEYSET = "keyset"  # Stripe: starting_after, has_more
    KEYSET_SINCE_ID = "keyset_since_id"  # a bare array, ascending
    KEYSET_MAX_ID = "keyset_max_id"  # a bare array, descending
    JSONAPI_NUMBER = "jsonapi_number"
    JSONAPI_OFFSET = "jsonapi_offset"
    JSONAPI_CURSOR = "jsonapi_cursor"
    SCIM = "scim"  # RFC 7644: 1-based
    SEARCH_FROM = "search_from"  # Elasticsearch: from + size
    SEARCH_AFTER = "search_after"
    SCROLL = "scroll"  # later pages come from a second operation, all by the same id
    RANGE = "range"  # RFC 9110, section 14, as PostgREST uses it
    COUNT_SIBLING = "count_sibling"
    TOTAL_FLAG = "total_flag"  # include_totals=true
    META_ONLY = "meta_only"
    HITS_FLAG = "hits_flag"  # resulttype=hits


class PagingFault(StrEnum):
    """One way in which a server deviates from its own convention."""

    ENDLESS_CURSOR = "endless_cursor"  # after the last record it starts over, with ever new cursors
    EMPTY_FOR_EVER = "empty_for_ever"  # after the last record it returns empty pages, with ever new cursors
    SAME_MARKER = "same_marker"  # each page points to itself
    ABA_CYCLE = "aba_cycle"  # the third page points to the second
    PAGING_IGNORED = "paging_ignored"  # every request returns the first page
    SIZE_IGNORED = "size_ignored"  # every page has the default size
    CLAMPED_SILENTLY = "clamped_silently"  # pages are smaller than the documented maximum
    SHORT_PAGES = "short_pages"  # fewer records than requested although more follow
    OVERLAPPING_PAGES = "overlapping_pages"  # each page begins with the last record of the page before
    FOREIGN_NEXT = "foreign_next"  # the next page is on another host
    DROPPED_ARGUMENTS = "dropped_arguments"  # the next URL lacks the caller's other arguments
    RESULTS_FALSE_LINK = "results_false_link"  # the last page has a next link too, marked as empty
    TOKEN_ON_LAST_PAGE = "token_on_last_page"  # noqa: S105  # the last page has a cursor that leads to an empty page
    LAST_PAGE_AGAIN = "last_page_again"  # past the end the last page is repeated
    PAGE_ZERO_OR_ONE = "page_zero_or_one"  # the pages 0 and 1 are the same
    ESTIMATED_TOTAL = "estimated_total"
    TOTAL_TOO_HIGH = "total_too_high"
    TOTAL_TOO_LOW = "total_too_low"
    WINDOW_END = "window_end"  # HTTP 400 past the result window
    SILENT_WINDOW_END = "silent_window_end"  # empty pages past the result window


NameMapping: TypeAlias = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Records behind one route, and how they are paginated.

    There are `total` records with ids from 1000 in steps of 3; every second one has kind "odd" (argument `kind`).
    `default_size` applies if no size is requested. `cap` is the documented maximum size (None: undocumented); above it
    the response is 400 if `is_strict`, else a page of `cap` records. `clamp` is a smaller, undocumented maximum.
    `sizes` are the only sizes accepted. `names` renames arguments and members, one path segment at a time (`{"offset":
    "von"}`). `window` is the number of records within reach for the two result-window faults.
    """

    convention: ConventionName
    total: int = 250
    name: str = ""
    default_size: int = 20
    cap: int | None = 100
    clamp: int | None = None
    is_strict: bool = False
    sizes: tuple[int, ...] = ()
    fault: PagingFault | None = None
    names: NameMapping = field(default_factory=lambda: MappingProxyType({}))
    says_total: bool = True
    is_described: bool = True
    window: int = DEFAULT_RESULT_WINDOW
    foreign: str = "http://elsewhere.invalid"
    record_chars: int = 40

    @property
    def path(self) -> str:
        """The route: `/by/` and the collection's name, by default the name of its convention."""
        return f"/by/{self.name or self.convention}"

    @property
    def operation(self) -> str:
        """The operation id, and the name of the tool."""
        return f"list_by_{self.name or self.convention}"

    def ids(self, kind: str | None = None) -> range:
        """The ids of the records, ascending; `kind` selects every second one."""
        if kind is None:
            return range(FIRST_ID, FIRST_ID + ID_STEP * self.total, ID_STEP)
        return self.ids()[RECORD_KINDS.index(kind) :: 2]
