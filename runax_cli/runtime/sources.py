"""Opens the configured sources and combines their tools in one catalog.

Adapters are imported when they are needed, since their libraries are slow to import.
"""

import hashlib
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from adapters.base import ApprovalMode, CallResult, Json, PageAddress, Pagination, PaginationStyle, ToolList, ToolSource
from adapters.catalog import ToolCatalog
from adapters.clock import Clock
from adapters.errors import ConnectionFailed, DocumentError, MissingCredential, SourceError, TimedOut
from adapters.mcp.settings import McpSettings
from adapters.openapi.settings import ANY_SCHEME, OAuthClient, OpenApiSettings, ToolOverride
from adapters.source_events import OnEvent, ignore_events
from runax_cli.core.errors import ConfigurationError, RunaxError, SourceUnavailable, sentence
from runax_cli.core.paths import cache_folder
from runax_cli.settings.file_schema import (
    McpSourceSettings,
    OAuthClientSettings,
    OpenApiSourceSettings,
    OperationSettings,
    PaginationSettings,
    variables_of,
)
from runax_cli.settings.loader import Configuration
from runax_cli.settings.mcp_servers import expanded


@dataclass(frozen=True, slots=True)
class UnopenedSource:
    """A source that failed to open; the catalog lists it as skipped."""

    name: str
    error: SourceError

    async def list_tools(self) -> ToolList:
        """Raises the error of opening."""
        raise self.error

    async def call(
        self,
        tool: str,  # noqa: ARG002  the seam's signature
        arguments: Mapping[str, Json],  # noqa: ARG002
        page: PageAddress | None = None,  # noqa: ARG002
        *,
        observer: OnEvent = ignore_events,  # noqa: ARG002
    ) -> CallResult:
        """Raises the error of opening."""
        raise self.error

    async def aclose(self) -> None:
        """Nothing to close."""


@asynccontextmanager
async def open_catalog(configuration: Configuration, *, clock: Clock | None = None) -> AsyncIterator[ToolCatalog]:
    """Open every source and list its tools; leaving the block closes them.

    Raises ConfigurationError if no source is configured or its document is invalid, and SourceUnavailable if no
    source can be reached.
    """
    parts = configuration.sources()
    if not parts:
        raise ConfigurationError(
            "no source is configured. Set BASE_API_URL or OPENAPI_SPEC, use --openapi or --mcp, or try `runax demo`.",
            setting="BASE_API_URL",
        )
    async with AsyncExitStack() as opened:
        sources: list[ToolSource] = []
        for name, part in parts.items():
            sources.append(await open_source(name, part, configuration, clock=clock))
            opened.push_async_callback(sources[-1].aclose)
        with source_errors_as_runax():
            catalog = await ToolCatalog.load(
                sources,
                only=configuration.structure.tools,
                source_globs={name: part.tools for name, part in parts.items()},
            )
        yield catalog


@contextmanager
def source_errors_as_runax() -> Iterator[None]:
    """Convert the SourceError of a block to a RunaxError, which has an exit code."""
    try:
        yield
    except SourceError as error:
        raise as_runax_error(error) from error


def as_runax_error(error: SourceError) -> RunaxError:
    """A ConfigurationError for an invalid document or a missing credential, else SourceUnavailable."""
    where = f" ({error.location})" if error.location and error.location not in str(error) else ""
    text = sentence(f"source '{error.source}' failed{where}: {error}")
    is_unreachable = any(isinstance(cause, ConnectionFailed | TimedOut) for cause in (error, error.__cause__))
    if isinstance(error, DocumentError | MissingCredential) and not is_unreachable:
        return ConfigurationError(f"{text} `runax config show --origin` shows the settings.", setting=error.source)
    return SourceUnavailable(f"{text} Check its address and that it is running; `runax doctor` shows details.")


async def open_source(
    name: str,
    part: OpenApiSourceSettings | McpSourceSettings,
    configuration: Configuration,
    *,
    clock: Clock | None = None,
) -> ToolSource:
    """Open one source; a failure returns an UnopenedSource."""
    try:
        if isinstance(part, OpenApiSourceSettings):
            from adapters.openapi.adapter import OpenApiSource

            return await OpenApiSource.open(openapi_settings(name, part, configuration), clock=clock)
        from adapters.mcp.adapter import McpSource

        return await McpSource.open(mcp_settings(name, part, configuration), clock=clock)
    except SourceError as error:
        return UnopenedSource(name, error)


def openapi_settings(name: str, part: OpenApiSourceSettings, configuration: Configuration) -> OpenApiSettings:
    """The adapter settings of an OpenAPI source."""
    if part.document is None and part.base_url is None:
        raise ConfigurationError(
            f"source '{name}' has neither 'document' nor 'base_url'. Set one of them.",
            setting=f"sources.{name}",
        )
    document = part.document or f"{(part.base_url or '').rstrip('/')}/openapi.json"
    return OpenApiSettings(
        name=name,
        document=document,
        base_url=part.base_url,
        credentials=_credentials(name, part, configuration),
        clients=_clients(name, part, configuration),
        read_operations=frozenset(key for key, operation in part.operations.items() if operation.read),
        overrides={key: _override(operation) for key, operation in part.operations.items()},
        timeout_s=configuration.settings.api_timeout,
        cache_folder=cache_folder() / "documents",
    )


def _credentials(name: str, part: OpenApiSourceSettings, configuration: Configuration) -> dict[str, SecretStr]:
    named: Mapping[str, str | OAuthClientSettings] = (
        {ANY_SCHEME: part.auth} if isinstance(part.auth, str) else part.auth or {}
    )
    owner = f"source {name}"
    return {
        scheme: configuration.credential(variable, owner=owner)
        for scheme, variable in named.items()
        if isinstance(variable, str)
    }


