"""Build the end of a call: its envelope, the hint to the model, its report and its last events."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from adapters.errors import HttpStatusError, InvalidRequest, SourceError
from runax_cli.core.event_types import AnyEvent, CallFinished, TokensChanged
from runax_cli.core.results import CallReport, Coverage, ReasonCode, StoredResult, TotalIs
from runax_cli.core.untrusted_text import one_line
from runax_cli.executor.outcome import (
    CallRequest,
    DecidedCall,
    EnvelopeStatus,
    FaultCode,
    Finding,
    ResultEnvelope,
    ToolFault,
)
from runax_cli.executor.store.dataset import Dataset
from runax_cli.executor.strategy import COUNTED_BY_EYE, Strategy

SHOWN_REFERENCES = 20
_SHOWN_REASONS = 4
_SHOWN_ROWS = 8
_ERROR_BODY_CHARS = 400
_PREVIEW_CHARS = 2000
_UNAUTHORIZED = frozenset({401, 403})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadResult:
    """What a strategy made of the records of a call.

    `data` is what the main model sees; None if there is nothing to show. `findings` are all findings of the reducers,
    of which the last `kept_back` did not fit into `data`.
    """

    strategy: Strategy
    coverage: Coverage
    dataset: Dataset | None = None
    data: Any = None
    findings: tuple[Finding, ...] = ()
    kept_back: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStatistics:
    """Records and costs of a call as they are reported. `tokens_raw` are those of the records before reduction."""

    records_read: int = 0
    records_total: int | None = None
    pages: int = 0
    requests: int = 0
    tokens_raw: int = 0
    tokens_to_model: int = 0
    duration_s: float = 0.0


NO_STATISTICS = CallStatistics()


def tool_fault(error: SourceError, *, retries_left: int) -> ToolFault:
    """Convert the failure of a source to the error that the model sees."""
    retry_after_ms = None if error.retry_after_s is None else round(error.retry_after_s * 1000)
    code = FaultCode.INVALID_ARGUMENTS if isinstance(error, InvalidRequest) else FaultCode.TRAPPED
    is_client_error = (
        isinstance(error, HttpStatusError) and 400 <= error.status < 500 and error.status not in _UNAUTHORIZED
    )
    is_correctable = isinstance(error, InvalidRequest) or (is_client_error and not error.is_retryable)
    return ToolFault(
        type=error.kind,
        code=code,
        message=_message(error),
        retryable=error.is_retryable,
        retry_after_ms=retry_after_ms,
        retries_left=retries_left if error.is_retryable else None,
        instruction="CORRECT_ARGUMENTS" if is_correctable else "RE-EVALUATE_INTENT",
    )


def _message(error: SourceError) -> str:
    if isinstance(error, InvalidRequest):
        more = [violation for violation in error.violations[:5] if violation not in str(error)]
        return " ".join((str(error), "; ".join(more))).strip()
    body = _body_text(error.body) if isinstance(error, HttpStatusError) else ""
    return f"{str(error).rstrip('.')}. Response: {body}" if body else str(error)


def _body_text(body: str) -> str:
    """Return the body of an error response on one line; "" for an HTML page."""
    return "" if body.lstrip().startswith("<") else one_line(body, limit=_ERROR_BODY_CHARS)


def findings_data(dataset: str, findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return findings as the model sees them. A long list of references is cut, with the number of the others."""
    return [_finding_data(dataset, finding) for finding in findings]


def _finding_data(dataset: str, finding: Finding) -> dict[str, Any]:
    refs = [f"{dataset}#{row}" for row in finding.records[:SHOWN_REFERENCES]]
    if len(finding.records) > SHOWN_REFERENCES:
        refs.append(f"+{len(finding.records) - SHOWN_REFERENCES} more")
    data: dict[str, Any] = {"statement": finding.statement, "records": refs}
    if finding.quote and finding.is_quote_verified:
        data["quote"] = finding.quote
    return data


def list_rows(rows: Sequence[int]) -> str:
    """Return the first rows of a list as "#1, #2, …"."""
    return ", ".join(f"#{row}" for row in rows[:_SHOWN_ROWS]) + (", …" if len(rows) > _SHOWN_ROWS else "")


def status_of(coverage: Coverage) -> EnvelopeStatus:
    """Return success, empty or partial."""
    if not coverage.is_complete:
        return EnvelopeStatus.PARTIAL
    return EnvelopeStatus.SUCCESS if coverage.records_read else EnvelopeStatus.EMPTY


def build_envelope(call: DecidedCall, result: ReadResult, *, can_query: bool) -> ResultEnvelope:
    """Build the envelope of a call that reached its source. `can_query`: its dataset can be queried with SQL."""
    coverage = result.coverage
    is_total_shown = coverage.total_is is TotalIs.EXACT or not coverage.is_complete
    return ResultEnvelope(
        status=status_of(coverage),
        tool=call.tool.name,
        query=call.arguments,
        strategy=result.strategy.value,
        total_matches=coverage.records_total if is_total_shown else None,
        records_read=coverage.records_read,
        is_complete=coverage.is_complete,
        dataset=None if result.dataset is None else result.dataset.name,
        data=result.data,
        next_action_hint=build_hint(call, result, can_query=can_query),
    )


