"""Credentials in data: taken out before data is stored or sent to a model.

Knows the values that the settings hold, and the look of credentials that cannot be anything else. Unlike in logs, no
name beside a value makes it one: `token: abc` may be what a record is about. A value that was taken out is gone for
this run; where a page goes on is not data, and passes.
"""

import json
import re
from collections.abc import Iterable
from urllib.parse import quote

MASK = "***"
_SHORTEST = 8
_MARKS = (
    b"sk-", b"rk-", b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_", b"glpat-", b"xox", b"xai-", b"hf_",
    b"AKIA", b"ASIA", b"AIza", b"eyJ", b"earer ", b"PRIVATE KEY-----",
)  # fmt: skip
"""What each of the patterns has inside: a text without any of them needs no second look."""
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
    """Takes credentials out of text and JSON; what is JSON stays JSON. `secrets` are values of the settings."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets if len(secret) >= _SHORTEST for form in _forms(secret)}
        self._values = tuple(sorted((form.encode("utf-8", "replace") for form in forms), key=len, reverse=True))

    def is_touched(self, data: bytes) -> bool:
        """Whether anything has to be taken out."""
        return any(value in data for value in self._values) or (_may_have(data) and _KEYS.search(data) is not None)

    def data(self, data: bytes) -> bytes:
        """The bytes of UTF-8 text without credentials."""
        for value in self._values:
            data = data.replace(value, MASK.encode())
        return _KEYS.sub(MASK.encode(), data) if _may_have(data) else data

    def text(self, text: str) -> str:
        """The text without credentials."""
        raw = text.encode("utf-8", "surrogatepass")
        return self.data(raw).decode("utf-8", "surrogatepass") if self.is_touched(raw) else text


CREDENTIAL_MASK = CredentialMask()


def _may_have(data: bytes) -> bool:
    return any(mark in data for mark in _MARKS)


def _forms(secret: str) -> set[str]:
    """As it is, inside a JSON string, and percent-encoded."""
    return {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], quote(secret, safe="")}
