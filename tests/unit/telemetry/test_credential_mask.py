"""Credentials are masked in data, wherever they are, and nothing else is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.telemetry.credential_mask import CredentialMask

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"
KEYS = (
    "sk-proj-abcdefghijklmnop1234",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_11ABCDEFG0abcdefghijkl",
    "glpat-abcdefghijklmnop1234",
    "xoxb-123456789012-abcdefghijkl",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    JWT,
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow==\n-----END RSA PRIVATE KEY-----",
)
ORDINARY = (
    "The bearer of good news",
    "disk-space-and-memory-usage-monitoring",
    "task-abcdefghijklmnopqrstuvwxyz",
    "token: abc, password: hunter2",
    "eyJ is how a JWT begins",
    "asked-risk-assessment-of-the-year",
)


@pytest.mark.parametrize("key", KEYS)
def test_keys_are_masked_in_records(key: str) -> None:
    line = json.dumps({"text": f"my key is {key}, please help"}).encode()
    masked = CredentialMask().data(line)
    assert json.loads(masked) == {"text": "my key is ***, please help"}
    assert CredentialMask().text(f"x {key} y") == "x *** y"


def test_a_bearer_token_is_masked_with_its_scheme() -> None:
    assert CredentialMask().text("Authorization: Bearer abcdef0123456789xyz") == "Authorization: ***"


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_words_are_not_masked(text: str) -> None:
    assert CredentialMask().text(text) == text


@pytest.mark.parametrize("secret", ['quo"ted\\secret', "příliš-tajné", "a secret/with spaces"])
def test_secrets_of_the_settings_are_masked_in_their_json_spelling(secret: str) -> None:
    for is_ascii in (True, False):
        masked = CredentialMask([secret]).data(json.dumps({"echo": f"<{secret}>"}, ensure_ascii=is_ascii).encode())
        assert json.loads(masked) == {"echo": "<***>"}


def test_a_short_secret_does_not_mask_ordinary_words() -> None:
    assert CredentialMask(["demo"]).text("a demonstration") == "a demonstration"


@given(
    st.recursive(
        st.text(max_size=40) | st.sampled_from(KEYS),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
        max_leaves=10,
    )
)
def test_json_stays_json_of_the_same_shape(value: object) -> None:
    masked = CredentialMask().data(json.dumps(value).encode())
    assert type(json.loads(masked)) is type(value)
    assert not CredentialMask().has_credentials(masked)
