"""The schema of `runax.yaml` and of the user's settings file: sources, models, prices, tools, operations."""

import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, ValidationError

from adapters.mcp.content.lenient_json import LenientParseError, parse_lenient
from runax_cli.core.errors import ConfigurationError, sentence
from runax_cli.core.validation_messages import describe_error, masked_value, setting_path
from runax_cli.settings.settings import Count, ModelApi, Seconds, Url

RoleName: TypeAlias = Literal["planner", "agent", "reducer", "labeller", "summarizer", "reviewer"]
Globs: TypeAlias = tuple[str, ...]
_COMMENTS = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
Templated: TypeAlias = Annotated[str, Field(pattern=r"\$\{")]


class SettingsModel(BaseModel):
    """An entry of a settings file; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PaginationSettings(SettingsModel):
    """The pagination of one operation, if the document does not declare it or is wrong.

    Names are those of the operation's parameters in the document; `page/limit` is the member `limit` of the object
    `page`. `totals` are parameters, with their values, that add the total to a page. `count` and `next` name other
    operations: one returns the total, the other the further pages. `next_path`, `total_path` and `key` are dotted
    paths; `key` is relative to a record. `window` is the maximum number of records that can be reached. `first` is
    the first position, by default 1 for page numbers and 0 otherwise. `hidden` are further parameters to hide from
    the model.
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

    `description` replaces what the source says about the operation, for the model and the search of tools.
    `timeout` is the timeout of one request, in seconds. `write` says if an operation that changes data needs
    approval (`ask`), is allowed, or is denied, which also overrides `--allow-writes`. `slashes: true` allows slashes in
    the values of path parameters, which are encoded.
    """

    pagination: PaginationSettings | None = None
    description: str | None = Field(default=None, min_length=1)
    read: bool = False
    parallel_safe: bool | None = None
    requires_fresh_input: bool | None = None
    page_size: Count | None = None
    timeout: Seconds | None = None
    write: Literal["ask", "allow", "deny"] = "ask"
    slashes: bool = False


class OAuthClientSettings(SettingsModel):
    """An OAuth 2.0 client: `client_id` and `client_secret` name the variables that hold them.

    `token_url` is required if the document has none; `scope` and `audience` are sent if they are set.
    """

    client_id: str
    client_secret: str
    token_url: Url | None = None
    scope: str | None = None
    audience: str | None = None


def _auth_form(value: Any) -> str:
    """The member of a union of `auth` that a value belongs to; the tags in brackets are no part of a setting's path."""
    return "[by name]" if isinstance(value, dict | OAuthClientSettings) else "[variable]"


_Variable: TypeAlias = Annotated[str, Tag("[variable]")]
_Credential: TypeAlias = Annotated[
    _Variable | Annotated[OAuthClientSettings, Tag("[by name]")], Discriminator(_auth_form)
]
Auth: TypeAlias = (
    Annotated[_Variable | Annotated[dict[str, _Credential], Tag("[by name]")], Discriminator(_auth_form)] | None
)


class OpenApiSourceSettings(SettingsModel):
    """An OpenAPI source. `auth` names an environment variable, or a variable or a client per security scheme.

    An entry named `api` extends the source of `BASE_API_URL` and `OPENAPI_SPEC`.
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

    `url`, `command`, `env` and `headers` may refer to variables as `${NAME}` or `${NAME:-default}`; `auth` names the
    variable of a bearer token, `cwd` is the working directory of the command. `flaw` is the error of an invalid
    entry of an `mcpServers` file.
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
    """The model of one role; unset members default to those of the main model. `key_variable` names a variable."""

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
    """The price of a model in US dollars per million tokens: input, output, and cached input."""

    input: Annotated[float, Field(ge=0)]
    output: Annotated[float, Field(ge=0)]
    cached: Annotated[float, Field(ge=0)] | None = None


class SettingsFile(SettingsModel):
    """The entries of a settings file that have no environment variable."""

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
    """The variables of an `auth` entry that hold secrets; a client id is none (RFC 6749, 2.2)."""
    if not isinstance(auth, dict):
        return variables_of(auth)
    return tuple(one.client_secret if isinstance(one, OAuthClientSettings) else one for one in auth.values())


def read_mapping(path: Path) -> dict[str, Any]:
    """Read a mapping from a YAML or JSON file. Raises ConfigurationError."""
    try:
        content = _parse(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise _unreadable(path, str(error)) from error
    except yaml.YAMLError as error:
        raise _unreadable(path, " ".join(str(error).split())) from error
    except RecursionError as error:
        raise _unreadable(path, "it is nested too deeply") from error
    if content is None:
        return {}
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        raise _unreadable(path, "it must be a mapping of names to values")
    return content


def _parse(text: str) -> Any:
    """Parse YAML or JSON; JSON may have comments and trailing commas.

    A YAML parser would reject the comments and tabs of JSON, and read `true // why` as a string.
    """
    if text.lstrip().startswith(("{", "//", "/*")):
        with suppress(LenientParseError):
            value, end = parse_lenient(text)
            if _COMMENTS.fullmatch(text, end):
                return value
    return yaml.safe_load(text)


def _unreadable(path: Path, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"invalid settings file '{path}': {why}. Fix it, or use another one with --config.",
        setting=str(path),
    )


def structure_of(mapping: Mapping[str, Any], *, path: Path) -> SettingsFile:
    """Sources, models and tool filters of a settings file. Document paths are relative to its folder."""
    try:
        structure = SettingsFile.model_validate({k: v for k, v in mapping.items() if k in STRUCTURE_KEYS})
    except ValidationError as error:
        first = error.errors()[0]
        place, known = setting_path(first["loc"]), [name for part in _PARTS for name in part.model_fields]
        value = masked_value(first["loc"], first["input"])
        raise ConfigurationError(
            sentence(f"'{place}' in '{path}' is {value:.80}: {describe_error(first, known_keys=known)}")
            + " `runax config init` in an empty folder writes an example 'runax.yaml'.",
            setting=place,
        ) from error
    return structure.model_copy(
        update={"sources": {k: _resolve_document(v, path.parent) for k, v in structure.sources.items()}}
    )


def _resolve_document(
    source: OpenApiSourceSettings | McpSourceSettings, folder: Path
) -> OpenApiSourceSettings | McpSourceSettings:
    if isinstance(source, McpSourceSettings) or source.document is None or "://" in source.document:
        return source
    return source.model_copy(update={"document": str(folder / source.document)})
