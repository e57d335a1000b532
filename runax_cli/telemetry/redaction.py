"""Masks secrets in logs and events: by value, by the name of the field, and by the format of common keys.

The last line of defense: secrets should not get into an event in the first place.
"""

import re
from collections.abc import Iterable
from typing import Any, TypeVar

from pydantic import BaseModel

from adapters.secret_forms import secret_forms
from runax_cli.core.events import Event, EventSink

MASK = "***"
# A shorter value is not a secret. One shorter than a key is masked as a whole word only, so that ordinary words stay.
MIN_SECRET_LENGTH = 4
_KEY_LENGTH = 8

_NAMES = frozenset(
    {
        "authorization", "proxyauthorization", "cookie", "setcookie", "xapikey", "apikey", "xauthtoken", "authtoken",
        "accesstoken", "refreshtoken", "idtoken", "token", "secret", "clientsecret", "apisecret", "password",
        "passwd", "pwd", "privatekey", "secretkey", "accesskey", "subscriptionkey", "xgoogapikey", "bearer",
    }
)  # fmt: skip
_IN_TEXT = (
    r"(?:proxy-)?authorization|(?:set-)?cookie|x-goog-api-key|x-auth-token|(?:x-)?api[-_]?key|auth[-_]?token"
    r"|access[-_]?token|refresh[-_]?token|id[-_]?token|client[-_]?secret|api[-_]?secret|secret[-_]?key|password"
    r"|passwd|pwd|private[-_]?key|subscription[-_]?key|secret|token"
)
_IN_QUERY = rf"(?:{_IN_TEXT}|(?:[\w.-]*[-_.])?key|x-amz-credential|sig|signature|auth)"
_OPTION = rf"-{{1,2}}(?:[\w-]*[-_])?(?:{_IN_TEXT}|key|pat)"
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), MASK),
    # A key contains digits, signs or capitals; "basic understanding" does not.
    (re.compile(r"\b((?i:bearer|basic))\s+(?=[^\s\"]+[0-9A-Z._=])[A-Za-z0-9._~+/-]{8,}=*"), rf"\1 {MASK}"),
    (re.compile(r"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie)(\"?\s*:\s*\"?)(?!\*)[^\"\r\n]+"), rf"\1\2{MASK}"),
    (re.compile(rf"(?i)(?<![\w-])({_IN_TEXT})(\"?\s*[=:]\s*\"?)(?!\*)[^\s&\"',;)\]}}]+"), rf"\1\2{MASK}"),
    (re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^/\s@\"]+@"), rf"\1{MASK}@"),
    (re.compile(rf"(?i)([?&](?:{_IN_QUERY})=)(?!\*)[^\s&\"'#]+"), rf"\1{MASK}"),
    (
        re.compile(rf"(?i)((?<!\S)-{{1,2}}(?:[\w-]*[-_])?(?:{_IN_TEXT}|key|pat)(?:=|\s+))(?![*-])[^\s\"']+"),
        rf"\1{MASK}",
    ),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"), MASK),
    (re.compile(r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}"), MASK),
    (re.compile(r"\b(?:gh[opsru]_|github_pat_|glpat-|xox[abeprs]-|xai-|hf_)[A-Za-z0-9_-]{10,}"), MASK),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"), MASK),
    (re.compile(r"\bAIza[\w-]{30,}"), MASK),
)
_Model = TypeVar("_Model", bound=BaseModel)


def is_secret_name(name: str) -> bool:
    """Whether the value of a header, parameter or field with this name is a secret."""
    return re.sub(r"[-_\s]", "", name.lower()) in _NAMES


class Redactor:
    """Masks secrets. `secrets` are the values in the settings; their encoded forms are masked too."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets if len(secret) >= MIN_SECRET_LENGTH for form in secret_forms(secret)}
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._values = re.compile("|".join(map(_value_pattern, longest_first))) if longest_first else None

    def text(self, text: str) -> str:
        """`text` with secrets masked."""
        masked = self._values.sub(MASK, text) if self._values else text
        for pattern, replacement in _PATTERNS:
            masked = pattern.sub(replacement, masked)
        return masked

    def value(self, value: Any) -> Any:
        """A JSON value with secrets masked in every string, and whole values under names of secrets."""
        match value:
            case str():
                return self.text(value)
            case dict():
                return {self.text(str(name)): self._field(str(name), inner) for name, inner in value.items()}
            case list() | tuple():
                return [self.value(inner) for inner in value]
            case _:
                return value

    def model(self, model: _Model) -> _Model:
        """A copy of the model with secrets masked; `model` itself if there are none."""
        before = model.model_dump(mode="json")
        after = self.value(before)
        return model if after == before else type(model).model_validate(after)

    def event(self, event: Event) -> Event:
        """The event with secrets masked in its body."""
        body = self.model(event.body)
        return event if body is event.body else Event(event.seq, event.ts, event.stamp, body)

    def _field(self, name: str, value: Any) -> Any:
        is_secret = is_secret_name(name) and isinstance(value, str | int) and value not in ("", None)
        return MASK if is_secret else self.value(value)


def _value_pattern(form: str) -> str:
    return re.escape(form) if len(form) >= _KEY_LENGTH else rf"(?<!\w){re.escape(form)}(?!\w)"


class RedactingSink:
    """Masks every event before it is passed to the inner sink."""

    def __init__(self, inner: EventSink, redactor: Redactor) -> None:
        self._inner, self._redactor = inner, redactor

    def emit(self, event: Event) -> None:
        """Pass the masked event on."""
        self._inner.emit(self._redactor.event(event))
