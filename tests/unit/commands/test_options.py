"""Option groups: flat for the command line, values for the commands."""

import pytest
from typer.testing import CliRunner

from runax_cli.commands.options import (
    AnswerOptions,
    CommonOptions,
    LimitOptions,
    OutputOptions,
    SourceOptions,
    parse_limits,
)
from runax_cli.core.errors import UsageError
from runax_cli.settings.limits import LIMIT_SETTINGS, LIMITS_BY_NAME
from runax_cli.settings.loader import FLAGS
from runax_cli.settings.settings import FIELDS, Settings


def test_every_flag_overrides_a_setting() -> None:
    assert set(CommonOptions().flags()) == set(FLAGS)
    assert set(FLAGS) <= set(FIELDS)


def test_options_after_the_command_take_precedence() -> None:
    mine, root = AnswerOptions(model="a"), AnswerOptions(model="b", evidence=True)
    assert mine.over(root) == AnswerOptions(model="a", evidence=True)
    limits, of_root = LimitOptions(max_day_usd=2.5), LimitOptions(max_day_usd=9, max_steps=3)
    assert limits.over(of_root) == LimitOptions(max_day_usd=2.5, max_steps=3)


def test_every_limit_has_a_setting_and_an_option() -> None:
    for setting in LIMIT_SETTINGS.values():
        field = Settings.model_fields[setting.field]
        assert (field.default, field.description) == (setting.default, setting.help)
        assert FLAGS[setting.field] == setting.flag


def test_limits_given_twice_are_merged() -> None:
    merged = LimitOptions(limit=["usd=2"]).over(LimitOptions(limit=["usd=1", "day.tokens=5"]))
    assert CommonOptions(limits=merged).flags() == CommonOptions().flags() | {
        "max_usd": "2",
        "max_day_tokens": "5",
    }


def test_every_limit_can_be_set_by_name() -> None:
    fields = parse_limits([f"{name}=1" for name in LIMITS_BY_NAME])
    assert set(fields) == set(LIMIT_SETTINGS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("usd", "must be NAME=VALUE"),
        ("usd=", "must be NAME=VALUE"),
        ("=1", "must be NAME=VALUE"),
        ("day.token=1", "did you mean 'day.tokens'"),
        ("zzz=1", "known limits: steps"),
    ],
)
def test_invalid_limit_is_a_usage_error(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_limits([text])


def test_lists_replace_each_other() -> None:
    assert SourceOptions(tools=["a"]).over(SourceOptions(tools=["b"])).tools == ["a"]
    assert SourceOptions().over(SourceOptions(tools=["b"])).tools == ["b"]


def test_output_is_text_by_default() -> None:
    assert OutputOptions().form == "text"
    assert OutputOptions(output="json").form == "json"


@pytest.mark.parametrize("arguments", [["config", "show", "-o", "xml"], ["--color", "sometimes", "config", "show"]])
def test_unknown_choice_is_a_usage_error(arguments: list[str]) -> None:
    from runax_cli.cli import app

    assert CliRunner().invoke(app, arguments).exit_code == 2
