"""The settings that have an environment variable: type, default and help text of each."""

from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from runax_cli.core.budget import Limits
from runax_cli.settings.limits import LIMIT_SETTINGS, TENANT_HELP, LimitScope

ModelApi: TypeAlias = Literal["auto", "responses", "chat"]
ReviewMode: TypeAlias = Literal["auto", "always", "never"]
RULES_MODEL = "rules"
MASK = "********"


def _none_by_word(value: Any) -> Any:
    return None if isinstance(value, str) and value.strip().lower() == "none" else value


def _with_valid_port(url: str) -> str:
    """Return the URL unchanged. Raises ValueError if its port is invalid."""
    urlsplit(url).port  # noqa: B018  the property checks
    return url


Count: TypeAlias = Annotated[int, Field(ge=1)]
Seconds: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Url: TypeAlias = Annotated[str, Field(pattern=r"^https?://[^\s/]+"), AfterValidator(_with_valid_port)]
OrNone = BeforeValidator(_none_by_word)
CountOrNone: TypeAlias = Annotated[Count | None, OrNone]
SecondsOrNone: TypeAlias = Annotated[Seconds | None, OrNone]
MoneyOrNone: TypeAlias = Annotated[Annotated[float, Field(ge=0, allow_inf_nan=False)] | None, OrNone]


def _limit(field: str) -> Any:
    """A field with the default and the help text of the limits table."""
    setting = LIMIT_SETTINGS[field]
    is_whole = setting.is_whole and setting.default is not None
    return Field(int(setting.default or 0) if is_whole else setting.default, description=setting.help)


