"""What a user can say about one MCP server, and the `mcpServers` files that say it elsewhere.

Knows the shape of settings and of those files. Opens nothing, and imports no SDK, so that settings stay cheap to read.
"""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from adapters.base import ApprovalMode, JsonObject, Pagination
from adapters.errors import DocumentError


def _no_text() -> Mapping[str, str]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class McpSettings:
    """One server: either `url` (Streamable HTTP) or `command` (stdio).

    `env` is added to the few variables that a server inherits. `token` goes out as `Authorization: Bearer` to `url` and
    nowhere else; `headers` go with it. `timeout_s` bounds each step: connecting, listing, a call, closing;
    `timeouts` are those of single tools, `leaves` say which of them may change data, `paging` how they page and
    `page_sizes` how long a page may be, where the user knows better than the tool tells.
    `max_attempts` counts the first one and holds for tools that only read. `max_bytes` is for one reply or one event
    over HTTP, after decompression, and for one line over stdio. `read_tools` are tools that the user vouches for as
    reading, whatever their names and hints say. `cwd` is where a command is started. What the server writes to
    stderr goes into a file `mcp_<name>.log` in `log_folder`, where one is given.
    """

    name: str
    url: str | None = None
    command: tuple[str, ...] | None = None
    env: Mapping[str, str] = field(default_factory=_no_text, repr=False)
    token: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=_no_text, repr=False)
    timeout_s: float = 30.0
    timeouts: Mapping[str, float] = field(default_factory=dict)
    leaves: Mapping[str, ApprovalMode] = field(default_factory=dict)
    paging: Mapping[str, Pagination] = field(default_factory=dict)
    page_sizes: Mapping[str, int] = field(default_factory=dict)
    max_attempts: int = 2
    max_bytes: int = 64 * 2**20
    read_tools: frozenset[str] = frozenset()
    cwd: str | None = None
    log_folder: Path | None = None

    @property
    def file_name(self) -> str:
        """The name in letters that any file system takes."""
        return re.sub(r"[^A-Za-z0-9_.-]", "_", self.name)[:60]

    def __post_init__(self) -> None:
        if (self.url is None) == (not self.command):
            raise DocumentError(
                f"MCP server '{self.name}' needs either a url or a command; give one of them", source=self.name
            )


def settings_of(name: str, target: str, *, token: str | None = None, timeout_s: float = 30.0) -> McpSettings:
    """The settings that `--mcp URL|COMMAND` means. Raises DocumentError where a command cannot be split."""
    if target.lower().startswith(("http://", "https://")):
        return McpSettings(name=name, url=target, token=token, timeout_s=timeout_s)
    try:
        command = tuple(shlex.split(target))
    except ValueError as error:
        raise DocumentError(f"the MCP command '{target}' cannot be split: {error}", source=name) from error
    return McpSettings(name=name, command=command, token=token, timeout_s=timeout_s)


def settings_in(document: JsonObject, *, path: str) -> tuple[McpSettings, ...]:
    """The servers of an `mcpServers` file; `path` names it in errors. Raises DocumentError for what is malformed."""
    servers = document.get("mcpServers")
    if not isinstance(servers, dict):
        raise DocumentError(f"'{path}' has no object 'mcpServers'", source=path)
    return tuple(_one(name, entry, path) for name, entry in servers.items())


def _one(name: str, entry: object, path: str) -> McpSettings:
    if not isinstance(entry, dict):
        raise DocumentError(f"'{path}': mcpServers.{name} is no object", source=name)
    url, command, args = entry.get("url"), entry.get("command"), entry.get("args", [])
    if not isinstance(args, list) or not isinstance(url, str | None) or not isinstance(command, str | None):
        raise DocumentError(f"'{path}': mcpServers.{name} needs a text 'url', or 'command' and 'args'", source=name)
    return McpSettings(
        name=name,
        url=url,
        command=(command, *map(str, args)) if command else None,
        env=_texts(entry.get("env"), f"{path}: mcpServers.{name}.env", name),
        headers=_texts(entry.get("headers"), f"{path}: mcpServers.{name}.headers", name),
    )


def _texts(value: object, where: str, name: str) -> Mapping[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise DocumentError(f"'{where}' is no object", source=name)
    return {str(key): str(text) for key, text in value.items()}
