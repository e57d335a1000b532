"""Settings of one OpenAPI source. Names that the document does not have are reported when tools are built."""

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
    """A value that is not shown by repr; `pydantic.SecretStr` is one."""

    def get_secret_value(self) -> str:
        """Return the value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthClient:
    """A client of the OAuth 2.0 client credentials grant (RFC 6749, section 4.4).

    `token_url` overrides the document's; `scope` and `audience` are sent as they are, if given.
    """

    client_id: Secret
    client_secret: Secret
    token_url: str | None = None
    scope: str | None = None
    audience: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOverride:
    """Settings of one operation that override what the document says; None keeps what was detected.

    `pagination` names parameters as the document spells them; `page_size` is the largest page to request;
    `timeout_s` limits one request; `description` replaces that of the document; `approval` says whether the operation
    may change data; `allows_slashes` says that values of its path parameters may contain slashes, which are encoded.
    """

    pagination: Pagination | None = None
    page_size: int | None = None
    parallel_safe: bool | None = None
    requires_fresh_input: bool | None = None
    timeout_s: float | None = None
    description: str | None = None
    approval: ApprovalMode = ApprovalMode.ASK
    allows_slashes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenApiSettings:
    """One OpenAPI source.

    `document` is a path or an http URL. `base_url` overrides the document's servers and is the origin that credentials
    are sent to. The keys of `credentials` are names of security schemes, or `"*"` for any scheme that an operation
    requires; basic credentials are `user:password`. `clients` have the same keys and fetch tokens; a credential of
    the same name takes precedence. `read_operations` and the keys of `overrides` are operationIds, tool names or
    `POST /search`. Built tools are cached in `cache_folder`; None disables the cache.
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
