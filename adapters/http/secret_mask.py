"""Masking of secrets in text, URLs and logs: by value, and by name in the query of a URL."""

import logging
from collections.abc import Iterable
from urllib.parse import unquote_plus

import httpx2

from adapters.secret_forms import secret_forms

MASKED = "***"
_MIN_LENGTH = 4  # shorter values would mask parts of ordinary words; by name they are masked all the same
_SECRET_NAMES = frozenset(
    {
        "access_token", "api-key", "api_key", "apikey", "auth", "auth_token", "authorization", "client_secret", "key",
        "passwd", "password", "secret", "sig", "signature", "token", "x-amz-credential", "x-amz-security-token",
        "x-amz-signature", "x-api-key",
    }
)  # fmt: skip


class SecretMask:
    """Replaces secrets with `***`: by value in any text, by parameter name in the query of a URL."""

    def __init__(self, secrets: Iterable[str] = (), *, names: Iterable[str] = ()) -> None:
        self._values: list[str] = []
        self._names = _SECRET_NAMES | {name.lower() for name in names}
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Mask further values from now on, such as fetched tokens."""
        found = {form for secret in secrets for form in secret_forms(secret.strip()) if len(form) >= _MIN_LENGTH}
        self._values = sorted({*self._values, *found}, key=lambda form: (-len(form), form))

    def text(self, text: str) -> str:
        """Mask every secret in a text."""
        for value in self._values:
            text = text.replace(value, MASKED)
        return text

    def url(self, url: httpx2.URL) -> str:
        """Return a URL without user information and fragment, with secret query values masked."""
        bare = url.copy_with(query=None, fragment=None, userinfo=b"")
        query = url.query.decode("ascii", "replace")
        pairs = "&".join(self._pair(pair) for pair in query.split("&"))
        return self.text(f"{bare}?{pairs}" if query else str(bare))

    def _pair(self, pair: str) -> str:
        name, equals, _ = pair.partition("=")
        return f"{name}={MASKED}" if equals and unquote_plus(name).lower() in self._names else pair


class _UrlLogFilter(logging.Filter):
    """Removes the query and the user information from URLs in the log of the HTTP library."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Strip the URLs of a record and let it pass."""
        if isinstance(record.args, tuple):
            record.args = tuple(_strip_url(argument) for argument in record.args)
        return True


def _strip_url(argument: object) -> object:
    if isinstance(argument, httpx2.URL):
        return argument.copy_with(query=None, fragment=None, userinfo=b"")
    return argument


def hide_secrets_in_http_logs() -> None:
    """Keep secrets in URLs out of the HTTP library's own log, at any log level."""
    logger = logging.getLogger("httpx2")
    if not any(isinstance(one, _UrlLogFilter) for one in logger.filters):
        logger.addFilter(_UrlLogFilter())
