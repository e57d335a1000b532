"""`mcpServers` files as the clients of MCP write them, and the variables that their entries name.

Knows the spellings that are in use. Knows nothing of how a server is reached. A flawed entry becomes a source that says
what is wrong with it, so that the other servers of the file can be used.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from runax_cli.errors import ConfigurationError
from runax_cli.misfits import misfit, place_of
from runax_cli.settings_files import McpPart

_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_SECRET = re.compile(r"key|token|secret|pass|auth|credential", re.IGNORECASE)
_TOP = ("mcpServers", "servers")
_URLS = ("url", "serverUrl", "httpUrl")


def mcp_servers(mapping: Mapping[str, Any], *, path: Path) -> dict[str, McpPart]:
    """The sources of such a file: `command`, `args`, `env` and `cwd`, or `url` and `headers`; disabled ones are none.

    Raises ConfigurationError where the file has no servers at all.
    """
    servers = next((mapping[name] for name in _TOP if name in mapping), None)
    if not isinstance(servers, dict):
        raise ConfigurationError(
            f"the settings file '{path}' cannot be used: it has no mapping 'mcpServers' of names to servers. "
            "Mend it, or name another one.",
            setting=str(path),
        )
    return {str(name): _part(str(name), entry, path) for name, entry in servers.items() if not _is_disabled(entry)}


def expanded(text: str, value_of: Callable[[str], str | None]) -> str:
    """The text with `${NAME}` and `${NAME:-default}` replaced; a variable that is empty counts as not set.

    Raises KeyError naming the variable where it is not set and there is no default.
    """

    def value(match: re.Match[str]) -> str:
        found = value_of(match[1]) or match[2]
        if found is None:
            raise KeyError(match[1])
        return found

    return _VARIABLE.sub(value, text)


def secret_variables(part: McpPart) -> frozenset[str]:
    """The variables that hold secrets: those in headers, and those in the environment that are named like secrets."""
    named = [value for key, value in part.env.items() if _SECRET.search(f"{key} {value}")]
    texts = (*named, *part.headers.values())
    return frozenset(match[1] for text in texts for match in _VARIABLE.finditer(text))


def _is_disabled(entry: object) -> bool:
    return isinstance(entry, dict) and (entry.get("disabled") is True or entry.get("enabled") is False)


def _part(name: str, entry: object, path: Path) -> McpPart:
    where = f"the server '{name}' in '{path}'"
    if not isinstance(entry, dict):
        return McpPart(kind="mcp", flaw=f"{where} is no mapping; give it a 'command' or a 'url'")
    url = next((entry[key] for key in _URLS if entry.get(key)), None)
    command, arguments = entry.get("command"), entry.get("args") or []
    if (url is None) == (not command):
        return McpPart(kind="mcp", flaw=f"{where} needs either a 'command' or a 'url'; give it one of them")
    if not isinstance(arguments, list) or not isinstance(command, str | None):
        return McpPart(kind="mcp", flaw=f"{where} has a 'command' that is no text, or 'args' that are no list")
    given = {
        "kind": "mcp",
        "url": url,
        "command": [command, *map(_text, arguments)] if command else (),
        "cwd": entry.get("cwd"),
        "env": _texts(entry.get("env")),
        "headers": _texts(entry.get("headers")),
    }
    try:
        return McpPart.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        place = place_of(first["loc"])
        return McpPart(kind="mcp", flaw=f"{where}: '{place}' is {first['input']!r:.80}: {misfit(first)}")


def _texts(values: object) -> object:
    """Numbers and truth values as the texts that a process would get."""
    if values is None:
        return {}
    return {key: _text(value) for key, value in values.items()} if isinstance(values, dict) else values


def _text(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value
