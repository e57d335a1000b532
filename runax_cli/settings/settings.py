"""The settings that have a name in the environment: value, default and meaning of each.

Knows names, types and limits. Knows nothing of where a value comes from (`settings_load`) nor of what is made of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from runax_cli.core.budget import Limits

PARALLEL_CALLS = "max_parallel_calls"
SESSION_TIMEOUT = "session_timeout"
TIMEOUT = "timeout"
CALL_TIMEOUT = "call_timeout"
TENANT = "tenant"


class LimitScope(StrEnum):
    """Over what a limit holds; a tenant's holds for one day, like that of the day itself."""

    TURN = "turn"
    SESSION = "session"
    DAY = "day"
    TENANT = "tenant"


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSetting:
    """One limit. `field` is its name in the settings; `resource` and `scope` say what it counts, where it counts."""

    field: str
    text: str
    metavar: str
    is_whole: bool = True
    default: float | None = None
    resource: str = ""
    scope: LimitScope = LimitScope.TURN

    @property
    def flag(self) -> str:
        """The option of the command line."""
        return "--" + self.field.replace("_", "-")


@dataclass(frozen=True, slots=True, kw_only=True)
class _CountedResource:
    """A resource that is counted, and the most of it that one turn may use if nobody says otherwise."""

    resource: str
    text: str
    per_turn: float | None
    metavar: str = "N"
    is_whole: bool = True
    scopes: tuple[LimitScope, ...] = tuple(LimitScope)


_COUNTED = (
    _CountedResource(resource="steps", text="Replies of the main model", per_turn=12),
    _CountedResource(resource="calls", text="Calls of tools", per_turn=24),
    _CountedResource(resource="requests", text="Requests to sources, retries included,", per_turn=20_000),
    _CountedResource(
        resource="retries",
        text="Requests to sources and models that are sent again after a failure,",
        per_turn=500,
        scopes=(LimitScope.TURN,),
    ),
    _CountedResource(resource="tokens", text="Tokens of all models together", per_turn=2_000_000),
    _CountedResource(
        resource="usd", text="Money for models, in US dollars,", per_turn=None, metavar="USD", is_whole=False
    ),
)
_WHERE = {
    LimitScope.TURN: "in one turn",
    LimitScope.SESSION: "in one session",
    LimitScope.DAY: "in one day (UTC), by all processes together",
    LimitScope.TENANT: "in one day by the tenant, by all processes together",
}


def _counted() -> Iterator[LimitSetting]:
    for scope, where in _WHERE.items():
        infix = "" if scope is LimitScope.TURN else f"{scope.value}_"
        for counted in (each for each in _COUNTED if scope in each.scopes):
            yield LimitSetting(
                field=f"max_{infix}{counted.resource}",
                text=f"{counted.text} {where}.",
                metavar=counted.metavar,
                is_whole=counted.is_whole,
                default=counted.per_turn if scope is LimitScope.TURN else None,
                resource=counted.resource,
                scope=scope,
            )


_OTHERS = (
    LimitSetting(field=PARALLEL_CALLS, text="Calls at once.", metavar="N", default=4),
    LimitSetting(
        field=CALL_TIMEOUT,
        text="Seconds that one call may take, all its pages together.",
        metavar="SECONDS",
        is_whole=False,
        default=3600,
    ),
    LimitSetting(field=TIMEOUT, text="Seconds that one turn may take.", metavar="SECONDS", is_whole=False),
    LimitSetting(
        field=SESSION_TIMEOUT,
        text="Seconds that the turns of a session may take together.",
        metavar="SECONDS",
        is_whole=False,
        scope=LimitScope.SESSION,
    ),
)
LIMIT_SETTINGS: dict[str, LimitSetting] = {setting.field: setting for setting in (*_counted(), *_OTHERS)}
"""Every limit by its field."""

TENANT_TEXT = "Name on whose account a run is booked; the limits of a tenant hold for it."


def limits_in(scope: LimitScope, settings: object) -> Limits:
    """What the settings allow in a scope."""
    counted = (setting for setting in LIMIT_SETTINGS.values() if setting.resource and setting.scope is scope)
    return Limits(**{setting.resource: getattr(settings, setting.field) for setting in counted})


ModelApi: TypeAlias = Literal["auto", "responses", "chat"]
RULES_MODEL = "rules"
MASK = "********"


def _none_by_word(value: Any) -> Any:
    return None if isinstance(value, str) and value.strip().lower() == "none" else value


def _with_possible_port(url: str) -> str:
    """The URL as it is; ValueError where its port is no port."""
    urlsplit(url).port  # noqa: B018  the property checks
    return url


Count: TypeAlias = Annotated[int, Field(ge=1)]
Seconds: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Url: TypeAlias = Annotated[str, Field(pattern=r"^https?://[^\s/]+"), AfterValidator(_with_possible_port)]
OrNone = BeforeValidator(_none_by_word)
CountOrNone: TypeAlias = Annotated[Count | None, OrNone]
SecondsOrNone: TypeAlias = Annotated[Seconds | None, OrNone]
MoneyOrNone: TypeAlias = Annotated[Annotated[float, Field(ge=0, allow_inf_nan=False)] | None, OrNone]


