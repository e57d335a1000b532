"""Loads the configuration and records the origin of each value.

Order of precedence: command line, environment, `.env`, `runax.yaml`, the user's settings file, default.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from dotenv import dotenv_values
from pydantic import SecretStr, ValidationError
from pydantic_settings import DotEnvSettingsSource, EnvSettingsSource

from adapters.secret_forms import argument_secrets, url_secrets
from runax_cli.core.errors import ConfigurationError, UsageError
from runax_cli.core.paths import config_folder, parents_to_repo_root
from runax_cli.core.validation_messages import describe_error
from runax_cli.settings.file_schema import (
    FILE_ONLY_KEYS,
    STRUCTURE_KEYS,
    Globs,
    McpSourceSettings,
    OAuthClientSettings,
    OpenApiSourceSettings,
    SettingsFile,
    read_mapping,
    secret_variables_of,
    structure_of,
)
from runax_cli.settings.limits import LIMIT_SETTINGS, TENANT
from runax_cli.settings.mcp_servers import has_mcp_servers, mcp_servers, secret_variables
from runax_cli.settings.settings import FIELDS, MASK, SECRETS, Settings, default_of, name_of

_SECRET_NAME = re.compile("auth|token|secret|passw|cookie|api.?key|credential", re.IGNORECASE)
_SCHEMES = ("bearer ", "basic ")
_REFERENCE = "${"


def literal_secrets(part: OpenApiSourceSettings | McpSourceSettings) -> list[str]:
    """The secrets written literally into a source entry, as opposed to references to variables."""
    found = [secret for url in _urls(part) for secret in url_secrets(url)]
    if isinstance(part, McpSourceSettings):
        found += argument_secrets(part.command)
        found += [value for name, value in (*part.env.items(), *part.headers.items()) if _is_secret(name, value)]
        found += [value.partition(" ")[2] for value in found if value.lower().startswith(_SCHEMES)]
    return found


def _is_secret(name: str, value: str) -> bool:
    return _SECRET_NAME.search(name) is not None and _REFERENCE not in value


def _urls(part: OpenApiSourceSettings | McpSourceSettings) -> Iterator[str]:
    urls: tuple[str | None, ...] = (
        (part.url,) if isinstance(part, McpSourceSettings) else (part.base_url, part.document)
    )
    if isinstance(part, OpenApiSourceSettings) and isinstance(part.auth, dict):
        urls += tuple(one.token_url for one in part.auth.values() if isinstance(one, OAuthClientSettings))
    return (url for url in urls if url and "://" in url)


PROJECT_FILE = "runax.yaml"
USER_FILE = "config.yaml"
DEFAULT_ORIGIN = "default"
FLAGS = {
    "openapi_spec": "--openapi",
    "base_api_url": "--base-url",
    "mcp_url": "--mcp",
    "llm_name": "--model",
    "review": "--review",
    TENANT: "--tenant",
    "cache_max_age_hours": "--no-cache",
} | {setting.field: setting.flag for setting in LIMIT_SETTINGS.values()}
_TYPO_CUTOFF = 0.85
OPENAPI_FIELDS = ("openapi_spec", "base_api_url")


@dataclass(frozen=True, slots=True)
class SettingsLayer:
    """The values of one origin, by field."""

    origin: str
    values: Mapping[str, Any] = field(repr=False)
    structure: SettingsFile = field(default_factory=SettingsFile)


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """The command line that a configuration was loaded for, from which it can be loaded again.

    `flags` are values by field, `folder` is where the search for settings files starts.
    """

    flags: Mapping[str, Any] = field(default_factory=dict, repr=False)
    config: Path | None = None
    tools: Globs = ()
    folder: Path = Path()

    def stored(self) -> dict[str, Any]:
        """The invocation as it is stored with a run, without secrets."""
        flags = {name: value for name, value in self.flags.items() if name not in SECRETS}
        config = None if self.config is None else str(self.config.resolve())
        return {"flags": flags, "config": config, "tools": list(self.tools), "folder": str(self.folder)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The effective settings, their origins, and the variables that `auth` entries may name.

    `flags` are the fields set on the command line; a source given there is the only one. `warnings` are probable
    mistakes that stop nothing.
    """

    settings: Settings
    structure: SettingsFile
    origins: Mapping[str, str]
    flags: frozenset[str] = frozenset()
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    invocation: Invocation = field(default_factory=Invocation)
    warnings: tuple[str, ...] = ()

    def sources(self) -> dict[str, OpenApiSourceSettings | McpSourceSettings]:
        """Every source by name: those of the files, `api` of BASE_API_URL and OPENAPI_SPEC, and `mcp` of MCP_URL."""
        is_openapi_flagged = bool(self.flags & set(OPENAPI_FIELDS))
        is_mcp_flagged = "mcp_url" in self.flags
        is_any_flagged = is_openapi_flagged or is_mcp_flagged
        found = {} if is_any_flagged else dict(self.structure.sources)
        if (is_openapi_flagged or not is_any_flagged) and (api := self._api_source()) is not None:
            found["api"] = api
        if (is_mcp_flagged or not is_any_flagged) and (server := self._mcp_source()) is not None:
            found["mcp"] = server
        return found

    def _api_source(self) -> OpenApiSourceSettings | None:
        settings = self.settings
        if settings.openapi_spec is None and settings.base_api_url is None:
            return None
        named = self.structure.sources.get("api")
        base = named if isinstance(named, OpenApiSourceSettings) else OpenApiSourceSettings(kind="openapi")
        auth = "BASE_API_TOKEN" if settings.base_api_token else base.auth
        given = {"document": settings.openapi_spec, "base_url": settings.base_api_url, "auth": auth}
        return base.model_copy(update={key: value for key, value in given.items() if value is not None})

    def _mcp_source(self) -> McpSourceSettings | None:
        address = self.settings.mcp_url
        if address is None:
            return None
        auth = "MCP_TOKEN" if self.settings.mcp_token else None
        if address.startswith(("http://", "https://")):
            return McpSourceSettings(kind="mcp", url=address, auth=auth)
        return McpSourceSettings.model_validate({"kind": "mcp", "command": address, "auth": auth})

    def credential(self, variable: str, *, owner: str) -> SecretStr:
        """The value of a variable that `owner` refers to. Raises ConfigurationError if it is not set."""
        field_name = variable.lower()
        value = getattr(self.settings, field_name) if field_name in SECRETS else None
        if isinstance(value, SecretStr):
            return value
        if not self.variables.get(variable):
            raise ConfigurationError(
                f"'{owner}' needs the variable '{variable}', which is not set. Set it in the environment or in '.env'.",
                setting=variable,
            )
        return SecretStr(self.variables[variable])

    def secrets(self) -> frozenset[str]:
        """Every secret value: of the settings, of the variables that entries refer to, and literal ones."""
        named = [getattr(self.settings, name) for name in SECRETS]
        sources = self.structure.sources.values()
        auths = [name for part in sources for name in secret_variables_of(part.auth)]
        inside = [name for part in sources if isinstance(part, McpSourceSettings) for name in secret_variables(part)]
        keys = [model.key_variable for model in self.structure.models.values() if model.key_variable]
        values = [self.variables.get(name, "") for name in (*auths, *keys, *inside)]
        values += [secret for part in self.sources().values() for secret in literal_secrets(part)]
        models = [self.settings.llm_api_base_url, *(model.base_url for model in self.structure.models.values())]
        values += [secret for url in models if url for secret in url_secrets(url)]
        return frozenset(filter(None, [*(value.get_secret_value() for value in named if value), *values]))


