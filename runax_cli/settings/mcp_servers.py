"""Reads `mcpServers` files of other MCP clients, in the spellings that are in use.

An invalid entry becomes a source with an error, so that the other servers of the file can be used.
"""

import os
import re
import shlex
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dotenv import dotenv_values
from pydantic import ValidationError

from runax_cli.core.errors import ConfigurationError
from runax_cli.core.validation_messages import describe_error, masked_value, setting_path
from runax_cli.settings.file_schema import McpSourceSettings

_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_SECRET = re.compile(r"key|token|secret|pass|auth|credential", re.IGNORECASE)
_CLIENT_INPUT = re.compile(r"\$\{(?!env:)([A-Za-z]+):(?!-)([^}]*)\}")
_SERVER_KEYS = ("mcpServers", "servers", "context_servers")
_SHELLS = frozenset({"cmd", "cmd.exe"})
_URL_KEYS = ("url", "serverUrl", "httpUrl")


def has_mcp_servers(mapping: Mapping[str, Any]) -> bool:
    """Whether a file lists MCP servers, under one of the keys that clients use."""
    return _server_entries(mapping) is not None


def mcp_servers(mapping: Mapping[str, Any], *, path: Path) -> dict[str, McpSourceSettings]:
    """The sources of an `mcpServers` file, without disabled entries. Raises ConfigurationError if it has no servers."""
    servers = _server_entries(mapping)
    if isinstance(servers, list) and servers:
        servers = {str(entry.get("name", n)): entry for n, entry in enumerate(servers) if isinstance(entry, dict)}
    if not isinstance(servers, dict):
        raise ConfigurationError(
            f"invalid settings file '{path}': 'mcpServers' must be a mapping of names to servers.",
            setting=str(path),
        )
    return {str(name): _source(str(name), entry, path) for name, entry in servers.items() if not _is_disabled(entry)}


def _server_entries(mapping: Mapping[str, Any]) -> Any:
    inner = mapping.get("mcp")
    places = (mapping, inner) if isinstance(inner, dict) else (mapping,)
    return next((place[name] for place in places for name in _SERVER_KEYS if name in place), None)


def expanded(text: str, value_of: Callable[[str], str | None]) -> str:
    """The text with `${NAME}` and `${NAME:-default}` replaced; an empty variable counts as unset.

    Raises KeyError with the name of an unset variable that has no default.
    """

    def value(match: re.Match[str]) -> str:
        replacement = value_of(match[1]) or match[2]
        if replacement is None:
            raise KeyError(match[1])
        return replacement

    return _VARIABLE.sub(value, text)


def secret_variables(part: McpSourceSettings) -> frozenset[str]:
    """The variables that hold secrets: those in headers, and elsewhere those named like secrets."""
    secret_texts = [value for key, value in part.env.items() if _SECRET.search(f"{key} {value}")]
    names = [match[1] for text in (*secret_texts, *part.headers.values()) for match in _VARIABLE.finditer(text)]
    other_texts = (*part.command, part.url or "")
    names += [match[1] for text in other_texts for match in _VARIABLE.finditer(text) if _SECRET.search(match[1])]
    return frozenset(names)


def _is_disabled(entry: object) -> bool:
    return isinstance(entry, dict) and (entry.get("disabled") is True or entry.get("enabled") is False)


def _source(name: str, entry: object, path: Path) -> McpSourceSettings:
    where = f"the server '{name}' in '{path}'"
    if not isinstance(entry, dict):
        return McpSourceSettings(kind="mcp", flaw=f"{where} must be a mapping with a 'command' or a 'url'")
    entry = _flatten_command(entry)
    url = next((entry[key] for key in _URL_KEYS if entry.get(key)), None)
    command, arguments = entry.get("command"), entry.get("args") or []
    if (url is None) == (not command):
        return McpSourceSettings(kind="mcp", flaw=f"{where} must have either a 'command' or a 'url'")
    if not isinstance(arguments, list) or not isinstance(command, str | None):
        return McpSourceSettings(kind="mcp", flaw=f"{where}: 'command' must be a string and 'args' a list")
    given = {
        "kind": "mcp",
        "url": url,
        "command": _command(command, [*map(_as_text, arguments)]) if command else (),
        "cwd": _expand_home(entry.get("cwd")),
        "env": _as_texts(entry.get("env")),
        "headers": _as_texts(entry.get("headers")),
    }
    try:
        return McpSourceSettings.model_validate(_with_env_file(_resolve_variables(given, path), entry, path))
    except _MissingValue as error:
        return McpSourceSettings(kind="mcp", flaw=f"{where} {error}")
    except ValidationError as error:
        first = error.errors()[0]
        place, value = setting_path(first["loc"]), masked_value(first["loc"], first["input"])
        return McpSourceSettings(kind="mcp", flaw=f"{where}: '{place}' is {value:.80}: {describe_error(first)}")


