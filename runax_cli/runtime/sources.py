"""From the settings of sources to open sources in one catalog.

Knows which settings an adapter takes. Knows no document and no protocol; an adapter is imported when it is needed.
"""

import hashlib
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from adapters.base import (
    ApprovalMode,
    CallResult,
    Json,
    OnEvent,
    PageAddress,
    Pagination,
    PaginationStyle,
    ToolList,
    ToolSource,
    nobody,
)
from adapters.catalog import ToolCatalog
from adapters.clock import Clock
from adapters.errors import ConnectionFailed, DocumentError, MissingCredential, SourceError, TimedOut
from adapters.mcp.settings import McpSettings
from adapters.openapi.settings import ANY_SCHEME, OAuthClient, OpenApiSettings, ToolOverride
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
    """A source that could not be opened: it stands in the catalog's list of what is missing."""

    name: str
    error: SourceError

    async def list_tools(self) -> ToolList:
        """Raises what opening raised."""
        raise self.error

    async def call(
        self,
        tool: str,  # noqa: ARG002  the seam's signature
        arguments: Mapping[str, Json],  # noqa: ARG002
        page: PageAddress | None = None,  # noqa: ARG002
        *,
        observer: OnEvent = nobody,  # noqa: ARG002
    ) -> CallResult:
        """Raises what opening raised."""
        raise self.error

    async def aclose(self) -> None:
        """Nothing is open."""


@asynccontextmanager
async def open_catalog(configuration: Configuration, *, clock: Clock | None = None) -> AsyncIterator[ToolCatalog]:
    """Open every source and list its tools; leaving the block closes them. Sources wait by `clock`.

    Raises ConfigurationError where no source is configured or a document is of no use, SourceUnavailable where no
    source can be reached.
    """
    parts = configuration.sources()
    if not parts:
        raise ConfigurationError(
            "no source is configured. Set BASE_API_URL or OPENAPI_SPEC, give --openapi or --mcp, or see `runax demo`.",
            setting="BASE_API_URL",
        )
    async with AsyncExitStack() as opened:
        sources: list[ToolSource] = []
        for name, part in parts.items():
            sources.append(await open_source(name, part, configuration, clock=clock))
            opened.push_async_callback(sources[-1].aclose)
        with told():
            catalog = await ToolCatalog.load(
                sources,
                only=configuration.structure.tools,
                of_source={name: part.tools for name, part in parts.items()},
            )
        yield catalog


@contextmanager
def told() -> Iterator[None]:
    """Turn the failure of a source into the error that has an exit code."""
    try:
        yield
    except SourceError as error:
        raise as_runax_error(error) from error


def as_runax_error(error: SourceError) -> RunaxError:
    """A document or credential that is of no use is the configuration's fault; all else is the source's."""
    where = f" ({error.location})" if error.location and error.location not in str(error) else ""
    text = sentence(f"the source '{error.source}' cannot be used{where}: {error}")
    is_away = any(isinstance(cause, ConnectionFailed | TimedOut) for cause in (error, error.__cause__))
    if isinstance(error, DocumentError | MissingCredential) and not is_away:
        return ConfigurationError(f"{text} `runax config show --origin` says what is set.", setting=error.source)
    return SourceUnavailable(f"{text} Check its address and that it runs; `runax doctor` tells more.")


async def open_source(
    name: str,
    part: OpenApiSourceSettings | McpSourceSettings,
    configuration: Configuration,
    *,
    clock: Clock | None = None,
) -> ToolSource:
    """Open one source; one that fails is returned as an UnopenedSource."""
    try:
        if isinstance(part, OpenApiSourceSettings):
            from adapters.openapi.adapter import OpenApiSource

            return await OpenApiSource.open(openapi_settings(name, part, configuration), clock=clock)
        from adapters.mcp.adapter import McpSource

        return await McpSource.open(mcp_settings(name, part, configuration), clock=clock)
    except SourceError as error:
        return UnopenedSource(name, error)


def openapi_settings(name: str, part: OpenApiSourceSettings, configuration: Configuration) -> OpenApiSettings:
    """The adapter's settings of an OpenAPI source."""
    if part.document is None and part.base_url is None:
        raise ConfigurationError(
            f"the source '{name}' has neither 'document' nor 'base_url'. Give it one of them.",
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
        leave=ApprovalMode(operation.write),
    )


def _pagination(part: PaginationSettings) -> Pagination:
    return Pagination(
        convention=PaginationStyle(part.convention),
        position=part.position,
        size=part.size,
        metadata=part.metadata,
        metadata_value=part.metadata_value,
        totals=tuple(part.totals.items()),
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

    filled, owner = _filling(name, configuration), f"source {name}"
    return McpSettings(
        name=name,
        url=None if part.url is None else filled(part.url),
        command=tuple(map(filled, part.command)) or None,
        env={key: filled(value) for key, value in part.env.items()},
        headers={key: filled(value) for key, value in part.headers.items()},
        cwd=None if part.cwd is None else filled(part.cwd),
        log_folder=configuration.settings.log_dir,
        token=None if part.auth is None else configuration.credential(part.auth, owner=owner).get_secret_value(),
        timeout_s=configuration.settings.api_timeout,
        read_tools=frozenset(key for key, operation in part.operations.items() if operation.read),
        timeouts={key: operation.timeout for key, operation in part.operations.items() if operation.timeout},
        approval_modes={key: ApprovalMode(operation.write) for key, operation in part.operations.items()},
        paging={key: _pagination(one.pagination) for key, one in part.operations.items() if one.pagination},
        page_sizes={key: one.page_size for key, one in part.operations.items() if one.page_size},
    )


def _filling(name: str, configuration: Configuration) -> Callable[[str], str]:
    """What puts the values of variables into the texts of an entry. Raises DocumentError for one that is not set."""

    def value_of(variable: str) -> str | None:
        with suppress(ConfigurationError):
            return configuration.credential(variable, owner=f"source {name}").get_secret_value()
        return None

    def filled(text: str) -> str:
        try:
            return expanded(text, value_of)
        except KeyError as error:
            why = f"it names the variable '{error.args[0]}', which is not set. Set it in the environment or in '.env'"
            raise DocumentError(why, source=name) from None

    return filled


_INHERITED = ("HOME", "USER", "LOGNAME")
"""Variables of a person that every command is started with."""


def identities_of(configuration: Configuration) -> dict[str, str]:
    """The identity of every source, by its name."""
    return {name: _identity(part, configuration) for name, part in configuration.sources().items()}


def _identity(part: OpenApiSourceSettings | McpSourceSettings, configuration: Configuration) -> str:
    said = part.model_dump_json()
    digest = hashlib.sha256(said.encode())
    # An MCP server's environment and headers may name any variable, as may a file of such servers.
    inside = [name for name in configuration.variables if f"{{{name}" in said]
    for variable in sorted({*variables_of(part.auth), *inside}):
        digest.update(f"\0{variable}\0{_value(variable, configuration)}".encode())
    digest.update(_surroundings(part))
    return digest.hexdigest()


def _surroundings(part: OpenApiSourceSettings | McpSourceSettings) -> bytes:
    """What decides besides the settings: where a command runs and as whom, or the document that names the server."""
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
        return configuration.credential(variable, owner="identity").get_secret_value()
    except ConfigurationError:
        return ""
