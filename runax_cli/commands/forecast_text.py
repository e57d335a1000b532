"""A forecast as text: each part with its calls, then the figures of all of them.

Pure; knows the report and nothing of how it came about.
"""

from collections.abc import Callable, Iterator

from runax_cli.agent.certificate import short_tokens
from runax_cli.forecasts import CallForecast, PartForecast, QuestionForecast, Span
from runax_cli.results import TotalIs
from runax_cli.ui.jsonl import to_json
from runax_cli.ui.plain import usd


def text_of(report: QuestionForecast) -> str:
    """The whole forecast, a few lines a part."""
    lines = [report.rule, ""]
    for number, part in enumerate(report.parts, 1):
        lines += [*_part(number, part), ""]
    return "\n".join([*lines, *_figures(report)])


def _part(number: int, part: PartForecast) -> Iterator[str]:
    after = f", after {', '.join(map(str, part.after))}" if part.after else ""
    yield f"{number}. {part.question} ({part.need}{after})"
    for call in part.calls:
        yield from _call(call)
    if part.error is not None:
        yield f"   failed: {part.error}"
    elif not part.calls:
        yield "   no call: the model answers by itself"
    yield f"   {'about' if part.is_known else 'at least'} {part.tokens:,} tokens"


def _call(call: CallForecast) -> Iterator[str]:
    head = f"   {'lookup' if call.is_lookup else 'call':<8}{call.tool} {to_json(call.arguments)}"
    if call.error is not None:
        yield f"{head}: failed: {call.error}"
        return
    yield f"{head}: {_records(call)}{' (was run)' if call.is_lookup else ''}"
    if not call.is_lookup:
        yield f"   {'':<8}{call.strategy}: {call.why}"
        pages = "pages unknown" if call.pages is None else _counted(call.pages, "page")
        requests = "" if call.requests is None else f", {_counted(call.requests, 'request')} to the source"
        readers = f", {_counted(call.model_requests, 'request')} to readers" if call.model_requests else ""
        yield f"   {'':<8}{pages}{requests}{readers}"


def _records(call: CallForecast) -> str:
    if call.records_total is None:
        return "records of unknown number"
    least = "at least " if call.total_is is not TotalIs.EXACT else ""
    tokens = "" if call.tokens_raw is None else f", {short_tokens(call.tokens_raw)} tokens"
    return f"{least}{_counted(call.records_total, 'record')}{tokens}"


def _figures(report: QuestionForecast) -> Iterator[str]:
    roles = "; ".join(
        f"{role} {used.requests}x {used.input_tokens:,} in, {used.output_tokens:,} out"
        for role, used in report.by_role.items()
    )
    yield f"pages     {'unknown' if report.pages is None else f'{report.pages:,}'}"
    yield f"requests  {'to sources unknown' if report.requests is None else f'{report.requests:,} to sources'}"
    yield f"tokens    {_range(report.tokens_range, lambda value: f'{value:,.0f}')} ({roles})"
    unknown = "unknown: no price list has this model and endpoint; state it under 'prices' in runax.yaml"
    yield f"price     {unknown if report.price_usd is None else _range(report.price_usd, usd)}"
    yield f"time      {_range(report.duration_s, lambda value: f'{value:.1f} s')}"
    cost = "price unknown" if report.spent_usd is None else usd(report.spent_usd)
    spent = report.spent.input_tokens + report.spent.output_tokens
    asked = _counted(report.spent.requests, "request")
    yield f"spent     {asked} to models, {spent:,} tokens, {cost}, on this forecast"


def _range(span: Span, shown: Callable[[float], str]) -> str:
    return f"at least {shown(span.low)}" if span.high is None else f"{shown(span.low)} to {shown(span.high)}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
