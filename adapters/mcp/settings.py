"""Settings of one MCP server, as the adapter needs them.

This module imports no SDK, so that reading settings stays cheap.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from adapters.base import ApprovalMode, Pagination
from adapters.errors import DocumentError


def _no_strings() -> Mapping[str, str]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class McpSettings:
    """One server, reached by `url` (Streamable HTTP) or started by `command` (stdio).

    `env` is added to the few variables that a server process inherits, and `cwd` is its working directory. `token` is
    sent as `Authorization: Bearer` to `url` only, together with `headers`. `timeout_s` limits each step: connecting,
    listing, a call, closing. `max_attempts` includes the first attempt and applies to tools that only read. `max_bytes`
    limits one response or event over HTTP, after decompression, and one line over stdio.

    The mappings by tool name override what the server declares: `timeouts`, `approval_modes` of tools that may change
    data, `descriptions`, `paging` and the maximum `page_sizes`. `read_tools` are tools that only read, whatever their
    names and hints say. The server's stderr is written to `mcp_<name>.log` in `log_folder`, if one is given.
    """

    name: str
    url: str | None = None
    command: tuple[str, ...] | None = None
    env: Mapping[str, str] = field(default_factory=_no_strings, repr=False)
    token: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=_no_strings, repr=False)
    timeout_s: float = 30.0
    timeouts: Mapping[str, float] = field(default_factory=dict)
    approval_modes: Mapping[str, ApprovalMode] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)
    paging: Mapping[str, Pagination] = field(default_factory=dict)
    page_sizes: Mapping[str, int] = field(default_factory=dict)
    max_attempts: int = 2
    max_bytes: int = 64 * 2**20
    read_tools: frozenset[str] = frozenset()
    cwd: str | None = None
    log_folder: Path | None = None

    @property
    def file_name(self) -> str:
        """The name in characters that every file system accepts."""
        return re.sub(r"[^A-Za-z0-9_.-]", "_", self.name)[:60]

    def __post_init__(self) -> None:
        if (self.url is None) == (not self.command):
            raise DocumentError(
                f"MCP server '{self.name}' needs either a url or a command; give one of them", source=self.name
            )
