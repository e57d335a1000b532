"""Conventions of pagination and ways of lying: the closed sets, and what a served collection is.

Knows names and numbers. Knows no spelling of a convention and no HTTP.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

ARGUMENT_KINDS = ("even", "odd")
FIRST_ID = 1000
ID_STEP = 3
DEFAULT_WINDOW = 10_000


class Style(StrEnum):
    """A convention as some widely used API spells it; where one is meant in particular, it is named."""

    SINGLE = "single"
    OFFSET = "offset"
    OFFSET_HEADER = "offset_header"  # a bare array, the total in X-Total-Count
    OFFSET_IN_BODY = "offset_in_body"  # POST, members of a nested object
    START_AT = "start_at"  # Jira: isLast
    PAGE = "page"
    PAGE_ZERO = "page_zero"  # Spring: first page 0, totalPages, last
    PAGE_AND_CURSOR = "page_and_cursor"  # both are offered, the cursor leads on
    CURSOR = "cursor"
    PAGE_TOKEN = "page_token"  # noqa: S105  # Google: the empty string is the end
    CONTINUE = "continue"  # Kubernetes: metadata.continue, remainingItemCount
    RELAY = "relay"  # edges, pageInfo
    TOKEN_IN_BODY = "token_in_body"  # noqa: S105  # POST
    MARKER = "marker"  # IsTruncated, NextMarker
    AWS_POST = "aws_post"
    LINK = "link"  # RFC 8288, numbered pages of a bare array
    LINK_CURSOR = "link_cursor"  # the position stands in the links only
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
    SCROLL = "scroll"  # the pages after the first come from another operation, by one and the same id
    RANGE = "range"  # RFC 9110, section 14, as PostgREST uses it
    COUNT_SIBLING = "count_sibling"
    TOTAL_FLAG = "total_flag"  # include_totals=true
    META_ONLY = "meta_only"
    HITS_FLAG = "hits_flag"  # resulttype=hits


class Lie(StrEnum):
    """One way in which a server does not keep to its own convention."""

    ENDLESS_CURSOR = "endless_cursor"  # after the last record the first comes again, by ever new markers
    EMPTY_FOR_EVER = "empty_for_ever"  # after the last record come empty pages, by ever new markers
    SAME_MARKER = "same_marker"  # each page points to itself
    ABA_CYCLE = "aba_cycle"  # the third page points to the second
    PAGING_IGNORED = "paging_ignored"  # always the first page
    SIZE_IGNORED = "size_ignored"  # always the default size
    CLAMPED_SILENTLY = "clamped_silently"  # fewer than the document allows, without a word
    SHORT_PAGES = "short_pages"  # fewer records than asked for while more follow
    OVERLAPPING_PAGES = "overlapping_pages"  # each page begins with the last record of the page before
    FOREIGN_NEXT = "foreign_next"  # the next page is on another host
    DROPPED_ARGUMENTS = "dropped_arguments"  # the next URL forgets the caller's own arguments
    RESULTS_FALSE_LINK = "results_false_link"  # the last page has a next link too, marked as empty
    TOKEN_ON_LAST_PAGE = "token_on_last_page"  # noqa: S105  # one more page, an empty one
    LAST_PAGE_AGAIN = "last_page_again"  # beyond the end the last page comes again
    PAGE_ZERO_OR_ONE = "page_zero_or_one"  # the pages 0 and 1 are the same
    ESTIMATED_TOTAL = "estimated_total"
    TOTAL_TOO_HIGH = "total_too_high"
    TOTAL_TOO_LOW = "total_too_low"
    WINDOW_END = "window_end"  # 400 beyond so many records
    SILENT_WINDOW_END = "silent_window_end"  # nothing beyond so many records, and no word about it


Names: TypeAlias = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Records behind one route, and how they are paged.

    There are `total` records with ids from 1000 in steps of 3, every second one of kind "odd" (argument `kind`).
    `default_size` holds where no size is asked for. `cap` is the documented largest size (None: none is documented);
    above it the answer is 400 where `is_strict`, else a page of `cap`. `clamp` is a smaller bound that the document
    does not tell. `sizes` are the only ones allowed. `names` replaces names of arguments and members, path segment by
    path segment (`{"offset": "von"}`). `window` is the number of records within reach of the two window lies.
    """

    style: Style
    total: int = 250
    name: str = ""
    default_size: int = 20
    cap: int | None = 100
    clamp: int | None = None
    is_strict: bool = False
    sizes: tuple[int, ...] = ()
    lie: Lie | None = None
    names: Names = field(default_factory=lambda: MappingProxyType({}))
    says_total: bool = True
    is_described: bool = True
    window: int = DEFAULT_WINDOW
    foreign: str = "http://elsewhere.invalid"
    record_chars: int = 40

    @property
    def path(self) -> str:
        """The route: `/by/` and the collection's name, which is the style's where it has none of its own."""
        return f"/by/{self.name or self.style}"

    @property
    def operation(self) -> str:
        """The operation id, and the name of the tool."""
        return f"list_by_{self.name or self.style}"

    def ids(self, kind: str | None = None) -> range:
        """The ids behind the route, ascending; `kind` selects every second one."""
        if kind is None:
            return range(FIRST_ID, FIRST_ID + ID_STEP * self.total, ID_STEP)
        return self.ids()[ARGUMENT_KINDS.index(kind) :: 2]
