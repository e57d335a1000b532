"""The forms of a secret: whatever encodes it, what is left after masking does not contain it."""

import base64
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.http.secret_mask import SecretMask
from adapters.http.transport import mask_in_body
from adapters.secret_forms import argument_secrets, secret_forms, shortest_forms, url_secrets
from runax_cli.telemetry.credential_mask import CredentialMask
from runax_cli.telemetry.redaction import Redactor

SECRETS = ["s3cr3t-Value/with+signs", 'quo"ted\\secret', "příliš-tajné", "user:pass-w0rd/1", "plainsecret9", "12345678"]
ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "url": lambda text: quote(text, safe=""),
    "form": quote_plus,
    "lower-case url": lambda text: quote(text, safe="").replace("%2F", "%2f").replace("%2B", "%2b"),
    "json": lambda text: json.dumps(text)[1:-1],
    "json of php": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 without padding": lambda text: base64.b64encode(text.encode()).decode().rstrip("="),
    "url-safe base64": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "base64 in a url": lambda text: quote(base64.b64encode(text.encode()).decode(), safe=""),
    "base64 in json": lambda text: base64.b64encode(text.encode()).decode().replace("/", "\\/"),
}
MASKS: dict[str, Callable[[str, str], str]] = {
    "requests": lambda secret, text: SecretMask([secret]).text(text),
    "records": lambda secret, text: CredentialMask([secret]).text(text),
    "logs": lambda secret, text: Redactor([secret]).text(text),
    "bodies": lambda secret, text: mask_in_body(text.encode(), (secret,)).decode(),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("secret", SECRETS)
def test_every_mask_knows_every_form(secret, encoding, mask):
    form = ENCODINGS[encoding](secret)
    assert form not in MASKS[mask](secret, f"<{form}>")


@pytest.mark.parametrize("mask", MASKS)
@given(
    secret=st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=9, max_size=40),
    before=st.binary(max_size=7),
    after=st.binary(max_size=7),
)
def test_no_alignment_of_base64_hides_a_secret(mask, secret, before, after):
    echoed = base64.b64encode(before + secret.encode() + after).decode()
    masked = MASKS[mask](secret, f"Basic {echoed}")
    assert echoed not in masked
    assert "***" in masked


def test_the_password_of_a_pair_is_masked_with_another_user():
    echoed = base64.b64encode(b"somebody:pass-w0rd/1").decode()
    assert CredentialMask(["user:pass-w0rd/1"]).text(echoed) != echoed


def test_a_text_without_a_shortest_form_has_no_form():
    forms = secret_forms("s3cr3t-Value/with+signs")
    assert all(any(short in form for short in shortest_forms(forms)) for form in forms)
    assert len(shortest_forms(forms)) < len(forms)


def test_short_secrets_have_no_fragments_of_base64():
    assert min(map(len, secret_forms("demo"))) >= 4


def test_secrets_of_urls_are_found():
    url = "https://me:hunter2%2F@host/v1?key=k-123456&page=2&api_key=other1"
    assert url_secrets(url) == {"hunter2%2F", "hunter2/", "k-123456", "other1"}
    assert url_secrets("http://[broken") == frozenset()


def test_secrets_of_command_lines_are_found():
    command = (
        "serve",
        "--token",
        "t-0001",
        "--api-key=k-0002",
        "--token-limit",
        "500000",
        "http://a:p-0003@b/",
        "K_KEY=k-0004",
    )
    assert argument_secrets(command) == {"t-0001", "k-0002", "p-0003", "k-0004"}


@pytest.mark.parametrize(
    "text",
    [
        "https://host/v1?key=short&page=2",
        "https://me:pw@host/v1",
        "started with --token abc --verbose",
        "--api-key=abc",
    ],
)
def test_logs_mask_short_secrets_by_their_place(text):
    masked = Redactor().text(text)
    assert not {"short", "pw@", "abc"} & set(masked.replace("=", " ").replace(":", " ").split())
    assert "***" in masked


@pytest.mark.parametrize("text", ["--token-limit 500", "page?keyword=dogs&page=2", "the key to success"])
def test_logs_keep_ordinary_text(text):
    assert Redactor().text(text) == text
