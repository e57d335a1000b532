"""`runax plan`: the forecast of a question compared with its usage; the mock API runs in this process."""

import json
from typing import Any

import pytest
from fastapi import FastAPI, Response

from mock_api.app import create_app
from mock_api.serving import serve
from runax_cli.commands import ask, plan
from runax_cli.commands.demo import TOKEN, demo_configuration
from runax_cli.commands.options import CommonOptions, OutputOptions
from runax_cli.core.results import QuestionForecast, RunResult

MARTEN = 'What is the case code of the marten in the tickets of the customer named "Baláž"?'
COUNT = "How many tickets does customer 4 have?"
TWO = 'How many tickets does customer 4 have? What is the email of the customer named "Baláž"?'


def common(form: Any) -> CommonOptions:
    return CommonOptions(output=OutputOptions(output=form, quiet=True))


async def forecast_of(question: str, capsys: Any, **settings: Any) -> QuestionForecast:
    async with serve(create_app(token=TOKEN), port=0) as url:
        code = await plan.print_forecast(question, common("json"), demo_configuration(url, **settings))
    report = QuestionForecast.model_validate_json(capsys.readouterr().out)
    assert report.exit_code == code
    return report


@pytest.mark.parametrize("question", [COUNT, MARTEN, TWO])
async def test_the_forecast_is_within_a_quarter_of_what_is_used(question: str, capsys: Any) -> None:
    async with serve(create_app(token=TOKEN), port=0) as url:
        configuration = demo_configuration(url)
        assert await plan.print_forecast(question, common("json"), configuration) == 0
        told = QuestionForecast.model_validate_json(capsys.readouterr().out)
        assert await ask.ask_question(question, common("json"), configuration) == 0
        result = RunResult.model_validate_json(capsys.readouterr().out)
    used = result.usage.input_tokens + result.usage.output_tokens
    assert told.tokens_range.low <= used <= (told.tokens_range.high or 0)
    assert abs(told.tokens - used) <= used / 4
    assert set(told.by_role) == set(result.usage.by_role)
    assert [part.question for part in told.parts] == [part.question for part in result.sub_questions]


async def test_lookups_are_run_and_named_and_nothing_is_reduced(capsys: Any) -> None:
    told = await forecast_of(MARTEN, capsys)
    (part,) = told.parts
    lookup, call = part.calls
    assert (lookup.tool, lookup.is_lookup, lookup.records_total) == ("list_customers", True, 1)
    assert (call.tool, call.is_lookup, call.arguments) == ("list_tickets", False, {"customer_id": 4})
    assert (call.records_total, call.total_is, call.strategy) == (261, "exact", "paginated_reduction")
    assert call.pages is not None
    assert call.model_requests is not None
    assert min(call.pages, call.model_requests) > 5
    assert set(told.spent.by_role) == {"agent"}
    assert told.spent.input_tokens + told.spent.output_tokens < told.tokens / 20
    assert told.price_usd is not None
    assert (told.price_usd.low, told.price_usd.high, told.spent_usd) == (0, 0, 0)
    assert told.duration_s.high is not None
    assert 0 < told.duration_s.low < told.duration_s.high


async def test_figures_are_computed_whatever_the_number_of_records(capsys: Any) -> None:
    told = await forecast_of(COUNT, capsys)
    assert [call.strategy for call in told.parts[0].calls] == ["table"]
    assert told.tokens < 15_000
    assert "reducer" not in told.by_role


async def test_the_parts_of_a_question_are_told_in_order(capsys: Any) -> None:
    told = await forecast_of(TWO, capsys)
    assert [part.need for part in told.parts] == ["compute", "read"]
    assert told.by_role["planner"].requests == 1
    assert told.tokens >= sum(part.tokens for part in told.parts)


async def test_pages_whose_number_nobody_tells_are_not_made_up(capsys: Any) -> None:
    """The first page is not everything, regardless of its content: it is only known that more follows."""
    app = FastAPI()

    @app.get("/books", operation_id="list_books")
    def books(response: Response, p: int = 1) -> list[dict[str, int]]:
        response.headers["Link"] = f'</books?p={p + 1}>; rel="next"' if p < 40 else ""
        return [{"id": 30 * p + n} for n in range(30)]

    async with serve(app, port=0) as url:
        assert (
            await plan.print_forecast("How many books are there per id?", common("json"), demo_configuration(url)) == 0
        )
    (part,) = QuestionForecast.model_validate_json(capsys.readouterr().out).parts
    (call,) = part.calls
    assert (call.is_lookup, call.records_total, call.pages, call.requests) == (False, None, None, None)
    assert "unknown number" in call.why
    assert not part.is_known


async def test_text_output(capsys: Any) -> None:
    async with serve(create_app(token=TOKEN), port=0) as url:
        assert await plan.print_forecast(MARTEN, common("text"), demo_configuration(url)) == 0
    out = capsys.readouterr().out
    assert 'lookup  list_customers {"name":"Baláž"}: 1 record' in out
    assert "paginated_reduction: 261 records" in out
    assert [line.split()[0] for line in out.splitlines()[-6:]] == [
        "pages",
        "requests",
        "tokens",
        "price",
        "time",
        "spent",
    ]


async def test_source_failure_sets_the_exit_code(capsys: Any) -> None:
    async with serve(create_app(token="another"), port=0) as url:
        code = await plan.print_forecast(COUNT, common("json"), demo_configuration(url))
    told = QuestionForecast.model_validate_json(capsys.readouterr().out)
    assert (code, told.exit_code) == (4, 4)
    assert told.parts[0].calls[0].error
    assert told.parts[0].calls[0].requests is None


async def test_forecast_stores_no_run(capsys: Any, runax: Any) -> None:
    await forecast_of(COUNT, capsys)
    assert json.loads(runax("runs", "list", "-o", "json").out)["runs"] == []


def test_without_a_question_it_is_a_usage_error(runax: Any) -> None:
    assert runax("plan").code == 2
