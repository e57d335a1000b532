"""Converts events to log lines, without control characters; colors mark the kind of text."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Literal, TypeAlias

from rich.text import Text

from runax_cli.core import event_types as ev
from runax_cli.core.events import Event
from runax_cli.core.results import Coverage, TotalIs
from runax_cli.ui.console import STYLES, Tone, one_line, strip_control

Actor: TypeAlias = Literal["agent", "reducer"]
PREVIEW_LIMIT = 160
_REDUCER_ROLES = ("reducer", "labeller")
_REDUCER_EVENTS = (ev.ChunkPacked, ev.ChunkReduced, ev.ChunkFailed, ev.FindingsMerged)
_STRATEGIES: Mapping[str, str] = {
    "empty": "EMPTY DATASET",
    "direct_pass": "DIRECT PASS",
    "single_reduction": "SINGLE REDUCTION",
    "paginated_reduction": "PAGING ACTIVATED",
    "table": "TABLE",
}


@dataclass(frozen=True, slots=True)
class StyledText:
    """A piece of a line and its kind."""

    text: str
    tone: Tone | None = None


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of the log, with an optional body of many lines below it."""

    spans: tuple[StyledText, ...]
    body: str = ""

    @property
    def text(self) -> str:
        """The line and its indented body without colors."""
        return "".join(span.text for span in self.spans) + "".join(f"\n    {row}" for row in self.body.splitlines())

    def rich(self) -> Text:
        """The line and its body with colors; the body has the tone of the first piece that has one."""
        text = Text.assemble(*((span.text, STYLES[span.tone] if span.tone else "") for span in self.spans))
        tone = next((span.tone for span in self.spans if span.tone), None)
        for row in self.body.splitlines():
            text.append(f"\n    {row}", STYLES[tone] if tone else "")
        return text


@dataclass(frozen=True, slots=True)
class LogStage:
    """The content of one log line: its pieces, and the body shown in verbose mode."""

    spans: tuple[StyledText, ...]
    body: str = ""


def lines_of(event: Event, *, is_verbose: bool = False) -> tuple[LogLine, ...]:
    """The log lines of an event, with bodies if `is_verbose`; none for a piece of the streamed answer."""
    actor = _actor(event)
    part = "" if event.stamp.sub_question is None else f" · part {event.stamp.sub_question}"
    call = f" · call {one_line(event.stamp.call_id)}" if is_verbose and event.stamp.call_id else ""
    return tuple(
        LogLine(
            (
                StyledText(f"[{actor}] "),
                *stage.spans,
                *((StyledText(part + call, Tone.ASIDE),) if part or call else ()),
            ),
            strip_control(stage.body).strip("\n") if is_verbose else "",
        )
        for stage in stages(event.body, actor)
    )


def line_of(event: Event, *, is_verbose: bool = False) -> str | None:
    """The log lines of an event as text without colors, or None."""
    return "\n".join(line.text for line in lines_of(event, is_verbose=is_verbose)) or None


def _actor(event: Event) -> Actor:
    is_reducer = event.stamp.role in _REDUCER_ROLES or isinstance(event.body, _REDUCER_EVENTS)
    return "reducer" if is_reducer else "agent"


def _stage(*pieces: str | StyledText, body: str = "") -> tuple[LogStage, ...]:
    """One stage: the pieces joined with spaces; strings have no color."""
    spans: list[StyledText] = []
    for piece in pieces:
        span = StyledText(piece) if isinstance(piece, str) else piece
        if span.text:
            spans += [StyledText(" ")] * bool(spans) + [span]
    return (LogStage(tuple(StyledText(one_span(s.text), s.tone) for s in spans), body),)


def one_span(text: str) -> str:
    """`text` on one line without control characters; leading and trailing spaces are kept."""
    return strip_control(text).replace("\n", " ").replace("\t", " ")


def _tokens(text: str) -> StyledText:
    return StyledText(text, Tone.TOKENS)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _of(total: int | None) -> str:
    return "?" if total is None else str(total)


def _preview(text: str) -> str:
    return one_line(text, limit=PREVIEW_LIMIT)


def _preview_of(text: str, tone: Tone) -> StyledText:
    return StyledText(f"preview={shown}" if (shown := _preview(text)) else "", tone)


def usd(amount: float) -> str:
    """An amount in dollars, with more digits for small amounts; a positive amount is never shown as zero."""
    if amount >= 1:
        return f"${amount:.2f}"
    rounded = f"{amount:.4f}".rstrip("0").rstrip(".")
    return "<$0.0001" if amount > 0 and rounded == "0" else f"${rounded}"


