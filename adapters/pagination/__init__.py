"""Pagination: detect how a tool pages, address its pages, and read what a page says.

- `detect`: static detection from the parameters and the response schema.
- `addresses`, `correction`: how to request a page, and how to continue if the response contradicts the document.
- `read`: records, totals, cursors and links of one response.
- `probe`: the requests before a call that find out how many records there are.

Nothing here sends a request by itself: `probe` is given a function that does. To fetch all pages, request
`first_address` and read each response with `read_page`. If the pagination `is_sequential`, the next page is at
`reading.next` until that is None; an address that comes twice means that the server does not advance, unless
`may_repeat_address`. Otherwise every page has its own address: `page_address`, `offset_address`.
"""

from adapters.pagination.addresses import (
    first_address,
    is_sequential,
    may_repeat_address,
    metadata_address,
    offset_address,
    page_address,
    smallest_page_size,
    with_declared_types,
)
from adapters.pagination.correction import PaginationCorrection, adopt_cursor, by_pointer, correct_pagination
from adapters.pagination.detect.detect import detect
from adapters.pagination.detect.parameters import flatten_parameters
from adapters.pagination.detect.related_tools import continuation_operations, count_operations
from adapters.pagination.detect.response_schema import ResponseSchema
from adapters.pagination.detect.vendor_extensions import declared_pagination
from adapters.pagination.read.cursors import path_in_next_url
from adapters.pagination.read.links import is_numbered_sequence
from adapters.pagination.read.page import (
    PageMetadata,
    PageReading,
    fingerprint,
    read_count,
    read_headers,
    read_metadata,
    read_page,
)
from adapters.pagination.read.records import value_at
from adapters.pagination.read.totals import Certainty, Total, parse_content_range

__all__ = [
    "Certainty",
    "PageMetadata",
    "PageReading",
    "PaginationCorrection",
    "ResponseSchema",
    "Total",
    "adopt_cursor",
    "by_pointer",
    "continuation_operations",
    "correct_pagination",
    "count_operations",
    "declared_pagination",
    "detect",
    "fingerprint",
    "first_address",
    "flatten_parameters",
    "is_numbered_sequence",
    "is_sequential",
    "may_repeat_address",
    "metadata_address",
    "offset_address",
    "page_address",
    "parse_content_range",
    "path_in_next_url",
    "read_count",
    "read_headers",
    "read_metadata",
    "read_page",
    "smallest_page_size",
    "value_at",
    "with_declared_types",
]
