"""Identities of sources: what tells one source, as one user may see it, from any other.

Stored pages are keyed by it, so that two accounts, or two servers of one name, never share a page. Knows settings, and
reads the local document that alone says where a server is; what it gives is a digest, from which no secret can be read.
"""

import hashlib
import os
from pathlib import Path

from runax_cli.errors import ConfigurationError
from runax_cli.settings_files import McpPart, OpenApiPart, variables_of
from runax_cli.settings_load import Configuration

_INHERITED = ("HOME", "USER", "LOGNAME")
"""Variables of a person that every command is started with."""


def identities_of(configuration: Configuration) -> dict[str, str]:
    """The identity of every source, by its name."""
    return {name: _identity(part, configuration) for name, part in configuration.sources().items()}


def _identity(part: OpenApiPart | McpPart, configuration: Configuration) -> str:
    said = part.model_dump_json()
    digest = hashlib.sha256(said.encode())
    # An MCP server's environment and headers may name any variable, as may a file of such servers.
    inside = [name for name in configuration.variables if f"{{{name}" in said]
    for variable in sorted({*variables_of(part.auth), *inside}):
        digest.update(f"\0{variable}\0{_value(variable, configuration)}".encode())
    digest.update(_surroundings(part))
    return digest.hexdigest()


def _surroundings(part: OpenApiPart | McpPart) -> bytes:
    """What decides besides the settings: where a command runs and as whom, or the document that names the server."""
    if isinstance(part, McpPart):
        return repr((Path.cwd(), *map(os.environ.get, _INHERITED))).encode() if part.command else b""
    if part.base_url is not None or part.document is None or "://" in part.document:
        return b""
    try:
        return hashlib.sha256(Path(part.document).read_bytes()).digest()
    except OSError:
        return b""


def _value(variable: str, configuration: Configuration) -> str:
    try:
        return configuration.credential(variable, owner="identity").get_secret_value()
    except ConfigurationError:
        return ""
