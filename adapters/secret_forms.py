"""The forms in which a secret can appear: plain, percent-encoded, JSON-escaped, and inside base64 at each alignment.

Also finds secrets in URLs and command lines. All masks use these forms, so that what one knows, all know.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

_MIN_INNER_CHARS = 8
"""Shorter pieces of base64 occur in ordinary text."""
_HEX_PAIR = re.compile(r"%[0-9A-F]{2}")
_SECRET_NAME = re.compile(r"(?:.*[-_])?(?:token|secret|passwd|password|key|apikey)", re.IGNORECASE)
"""The full name of an option or query parameter that holds a secret; `--token-limit` does not."""
_PLAIN = re.compile(r"[a-z]+|\d+")
"""A plain word or number, which is not masked because it appears in ordinary text."""
_MIN_VALUE_CHARS = 6
_OPTION = re.compile(r"-{1,2}([A-Za-z][\w-]*)(?:=(.*))?", re.DOTALL)
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)


def secret_forms(secret: str) -> frozenset[str]:
    """Return every form of a secret, of the password alone too if it is `user:password`. None is empty."""
    user, colon, password = secret.partition(":")
    is_pair = bool(colon and user and len(password) >= _MIN_INNER_CHARS and not password.startswith("//"))
    plain = {secret, secret.strip(), *([password] if is_pair else [])} - {""}
    encoded = {form for text in plain for form in _percent_encoded(text)}
    in_base64 = {form for text in plain | encoded for form in _base64_forms(text)}
    inner = {form for text in in_base64 for form in (text, *_percent_encoded(text))}
    return frozenset(escaped for form in (*plain, *encoded, *inner) for escaped in _json_forms(form))


def shortest_forms(forms: Iterable[str]) -> tuple[str, ...]:
    """Return the forms that contain no other one: a text without any of these has none of all."""
    kept: list[str] = []
    for form in sorted(forms, key=len):
        if not any(one in form for one in kept):
            kept.append(form)
    return tuple(kept)


def url_secrets(url: str) -> frozenset[str]:
    """Return the secrets of a URL: its password, and the values of query parameters that are named like secrets."""
    try:
        parts = urlsplit(url)
        password, pairs = parts.password or "", parse_qsl(parts.query)
    except ValueError:
        return frozenset()
    named = {value for name, value in pairs if _is_secret(name, value)}
    return frozenset({password, unquote(password), *named} - {""})


def argument_secrets(command: Sequence[str]) -> frozenset[str]:
    """Return the values of arguments that are named like secrets: `--token x`, `KEY=x`; and the secrets of URLs."""
    found = {secret for argument in command if "://" in argument for secret in url_secrets(argument)}
    for argument, after in zip(command, (*command[1:], ""), strict=False):
        option = _OPTION.fullmatch(argument)
        assigned = option if option and option[2] is not None else _ASSIGNED.fullmatch(argument)
        name, value = (assigned[1], assigned[2]) if assigned else (option[1] if option else "", after)
        if _is_secret(name, value) and not value.startswith("-"):
            found.add(value)
    return frozenset(found)


def _is_secret(name: str, value: str) -> bool:
    is_named = _SECRET_NAME.fullmatch(name) is not None and not value.startswith("${")
    return is_named and len(value) >= _MIN_VALUE_CHARS and _PLAIN.fullmatch(value) is None


def _percent_encoded(text: str) -> set[str]:
    forms = {quote(text, safe="", errors="replace"), quote(text, errors="replace"), quote_plus(text, errors="replace")}
    return forms | {_HEX_PAIR.sub(lambda match: match[0].lower(), form) for form in forms}


def _json_forms(text: str) -> set[str]:
    forms = {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
    return forms | {form.replace("/", "\\/") for form in forms}


def _base64_forms(text: str) -> Iterator[str]:
    """Yield the whole text in base64, and the characters that depend on it alone where it begins at each alignment."""
    raw = text.encode("utf-8", "surrogatepass")
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        whole = encode(raw).decode("ascii")
        yield whole
        yield whole.rstrip("=")
        for offset in range(3):
            padded = encode(b"\0" * offset + raw).decode("ascii").rstrip("=")
            is_last_mixed = (offset + len(raw)) % 3 != 0
            inner = padded[offset + 1 if offset else 0 : len(padded) - is_last_mixed]
            if len(inner) >= _MIN_INNER_CHARS:
                yield inner