def load(
    flags: Mapping[str, Any] | None = None, *, config: Path | None = None, tools: Globs = (), folder: Path | None = None
) -> Configuration:
    """Load every layer, searching files from `folder` (by default the working directory). Raises ConfigurationError."""
    here = (folder or Path.cwd()).resolve()
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    named = SettingsLayer("flag", given, SettingsFile(tools=tools))
    dotenvs = [path for parent in parents_to_repo_root(here) if (path := parent / ".env").is_file()]
    overrides = [named, _environment_layer(), *(_dotenv_layer(path) for path in dotenvs)]
    layers = [*overrides, *_file_layers(_project_file(here, config), overrides)]
    return Configuration(
        settings=_merge_settings(layers),
        structure=_merge_structures(layers),
        origins={name: _origin(layers, name) for name in FIELDS},
        flags=frozenset(given),
        variables=_variables(dotenvs),
        invocation=Invocation(flags=given, config=config, tools=tools, folder=here),
        warnings=tuple(warning for path in dotenvs for warning in _misspelled_names(path)),
    )


def _environment_layer() -> SettingsLayer:
    return SettingsLayer("environment", _only_settings(EnvSettingsSource(Settings)()))


def _dotenv_layer(path: Path) -> SettingsLayer:
    try:
        return SettingsLayer(str(path), _only_settings(DotEnvSettingsSource(Settings, env_file=path)()))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"cannot read '{path}': {error}. Fix or remove the file.", setting=str(path)
        ) from error


def _only_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in FIELDS}


def _misspelled_names(path: Path) -> Iterator[str]:
    """Warnings about names in a `.env` that resemble a setting. Others may belong to other programs."""
    names = {name_of(field) for field in FIELDS}
    for name in dotenv_values(path):
        near = get_close_matches(name.upper(), names, n=1, cutoff=_TYPO_CUTOFF)
        if name.upper() not in names and near and near[0][0] == name[0].upper():
            yield f"unknown setting '{name}' in '{path}'; did you mean '{near[0]}'?"


def _variables(dotenvs: list[Path]) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in reversed(dotenvs):
        found |= {name: value for name, value in dotenv_values(path).items() if value}
    return found | {name: value for name, value in os.environ.items() if value}


def _project_file(here: Path, config: Path | None) -> Path | None:
    if config is not None:
        return config
    return next((path for parent in parents_to_repo_root(here) if (path := parent / PROJECT_FILE).is_file()), None)


