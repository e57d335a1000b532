"""The end of a call: its envelope, its hint to the model, its report.

Knows coverage, strategies and what a model should do next in each case. Sends nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from adapters.errors import HttpStatusError, InvalidRequest, SourceError
from runax_cli.core.results import CallReport, Coverage, ReasonCode, TotalIs
from runax_cli.core.untrusted_text import one_line
from runax_cli.executor.outcome import DecidedCall, EnvelopeStatus, FaultCode, Finding, ResultEnvelope, ToolFault
from runax_cli.executor.strategy import COUNTED_BY_EYE, Strategy

SHOWN_REFERENCES = 20
_TOLD_REASONS = 4
_SAID_CHARACTERS = 400
_UNAUTHORISED = frozenset({401, 403})


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStatistics:
    """What a call took."""

    requests: int = 0
    tokens_raw: int = 0
    tokens_to_model: int = 0
    duration_s: float = 0.0


def tool_fault(error: SourceError, *, retries_left: int) -> ToolFault:
    """A failure of a source, as the model should see it."""
    wait = None if error.retry_after_s is None else round(error.retry_after_s * 1000)
    code = FaultCode.INVALID_ARGUMENTS if isinstance(error, InvalidRequest) else FaultCode.TRAPPED
    is_client = isinstance(error, HttpStatusError) and 400 <= error.status < 500 and error.status not in _UNAUTHORISED
    is_wrong = isinstance(error, InvalidRequest) or (is_client and not error.is_retryable)
    return ToolFault(
        type=error.kind,
        code=code,
        message=_message(error),
        retryable=error.is_retryable,
        retry_after_ms=wait,
        retries_left=retries_left if error.is_retryable else None,
        instruction="CORRECT_ARGUMENTS" if is_wrong else "RE-EVALUATE_INTENT",
    )


def direct_data(dataset: str, records: Sequence[Any]) -> dict[str, Any]:
    """Records under their references."""
    return {f"{dataset}#{row}": record for row, record in enumerate(records, start=1)}


def findings_data(dataset: str, findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Findings with their references; a long list of these is cut, and says so."""
    return [_finding(dataset, finding) for finding in findings]


def _finding(dataset: str, finding: Finding) -> dict[str, Any]:
    refs = [f"{dataset}#{row}" for row in finding.records[:SHOWN_REFERENCES]]
    if len(finding.records) > SHOWN_REFERENCES:
        refs.append(f"+{len(finding.records) - SHOWN_REFERENCES} more")
    told: dict[str, Any] = {"statement": finding.statement, "records": refs}
    if finding.quote and finding.is_quote_verified:
        told["quote"] = finding.quote
    return told


def status_of(coverage: Coverage) -> EnvelopeStatus:
    """Success, empty or partial."""
    if not coverage.is_complete:
        return EnvelopeStatus.PARTIAL
    return EnvelopeStatus.SUCCESS if coverage.records_read else EnvelopeStatus.EMPTY


def build_hint(
    call: DecidedCall,
    coverage: Coverage,
    strategy: Strategy,
    *,
    dataset: str | None,
    kept_back: int = 0,
    can_query: bool = False,
) -> str:
    """What the model should do next with this result."""
    name, noun, read = call.tool.name, call.tool.noun, coverage.records_read
    again = f"do not call {name} again with these arguments"
    if strategy is Strategy.EMPTY and not coverage.is_complete:
        return (
            f"{_what_was_read(coverage, noun, strategy)} This is no empty result: no conclusion about the data follows."
        )
    if strategy is Strategy.EMPTY:
        return f"There are no {noun} for these arguments; that is a fact. Answer so, or look with other arguments."
    sentences = [_what_was_read(coverage, noun, strategy), _how_to_use(strategy, dataset, coverage)]
    is_reduced = strategy in (Strategy.SINGLE_REDUCTION, Strategy.PAGINATED_REDUCTION)
    wants_figures = is_reduced or read > COUNTED_BY_EYE or call.need == "compute"
    if can_query and strategy is not Strategy.TABLE and wants_figures:
        sentences.append(f"For figures over them use query_dataset on table {dataset}.")
    elif call.need == "compute" and is_reduced:
        sentences.append(
            "Figures over them were not computed: state no counts or sums beyond total_matches and records_read."
        )
    if kept_back:
        sentences.append(f"{kept_back} more findings did not fit here; ask with a narrower focus if they matter.")
    if any(reason.code is ReasonCode.FIRST_N for reason in coverage.reasons):
        sentences.append(f"Only the first {read} were asked for: say so.")
    sentences.append(again[0].upper() + again[1:] + ".")
    return " ".join(sentence for sentence in sentences if sentence)