@singledispatch
def stages(body: ev.EventData, _actor: Actor) -> tuple[LogStage, ...]:
    """The stages of an event; an event type without its own function is shown as JSON."""
    return _stage(_json(body.model_dump(mode="json")))


@stages.register
def _run_started(body: ev.RunStarted, _actor: Actor) -> tuple[LogStage, ...]:
    head = _stage(f"QUESTION: {one_line(body.question, limit=PREVIEW_LIMIT)}", body=body.question)
    models = f"model={body.model} reducer={body.reducer_model} counter={body.counter}"
    run = _stage(f"RUN: {models}", _tokens(f"effective_context={body.effective_tokens}"))
    return head + run + tuple(stage for notice in body.notices for stage in _stage(f"[NOTE] {notice}"))


@stages.register
def _run_finished(body: ev.RunFinished, _actor: Actor) -> tuple[LogStage, ...]:
    result = body.result
    why = f"{result.error.type}: {result.error.message}" if result.error else ""
    head = f"RUN FINISHED: {result.status} exit_code={result.exit_code} duration={result.duration_s:.1f} s"
    usage = _tokens(f"tokens={result.usage.input_tokens + result.usage.output_tokens}")
    coverage = _coverage(result.coverage, *(call.strategy for call in result.calls))
    return _stage(head, usage, _forecast(body), coverage, why, body=result.answer)


def _forecast(body: ev.RunFinished) -> str | StyledText:
    """The forecast tokens of the probes, and the relative error compared to the tokens used."""
    if body.forecast is None:
        return ""
    error = "" if body.forecast.off_by is None else f" ({body.forecast.off_by:+.1%})"
    return _tokens(f"forecast={body.forecast.tokens_forecast}{error}")


@stages.register
def _plan_made(body: ev.PlanMade, _actor: Actor) -> tuple[LogStage, ...]:
    parts = [f"{i}. ({need}) {q}" for i, (q, need) in enumerate(zip(body.sub_questions, body.needs, strict=False), 1)]
    head = f"[PLAN] sub_questions={len(body.sub_questions)} need={','.join(body.needs)} rule={body.rule}"
    return _stage(head, body="\n".join(parts))


@stages.register
def _model_requested(body: ev.ModelRequested, actor: Actor) -> tuple[LogStage, ...]:
    tone = Tone.REDUCER_REQUEST if actor == "reducer" else Tone.REQUEST
    what = f"LLM REQUEST: {body.model} messages={body.n_messages} tools={body.n_tools}"
    return _stage(StyledText(what, tone), _tokens(f"tokens={body.tokens_in}"), body=body.preview)


@stages.register
def _model_replied(body: ev.ModelReplied, actor: Actor) -> tuple[LogStage, ...]:
    tone = Tone.REDUCER_RESPONSE if actor == "reducer" else Tone.RESPONSE
    first = "" if body.first_token_s is None else f" first_token={body.first_token_s:.2f} s"
    cost = "unknown" if body.cost_usd is None else usd(body.cost_usd)
    what = f"LLM RESPONSE: {body.model} duration={body.duration_s:.2f} s{first} cost={cost}"
    tokens = _tokens(f"tokens={body.input_tokens} -> {body.output_tokens}")
    return _stage(StyledText(what, tone), tokens, _preview_of(body.preview, tone), body=body.preview)


@stages.register
def _answer_delta(_body: ev.AnswerDelta, _actor: Actor) -> tuple[LogStage, ...]:
    return ()


@stages.register
def _tool_selected(body: ev.ToolSelected, _actor: Actor) -> tuple[LogStage, ...]:
    head = StyledText(f"LLM TOOL SELECTED: {body.tool} [ARGS: {_json(body.arguments)}]", Tone.RESPONSE)
    focus = f"[FOCUS: {body.focus}]" if body.focus else ""
    return _stage(head, focus, f"[NEED: {body.need}]" if body.need else "")


@stages.register
def _tools_offered(body: ev.ToolsOffered, _actor: Actor) -> tuple[LogStage, ...]:
    part = f"{len(body.tools)} listed of {body.total}" if len(body.tools) < body.total else f"{body.total}"
    return _stage(_tokens(f"[TOOLS] {part}, {body.tokens} tokens in every request"), body=", ".join(body.tools))


@stages.register
def _guard_decided(body: ev.GuardDecided, _actor: Actor) -> tuple[LogStage, ...]:
    return _stage(f"[GUARD] {body.code} {body.tool}: {body.text}")


@stages.register
def _paging_detected(body: ev.PagingDetected, _actor: Actor) -> tuple[LogStage, ...]:
    match body.has_metadata, body.convention != "single":
        case True, True:
            what = "supports metadata & pagination"
        case True, False:
            what = "supports metadata"
        case False, True:
            what = "supports pagination"
        case _:
            what = "supports neither metadata nor pagination"
    hidden = f"hidden={', '.join(body.hidden)}" if body.hidden else ""
    return _stage(f"API end-point {what}", f"convention={body.convention}", hidden)