def count_envelope(call: DecidedCall, *, total: int, dataset: str) -> ResultEnvelope:
    """Build the envelope of a call whose records the source counted and that were not read."""
    noun = call.tool.noun
    return ResultEnvelope(
        status=EnvelopeStatus.SUCCESS,
        tool=call.tool.name,
        query=call.arguments,
        total_matches=total,
        records_read=0,
        is_complete=True,
        dataset=dataset,
        next_action_hint=(
            f"The source counts {total} {noun} for these arguments. None were read: {dataset} is no table, cite it for "
            f"this total only, as [{dataset}]. What {noun} say, or any other figure, needs a call without at_most."
        ),
    )


def build_hint(call: DecidedCall, result: ReadResult, *, can_query: bool) -> str:
    """Tell the model what to do next with a result."""
    noun, coverage, strategy = call.tool.noun, result.coverage, result.strategy
    if strategy is Strategy.EMPTY and not coverage.is_complete:
        extent = _extent(coverage, noun, strategy)
        return f"{extent} This is not an empty result: no conclusion about the data follows."
    if strategy is Strategy.EMPTY:
        return f"There are no {noun} for these arguments; that is a fact. Answer so, or try other arguments."
    sentences = [
        _extent(coverage, noun, strategy),
        _usage(result),
        _figures_hint(call, result, can_query=can_query),
        f"{result.kept_back} more findings did not fit here; use a narrower focus if they matter."
        if result.kept_back
        else "",
        f"Only the first {coverage.records_read} were requested: say so." if _is_first_n(coverage) else "",
        f"Do not call {call.tool.name} again with these arguments.",
    ]
    return " ".join(filter(None, sentences))


def _extent(coverage: Coverage, noun: str, strategy: Strategy) -> str:
    if coverage.is_complete:
        verb = "fetched" if strategy is Strategy.TABLE else "read"
        return "" if _is_first_n(coverage) else f"All {coverage.records_read} {noun} were {verb}."
    missing = "; ".join(reason.text for reason in coverage.reasons[:_SHOWN_REASONS])
    return f"INCOMPLETE: {coverage.records_read} {noun} were fetched, {missing}. Say in the answer what is missing."


def _is_first_n(coverage: Coverage) -> bool:
    return any(reason.code is ReasonCode.FIRST_N for reason in coverage.reasons)


def _usage(result: ReadResult) -> str:
    dataset = None if result.dataset is None else result.dataset.name
    shown = _shown_record(result.data)
    match result.strategy:
        case Strategy.DIRECT_PASS:
            return f"Cite records as [{shown}]." if shown else ""
        case Strategy.SINGLE_REDUCTION | Strategy.PAGINATED_REDUCTION:
            n_unread = result.coverage.records_read - result.coverage.read_by_model
            unread = f" {n_unread} of them could not be read by a model." if n_unread > 0 else ""
            cited = f" and cite their records as [{shown}]" if shown else ""
            return f"Answer from the findings{cited}.{unread}"
        case Strategy.TABLE:
            beside = f"; cite records beside it as [{shown}]" if shown else ""
            return (
                f"data.table describes table {dataset}{beside}. Figures: query_dataset. Figures about meaning: "
                "label_dataset, then query_dataset. What some records say: read_dataset."
            )
        case Strategy.EMPTY:
            return ""


def _shown_record(data: Any) -> str | None:
    """Return the reference of a record that `data` shows or that its findings name; None if there is none."""
    if isinstance(data, dict):
        return next((key for key in data if "#" in key), None)
    references = (ref for finding in data or () for ref in finding["records"] if "#" in ref)
    return next(references, None)


def _figures_hint(call: DecidedCall, result: ReadResult, *, can_query: bool) -> str:
    is_reduced = result.strategy in (Strategy.SINGLE_REDUCTION, Strategy.PAGINATED_REDUCTION)
    needs_sql = is_reduced or result.coverage.records_read > COUNTED_BY_EYE or call.need == "compute"
    if can_query and result.dataset and result.strategy is not Strategy.TABLE and needs_sql:
        return f"For figures over them use query_dataset on table {result.dataset.name}."
    if call.need == "compute" and is_reduced:
        return "Figures over them were not computed: state no counts or sums beyond total_matches and records_read."
    return ""


def build_report(
    request: CallRequest,
    envelope: ResultEnvelope,
    statistics: CallStatistics = NO_STATISTICS,
    *,
    dataset: str | None = None,
    status: str | None = None,
    stored: Sequence[StoredResult] = (),
) -> CallReport:
    """Build the report of a call of any kind. `dataset` and `status` default to those of the envelope."""
    return CallReport(
        tool=request.tool,
        source=request.source,
        arguments=request.arguments,
        focus=request.focus,
        need=request.need,
        status=status or envelope.status.value,
        strategy=envelope.strategy,
        dataset=dataset or envelope.dataset,
        records_read=statistics.records_read,
        records_total=statistics.records_total,
        pages=statistics.pages,
        requests=statistics.requests,
        tokens_raw=statistics.tokens_raw,
        tokens_to_model=statistics.tokens_to_model,
        duration_s=round(statistics.duration_s, 3),
        stored=tuple(stored),
    )


def finished_events(report: CallReport, envelope: ResultEnvelope, coverage: Coverage) -> Iterator[AnyEvent]:
    """Yield the last events of a call."""
    if report.tokens_raw:
        yield TokensChanged(before=report.tokens_raw, after=report.tokens_to_model)
    yield CallFinished(
        tool=report.tool,
        status=report.status,
        strategy=report.strategy,
        dataset=report.dataset,
        coverage=coverage,
        tokens_to_model=report.tokens_to_model,
        preview=envelope.to_model_text()[:_PREVIEW_CHARS],
    )
