"""Option groups: flat for the command line, values for the commands."""

import pytest
from typer.testing import CliRunner

from runax_cli.commands.options import AnswerOptions, CommonOptions, LimitOptions, OutputOptions, SourceOptions
from runax_cli.settings.limits import LIMIT_SETTINGS
from runax_cli.settings.loader import FLAGS
from runax_cli.settings.settings import FIELDS, Settings


def test_every_flag_overrides_a_setting() -> None:
    assert set(CommonOptions().flags()) == set(FLAGS)
    assert set(FLAGS) <= set(FIELDS)


def test_options_after_the_command_win_over_those_before() -> None:
    mine, root = AnswerOptions(model="a"), AnswerOptions(model="b", evidence=True)
    assert mine.over(root) == AnswerOptions(model="a", evidence=True)
    limits, of_root = LimitOptions(max_day_usd=2.5), LimitOptions(max_day_usd=9, max_steps=3)
    assert limits.over(of_root) == LimitOptions(max_day_usd=2.5, max_steps=3)


def test_every_limit_has_a_setting_a_flag_and_a_meaning_from_the_one_table() -> None:
    for setting in LIMIT_SETTINGS.values():
        field = Settings.model_fields[setting.field]
        assert (field.default, field.description) == (setting.default, setting.help)
        assert FLAGS[setting.field] == setting.flag


def test_lists_are_taken_whole() -> None:
    assert SourceOptions(tools=["a"]).over(SourceOptions(tools=["b"])).tools == ["a"]
    assert SourceOptions().over(SourceOptions(tools=["b"])).tools == ["b"]


def test_output_is_text_unless_asked() -> None:
    assert OutputOptions().form == "text"
    assert OutputOptions(output="json").form == "json"


@pytest.mark.parametrize("arguments", [["config", "show", "-o", "xml"], ["--color", "sometimes", "config", "show"]])
def test_a_choice_that_does_not_exist_is_refused(arguments: list[str]) -> None:
    from runax_cli.cli import app

    assert CliRunner().invoke(app, arguments).exit_code == 2
