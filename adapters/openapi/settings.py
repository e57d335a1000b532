"""What a user can say about one OpenAPI source.

Knows the shape of the settings and no document: a name that stands in no document is found out when tools are built.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from adapters.base import Leave, Pagination

ANY_SCHEME = "*"
NO_SECRETS: Mapping[str, "Secret"] = MappingProxyType({})
NO_OVERRIDES: Mapping[str, "ToolOverride"] = MappingProxyType({})


class Secret(Protocol):
    """A value that does not show itself; `pydantic.SecretStr` is one."""

    def get_secret_value(self) -> str:
        """The value."""


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
    leave: Leave = Leave.ASK


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenApiSettings:
    """One OpenAPI source.

    `document` is a path or an http URL. `base_url`, where given, goes before the document's servers and is the
    origin that credentials are sent to. `credentials` are by name of a security scheme, or `"*"` for whichever scheme
    an operation requires; basic credentials are `user:password`. `read_operations` and the keys of `overrides` are
    operationIds, tool names or `POST /search`.
    """

    name: str
    document: str
    base_url: str | None = None
    credentials: Mapping[str, Secret] = field(default_factory=lambda: NO_SECRETS, repr=False)
    read_operations: frozenset[str] = frozenset()
    overrides: Mapping[str, ToolOverride] = field(default_factory=lambda: NO_OVERRIDES)
    timeout_s: float = 30.0
    max_attempts: int = 3
    max_bytes: int = 256 * 2**20
