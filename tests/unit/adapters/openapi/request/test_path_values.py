"""Values of path parameters: no encoding of a value leads to another path."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.openapi.request.path_values import has_dot_segment, path_value_fault

CLIMBS = [
    "../admin",
    "..",
    ".",
    "a/../b",
    "..\\admin",
    "a\\..",
    "..;x=1/admin",
    ".\t./admin",
    "\uff0e\uff0e\uff0fadmin",
    "\u2025",
]


def percent_encoded(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


@pytest.mark.parametrize("value", CLIMBS)
@pytest.mark.parametrize("times", range(5))
@pytest.mark.parametrize("encode", [percent_encoded, lambda text: quote(text, safe="")])
@pytest.mark.parametrize("may_have_separators", [False, True])
def test_a_dot_segment_is_refused_however_often_it_is_encoded(value, times, encode, may_have_separators):
    for _ in range(times):
        value = encode(value)
    assert path_value_fault(value, may_have_separators=may_have_separators)


@pytest.mark.parametrize(
    "value", ["%c0%ae%c0%ae%c0%afadmin", "%u002e%u002e%u002fadmin", "%e0%80%ae%e0%80%ae", "..%c1%9cx"]
)
def test_overlong_and_unicode_escapes_are_decoded(value):
    assert path_value_fault(value, may_have_separators=True)


@pytest.mark.parametrize(
    "value", ["a/b", "a\\b", "a%2Fb", "a%252fb", "a%5cb", "%c0%af", ["x", "a/b"], {"k": "a/b"}, {"a/b": 1}]
)
def test_a_separator_is_refused_unless_it_is_declared(value):
    assert path_value_fault(value, may_have_separators=False)
    assert path_value_fault(value, may_have_separators=True) is None


@pytest.mark.parametrize("value", ["a\0b", "a%00b", "%2500", "%c0%80"])
def test_nul_is_refused(value):
    assert path_value_fault(value, may_have_separators=True)


@pytest.mark.parametrize(
    "value",
    [
        "v1..2",
        "...",
        ".hidden",
        "100%",
        "a b",
        "50%25",
        "user@example.org",
        7,
        1.5,
        True,
        None,
        "1;2",
        "Žluť",
        "A\uff0fB",
    ],
)
def test_ordinary_values_pass(value):
    assert path_value_fault(value, may_have_separators=False) is None


@given(st.text(), st.text(), st.integers(0, 6), st.sampled_from(["/", "\\"]))
def test_no_surroundings_hide_a_climb(before, after, times, separator):
    value = f"{before}{separator}..{separator}{after}"
    for _ in range(times):
        value = quote(value, safe="", errors="replace")
    assert path_value_fault(value, may_have_separators=True)


def test_parts_that_form_a_dot_segment_together_are_found():
    assert has_dot_segment("/a/%2e./b")
    assert not has_dot_segment("/a/v1.2/b")
