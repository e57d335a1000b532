"""The model configuration of each role, from the settings."""

from pydantic import SecretStr

from runax_cli.core.errors import ConfigurationError
from runax_cli.models.base import Role
from runax_cli.models.pricing import StatedPrice
from runax_cli.models.registry import RoleConfig
from runax_cli.settings.file_schema import ModelSettings
from runax_cli.settings.loader import Configuration
from runax_cli.settings.settings import RULES_MODEL

# A custom endpoint may need no key, but the SDK rejects an empty one.
_NO_KEY = "none"


def role_configs(configuration: Configuration) -> dict[Role, RoleConfig]:
    """The model of every role. Raises ConfigurationError if a model or its key is not configured."""
    return {role: _role_config(role, configuration) for role in Role}


def _role_config(role: Role, configuration: Configuration) -> RoleConfig:
    settings = configuration.settings
    part = configuration.structure.models.get(role.value, ModelSettings())
    name = part.name or _role_name_setting(role, configuration) or settings.llm_name
    if name is None:
        raise ConfigurationError(
            "no model is configured: 'LLM_NAME' is not set. Set LLM_NAME and LLM_API_KEY or LLM_API_BASE_URL. "
            "To try runax without a key, use `runax demo` or LLM_NAME=rules.",
            setting="LLM_NAME",
        )
    base_url = part.base_url or settings.llm_api_base_url
    is_rules = name == RULES_MODEL
    return RoleConfig(
        name=name,
        base_url=base_url,
        api_key=_NO_KEY if is_rules else _key(part, configuration, role=role, base_url=base_url),
        api=part.api or settings.llm_api,
        max_context=part.max_context or settings.llm_max_context,
        utilization=part.context_utilization or settings.llm_context_utilization,
        temperature=settings.llm_temperature if part.temperature is None else part.temperature,
        top_p=settings.llm_top_p if part.top_p is None else part.top_p,
        timeout_s=part.timeout or settings.llm_timeout,
        is_rules=is_rules,
        price=_price(name, configuration),
    )


def _price(name: str, configuration: Configuration) -> StatedPrice | None:
    stated = configuration.structure.prices.get(name)
    return None if stated is None else StatedPrice(input=stated.input, output=stated.output, cached=stated.cached)


def _role_name_setting(role: Role, configuration: Configuration) -> str | None:
    settings = configuration.settings
    match role:
        case Role.REDUCER | Role.LABELLER:
            return settings.llm_reducer_name
        case Role.PLANNER:
            return settings.llm_planner_name
        case Role.AGENT | Role.SUMMARIZER | Role.REVIEWER:
            return None


def _key(part: ModelSettings, configuration: Configuration, *, role: Role, base_url: str | None) -> str:
    if part.key_variable is not None:
        return configuration.credential(part.key_variable, owner=f"models.{role}").get_secret_value()
    key: SecretStr | None = configuration.settings.model_key
    if key is not None:
        return key.get_secret_value()
    if base_url is None:
        raise ConfigurationError(
            "'LLM_API_KEY' is not set, and the OpenAI API needs it. Set LLM_API_KEY (or OPENAI_API_KEY), or "
            "LLM_API_BASE_URL for another endpoint.",
            setting="LLM_API_KEY",
        )
    return _NO_KEY
