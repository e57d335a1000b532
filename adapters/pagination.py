"""Paging as the rest of the program sees it: how a tool pages, where a page is, what a page says.

The door to `adapters.paging`: detection from a document (`detect`), addresses of pages, and readings of responses.
Pure; nothing here sends a request.
"""

from adapters.paging.address import address, first_address, metadata_address, offset_address
from adapters.paging.annotations import annotated
from adapters.paging.detect import detect
from adapters.paging.members import flattened
from adapters.paging.reading import Metadata, PageReading, fingerprint, read_metadata, read_page
from adapters.paging.records import at_path
from adapters.paging.response import ResponseShape
from adapters.paging.siblings import counting
from adapters.paging.totals import Certainty

__all__ = [
    "Certainty",
    "Metadata",
    "PageReading",
    "ResponseShape",
    "address",
    "annotated",
    "at_path",
    "counting",
    "detect",
    "fingerprint",
    "first_address",
    "flattened",
    "metadata_address",
    "offset_address",
    "read_metadata",
    "read_page",
]
