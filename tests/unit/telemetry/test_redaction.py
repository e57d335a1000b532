from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.core import event_types as ev
from runax_cli.core.events import CollectingSink, Event, Stamp
from runax_cli.telemetry.redaction import MASK, RedactingSink, Redactor, is_secret_name

SECRET = "p@ss/wörd+1"
secrets = st.text(st.characters(exclude_categories=["Cs"]), min_size=8, max_size=40)


@given(secrets, st.text(), st.text())
def test_a_known_secret_is_masked_everywhere(secret: str, before: str, after: str) -> None:
    redactor = Redactor([secret])
    assert secret not in redactor.text(before + secret + after).replace(MASK, "")


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=12,
    )
)
def test_masking_twice_changes_nothing(value) -> None:
    redactor = Redactor([SECRET])
    once = redactor.value(value)
    assert redactor.value(once) == once


@pytest.mark.parametrize(
    "text",
    [
        f"GET http://h/t?q={SECRET}",
        "GET http://h/t?q=p%40ss%2Fw%C3%B6rd%2B1&x=1",
        "basic cEBzcy93w7ZyZCsx",
    ],
)
def test_the_encoded_forms_of_a_secret_are_masked(text: str) -> None:
    masked = Redactor([SECRET]).text(text)
    assert MASK in masked
    assert "ss" not in masked.removeprefix("basic")
    assert "cEBz" not in masked


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Authorization: Bearer abc.def-123456", f"Authorization: {MASK}"),
        ('{"authorization": "Token 7"}', f'{{"authorization": "{MASK}"}}'),
        ("X-API-Key: 12345", f"X-API-Key: {MASK}"),
        ("GET http://h/t?api_key=12345&limit=9", f"GET http://h/t?api_key={MASK}&limit=9"),
        ("http://user:pw@host/x", f"http://{MASK}@host/x"),
        ("key sk-abcdefghijklmnop1234 used", f"key {MASK} used"),
        ("ghp_abcdefghij1234567890", MASK),
        ("AKIAIOSFODNN7EXAMPLE", MASK),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", MASK),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", MASK),
        ("Cookie: a=1; b=2", f"Cookie: {MASK}"),
    ],
)
def test_an_unknown_value_that_looks_like_a_secret_is_masked(text: str, masked: str) -> None:
    assert Redactor().text(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "tokens=355000 -> 2100",
        "total_tokens_est=355000",
        "a basic understanding of routers",
        "Basic Internet is slow",
        "the bearer of news",
        "GET http://h/t?next_token=abc&limit=9",
        "mail jan@example.com",
        "sub-question one",
    ],
)
def test_ordinary_text_is_not_masked(text: str) -> None:
    assert Redactor().text(text) == text


@pytest.mark.parametrize(
    ("name", "expected"),
    [("X-API-Key", True), ("api_key", True), ("Authorization", True), ("token", True), ("tokens_in", False),
     ("next_token", False), ("session_id", False), ("key", False)],
)  # fmt: skip
def test_names_of_secrets_are_recognized(name: str, expected: bool) -> None:
    assert is_secret_name(name) is expected


def test_a_value_under_a_secret_name_is_masked_whole() -> None:
    value = {"password": "a b", "nested": [{"Api-Key": 123, "limit": 9}], "token": "", "tokens": 5}
    masked = {"password": MASK, "nested": [{"Api-Key": MASK, "limit": 9}], "token": "", "tokens": 5}
    assert Redactor().value(value) == masked


@pytest.mark.parametrize(
    ("text", "masked"), [("key test here", f"key {MASK} here"), ("the latest testing", "the latest testing")]
)
def test_a_short_secret_is_masked_as_a_word_only(text: str, masked: str) -> None:
    assert Redactor(["test"]).text(text) == masked


def test_nothing_is_masked_for_a_value_too_short_to_be_a_secret() -> None:
    assert Redactor(["", "abc"]).text("abc") == "abc"


def event(body: ev.AnyEvent) -> Event:
    return Event(1, datetime(2026, 1, 1, tzinfo=UTC), Stamp(run_id="r", session_id="s", span_id="x"), body)


def test_a_sink_behind_the_redactor_never_sees_the_secret() -> None:
    inner = CollectingSink()
    sink = RedactingSink(inner, Redactor([SECRET]))
    sink.emit(event(ev.ToolSelected(tool="t", arguments={"q": SECRET, "password": "x"})))
    (seen,) = inner.events
    assert seen.body == ev.ToolSelected(tool="t", arguments={"q": MASK, "password": MASK})


def test_an_event_without_secrets_is_passed_on_unchanged() -> None:
    original = event(ev.Warned(code="x", text="y"))
    assert Redactor([SECRET]).event(original) is original