def _file_layers(project: Path | None, above: list[SettingsLayer]) -> list[SettingsLayer]:
    user = config_folder() / USER_FILE
    mappings = [(path, read_mapping(path)) for path in (project, user if user.is_file() else None) if path is not None]
    profile = _first(above, "runax_profile") or next((m["profile"] for _, m in mappings if m.get("profile")), None)
    layers: list[SettingsLayer] = []
    for path, mapping in mappings:
        chosen = (mapping.get("profiles") or {}).get(profile) if profile else None
        if chosen is not None:
            layers.append(_file_layer(chosen, path, origin=f"{path} (profile '{profile}')", has_secrets=path == user))
        layers.append(_file_layer(mapping, path, origin=str(path), has_secrets=path == user))
    _require_profile(profile, mappings)
    return layers


def _require_profile(profile: Any, mappings: list[tuple[Path, dict[str, Any]]]) -> None:
    known = sorted({name for _, mapping in mappings for name in mapping.get("profiles") or {}})
    if profile and profile not in known:
        raise ConfigurationError(
            f"unknown profile '{profile}' (RUNAX_PROFILE). "
            + (f"Known profiles: {', '.join(known)}." if known else "Define it under 'profiles' in runax.yaml."),
            setting="RUNAX_PROFILE",
        )


def _file_layer(mapping: Mapping[str, Any], path: Path, *, origin: str, has_secrets: bool) -> SettingsLayer:
    if has_mcp_servers(mapping):
        return SettingsLayer(origin, {}, SettingsFile(sources=dict(mcp_servers(mapping, path=path))))
    values = {key.lower(): value for key, value in mapping.items() if key not in STRUCTURE_KEYS | FILE_ONLY_KEYS}
    values |= {key.lower(): value for key, value in (mapping.get("limits") or {}).items()}
    for key in values:
        _require_only_settings(key, path)
        if key in SECRETS and not has_secrets:
            raise ConfigurationError(
                f"'{path}' contains the secret '{key}'. Move it to '.env' or to the environment.",
                setting=name_of(key),
            )
    if "profile" in mapping:
        values["runax_profile"] = mapping["profile"]
    return SettingsLayer(origin, {k: v for k, v in values.items() if v is not None}, _file_structure(mapping, path))


def _file_structure(mapping: Mapping[str, Any], path: Path) -> SettingsFile:
    structure = structure_of(mapping, path=path)
    if "mcp_servers" not in mapping:
        return structure
    other = path.parent / str(mapping["mcp_servers"])
    return structure.model_copy(
        update={"sources": {**mcp_servers(read_mapping(other), path=other), **structure.sources}}
    )


def _require_only_settings(key: str, path: Path) -> None:
    if key in FIELDS:
        return
    near = get_close_matches(key, [*FIELDS, *STRUCTURE_KEYS, *FILE_ONLY_KEYS], n=1)
    hint = f"did you mean '{near[0]}'?" if near else "`runax config show` lists the settings."
    raise ConfigurationError(f"unknown setting '{key}' in '{path}'; {hint}", setting=key)


def _first(layers: list[SettingsLayer], name: str) -> Any:
    return next((layer.values[name] for layer in layers if name in layer.values), None)


def _origin(layers: list[SettingsLayer], name: str) -> str:
    origin = next((layer.origin for layer in layers if name in layer.values), DEFAULT_ORIGIN)
    return f"flag {FLAGS[name]}" if origin == "flag" else origin


def _merge_settings(layers: list[SettingsLayer]) -> Settings:
    values = {name: _first(layers, name) for name in FIELDS if any(name in layer.values for layer in layers)}
    try:
        return Settings(**values)
    except ValidationError as error:
        raise _settings_error(error, layers) from error


def _settings_error(error: ValidationError, layers: list[SettingsLayer]) -> ConfigurationError | UsageError:
    first = error.errors()[0]
    name, origin = str(first["loc"][0]), _origin(layers, str(first["loc"][0]))
    shown = MASK if name in SECRETS else str(first["input"])
    default = f"the default is {default_of(name)}" if default_of(name) else "there is no default"
    if origin.startswith("flag"):
        separator = "=" if " " in FLAGS[name] else " "
        return UsageError(f"'{FLAGS[name]}{separator}{shown}': {describe_error(first)}; {default}.")
    text = f"'{name_of(name)}' is '{shown}' ({origin}): {describe_error(first)}; {default}."
    return ConfigurationError(text, setting=name_of(name))


def _merge_structures(layers: list[SettingsLayer]) -> SettingsFile:
    sources: dict[str, Any] = {}
    models: dict[Any, Any] = {}
    prices: dict[str, Any] = {}
    for layer in reversed(layers):
        sources |= layer.structure.sources
        models |= layer.structure.models
        prices |= layer.structure.prices
    tools = next((layer.structure.tools for layer in layers if layer.structure.tools), ())
    return SettingsFile(sources=sources, models=models, prices=prices, tools=tools)
