"""What stands in a settings file: sources, models by role, profiles, tool filters, overrides of single operations.

Knows the shape of `runax.yaml` and of the user's file, and reads them. Knows nothing of the
order in which files and environment count, and opens no connection.
"""

import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from adapters.mcp.content.lenient_json import LenientParseError, parse_lenient
from runax_cli.core.errors import ConfigurationError, sentence
from runax_cli.core.validation_messages import misfit, place_of, shown_at
from runax_cli.settings.settings import Count, ModelApi, Seconds, Url

RoleName: TypeAlias = Literal["planner", "agent", "reducer", "labeller", "summarizer"]
Globs: TypeAlias = tuple[str, ...]
_COMMENTS = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
Templated: TypeAlias = Annotated[str, Field(pattern=r"\$\{")]


class SettingsModel(BaseModel):
    """A part of a settings file: frozen, and without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PaginationSettings(SettingsModel):
    """How one operation pages, where the document does not tell or is wrong.

    Names are those of the operation's parameters as the document spells them; `page/limit` is the member `limit` of
    the object `page`. `totals` are parameters and the values by which a page tells the total as well. `count` and
    `next` name other operations: one that tells the total, one that gives the further pages. `next_path`,
    `total_path` and `key` are dotted paths, the last one inside a record. `window` is the number of records that can
    be reached at most. `first` is the first position: 1 of pages, else 0. `hidden` are further parameters that the
    model is not to see.
    """

    convention: Literal["single", "offset", "page", "cursor", "next_url", "link_header", "keyset", "range"]
    position: str | None = None
    size: str | None = None
    first: int | None = None
    min_size: Annotated[int, Field(ge=0)] | None = None
    max_size: Count | None = None
    default_size: Count | None = None
    sizes: tuple[Count, ...] = ()
    window: Count | None = None
    key: str | None = None
    next_path: str | None = None
    total_path: str | None = None
    metadata: str | None = None
    metadata_value: Any = True
    totals: dict[str, Any] = Field(default_factory=dict)
    count: str | None = None
    next: str | None = None
    total_by_head: bool = False
    hidden: tuple[str, ...] = ()


class OperationSettings(SettingsModel):
    """Overrides of one operation. `read: true` marks a POST that only reads.

    `timeout` is how long one request may take, in seconds. `write` says of an operation that changes data whether it
    may: after asking, always, or never (whatever the command line says).
    """

    pagination: PaginationSettings | None = None
    read: bool = False
    parallel_safe: bool | None = None
    requires_fresh_input: bool | None = None
    page_size: Count | None = None
    timeout: Seconds | None = None
    write: Literal["ask", "allow", "deny"] = "ask"


class OAuthClientSettings(SettingsModel):
    """A client of OAuth 2.0: `client_id` and `client_secret` name the variables that hold them.

    `token_url` is needed where the document has none; `scope` and `audience` are sent where they are given.
    """

    client_id: str
    client_secret: str
    token_url: Url | None = None
    scope: str | None = None
    audience: str | None = None


Auth: TypeAlias = str | dict[str, str | OAuthClientSettings] | None


class OpenApiSourceSettings(SettingsModel):
    """An OpenAPI source. `auth` names an environment variable, or for each security scheme a variable or a client.

    An entry named `api` adds to the source that `BASE_API_URL` and `OPENAPI_SPEC` describe.
    """

    kind: Literal["openapi"]
    document: str | None = None
    base_url: Url | None = None
    auth: Auth = None
    tools: Globs = ()
    operations: dict[str, OperationSettings] = Field(default_factory=dict)


def _split_command(value: Any) -> Any:
    return shlex.split(value) if isinstance(value, str) else value


class McpSourceSettings(SettingsModel):
    """An MCP server: its `url`, or the `command` that starts it.

    `url`, `command`, `env` and `headers` may name variables as `${NAME}` or `${NAME:-default}`; `auth` names the
    variable that holds a bearer token, `cwd` is where the command is started. `flaw` says why an entry of an
    `mcpServers` file is of no use.
    """

    kind: Literal["mcp"]
    url: Url | Templated | None = None
    command: Annotated[tuple[str, ...], BeforeValidator(_split_command)] = ()
    env: dict[str, str] = Field(default_factory=dict)
    headers: dict[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    flaw: str | None = Field(default=None, exclude=True)
    auth: str | None = None
    tools: Globs = ()
    operations: dict[str, OperationSettings] = Field(default_factory=dict)


SourcePart: TypeAlias = Annotated[OpenApiSourceSettings | McpSourceSettings, Field(discriminator="kind")]


class ModelSettings(SettingsModel):
    """One role's own model; what is not given is as for the main model. `key_variable` names a variable."""

    name: str | None = None
    base_url: Url | None = None
    key_variable: str | None = None
    api: ModelApi | None = None
    max_context: Annotated[int, Field(ge=2048)] | None = None
    context_utilization: Annotated[float, Field(gt=0, le=1)] | None = None
    temperature: float | None = None
    top_p: float | None = None
    timeout: Seconds | None = None


