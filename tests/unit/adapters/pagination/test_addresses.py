"""Addresses of pages."""

from typing import Any

import pytest

from adapters.base import CallResult, PageAddress, Pagination, PaginationStyle
from adapters.pagination import (
    PageReading,
    detect,
    first_address,
    metadata_address,
    offset_address,
    page_address,
    read_page,
)

OFFSET = Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit")
PAGE = Pagination(convention=PaginationStyle.PAGE, position="page", size="per_page", first=1)
CURSOR = Pagination(convention=PaginationStyle.CURSOR, position="cursor", size="limit")
WHERE = "GET https://desk.example/v1/tickets?page=1&key=***"


def read(
    payload: Any, pagination: Pagination = OFFSET, *, size: int | None = 50, headers: dict[str, str] | None = None
) -> PageReading:
    return read_page(CallResult(payload=payload, location=WHERE, headers=headers or {}), pagination, size=size)


def test_addresses_follow_the_convention() -> None:
    assert page_address(OFFSET, page_index=3, size=50) == PageAddress({"offset": 150, "limit": 50})
    assert page_address(PAGE, page_index=3, size=50) == PageAddress({"page": 4, "per_page": 50})
    assert page_address(PAGE, page_index=0, size=None) == PageAddress({"page": 1})
    assert offset_address(OFFSET, offset=37, size=None) == PageAddress({"offset": 37})
    assert first_address(CURSOR, size=10) == PageAddress({"limit": 10})
    assert first_address(PAGE, size=10) == PageAddress({"page": 1, "per_page": 10})
    assert first_address(Pagination(), size=10) == PageAddress({})
    assert metadata_address(Pagination(metadata="meta_only")) == PageAddress({"meta_only": True})


def test_styles_without_addresses_raise() -> None:
    with pytest.raises(ValueError, match="'cursor' have no address"):
        page_address(CURSOR, page_index=1, size=10)
    with pytest.raises(ValueError, match="need a size"):
        page_address(OFFSET, page_index=1, size=None)
    with pytest.raises(ValueError, match="has no offset"):
        offset_address(PAGE, offset=5, size=1)
    with pytest.raises(ValueError, match="no metadata flag"):
        metadata_address(OFFSET)


def test_an_offset_that_counts_from_one_is_shifted() -> None:
    scim = detect({"startIndex": {"type": "integer", "default": 1}, "count": {"type": "integer"}})
    assert page_address(scim, page_index=1, size=10) == PageAddress({"startIndex": 11, "count": 10})
