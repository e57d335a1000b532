"""Paging as the rest of the program sees it: how a tool pages, where a page is, what a page says.

The door to `adapters.pagination`: detection from a document (`detect`), addresses of pages, and readings of responses.
Pure; nothing here sends a request.

To walk: ask for `first_address`, read each answer with `read_page(…, asked=its address)`. Where `is_followed`, the next
page is at `reading.next` (a cursor, a URL, the key of the last record, another operation) until that is None; an
address that comes twice is a standstill, unless `may_repeat_address`. Where pages have addresses (offset, number,
range), `address` and `offset_address` tell them, and `marked` how to go on by what the pages name if the source
ignores them.
"""

from adapters.pagination.detect.detect import detect
from adapters.pagination.detect.parameters import flatten_parameters
from adapters.pagination.detect.related_tools import continuation_operations, count_operations
from adapters.pagination.detect.response_schema import ResponseSchema
from adapters.pagination.detect.vendor_extensions import declared_pagination
from adapters.pagination.read.cursors import in_next_url
from adapters.pagination.read.links import counts_on
from adapters.pagination.read.page import (
    PageMetadata,
    PageReading,
    fingerprint,
    read_count,
    read_headers,
    read_metadata,
    read_page,
)
from adapters.pagination.read.records import at_path
from adapters.pagination.read.totals import Certainty, Total, content_range
from adapters.pagination.walk import (
    PaginationCorrection,
    address,
    adopting,
    as_written,
    corrected,
    first_address,
    is_followed,
    marked,
    may_repeat_address,
    metadata_address,
    offset_address,
    smallest_size,
)

__all__ = [
    "Certainty",
    "PageMetadata",
    "PageReading",
    "PaginationCorrection",
    "ResponseSchema",
    "Total",
    "address",
    "adopting",
    "as_written",
    "at_path",
    "content_range",
    "continuation_operations",
    "corrected",
    "count_operations",
    "counts_on",
    "declared_pagination",
    "detect",
    "fingerprint",
    "first_address",
    "flatten_parameters",
    "in_next_url",
    "is_followed",
    "marked",
    "may_repeat_address",
    "metadata_address",
    "offset_address",
    "read_count",
    "read_headers",
    "read_metadata",
    "read_page",
    "smallest_size",
]
