"""Blocked addresses in all their spellings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.http.url_safety import is_metadata_address

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
