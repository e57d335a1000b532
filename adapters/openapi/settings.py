"""What a user can say about one OpenAPI source.

Knows the shape of the settings and no document: a name that stands in no document is found out when tools are built.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from adapters.base import ApprovalMode, Pagination

ANY_SCHEME = "*"
NO_SECRETS: Mapping[str, "Secret"] = MappingProxyType({})
NO_CLIENTS: Mapping[str, "OAuthClient"] = MappingProxyType({})
NO_OVERRIDES: Mapping[str, "ToolOverride"] = MappingProxyType({})


class Secret(Protocol):
    """A value that does not show itself; `pydantic.SecretStr` is one."""

    def get_secret_value(self) -> str:
        """The value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthClient:
    """A client of OAuth 2.0 that gets its tokens by its own credentials (RFC 6749, section 4.4).

    `token_url` goes before the document's; `scope` and `audience` are sent as they are where they are given.
    """

    client_id: Secret
    client_secret: Secret
    token_url: str | None = None
    scope: str | None = None
    audience: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOverride:
    """What the user knows better than the document about one operation; None leaves what was found.

    `pagination` names parameters as the document spells them; `page_size` is the largest page that may be asked for;
    `timeout_s` is how long one request may take, `leave` whether it may change data.
    """

    pagination: Pagination | None = None
    page_size: int | None = None
    parallel_safe: bool | None = None
    requires_fresh_input: bool | None = None
    timeout_s: float | None = None
    approval: ApprovalMode = ApprovalMode.ASK


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenApiSettings:
    """One OpenAPI source.

    `document` is a path or an http URL. `base_url`, where given, goes before the document's servers and is the
    origin that credentials are sent to. `credentials` are by name of a security scheme, or `"*"` for whichever scheme
    an operation requires; basic credentials are `user:password`. `clients` are by the same names
    and get tokens; a credential of the same name goes first. `read_operations` and the keys of `overrides` are
    operationIds, tool names or `POST /search`. In `cache_folder` built tools are kept for the next time; None keeps
    none.
    """

    name: str
    document: str
    base_url: str | None = None
    credentials: Mapping[str, Secret] = field(default_factory=lambda: NO_SECRETS, repr=False)
    clients: Mapping[str, OAuthClient] = field(default_factory=lambda: NO_CLIENTS, repr=False)
    read_operations: frozenset[str] = frozenset()
    overrides: Mapping[str, ToolOverride] = field(default_factory=lambda: NO_OVERRIDES)
    timeout_s: float = 30.0
    max_attempts: int = 3
    max_bytes: int = 256 * 2**20
    cache_folder: Path | None = None