def _clients(name: str, part: OpenApiSourceSettings, configuration: Configuration) -> dict[str, OAuthClient]:
    named, owner = part.auth if isinstance(part.auth, dict) else {}, f"source {name}"
    return {
        scheme: OAuthClient(
            client_id=configuration.credential(client.client_id, owner=owner),
            client_secret=configuration.credential(client.client_secret, owner=owner),
            token_url=client.token_url,
            scope=client.scope,
            audience=client.audience,
        )
        for scheme, client in named.items()
        if isinstance(client, OAuthClientSettings)
    }


def _override(operation: OperationSettings) -> ToolOverride:
    return ToolOverride(
        pagination=None if operation.pagination is None else _pagination(operation.pagination),
        page_size=operation.page_size,
        parallel_safe=operation.parallel_safe,
        requires_fresh_input=operation.requires_fresh_input,
        timeout_s=operation.timeout,
        description=operation.description,
        approval=ApprovalMode(operation.write),
        allows_slashes=operation.slashes,
    )


def _pagination(part: PaginationSettings) -> Pagination:
    return Pagination(
        convention=PaginationStyle(part.convention),
        position=part.position,
        size=part.size,
        metadata=part.metadata,
        metadata_value=part.metadata_value,
        total_flags=tuple(part.totals.items()),
        count_operation=part.count,
        next_operation=part.next,
        is_total_by_head=part.total_by_head,
        first=int(part.convention == "page") if part.first is None else part.first,
        min_size=part.min_size,
        max_size=part.max_size,
        default_size=part.default_size,
        sizes=tuple(sorted(part.sizes)),
        window=part.window,
        key=part.key,
        next_path=part.next_path,
        total_path=part.total_path,
        is_declared=True,
        other_hidden=part.hidden,
    )


def mcp_settings(name: str, part: McpSourceSettings, configuration: Configuration) -> McpSettings:
    """The adapter's settings of an MCP server, with the values of the variables that its entry names.

    Raises DocumentError for an entry that is of no use, so that its server alone is.
    """
    if part.flaw is not None:
        raise DocumentError(part.flaw, source=name)

    expand, owner = _variable_expander(name, configuration), f"source {name}"
    return McpSettings(
        name=name,
        url=None if part.url is None else expand(part.url),
        command=tuple(map(expand, part.command)) or None,
        env={key: expand(value) for key, value in part.env.items()},
        headers={key: expand(value) for key, value in part.headers.items()},
        cwd=None if part.cwd is None else expand(part.cwd),
        log_folder=configuration.settings.log_dir,
        token=None if part.auth is None else configuration.credential(part.auth, owner=owner).get_secret_value(),
        timeout_s=configuration.settings.api_timeout,
        read_tools=frozenset(key for key, operation in part.operations.items() if operation.read),
        timeouts={key: operation.timeout for key, operation in part.operations.items() if operation.timeout},
        approval_modes={key: ApprovalMode(operation.write) for key, operation in part.operations.items()},
        paging={key: _pagination(one.pagination) for key, one in part.operations.items() if one.pagination},
        descriptions={key: one.description for key, one in part.operations.items() if one.description},
        page_sizes={key: one.page_size for key, one in part.operations.items() if one.page_size},
    )


def _variable_expander(name: str, configuration: Configuration) -> Callable[[str], str]:
    """A function that replaces the variables in a text. It raises DocumentError for a variable that is not set."""

    def value_of(variable: str) -> str | None:
        with suppress(ConfigurationError):
            return configuration.credential(variable, owner=f"source {name}").get_secret_value()
        return None

    def expand(text: str) -> str:
        try:
            return expanded(text, value_of)
        except KeyError as error:
            why = f"the variable '{error.args[0]}' is not set. Set it in the environment or in '.env'"
            raise DocumentError(why, source=name) from None

    return expand


_INHERITED = ("HOME", "USER", "LOGNAME")
"""Variables of the user that are passed to every command."""


def source_fingerprints(configuration: Configuration) -> dict[str, str]:
    """A cache key of every source, by its name: settings, credentials and environment."""
    return {name: _fingerprint(part, configuration) for name, part in configuration.sources().items()}


def _fingerprint(part: OpenApiSourceSettings | McpSourceSettings, configuration: Configuration) -> str:
    settings = part.model_dump_json()
    digest = hashlib.sha256(settings.encode())
    # The environment and the headers of an MCP server may refer to any variable.
    referenced = [name for name in configuration.variables if f"{{{name}" in settings]
    for variable in sorted({*variables_of(part.auth), *referenced}):
        digest.update(f"\0{variable}\0{_value(variable, configuration)}".encode())
    digest.update(_environment_fingerprint(part))
    return digest.hexdigest()


def _environment_fingerprint(part: OpenApiSourceSettings | McpSourceSettings) -> bytes:
    """What else identifies a source: folder and user of a command, or the content of a local document."""
    if isinstance(part, McpSourceSettings):
        return repr((Path.cwd(), *map(os.environ.get, _INHERITED))).encode() if part.command else b""
    if part.base_url is not None or part.document is None or "://" in part.document:
        return b""
    try:
        return hashlib.sha256(Path(part.document).read_bytes()).digest()
    except OSError:
        return b""


def _value(variable: str, configuration: Configuration) -> str:
    try:
        return configuration.credential(variable, owner="fingerprint").get_secret_value()
    except ConfigurationError:
        return ""
