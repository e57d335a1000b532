"""Masks credentials in data before it is stored or sent to a model.

By the secrets of the settings and by unmistakable formats of keys. Unlike `redaction`, which is for logs, the name of a
field does not matter: `token: abc` can be the subject of a record. Cursors of pages are not masked.
"""

import re
from collections.abc import Iterable

from adapters.secret_forms import secret_forms, shortest_forms

MASK = "***"
_MIN_SECRET_CHARS = 8
_MARKERS = (
    b"sk-", b"rk-", b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_", b"glpat-", b"xox", b"xai-", b"hf_",
    b"AKIA", b"ASIA", b"AIza", b"eyJ", b"earer ", b"PRIVATE KEY-----",
)  # fmt: skip
"""Substrings of all patterns: a text without any of them need not be searched."""
_KEYS = re.compile(
    rb"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:(?!-----END)[^\"])*(?:-----END [A-Z ]*PRIVATE KEY-----)?"
    rb"|(?<![\w-])(?:sk|rk)-[A-Za-z0-9_-]{16,}"
    rb"|\b(?:gh[opsru]_|github_pat_|glpat-|xox[abeprs]-|xai-|hf_)[A-Za-z0-9_-]{16,}"
    rb"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    rb"|\bAIza[\w-]{30,}"
    rb"|\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*"
    rb"|\b[Bb]earer (?=[^\s\"]*[0-9._=])[A-Za-z0-9._~+/-]{16,}=*"
)


class CredentialMask:
    """Masks credentials in text and JSON; JSON stays valid. `secrets` are values of the settings."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets if len(secret) >= _MIN_SECRET_CHARS for form in secret_forms(secret)}
        self._shortest = tuple(form.encode("utf-8", "replace") for form in shortest_forms(forms))
        self._values = tuple(sorted((form.encode("utf-8", "replace") for form in forms), key=len, reverse=True))

    def has_credentials(self, data: bytes) -> bool:
        """Whether anything would be masked."""
        return self._has_secret(data) or (_may_contain_key(data) and _KEYS.search(data) is not None)

    def data(self, data: bytes) -> bytes:
        """UTF-8 text as bytes, with credentials masked."""
        for value in self._values if self._has_secret(data) else ():
            data = data.replace(value, MASK.encode())
        return _KEYS.sub(MASK.encode(), data) if _may_contain_key(data) else data

    def _has_secret(self, data: bytes) -> bool:
        return any(form in data for form in self._shortest)

    def text(self, text: str) -> str:
        """The text with credentials masked."""
        raw = text.encode("utf-8", "surrogatepass")
        return self.data(raw).decode("utf-8", "surrogatepass") if self.has_credentials(raw) else text


CREDENTIAL_MASK = CredentialMask()


def _may_contain_key(data: bytes) -> bool:
    return any(mark in data for mark in _MARKERS)