def _what_was_read(coverage: Coverage, noun: str, strategy: Strategy) -> str:
    if coverage.is_complete:
        done = "fetched" if strategy is Strategy.TABLE else "read"
        return f"All {coverage.records_read} {noun} were {done}." if _is_all(coverage) else ""
    missing = "; ".join(reason.text for reason in coverage.reasons[:_TOLD_REASONS])
    return f"INCOMPLETE: {coverage.records_read} {noun} were fetched, {missing}. Say in the answer what is missing."


def _is_all(coverage: Coverage) -> bool:
    return not any(reason.code is ReasonCode.FIRST_N for reason in coverage.reasons)


def _how_to_use(strategy: Strategy, dataset: str | None, coverage: Coverage) -> str:
    match strategy:
        case Strategy.DIRECT_PASS:
            return f"Cite records as [{dataset}#1]."
        case Strategy.SINGLE_REDUCTION | Strategy.PAGINATED_REDUCTION:
            unread = coverage.records_read - coverage.read_by_model
            told = f" {unread} of them could not be read by a model." if unread > 0 else ""
            return f"Answer from the findings and cite their records as [{dataset}#17].{told}"
        case Strategy.TABLE:
            return (
                f"data describes table {dataset}. Figures: query_dataset. Figures about meaning: label_dataset, then "
                "query_dataset. What some records say: read_dataset."
            )
        case Strategy.EMPTY:
            return ""


def build_envelope(
    call: DecidedCall,
    coverage: Coverage,
    strategy: Strategy,
    *,
    dataset: str | None,
    data: Any,
    kept_back: int = 0,
    can_query: bool = False,
) -> ResultEnvelope:
    """The result of a call that reached its source."""
    is_exact = coverage.total_is is TotalIs.EXACT
    return ResultEnvelope(
        status=status_of(coverage),
        tool=call.tool.name,
        query=call.arguments,
        strategy=strategy.value,
        total_matches=coverage.records_total if is_exact or not coverage.is_complete else None,
        records_read=coverage.records_read,
        is_complete=coverage.is_complete,
        dataset=dataset,
        data=data,
        next_action_hint=build_hint(
            call, coverage, strategy, dataset=dataset, kept_back=kept_back, can_query=can_query
        ),
    )


def build_report(
    call: DecidedCall, sent: ResultEnvelope, coverage: Coverage, figures: CallStatistics, *, strategy: Strategy | None
) -> CallReport:
    """The call as it is reported."""
    return CallReport(
        tool=call.tool.name,
        source=call.tool.source,
        arguments=call.arguments,
        focus=call.focus,
        need=call.need,
        status=sent.status.value,
        strategy=strategy.value if strategy else None,
        dataset=sent.dataset,
        records_read=coverage.records_read,
        records_total=coverage.records_total,
        pages=coverage.pages_read,
        requests=figures.requests,
        tokens_raw=figures.tokens_raw,
        tokens_to_model=figures.tokens_to_model,
        duration_s=round(figures.duration_s, 3),
    )


def _message(error: SourceError) -> str:
    if isinstance(error, InvalidRequest):
        untold = [one for one in error.violations[:5] if one not in str(error)]
        return " ".join((str(error), "; ".join(untold))).strip()
    said = _said(error.body) if isinstance(error, HttpStatusError) else ""
    return f"{str(error).rstrip('.')}. It says: {said}" if said else str(error)


def _said(body: str) -> str:
    """The words of a refusal on one line; a page for browsers has none."""
    return "" if body.lstrip().startswith("<") else one_line(body, limit=_SAID_CHARACTERS)
