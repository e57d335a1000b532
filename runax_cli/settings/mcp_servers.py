"""`mcpServers` files as the clients of MCP write them, and the variables that their entries name.

Knows the spellings that are in use. Knows nothing of how a server is reached. A flawed entry becomes a source that says
what is wrong with it, so that the other servers of the file can be used.
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
_ASKED = re.compile(r"\$\{(?!env:)([A-Za-z]+):(?!-)([^}]*)\}")
_TOP = ("mcpServers", "servers", "context_servers")
_SHELLS = frozenset({"cmd", "cmd.exe"})
_URLS = ("url", "serverUrl", "httpUrl")


def is_of_servers(mapping: Mapping[str, Any]) -> bool:
    """Whether a file is one of servers, by the names under which clients keep them."""
    return _listed(mapping) is not None


def mcp_servers(mapping: Mapping[str, Any], *, path: Path) -> dict[str, McpSourceSettings]:
    """The sources of such a file: `command`, `args`, `env` and `cwd`, or `url` and `headers`; disabled ones are none.

    Raises ConfigurationError where the file has no servers at all.
    """
    servers = _listed(mapping)
    if isinstance(servers, list) and servers:
        servers = {str(entry.get("name", n)): entry for n, entry in enumerate(servers) if isinstance(entry, dict)}
    if not isinstance(servers, dict):
        raise ConfigurationError(
            f"the settings file '{path}' cannot be used: it has no mapping 'mcpServers' of names to servers. "
            "Mend it, or name another one.",
            setting=str(path),
        )
    return {str(name): _part(str(name), entry, path) for name, entry in servers.items() if not _is_disabled(entry)}


def _listed(mapping: Mapping[str, Any]) -> Any:
    inner = mapping.get("mcp")
    places = (mapping, inner) if isinstance(inner, dict) else (mapping,)
    return next((place[name] for place in places for name in _TOP if name in place), None)


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


def secret_variables(part: McpSourceSettings) -> frozenset[str]:
    """The variables that hold secrets: those in headers, and those anywhere else that are named like secrets."""
    named = [value for key, value in part.env.items() if _SECRET.search(f"{key} {value}")]
    told = [match[1] for text in (*named, *part.headers.values()) for match in _VARIABLE.finditer(text)]
    open_texts = (*part.command, part.url or "")
    told += [match[1] for text in open_texts for match in _VARIABLE.finditer(text) if _SECRET.search(match[1])]
    return frozenset(told)


def _is_disabled(entry: object) -> bool:
    return isinstance(entry, dict) and (entry.get("disabled") is True or entry.get("enabled") is False)


def _part(name: str, entry: object, path: Path) -> McpSourceSettings:
    where = f"the server '{name}' in '{path}'"
    if not isinstance(entry, dict):
        return McpSourceSettings(kind="mcp", flaw=f"{where} is no mapping; give it a 'command' or a 'url'")
    entry = _unfolded(entry)
    url = next((entry[key] for key in _URLS if entry.get(key)), None)
    command, arguments = entry.get("command"), entry.get("args") or []
    if (url is None) == (not command):
        return McpSourceSettings(kind="mcp", flaw=f"{where} needs either a 'command' or a 'url'; give it one of them")
    if not isinstance(arguments, list) or not isinstance(command, str | None):
        return McpSourceSettings(
            kind="mcp", flaw=f"{where} has a 'command' that is no text, or 'args' that are no list"
        )
    given = {
        "kind": "mcp",
        "url": url,
        "command": _command(command, [*map(_text, arguments)]) if command else (),
        "cwd": _at_home(entry.get("cwd")),
        "env": _texts(entry.get("env")),
        "headers": _texts(entry.get("headers")),
    }
    try:
        return McpSourceSettings.model_validate(_with_file(_placed(given, path), entry, path))
    except _MissingValue as error:
        return McpSourceSettings(kind="mcp", flaw=f"{where} {error}")
    except ValidationError as error:
        first = error.errors()[0]
        place, shown = setting_path(first["loc"]), masked_value(first["loc"], first["input"])
        return McpSourceSettings(kind="mcp", flaw=f"{where}: '{place}' is {shown:.80}: {describe_error(first)}")


class _MissingValue(Exception):
    """What an entry names is not to be had here."""


def _unfolded(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry whose `command` holds what others write beside it."""
    command = entry.get("command")
    if not isinstance(command, dict):
        return entry
    return {**entry, **command, "command": command.get("path") or command.get("command")}


def _command(command: str, arguments: list[object]) -> list[object]:
    """The command: a whole line where nothing of that name exists, and without the shell of another system."""
    command = str(_at_home(command))
    if not arguments and " " in command and not Path(command).exists() and "${" not in command:
        with suppress(ValueError):
            return list(shlex.split(command))
    is_shell = os.name != "nt" and command.lower() in _SHELLS and str(next(iter(arguments), "")).lower() == "/c"
    return arguments[1:] if is_shell and len(arguments) > 1 else [command, *arguments]


def _at_home(value: object) -> object:
    """The value, with `~` as a shell would read it."""
    return str(Path(value).expanduser()) if isinstance(value, str) and value.startswith("~/") else value


def _placed(value: Any, path: Path) -> Any:
    """The entry with the names of places filled in that editors know; `inputs` are asked of nobody here."""
    if isinstance(value, dict):
        return {key: _placed(inner, path) for key, inner in value.items()}
    if isinstance(value, list):
        return [_placed(inner, path) for inner in value]
    if not isinstance(value, str):
        return value
    if (asked := _ASKED.search(value)) is not None:
        name = re.sub(r"[^A-Za-z0-9]+", "_", asked[2]).upper() or "NAME"
        raise _MissingValue(
            f"asks for '{asked[0]}', which only the client that wrote the file can give. "
            f"Name a variable of the environment in its place, such as '${{{name}}}'."
        )
    folder = path.absolute().parent
    folder = folder.parent if folder.name in (".vscode", ".cursor") else folder
    places = {"workspaceFolder": folder, "workspaceRoot": folder, "userHome": Path.home(), "cwd": Path.cwd()}
    for name, place in {**places, "workspaceFolderBasename": folder.name, "pathSeparator": os.sep, "/": os.sep}.items():
        value = value.replace(f"${{{name}}}", str(place))
    return value


def _with_file(given: dict[str, Any], entry: dict[str, Any], path: Path) -> dict[str, Any]:
    """The entry with the variables of its `envFile`; those written in the entry itself go first."""
    named = entry.get("envFile")
    if not isinstance(named, str) or not isinstance(given["env"], dict):
        return given
    file = path.absolute().parent / str(_at_home(_placed(named, path)))
    if not file.is_file():
        raise _MissingValue(f"names the file '{named}' in 'envFile', which is not there. Write it, or take it out.")
    values = {key: value or "" for key, value in dotenv_values(file, interpolate=False).items()}
    return {**given, "env": {**values, **given["env"]}}


def _texts(values: object) -> object:
    """Numbers and truth values as the texts that a process would get."""
    if values is None:
        return {}
    if not isinstance(values, dict):
        return values
    return {key: _text(value) for key, value in values.items() if value is not None}


def _text(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value
