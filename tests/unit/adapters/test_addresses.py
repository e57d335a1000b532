"""Which addresses no data may lead to, however they are written."""

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
def test_addresses_of_credentials_and_links_are_off_limits(host: str) -> None:
    assert is_metadata_address(host)


@pytest.mark.parametrize("host", ORDINARY)
def test_all_other_hosts_are_not(host: str) -> None:
    assert not is_metadata_address(host)


@given(st.ip_addresses(v=4, network="169.254.0.0/16"))
def test_every_link_local_address_is_off_limits_inside_ipv6_too(address: object) -> None:
    assert is_metadata_address(str(address))
    assert is_metadata_address(f"[::ffff:{address}]")


@given(st.text(max_size=40))
def test_no_text_is_too_odd_to_be_judged(text: str) -> None:
    assert is_metadata_address(text) in (True, False)
