"""Which layer takes precedence, the origin of a value, and the messages about invalid values."""

import itertools
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runax_cli.core.errors import ConfigurationError, UsageError
from runax_cli.core.paths import config_folder, parents_to_repo_root
from runax_cli.settings.loader import load
from runax_cli.settings.settings import FIELDS, MASK, SECRETS, help_of

NAMES = ("env", "dotenv", "upper_dotenv", "project", "user")


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose folder `inner/` is the working directory."""
    root = tmp_path / "repository"
    (root / ".git").mkdir(parents=True)
    (root / "inner").mkdir()
    monkeypatch.chdir(root / "inner")
    return root


def give(layer: str, name: str, value: object, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    match layer:
        case "env":
            monkeypatch.setenv(name, str(value))
        case "dotenv":
            write(repository / "inner" / ".env", f"{name}={value}\n")
        case "upper_dotenv":
            write(repository / ".env", f"{name}={value}\n")
        case "project":
            write(repository / "runax.yaml", f"{name.lower()}: {value}\n")
        case "user":
            write(config_folder() / "config.yaml", f"{name.lower()}: {value}\n")


def test_without_any_layer_every_value_is_the_default() -> None:
    configuration = load()
    assert configuration.settings.llm_max_context == 131_072
    assert configuration.settings.max_tokens == 2_000_000
    assert set(configuration.origins.values()) == {"default"}


@pytest.mark.parametrize(("higher", "lower"), list(itertools.pairwise(NAMES)))
def test_each_layer_wins_over_the_next(
    higher: str, lower: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(higher, "MAX_STEPS", 5, repository, monkeypatch)
    give(lower, "MAX_STEPS", 7, repository, monkeypatch)
    assert load().settings.max_steps == 5


def test_a_flag_wins_over_everything(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for layer in NAMES:
        give(layer, "MAX_STEPS", 7, repository, monkeypatch)
    configuration = load({"max_steps": 3})
    assert configuration.settings.max_steps == 3
    assert configuration.origins["max_steps"] == "flag --max-steps"


@pytest.mark.parametrize(
    ("layer", "origin"),
    [
        ("env", "environment"),
        ("dotenv", "inner/.env"),
        ("upper_dotenv", "repository/.env"),
        ("project", "runax.yaml"),
        ("user", "config.yaml"),
    ],
)
def test_the_origin_names_the_layer(layer: str, origin: str, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give(layer, "LLM_NAME", "some-model", repository, monkeypatch)
    assert load().origins["llm_name"].endswith(origin)


def test_a_dotenv_above_the_repository_is_never_read(tmp_path: Path, repository: Path) -> None:
    write(tmp_path / ".env", "MAX_STEPS=7\n")
    assert load().settings.max_steps == 12


def test_without_a_repository_only_the_working_directory_counts(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert list(parents_to_repo_root(tmp_path / "a" / "b")) == [tmp_path / "a" / "b"]


def test_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAX_STEPS", "")
    assert load().origins["max_steps"] == "default"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LLM_MAX_CONTEXT", "abc"),
        ("LLM_CONTEXT_UTILIZATION", "1.5"),
        ("MAX_STEPS", "0"),
        ("LLM_API", "grpc"),
        ("BASE_API_URL", "localhost:9001"),
        ("TIMEOUT", "nan"),
    ],
)
def test_invalid_value_names_setting_value_origin_and_default(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError) as caught:
        load()
    message = str(caught.value)
    assert caught.value.setting == name
    assert f"'{name}' is '{value}' (environment)" in message
    assert "default" in message
    assert "\n" not in message


def test_invalid_option_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=r"'--max-steps 0'.*12"):
        load({"max_steps": 0})


def test_none_removes_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAX_TOKENS", "none")
    assert load().settings.max_tokens is None


def test_unknown_setting_in_a_file_suggests_the_nearest(repository: Path) -> None:
    write(repository / "runax.yaml", "max_step: 3\n")
    with pytest.raises(ConfigurationError, match=r"'max_step'.*did you mean 'max_steps'"):
        load()


def test_secret_in_the_project_file_is_rejected(repository: Path) -> None:
    write(repository / "runax.yaml", "llm_api_key: sk-very-secret\n")
    with pytest.raises(ConfigurationError) as caught:
        load()
    assert "sk-very-secret" not in str(caught.value)


@pytest.mark.parametrize("text", ["- a list\n", "a: [\n", "1: one\n"])
def test_invalid_file_is_named(text: str, repository: Path) -> None:
    path = write(repository / "runax.yaml", text)
    with pytest.raises(ConfigurationError, match=str(path)):
        load()


def test_a_missing_file_of_the_flag_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="nowhere"):
        load(config=tmp_path / "nowhere.yaml")


def test_limits_and_profiles_of_a_file_are_settings(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        repository / "runax.yaml",
        "limits: {max_steps: 4}\nmax_calls: 9\nprofiles:\n  cheap: {llm_name: small, limits: {max_steps: 2}}\n",
    )
    assert load().settings.max_steps == 4
    monkeypatch.setenv("RUNAX_PROFILE", "cheap")
    configuration = load()
    assert (configuration.settings.max_steps, configuration.settings.llm_name) == (2, "small")
    assert configuration.settings.max_calls == 9
    assert "profile 'cheap'" in configuration.origins["llm_name"]


def test_unknown_profile_lists_the_known_ones(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(repository / "runax.yaml", "profiles: {cheap: {llm_name: small}}\n")
    monkeypatch.setenv("RUNAX_PROFILE", "dear")
    with pytest.raises(ConfigurationError, match=r"'dear'.*cheap"):
        load()


def test_openai_api_key_is_the_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "general")
    key = load().settings.model_key
    assert key is not None
    assert key.get_secret_value() == "general"
    monkeypatch.setenv("LLM_API_KEY", "ours")
    key = load().settings.model_key
    assert key is not None
    assert key.get_secret_value() == "ours"


@given(secret=st.text(alphabet=st.characters(categories=("L", "N"), codec="utf-8"), min_size=8))
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=25, deadline=None
)
def test_no_secret_shows_in_any_rendering(secret: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name in SECRETS:
            patch.setenv(name.upper(), f"~{secret}~")
        configuration = load()
    rendered = repr(configuration) + str(configuration.settings) + str(configuration.settings.model_dump())
    rendered += "".join(configuration.settings.shown(name) for name in FIELDS)
    assert f"~{secret}~" not in rendered
    assert configuration.settings.shown("llm_api_key") == MASK


def test_every_setting_has_a_help_text() -> None:
    assert [name for name in FIELDS if not help_of(name)] == []


def test_misspelled_setting_in_dotenv_is_a_warning(repository: Path) -> None:
    path = write(repository / ".env", "LLM_NAMES=x\nMAX_STEP=3\nMAX_CALLS=3\nOTHER_PROGRAM=1\nOLLAMA_API_KEY=k\n")
    assert load().warnings == (
        f"unknown setting 'LLM_NAMES' in '{path}'; did you mean 'LLM_NAME'?",
        f"unknown setting 'MAX_STEP' in '{path}'; did you mean 'MAX_STEPS'?",
    )


def test_valid_dotenv_has_no_warnings(repository: Path) -> None:
    write(repository / ".env", "LLM_NAME=x\nllm_api=chat\n")
    assert load().warnings == ()
