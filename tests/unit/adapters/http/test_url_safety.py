"""Blocked addresses in all their spellings."""

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.http.url_safety import is_metadata_address, is_same_site

OFF_LIMITS = (
    "169.254.169.254",
    "169.254.0.1",
    "[fe80::1]",
    "fe80::1%eth0",
    "fd00:ec2::254",
    "100.100.100.200",
    "192.0.0.192",
    "168.63.129.16",
    "::ffff:169.254.169.254",
    "::169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "metadata.google.internal",
    "METADATA.GOOGLE.INTERNAL.",
    "instance-data",
)
ORDINARY = (
    "127.0.0.1",
    "localhost",
    "10.0.0.7",
    "192.168.1.1",
    "::1",
    "fd12::1",
    "example.com",
    "169.253.1.1",
    "",
    "x",
)


@pytest.mark.parametrize("host", OFF_LIMITS)
def test_metadata_and_link_local_addresses_are_blocked(host: str) -> None:
    assert is_metadata_address(host)


@pytest.mark.parametrize("host", ORDINARY)
def test_other_hosts_are_not_blocked(host: str) -> None:
    assert not is_metadata_address(host)


@given(st.ip_addresses(v=4, network="169.254.0.0/16"))
def test_link_local_addresses_are_blocked_inside_ipv6(address: object) -> None:
    assert is_metadata_address(str(address))
    assert is_metadata_address(f"[::ffff:{address}]")


@given(st.text(max_size=40))
def test_any_text_can_be_checked(text: str) -> None:
    assert is_metadata_address(text) in (True, False)


@pytest.mark.parametrize(
    ("url", "own", "is_same"),
    [
        ("https://api.example.com/token", "https://api.example.com/v1", True),
        ("https://api.example.com:8443/token", "https://api.example.com", True),
        ("https://auth.api.example.com", "https://api.example.com", True),
        ("https://example.com", "https://api.example.com", True),
        ("https://auth.example.com", "https://api.example.com", False),
        ("https://evil.github.io", "https://mine.github.io", False),
        ("https://evilapi.example.com", "https://api.example.com", False),
        ("https://api.example.com.evil.org", "https://api.example.com", False),
        ("https://com", "https://example.com", False),
        ("http://api.example.com", "https://api.example.com", False),
        ("http://127.0.0.1:9001", "http://127.0.0.1:9000", False),
        ("https://0.0.1", "https://127.0.0.1", False),
        ("http://localhost:9001", "http://localhost:9000", False),
    ],
)
def test_a_site_is_a_host_with_its_subdomains_and_parents(url, own, is_same):
    assert is_same_site(httpx2.URL(url), httpx2.URL(own)) is is_same