class PriceSettings(SettingsModel):
    """What a model costs, in US dollars a million tokens: input, output, and input that the endpoint had cached."""

    input: Annotated[float, Field(ge=0)]
    output: Annotated[float, Field(ge=0)]
    cached: Annotated[float, Field(ge=0)] | None = None


class SettingsFile(SettingsModel):
    """The parts of a settings file that have no name in the environment."""

    sources: dict[str, SourcePart] = Field(default_factory=dict)
    models: dict[RoleName, ModelSettings] = Field(default_factory=dict)
    prices: dict[str, PriceSettings] = Field(default_factory=dict)
    tools: Globs = ()


_PARTS = (
    OpenApiSourceSettings,
    McpSourceSettings,
    ModelSettings,
    PriceSettings,
    OperationSettings,
    PaginationSettings,
    OAuthClientSettings,
)
STRUCTURE_KEYS = frozenset(SettingsFile.model_fields)
FILE_ONLY_KEYS = frozenset({"limits", "profiles", "profile", "mcp_servers"})


def variables_of(auth: Auth) -> tuple[str, ...]:
    """The variables that an `auth` entry names."""
    if auth is None or isinstance(auth, str):
        return (auth,) if auth else ()
    clients = [one for one in auth.values() if isinstance(one, OAuthClientSettings)]
    return (*secret_variables_of(auth), *(client.client_id for client in clients))


def secret_variables_of(auth: Auth) -> tuple[str, ...]:
    """Those of the variables whose values must never be shown: a client's name is no secret (RFC 6749, 2.2)."""
    if not isinstance(auth, dict):
        return variables_of(auth)
    return tuple(one.client_secret if isinstance(one, OAuthClientSettings) else one for one in auth.values())


def read_mapping(path: Path) -> dict[str, Any]:
    """The mapping in a YAML or JSON file. Raises ConfigurationError naming file, place and next step."""
    try:
        loaded = _loaded(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise _unreadable(path, str(error)) from error
    except yaml.YAMLError as error:
        raise _unreadable(path, " ".join(str(error).split())) from error
    except RecursionError as error:
        raise _unreadable(path, "it is nested too deeply") from error
    if loaded is None:
        return {}
    if not isinstance(loaded, dict) or not all(isinstance(key, str) for key in loaded):
        raise _unreadable(path, "it is no mapping of names to values")
    return loaded


def _loaded(text: str) -> Any:
    """The value of a text of YAML or JSON; the latter with comments and commas as editors leave them in it.

    YAML knows neither its comments nor its tabs, and would take `true // why` for a text.
    """
    if text.lstrip().startswith(("{", "//", "/*")):
        with suppress(LenientParseError):
            value, end = parse_lenient(text)
            if _COMMENTS.fullmatch(text, end):
                return value
    return yaml.safe_load(text)


def _unreadable(path: Path, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"the settings file '{path}' cannot be used: {why}. Mend it, or name another one with --config.",
        setting=str(path),
    )


def structure_of(mapping: Mapping[str, Any], *, path: Path) -> SettingsFile:
    """Sources, models and filters of a settings file. Documents with relative paths are looked for beside it."""
    try:
        structure = SettingsFile.model_validate({k: v for k, v in mapping.items() if k in STRUCTURE_KEYS})
    except ValidationError as error:
        first = error.errors()[0]
        place, known = place_of(first["loc"]), [name for part in _PARTS for name in part.model_fields]
        shown = shown_at(first["loc"], first["input"])
        raise ConfigurationError(
            sentence(f"'{place}' in '{path}' is {shown:.80}: {misfit(first, known=known)}")
            + " Correct the entry; the 'runax.yaml' of `runax config init`, in an empty folder, shows the shapes.",
            setting=place,
        ) from error
    return structure.model_copy(update={"sources": {k: _placed(v, path.parent) for k, v in structure.sources.items()}})


def _placed(
    source: OpenApiSourceSettings | McpSourceSettings, folder: Path
) -> OpenApiSourceSettings | McpSourceSettings:
    if isinstance(source, McpSourceSettings) or source.document is None or "://" in source.document:
        return source
    return source.model_copy(update={"document": str(folder / source.document)})