class _MissingValue(Exception):
    """An entry refers to a value that is not available."""


def _flatten_command(entry: dict[str, Any]) -> dict[str, Any]:
    """The entry with the members of a `command` object moved to the top level, where other clients put them."""
    command = entry.get("command")
    if not isinstance(command, dict):
        return entry
    return {**entry, **command, "command": command.get("path") or command.get("command")}


def _command(command: str, arguments: list[object]) -> list[object]:
    """The command as a list: a whole command line is split, and `cmd /c` of Windows is dropped elsewhere."""
    command = str(_expand_home(command))
    if not arguments and " " in command and not Path(command).exists() and "${" not in command:
        with suppress(ValueError):
            return list(shlex.split(command))
    is_shell = os.name != "nt" and command.lower() in _SHELLS and str(next(iter(arguments), "")).lower() == "/c"
    return arguments[1:] if is_shell and len(arguments) > 1 else [command, *arguments]


def _expand_home(value: object) -> object:
    """The value with a leading `~` replaced by the home folder."""
    return str(Path(value).expanduser()) if isinstance(value, str) and value.startswith("~/") else value


def _resolve_variables(value: Any, path: Path) -> Any:
    """The entry with editor variables such as `${workspaceFolder}` replaced. Raises _MissingValue for `${input:…}`."""
    if isinstance(value, dict):
        return {key: _resolve_variables(inner, path) for key, inner in value.items()}
    if isinstance(value, list):
        return [_resolve_variables(inner, path) for inner in value]
    if not isinstance(value, str):
        return value
    if (requested := _CLIENT_INPUT.search(value)) is not None:
        name = re.sub(r"[^A-Za-z0-9]+", "_", requested[2]).upper() or "NAME"
        raise _MissingValue(
            f"needs '{requested[0]}', which only the client that wrote the file can provide. "
            f"Use an environment variable instead, such as '${{{name}}}'."
        )
    folder = path.absolute().parent
    folder = folder.parent if folder.name in (".vscode", ".cursor") else folder
    places = {"workspaceFolder": folder, "workspaceRoot": folder, "userHome": Path.home(), "cwd": Path.cwd()}
    for name, place in {**places, "workspaceFolderBasename": folder.name, "pathSeparator": os.sep, "/": os.sep}.items():
        value = value.replace(f"${{{name}}}", str(place))
    return value


def _with_env_file(given: dict[str, Any], entry: dict[str, Any], path: Path) -> dict[str, Any]:
    """The entry with the variables of its `envFile`; those in the entry itself take precedence."""
    named = entry.get("envFile")
    if not isinstance(named, str) or not isinstance(given["env"], dict):
        return given
    file = path.absolute().parent / str(_expand_home(_resolve_variables(named, path)))
    if not file.is_file():
        raise _MissingValue(
            f"refers to the file '{named}' in 'envFile', which does not exist. Create it, or remove 'envFile'."
        )
    values = {key: value or "" for key, value in dotenv_values(file, interpolate=False).items()}
    return {**given, "env": {**values, **given["env"]}}


def _as_texts(values: object) -> object:
    """The values as strings for an environment or for headers."""
    if values is None:
        return {}
    if not isinstance(values, dict):
        return values
    return {key: _as_text(value) for key, value in values.items() if value is not None}


def _as_text(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value
