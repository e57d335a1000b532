"""`runax plan`: forecast the calls, pages, tokens, price and time of a question without answering it."""

from collections.abc import Callable, Iterator

from runax_cli.agent.forecast import TokenEstimate, duration_range, range_around, total_price
from runax_cli.agent.preview import Previewer, QuestionPreview, SubQuestionPreview, returns_ids_for_other_tools
from runax_cli.agent.result.certificate import short_tokens
from runax_cli.commands.ask import question_of
from runax_cli.commands.config import configuration_of
from runax_cli.commands.conversation import SessionConversation, open_conversation, view_of
from runax_cli.commands.options import CommonOptions
from runax_cli.commands.printing import Printer, environment_of
from runax_cli.core.exit_codes import ExitCode, exit_code_of
from runax_cli.core.results import (
    CallForecast,
    ForecastRange,
    QuestionForecast,
    RoleForecast,
    SubQuestionForecast,
    TotalIs,
    counted,
)
from runax_cli.executor.dry_run import CallPreview, DryRunExecutor
from runax_cli.executor.strategy import Strategy
from runax_cli.models.base import Role, Usage
from runax_cli.runtime.runtime import REDUCER_PROMPTS, Runtime
from runax_cli.settings.loader import Configuration
from runax_cli.ui.interrupt import run_interruptible
from runax_cli.ui.json_output import to_json
from runax_cli.ui.log_lines import usd


def text_of(report: QuestionForecast) -> str:
    """The forecast as text, a few lines per sub-question."""
    lines = [report.rule, ""]
    for number, part in enumerate(report.parts, 1):
        lines += [*_part(number, part), ""]
    return "\n".join([*lines, *_figures(report)])


def _part(number: int, part: SubQuestionForecast) -> Iterator[str]:
    after = f", after {', '.join(map(str, part.after))}" if part.after else ""
    yield f"{number}. {part.question} ({part.need}{after})"
    for call in part.calls:
        yield from _call(call)
    if part.error is not None:
        yield f"   failed: {part.error}"
    elif not part.calls:
        yield "   no call: the model answers without data"
    yield f"   {'about' if part.is_known else 'at least'} {part.tokens:,} tokens"


def _call(call: CallForecast) -> Iterator[str]:
    head = f"   {'lookup' if call.is_lookup else 'call':<8}{call.tool} {to_json(call.arguments)}"
    if call.error is not None:
        yield f"{head}: failed: {call.error}"
        return
    yield f"{head}: {_records(call)}{' (executed)' if call.is_lookup else ''}"
    if not call.is_lookup:
        yield f"   {'':<8}{call.strategy}: {call.why}"
        pages = "pages unknown" if call.pages is None else counted(call.pages, "page")
        requests = "" if call.requests is None else f", {counted(call.requests, 'request')} to the source"
        reducers = f", {counted(call.model_requests, 'request')} to reducers" if call.model_requests else ""
        yield f"   {'':<8}{pages}{requests}{reducers}"


def _records(call: CallForecast) -> str:
    if call.records_total is None:
        return "unknown number of records"
    least = "at least " if call.total_is is not TotalIs.EXACT else ""
    tokens = "" if call.tokens_raw is None else f", {short_tokens(call.tokens_raw)} tokens"
    return f"{least}{counted(call.records_total, 'record')}{tokens}"


def _figures(report: QuestionForecast) -> Iterator[str]:
    roles = "; ".join(
        f"{role} {used.requests}x {used.input_tokens:,} in, {used.output_tokens:,} out"
        for role, used in report.by_role.items()
    )
    yield f"pages     {'unknown' if report.pages is None else f'{report.pages:,}'}"
    yield f"requests  {'to sources unknown' if report.requests is None else f'{report.requests:,} to sources'}"
    yield f"tokens    {_range(report.tokens_range, lambda value: f'{value:,.0f}')} ({roles})"
    unknown = "unknown: this model and endpoint are not in the price list; set 'prices' in runax.yaml"
    yield f"price     {unknown if report.price_usd is None else _range(report.price_usd, usd)}"
    yield f"time      {_range(report.duration_s, lambda value: f'{value:.1f} s')}"
    cost = "price unknown" if report.spent_usd is None else usd(report.spent_usd)
    spent = report.spent.input_tokens + report.spent.output_tokens
    requests = counted(report.spent.requests, "request")
    yield f"spent     {requests} to models, {spent:,} tokens, {cost}, on this forecast"


def _range(span: ForecastRange, shown: Callable[[float], str]) -> str:
    return f"at least {shown(span.low)}" if span.high is None else f"{shown(span.low)} to {shown(span.high)}"


async def run_plan(argument: str | None, common: CommonOptions) -> ExitCode:
    """Print the forecast of the question given by the argument and the pipe."""
    env = environment_of(common)
    printer = Printer(env, common.output.form)
    question = question_of(argument, env.stdin, is_terminal=env.is_stdin_terminal, note=printer.note)
    return await print_forecast(question, common, configuration_of(common))


async def print_forecast(question: str, common: CommonOptions, configuration: Configuration) -> ExitCode:
    """Print the forecast of a question."""
    view = view_of(common)
    async with open_conversation(configuration, common, view) as conversation:
        preview = await run_interruptible(preview_of(question, conversation))
        report = conversation.redactor.model(forecast_of(question, preview, conversation.runtime))
    printer = Printer(environment_of(common), common.output.form)
    printer.one(report.model_dump(mode="json"), text=text_of(report))
    return ExitCode(report.exit_code)  # type: ignore[call-arg]  # looks up a member


