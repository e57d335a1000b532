"""Secrets that stand in an entry of a source itself: in its URLs, its command line, its headers and environment.

Knows under what names secrets stand. What `auth` and `${…}` name is not here: those are variables.
"""

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, urlsplit

from runax_cli.settings_files import ClientPart, McpPart, OpenApiPart

_NAME = re.compile("auth|token|secret|passw|cookie|api.?key|credential", re.IGNORECASE)
_KEY_NAME = re.compile(r"(?:.*[-_])?(?:token|secret|passwd|password|key|apikey)", re.IGNORECASE)
"""What an option or a parameter that takes a key is called to the end: `--token-limit` takes none."""
_PLAIN = re.compile(r"[a-z]+|\d+")
"""A word or a number: to mask it would eat ordinary text."""
_OPTION = re.compile(r"-{1,2}([A-Za-z][\w-]*)(?:=(.*))?", re.DOTALL)
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_SCHEMES = ("bearer ", "basic ")
_VARIABLE = "${"
_SHORTEST = 6


def written_out(part: OpenApiPart | McpPart) -> list[str]:
    """The secrets of one entry. What names a variable is none."""
    found = [secret for url in _urls(part) for secret in _of_url(url)]
    if isinstance(part, McpPart):
        found += _of_command(part.command)
        found += [value for name, value in (*part.env.items(), *part.headers.items()) if _is_secret(name, value)]
        found += [value.partition(" ")[2] for value in found if value.lower().startswith(_SCHEMES)]
    return found


def _is_secret(name: str, value: str) -> bool:
    return _NAME.search(name) is not None and _VARIABLE not in value


def _is_key(name: str, value: str) -> bool:
    is_named = _KEY_NAME.fullmatch(name) is not None and _VARIABLE not in value
    return is_named and len(value) >= _SHORTEST and _PLAIN.fullmatch(value) is None


def _urls(part: OpenApiPart | McpPart) -> Iterator[str]:
    urls: tuple[str | None, ...] = (part.url,) if isinstance(part, McpPart) else (part.base_url, part.document)
    if isinstance(part, OpenApiPart) and isinstance(part.auth, dict):
        urls += tuple(one.token_url for one in part.auth.values() if isinstance(one, ClientPart))
    return (url for url in urls if url and "://" in url)


def _of_url(url: str) -> Iterator[str]:
    parts = urlsplit(url)
    yield parts.password or ""
    yield from (value for name, value in parse_qsl(parts.query) if _is_key(name, value))


def _of_command(command: tuple[str, ...]) -> Iterator[str]:
    """Values of options that are named like secrets, and of variables that an argument sets: `--token x`, `KEY=x`."""
    for argument, after in zip(command, (*command[1:], ""), strict=False):
        option = _OPTION.fullmatch(argument)
        assigned = option if option and option[2] is not None else _ASSIGNED.fullmatch(argument)
        name, value = (assigned[1], assigned[2]) if assigned else (option[1] if option else "", after)
        if _is_key(name, value) and not value.startswith("-"):
            yield value