@stages.register
def _source_requested(body: ev.SourceRequested, _actor: Actor) -> tuple[LogStage, ...]:
    return _stage(f"API CALL: {body.location}")


@stages.register
def _call_probed(body: ev.CallProbed, _actor: Actor) -> tuple[LogStage, ...]:
    tokens = "unknown" if body.total_tokens_est is None else str(body.total_tokens_est)
    where = f"records_path={body.records_path or '.'} probe={body.rung}"
    return _stage(f"[META] total_items={_total(body)}", _tokens(f"total_tokens_est={tokens}"), where)


def _total(body: ev.CallProbed) -> str:
    if body.total_items is None:
        return "unknown"
    return f"{body.total_items}+" if body.total_is is TotalIs.AT_LEAST else str(body.total_items)


@stages.register
def _strategy_chosen(body: ev.StrategyChosen, _actor: Actor) -> tuple[LogStage, ...]:
    return _stage(f"[STRATEGY] {_STRATEGIES[body.strategy]}: {body.why}")


@stages.register
def _chunking_planned(body: ev.ChunkingPlanned, _actor: Actor) -> tuple[LogStage, ...]:
    return _stage(
        "[CHUNKING]",
        _tokens(f"budget={body.budget_tokens}"),
        _tokens(f"avg_tokens_per_item={body.avg_tokens_per_item:.1f}"),
        f"limit={body.items_per_chunk}",
        "" if body.page_size is None else f"page_size={body.page_size}",
        f"total_pages={_of(body.pages)} chunks={_of(body.chunks)}",
        "(corrected after page 1)" if body.is_corrected else "",
    )


@stages.register
def _page_fetched(body: ev.PageFetched, _actor: Actor) -> tuple[LogStage, ...]:
    return _stage(
        f"[PAGE {body.index}/{_of(body.of)}]",
        _position(body.position),
        "" if body.limit is None else f"limit={body.limit}",
        f"items={body.items} retries={body.retries}",
        "(from store)" if body.from_store else "",
    )


@stages.register
def _page_failed(body: ev.PageFailed, _actor: Actor) -> tuple[LogStage, ...]:
    return _stage(f"[PAGE {body.index}/{_of(body.of)}] FAILED", _position(body.position), f"why={body.why}")


def _position(position: str) -> str:
    return position if "=" in position or not position else f"position={position}"


@stages.register
def _chunk_packed(body: ev.ChunkPacked, _actor: Actor) -> tuple[LogStage, ...]:
    head = StyledText(f"[CHUNK {body.index}/{_of(body.of)}] records={body.records}", Tone.REDUCER_REQUEST)
    return _stage(head, _tokens(f"tokens={body.tokens}"))


@stages.register
def _chunk_reduced(body: ev.ChunkReduced, _actor: Actor) -> tuple[LogStage, ...]:
    head = StyledText(f"[REDUCER] preview={_preview(body.preview)}", Tone.REDUCER_RESPONSE)
    fields = f"| chunk={body.index}/{_of(body.of)} findings={body.findings}"
    fields += f" saved_chars={body.saved_chars}" if body.saved_chars else ""
    stored = "(from store)" if body.from_store else ""
    return _stage(head, fields, _tokens(f"tokens={body.tokens}"), stored, body=body.preview)


@stages.register
def _chunk_failed(body: ev.ChunkFailed, _actor: Actor) -> tuple[LogStage, ...]:
    return _stage(f"[CHUNK {body.index}/{_of(body.of)}] FAILED records={body.records} why={body.why}")


@stages.register
def _findings_merged(body: ev.FindingsMerged, _actor: Actor) -> tuple[LogStage, ...]:
    return _stage(f"[MERGE] level={body.level} findings={body.before} -> {body.after}")


@stages.register
def _answer_reviewed(body: ev.AnswerReviewed, _actor: Actor) -> tuple[LogStage, ...]:
    counts = f"supported={body.supported} contradicted={body.contradicted} not_in_evidence={body.not_in_evidence}"
    return _stage(f"[REVIEW] {counts} unreviewed={body.unreviewed}")


@stages.register
def _tokens_changed(body: ev.TokensChanged, _actor: Actor) -> tuple[LogStage, ...]:
    delta = body.after - body.before
    percent = f", {delta / body.before * 100:+.1f} %" if body.before else ""
    return _stage(_tokens(f"TOKEN CHANGE: {body.before} -> {body.after}, Δ {delta:+d}{percent}"))