class Settings(BaseSettings):
    """Every setting by its lower-case name. Optional numbers accept `none` for "no limit"."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", env_ignore_empty=True, env_file_encoding="utf-8")

    base_api_url: Url | None = Field(None, description="Base URL of the OpenAPI source.")
    base_api_token: SecretStr | None = Field(None, description="Credential of the OpenAPI source.")
    openapi_spec: str | None = Field(
        None, description="OpenAPI document, a path or URL; by default `BASE_API_URL/openapi.json`."
    )
    mcp_url: str | None = Field(None, description="MCP server: its URL, or the command that starts it.")
    mcp_token: SecretStr | None = Field(None, description="Bearer token of the MCP server.")

    llm_api_base_url: Url | None = Field(
        None, description="Base URL of the model endpoint, including `/v1`; by default the OpenAI API."
    )
    llm_api_key: SecretStr | None = Field(None, description="API key of the model endpoint.")
    openai_api_key: SecretStr | None = Field(
        None, description="API key of the model endpoint if `LLM_API_KEY` is not set."
    )
    llm_name: str | None = Field(
        None, description=f"Model name; `{RULES_MODEL}` is the offline rules model, which needs no API key."
    )
    llm_api: ModelApi = Field(
        "auto", description="Model API: `responses`, `chat`, or `auto` (Responses, falling back to Chat Completions)."
    )
    llm_reducer_name: str | None = Field(
        None, description="Model of the reducers and the labeler; by default `LLM_NAME`."
    )
    llm_planner_name: str | None = Field(None, description="Model of the planner; by default `LLM_NAME`.")
    review: ReviewMode = Field(
        "auto",
        description="Have a model review answers against their evidence: `auto` (answers that rest on text read by a "
        "model), `always` or `never`.",
    )
    llm_max_context: Annotated[int, Field(ge=2048)] = Field(
        131_072, description="Context window of the model, in tokens."
    )
    llm_context_utilization: Annotated[float, Field(gt=0, le=1)] = Field(
        0.25, description="Share of the context window that one request may use."
    )
    llm_temperature: Annotated[Annotated[float, Field(ge=0, le=2)] | None, OrNone] = Field(
        0.0, description="Sampling temperature; omitted if the model rejects it."
    )
    llm_top_p: Annotated[Annotated[float, Field(gt=0, le=1)] | None, OrNone] = Field(
        1.0, description="Nucleus sampling (top_p); omitted if the model rejects it."
    )
    llm_timeout: Seconds = Field(60.0, description="Timeout of a request to a model, in seconds.")
    llm_concurrency: Count = Field(8, description="Maximum number of concurrent requests to models.")
    api_concurrency: Count = Field(4, description="Maximum number of concurrent requests to one source.")
    total_concurrency: Count = Field(16, description="Maximum number of concurrent requests to all sources.")
    api_timeout: Seconds = Field(30.0, description="Timeout of a request to a source, in seconds.")
    max_tools: CountOrNone = Field(
        40,
        description="Maximum number of tools listed to the main model; it finds the others with `find_tools`.",
    )
    max_tool_tokens: CountOrNone = Field(
        8_000, description="Maximum size of that list in tokens; it never takes more than half of a request."
    )

    max_steps: Count = _limit("max_steps")
    max_calls: Count = _limit("max_calls")
    max_parallel_calls: Count = _limit("max_parallel_calls")
    max_requests: CountOrNone = _limit("max_requests")
    max_retries: CountOrNone = _limit("max_retries")
    max_tokens: CountOrNone = _limit("max_tokens")
    max_usd: MoneyOrNone = _limit("max_usd")
    call_timeout: SecondsOrNone = _limit("call_timeout")
    timeout: SecondsOrNone = _limit("timeout")
    max_session_steps: CountOrNone = _limit("max_session_steps")
    max_session_calls: CountOrNone = _limit("max_session_calls")
    max_session_requests: CountOrNone = _limit("max_session_requests")
    max_session_tokens: CountOrNone = _limit("max_session_tokens")
    max_session_usd: MoneyOrNone = _limit("max_session_usd")
    session_timeout: SecondsOrNone = _limit("session_timeout")
    max_day_steps: CountOrNone = _limit("max_day_steps")
    max_day_calls: CountOrNone = _limit("max_day_calls")
    max_day_requests: CountOrNone = _limit("max_day_requests")
    max_day_tokens: CountOrNone = _limit("max_day_tokens")
    max_day_usd: MoneyOrNone = _limit("max_day_usd")
    tenant: str | None = Field(None, description=TENANT_HELP)
    max_tenant_steps: CountOrNone = _limit("max_tenant_steps")
    max_tenant_calls: CountOrNone = _limit("max_tenant_calls")
    max_tenant_requests: CountOrNone = _limit("max_tenant_requests")
    max_tenant_tokens: CountOrNone = _limit("max_tenant_tokens")
    max_tenant_usd: MoneyOrNone = _limit("max_tenant_usd")

    log_dir: Path = Field(Path("logs"), description="Folder of the log files; each run writes its own.")
    state_max_gb: Annotated[float, Field(gt=0)] = Field(
        5.0,
        description="Total size of data that `runax runs prune` keeps, and of the SQL results of a session, in GB.",
    )
    state_max_age_days: Annotated[float, Field(gt=0)] = Field(
        30.0, description="Age from which `runax runs prune` removes stored datasets, in days."
    )
    cache_max_age_hours: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        24.0,
        description="Maximum age of cached pages in hours; they are reused while the data is unchanged. 0: no cache.",
    )
    runax_profile: str | None = Field(None, description="Profile of `runax.yaml` to use.")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Use only the values passed in: the loader reads the layers itself, to know the origin of each value."""
        del settings_cls, env_settings, dotenv_settings, file_secret_settings
        return (init_settings,)

    @property
    def model_key(self) -> SecretStr | None:
        """The API key of the model endpoint, from either of its two settings."""
        return self.llm_api_key or self.openai_api_key

    def shown(self, field: str) -> str:
        """The value of `field` for printing: secrets are masked, an unset value is empty."""
        value = getattr(self, field)
        if value is None:
            return ""
        return MASK if isinstance(value, SecretStr) else str(value)


FIELDS: tuple[str, ...] = tuple(Settings.model_fields)
SECRETS = frozenset(name for name, field in Settings.model_fields.items() if "SecretStr" in str(field.annotation))


def name_of(field: str) -> str:
    """The environment variable of a setting."""
    return field.upper()


def help_of(field: str) -> str:
    """The help text of a setting."""
    return Settings.model_fields[field].description or ""


def default_of(field: str) -> str:
    """The default of a setting as text; empty if it has none."""
    default = Settings.model_fields[field].default
    return "" if default is None else str(default)


def limits_in(scope: LimitScope, settings: object) -> Limits:
    """The limits that the settings define for a scope."""
    counted = (setting for setting in LIMIT_SETTINGS.values() if setting.resource and setting.scope is scope)
    return Limits(**{setting.resource: getattr(settings, setting.field) for setting in counted})