async def preview_of(question: str, conversation: SessionConversation) -> QuestionPreview:
    """Plan a question and probe its calls; only lookups are executed."""
    session, runtime = conversation.session, conversation.runtime
    dry_run = DryRunExecutor(
        session.executor,
        runtime.catalog,
        counter=runtime.registry.counter(Role.REDUCER),
        effective_tokens=runtime.registry.config(Role.REDUCER).effective_tokens,
        prompts=REDUCER_PROMPTS,
        feeds_other_calls=returns_ids_for_other_tools(session),
        clock=runtime.clock,
        concurrency=runtime.configuration.settings.api_concurrency,
    )
    return await Previewer(session=session, dry_run=dry_run).preview(question)


def forecast_of(question: str, preview: QuestionPreview, runtime: Runtime) -> QuestionForecast:
    """The forecast of a question: the totals of its parts, with ranges."""
    by_role = {
        Role.PLANNER: preview.planner,
        Role.AGENT: preview.agent,
        Role.REDUCER: preview.reducer,
        Role.REVIEWER: preview.reviewer,
    }
    used = {role: tokens for role, tokens in by_role.items() if tokens.requests}
    is_known = all(part.forecast.is_known and part.error is None for part in preview.sub_questions)
    expected = total_price([(tokens, _cost(runtime, role)) for role, tokens in used.items()])
    total = sum(tokens.total for tokens in used.values())
    return QuestionForecast(
        question=question,
        rule=preview.plan.rule,
        exit_code=int(_exit_code(preview)),
        parts=tuple(_sub_question_forecast(part, preview) for part in preview.sub_questions),
        pages=_sum([sight.pages for sight in _calls(preview) if sight.is_open]),
        requests=_sum([sight.requests for sight in _calls(preview) if sight.error is None]),
        tokens=total,
        tokens_range=_span(range_around(total, is_known=is_known)),
        by_role={role.value: _role(tokens) for role, tokens in used.items()},
        price_usd=None if expected is None else _span(range_around(expected, is_known=is_known)),
        duration_s=_span(_duration(preview, runtime), is_known=is_known),
        is_known=is_known,
        spent=preview.meter.report(),
        spent_usd=preview.meter.cost_usd,
    )


def _sub_question_forecast(part: SubQuestionPreview, preview: QuestionPreview) -> SubQuestionForecast:
    sub = preview.plan.sub_question(part.number)
    return SubQuestionForecast(
        question=sub.question,
        need=sub.need,
        after=sub.after,
        calls=tuple(_call_forecast(sight) for sight in part.calls),
        tokens=part.forecast.total,
        is_known=part.forecast.is_known and part.error is None,
        error=None if part.error is None else str(part.error),
    )


def _call_forecast(sight: CallPreview) -> CallForecast:
    call, choice = sight.call, sight.choice
    is_read = choice is not None and choice.strategy in (Strategy.SINGLE_REDUCTION, Strategy.PAGINATED_REDUCTION)
    return CallForecast(
        tool=call.tool.name,
        source=call.tool.source,
        arguments=call.arguments,
        focus=call.focus,
        need=call.need,
        at_most=call.at_most,
        is_lookup=sight.outcome is not None,
        dataset=None if sight.outcome is None else sight.outcome.report.dataset,
        records_total=sight.total,
        total_is=sight.total_is,
        tokens_raw=sight.tokens,
        strategy=None if choice is None else choice.strategy.value,
        why=None if choice is None else choice.why,
        pages=sight.pages,
        page_size=sight.page_size,
        chunks=sight.chunks if is_read else None,
        requests=sight.requests,
        model_requests=(sight.chunks if is_read else 0) if sight.error is None else None,
        error=sight.error,
    )


def _calls(preview: QuestionPreview) -> Iterator[CallPreview]:
    for part in preview.sub_questions:
        yield from part.calls


def _exit_code(preview: QuestionPreview) -> ExitCode:
    """The exit code of a failed sub-question; SOURCE_FAILED if all calls failed, INCOMPLETE if some did."""
    errors = [part.error for part in preview.sub_questions if part.error is not None]
    failed = [sight for sight in _calls(preview) if sight.error is not None]
    if errors:
        return exit_code_of(errors[0])
    if failed:
        is_all = all(sight.error is not None for sight in _calls(preview))
        return ExitCode.SOURCE_FAILED if is_all else ExitCode.INCOMPLETE
    return ExitCode.COMPLETE


def _duration(preview: QuestionPreview, runtime: Runtime) -> ForecastRange:
    settings, calls = runtime.configuration.settings, [*_calls(preview)]
    durations = [call.request_s for call in calls if call.request_s]
    return duration_range(
        [part.forecast for part in preview.sub_questions],
        requests=sum(call.requests or 1 for call in calls),
        request_s=sum(durations) / len(durations) if durations else 0.0,
        model_s=preview.step_s,
        api_concurrency=settings.api_concurrency,
        model_concurrency=settings.llm_concurrency,
    )


def _cost(runtime: Runtime, role: Role) -> Callable[[TokenEstimate], float | None]:
    prices = runtime.registry.price(role)
    return lambda tokens: prices.cost_usd(Usage(tokens.input, tokens.output))


def _role(tokens: TokenEstimate) -> RoleForecast:
    return RoleForecast(requests=tokens.requests, input_tokens=tokens.input, output_tokens=tokens.output)


def _span(range_: ForecastRange, *, is_known: bool = True) -> ForecastRange:
    high = range_.high if is_known else None
    return ForecastRange(low=round(range_.low, 6), high=None if high is None else round(high, 6))


def _sum(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