@stages.register
def _dataset_sealed(body: ev.DatasetSealed, _actor: Actor) -> tuple[LogStage, ...]:
    return _stage(
        f"[DATASET] {body.dataset} records={body.records} bytes={body.n_bytes} duration={body.duration_s:.2f} s"
    )


@stages.register
def _dataset_queried(body: ev.DatasetQueried, _actor: Actor) -> tuple[LogStage, ...]:
    if body.error is not None:
        return _stage(f"[SQL] REFUSED: {_preview(body.sql)}", f"why={_preview(body.error)}", body=body.sql)
    head = StyledText(f"[SQL] {body.ref} rows={body.n_rows} {body.lineage or ''}".rstrip(), Tone.TOOL_RESULT)
    return _stage(head, f"duration={body.duration_s:.2f} s: {_preview(body.sql)}", body=f"{body.sql}\n{body.preview}")


@stages.register
def _dataset_labelled(body: ev.DatasetLabelled, _actor: Actor) -> tuple[LogStage, ...]:
    share = "" if body.agreement is None else f"agreement={body.agreement:.0%} of {body.n_sample}"
    stored = f"from_store={body.from_store}" if body.from_store else ""
    fields = f"rows={body.rows} texts={body.texts} unusable={body.unusable} requests={body.requests}"
    return _stage(f"[LABELS] {body.dataset} -> {body.table} {fields}", share, stored)


@stages.register
def _structure_seen(body: ev.StructureSeen, _actor: Actor) -> tuple[LogStage, ...]:
    return _stage(StyledText(f"STRUCTURE: {body.tool}: {_preview(body.text)}", Tone.STRUCTURE), body=body.text)


@stages.register
def _call_finished(body: ev.CallFinished, _actor: Actor) -> tuple[LogStage, ...]:
    fields = {"status": body.status, "strategy": body.strategy, "dataset": body.dataset}
    named = " ".join(f"{name}={value}" for name, value in fields.items() if value)
    head = StyledText(f"TOOL RESULT: {body.tool} {named}", Tone.TOOL_RESULT)
    preview = _preview_of(body.preview, Tone.TOOL_RESULT)
    tokens = _tokens(f"tokens={body.tokens_to_model}")
    return _stage(head, _coverage(body.coverage, body.strategy), tokens, preview, body=body.preview)


def _coverage(coverage: Coverage, *strategies: str | None) -> str:
    """The records fetched of the total, or the records selected by a query over stored data."""
    share = f"selected={coverage.selected}" if coverage.selected else ""
    if coverage.records_total != 0 or coverage.pages_read or "empty" in strategies:
        share = f"records={coverage.records_read}/{_of(coverage.records_total)}"
    reasons = ",".join(dict.fromkeys(reason.code.value for reason in coverage.reasons))
    fields = (share, "" if coverage.is_complete else "INCOMPLETE", f"reasons={reasons}" if reasons else "")
    return " ".join(filter(None, fields))


@stages.register
def _retry_scheduled(body: ev.RetryScheduled, _actor: Actor) -> tuple[LogStage, ...]:
    return _stage(f"[RETRY] {body.what} attempt={body.attempt} wait={body.wait_s:.1f} s why={body.why}")


@stages.register
def _request_delayed(body: ev.RequestDelayed, _actor: Actor) -> tuple[LogStage, ...]:
    return _stage(f"[HELD] {body.what} wait={body.wait_s:.1f} s why={body.why}")


@stages.register
def _source_progressed(body: ev.SourceProgressed, _actor: Actor) -> tuple[LogStage, ...]:
    share = f"{body.done:g}" if body.total is None else f"{body.done:g}/{body.total:g}"
    return _stage(f"[PROGRESS] {body.location} {share} {body.text}".rstrip())


@stages.register
def _budget_noted(body: ev.BudgetNoted, _actor: Actor) -> tuple[LogStage, ...]:
    state = " EXHAUSTED" if body.is_exhausted else ""
    return _stage(f"[BUDGET] {body.resource} {body.used:g}/{body.limit:g}{state}: {body.text}")


@stages.register
def _context_measured(body: ev.ContextMeasured, _actor: Actor) -> tuple[LogStage, ...]:
    share = f" ({body.used_tokens / body.effective_tokens:.1%})" if body.effective_tokens else ""
    return _stage(_tokens(f"[CONTEXT] {body.used_tokens}/{body.effective_tokens} tokens{share}"))


@stages.register
def _resumed(body: ev.Resumed, _actor: Actor) -> tuple[LogStage, ...]:
    return _stage(f"[RESUME] {body.text}")


@stages.register
def _warned(body: ev.Warned, _actor: Actor) -> tuple[LogStage, ...]:
    return _stage(f"[WARNING] {body.code}: {body.text}")
