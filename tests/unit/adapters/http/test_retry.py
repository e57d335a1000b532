"""Parsing of Retry-After."""

from email.utils import formatdate

import pytest

from adapters.http.retry import parse_retry_after


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("3", 3.0), ("1.5", 1.5), ("-1", None), ("soon", None), ("", None), (None, None), ("9" * 400, None)],
)
def test_retry_after_is_parsed(value, seconds):
    assert parse_retry_after(value, now=0.0) == seconds


def test_a_past_retry_after_date_needs_no_wait():
    assert parse_retry_after(formatdate(100, usegmt=True), now=200.0) == 0.0
