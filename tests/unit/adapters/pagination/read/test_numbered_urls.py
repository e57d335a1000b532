"""URLs that differ by a page number or an offset only."""

import pytest

from adapters.pagination import (
    is_numbered_sequence,
)


@pytest.mark.parametrize(
    ("urls", "is_counted"),
    [
        (["/x?page=4&s=1", "/x?page=5&s=1", "/x?page=6&s=1"], True),
        (["/x?offset=20", "/x?offset=40"], True),
        (["/x?offset=20", "/x?offset=40", "/x?offset=50"], False),
        (["/x?token=4", "/x?token=5"], False),
        (["/x?page=5", "/x?page=4"], False),
        (["/x?page=4", "/x?page=5&more=1"], False),
        (["/x?page=4"], False),
    ],
)
def test_urls_that_only_count_are_recognized(urls: list[str], is_counted: bool) -> None:
    assert is_numbered_sequence(urls) is is_counted