def _limit(field: str) -> Any:
    """A field whose default and meaning are those of the table of limits."""
    setting = LIMIT_SETTINGS[field]
    is_whole = setting.is_whole and setting.default is not None
    return Field(int(setting.default or 0) if is_whole else setting.default, description=setting.text)


class Settings(BaseSettings):
    """Every setting by its lower-case name. Optional numbers take the word `none` for no limit."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", env_ignore_empty=True, env_file_encoding="utf-8")

    base_api_url: Url | None = Field(None, description="Base URL of the OpenAPI source.")
    base_api_token: SecretStr | None = Field(None, description="Credential of the OpenAPI source.")
    openapi_spec: str | None = Field(
        None, description="OpenAPI document, a path or URL; without it `BASE_API_URL/openapi.json` is read."
    )
    mcp_url: str | None = Field(None, description="One MCP server: its URL, or the command that starts it.")
    mcp_token: SecretStr | None = Field(None, description="Bearer token of the MCP server.")

    llm_api_base_url: Url | None = Field(
        None, description="Base URL of the model endpoint, `/v1` included; without it OpenAI's own."
    )
    llm_api_key: SecretStr | None = Field(None, description="Key of the model endpoint.")
    openai_api_key: SecretStr | None = Field(None, description="Used where `LLM_API_KEY` is not set.")
    llm_name: str | None = Field(
        None, description=f"Name of the model; `{RULES_MODEL}` is the offline rules model, which needs no key."
    )
    llm_api: ModelApi = Field(
        "auto", description="Wire format: `responses`, `chat`, or `auto` (Responses, else Chat Completions)."
    )
    llm_reducer_name: str | None = Field(None, description="Name of the model that reads; without it `LLM_NAME`.")
    llm_planner_name: str | None = Field(None, description="Name of the model that plans; without it `LLM_NAME`.")
    llm_max_context: Annotated[int, Field(ge=2048)] = Field(131_072, description="The model's context, in tokens.")
    llm_context_utilization: Annotated[float, Field(gt=0, le=1)] = Field(
        0.25, description="The part of the context that any one request may use."
    )
    llm_temperature: Annotated[Annotated[float, Field(ge=0, le=2)] | None, OrNone] = Field(
        0.0, description="Sampling temperature; left out where a model refuses it."
    )
    llm_top_p: Annotated[Annotated[float, Field(gt=0, le=1)] | None, OrNone] = Field(
        1.0, description="Nucleus sampling; left out where a model refuses it."
    )
    llm_timeout: Seconds = Field(60.0, description="Seconds until a request to a model is given up.")
    llm_concurrency: Count = Field(8, description="Requests to models at once.")
    api_concurrency: Count = Field(4, description="Requests to a source at once.")
    total_concurrency: Count = Field(16, description="Requests to all sources at once.")
    api_timeout: Seconds = Field(30.0, description="Seconds until a request to a source is given up.")
    max_tools: CountOrNone = Field(
        40, description="Tools on the list of the main model; of more, the most relevant and `find_tools`."
    )
    max_tool_tokens: CountOrNone = Field(
        8_000, description="Tokens that this list may take in each request, and never more than half of it."
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
    tenant: str | None = Field(None, description=TENANT_TEXT)
    max_tenant_steps: CountOrNone = _limit("max_tenant_steps")
    max_tenant_calls: CountOrNone = _limit("max_tenant_calls")
    max_tenant_requests: CountOrNone = _limit("max_tenant_requests")
    max_tenant_tokens: CountOrNone = _limit("max_tenant_tokens")
    max_tenant_usd: MoneyOrNone = _limit("max_tenant_usd")

    log_dir: Path = Field(Path("logs"), description="Folder of the log files, one of each kind a run.")
    state_max_gb: Annotated[float, Field(gt=0)] = Field(
        5.0, description="Size to which `runax runs prune` cuts the stored datasets, in GB."
    )
    state_max_age_days: Annotated[float, Field(gt=0)] = Field(
        30.0, description="Age from which `runax runs prune` removes a stored run, in days."
    )
    cache_max_age_hours: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        24.0,
        description="For how long stored pages are used again while a probe finds the data unchanged; 0 for never.",
    )
    runax_profile: str | None = Field(None, description="Name of the profile in `runax.yaml` that is in force.")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Values are taken as given: `settings_load` reads the layers itself, to know where each value came from."""
        del settings_cls, env_settings, dotenv_settings, file_secret_settings
        return (init_settings,)

    @property
    def model_key(self) -> SecretStr | None:
        """The key of the model endpoint, by either of its two names."""
        return self.llm_api_key or self.openai_api_key

    def shown(self, field: str) -> str:
        """The value of `field` as it may be printed: secrets are masked, what is not set is empty."""
        value = getattr(self, field)
        if value is None:
            return ""
        return MASK if isinstance(value, SecretStr) else str(value)


FIELDS: tuple[str, ...] = tuple(Settings.model_fields)
SECRETS = frozenset(name for name, field in Settings.model_fields.items() if "SecretStr" in str(field.annotation))


def name_of(field: str) -> str:
    """The name of a setting in the environment."""
    return field.upper()


def help_of(field: str) -> str:
    """What a setting means, in one sentence."""
    return Settings.model_fields[field].description or ""


def default_of(field: str) -> str:
    """The default of a setting as the documentation shows it."""
    default = Settings.model_fields[field].default
    return "" if default is None else str(default)
