"""Secrets kept out of everything that a person, a log or a model reads.

Knows the values of the secrets in use and the names under which secrets travel. Knows nothing of how they are sent.
"""

import json
import logging
from collections.abc import Iterable
from urllib.parse import quote, quote_plus, unquote_plus

import httpx2

MASKED = "***"
_MIN_LENGTH = 4  # a shorter value would blank out half of an ordinary sentence; by name it is masked all the same
_SECRET_NAMES = frozenset(
    {
        "access_token", "api-key", "api_key", "apikey", "auth", "auth_token", "authorization", "client_secret", "key",
        "passwd", "password", "secret", "sig", "signature", "token", "x-amz-credential", "x-amz-security-token",
        "x-amz-signature", "x-api-key",
    }
)  # fmt: skip


class SecretMask:
    """Replaces secrets by `***`: by value in any text, by name in the query of a URL."""

    def __init__(self, secrets: Iterable[str] = (), *, names: Iterable[str] = ()) -> None:
        self._forms: list[str] = []
        self._names = _SECRET_NAMES | {name.lower() for name in names}
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Hide more values from now on: those that were learnt while others were in use."""
        forms = {form for secret in secrets for form in _encodings_of(secret) if len(form) >= _MIN_LENGTH}
        self._forms = sorted({*self._forms, *forms}, key=lambda form: (-len(form), form))

    def text(self, text: str) -> str:
        """The text with every form of every secret replaced."""
        for form in self._forms:
            text = text.replace(form, MASKED)
        return text

    def url(self, url: httpx2.URL) -> str:
        """The URL without user information, fragment and secret query values."""
        bare = url.copy_with(query=None, fragment=None, userinfo=b"")
        query = url.query.decode("ascii", "replace")
        pairs = "&".join(self._pair(pair) for pair in query.split("&"))
        return self.text(f"{bare}?{pairs}" if query else str(bare))

    def _pair(self, pair: str) -> str:
        name, equals, _ = pair.partition("=")
        return f"{name}={MASKED}" if equals and unquote_plus(name).lower() in self._names else pair


def _encodings_of(secret: str) -> set[str]:
    """How a secret may be written: as it is, percent-encoded, as a form value, inside a JSON string."""
    plain = secret.strip()
    return {plain, quote(plain, safe=""), quote(plain), quote_plus(plain), json.dumps(plain)[1:-1]}


class _UrlLogFilter(logging.Filter):
    """Takes the query and the user information off every URL that the HTTP library logs."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Always let the record pass, with its URLs bare."""
        if isinstance(record.args, tuple):
            record.args = tuple(_strip_url(argument) for argument in record.args)
        return True


def _strip_url(argument: object) -> object:
    if isinstance(argument, httpx2.URL):
        return argument.copy_with(query=None, fragment=None, userinfo=b"")
    return argument


def hide_secrets_in_http_logs() -> None:
    """Keep query secrets out of the HTTP library's own log, whatever level anybody sets on it."""
    logger = logging.getLogger("httpx2")
    if not any(isinstance(known, _UrlLogFilter) for known in logger.filters):
        logger.addFilter(_UrlLogFilter())
