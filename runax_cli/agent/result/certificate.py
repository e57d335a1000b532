"""Makes the certificate line: one line of figures under an answer, from the result alone.

`261/261 tickets fetched · 9 pages · 14 findings, 14 verified · exact: 2 SQL results · 355k → 2.1k tokens · $0.004 ·
6.2 s · run 7f3a`
"""

from collections.abc import Iterator, Sequence

from adapters.json_text import compact_json
from runax_cli.core.results import (
    CallReport,
    Coverage,
    Evidence,
    EvidenceKind,
    Lineage,
    ReasonCode,
    RunResult,
    SqlResult,
    SweepReport,
    TotalIs,
    counted,
    lineage_words,
)

SHORT_ID = 4
_MAX_ASKED = 3
_MAX_ARGUMENT_CHARS = 60
MAX_SKIPPED_SHOWN = 4


def certificate_line(result: RunResult) -> str:
    """Coverage, evidence, tokens, money, time and run in one line."""
    return " · ".join([*_data(result), _money(result.cost_usd), _seconds(result.duration_s), _run(result)])


def short_tokens(tokens: int) -> str:
    """`950`, `2.1k`, `355k`, `1.2M`."""
    for limit, unit in ((1_000_000, "M"), (1_000, "k")):
        if tokens >= limit:
            value = tokens / limit
            return f"{value:.1f}{unit}" if value < 9.95 else f"{value:.0f}{unit}"
    return str(tokens)


def _data(result: RunResult) -> Iterator[str]:
    ran = [call for call in result.calls if call.requests or call.records_read or call.dataset]
    if not ran:
        yield "no data was used"
        yield from _failed(result)
        return
    coverage = result.coverage
    yield f"{coverage.records_read:,}/{_total(coverage)} {_noun(result)}{_arguments(ran)} fetched{_first_n(coverage)}"
    yield counted(coverage.pages_read, "page") + (f", {coverage.pages_failed} failed" if coverage.pages_failed else "")
    if coverage.read_by_model < coverage.selected:
        yield f"{coverage.read_by_model:,}/{coverage.selected:,} read"
    yield from _sweeps(result.sweeps)
    yield from _evidence(result)
    if not coverage.is_complete:
        yield "incomplete"
    raw, kept = sum(call.tokens_raw for call in ran), sum(call.tokens_to_model for call in ran)
    yield f"{short_tokens(raw)} → {short_tokens(kept)} tokens"


def _arguments(ran: Sequence[CallReport]) -> str:
    """What the source was asked for: the arguments of each call, so that a filter that is too narrow is seen."""
    asked = dict.fromkeys(
        ", ".join(f"{name}={_value(value)}" for name, value in call.arguments.items()) for call in ran if call.requests
    )
    shown = [text if len(text) <= _MAX_ARGUMENT_CHARS else f"{text[:_MAX_ARGUMENT_CHARS]}…" for text in asked if text]
    if not shown:
        return ""
    more = f"; {len(shown) - _MAX_ASKED} more" if len(shown) > _MAX_ASKED else ""
    return f" ({'; '.join(shown[:_MAX_ASKED])}{more})"


def _value(value: object) -> str:
    return value if isinstance(value, str) else compact_json(value)


def _first_n(coverage: Coverage) -> str:
    is_first_n = any(reason.code is ReasonCode.FIRST_N for reason in coverage.reasons)
    return " (only the first were asked for)" if is_first_n else ""


def _sweeps(sweeps: Sequence[SweepReport]) -> Iterator[str]:
    """How many tools were read for each entity that everything was asked about, and which ones were not."""
    for sweep in sweeps:
        named = f"{sweep.kind} {sweep.id}" if sweep.id is not None else f"'{sweep.name}'"
        skipped = list(dict.fromkeys(one.tool for one in sweep.skipped))
        shown = ", ".join(skipped[:MAX_SKIPPED_SHOWN]) + (", …" if len(skipped) > MAX_SKIPPED_SHOWN else "")
        left_out = f", {len(skipped)} skipped ({shown})" if skipped else ""
        yield f"{named}: {counted(len(sweep.visited), 'tool')} visited{left_out}"


def _evidence(result: RunResult) -> Iterator[str]:
    records = [entry for entry in result.evidence if entry.kind is EvidenceKind.RECORD]
    verified = sum(entry.verified for entry in records)
    computed = [entry for entry in result.evidence if entry.kind is EvidenceKind.SQL]
    if records or not computed:
        yield f"{counted(len(records), 'finding')}, {verified} verified" if records else "no findings cited"
    yield from _computed(computed)
    yield from _failed(result)


def _failed(result: RunResult) -> Iterator[str]:
    """The number of statements that must not be relied on."""
    if n_failed := sum(entry.has_failed for entry in result.evidence):
        yield f"{counted(n_failed, 'statement')} FAILED"


def _computed(computed: Sequence[Evidence]) -> Iterator[str]:
    """The number of cited SQL results for each lineage."""
    proven = {query.id: query for entry in computed if entry.verified for query in entry.queries}
    for lineage in Lineage:
        of_kind = [query for query in proven.values() if query.lineage is lineage]
        if of_kind:
            yield f"{lineage_words(lineage, _least_agreement(of_kind))}: {counted(len(of_kind), 'SQL result')}"


def _least_agreement(queries: Sequence[SqlResult]) -> float | None:
    known = [query.agreement for query in queries if query.agreement is not None]
    return min(known) if known else None


def _total(coverage: Coverage) -> str:
    if coverage.records_total is None:
        return "?"
    least = "≥" if coverage.total_is is not TotalIs.EXACT else ""
    return f"{least}{coverage.records_total:,}"


def _noun(result: RunResult) -> str:
    """The noun of all datasets, or "records" if they differ."""
    nouns = {call.dataset.rpartition("_")[0] for call in result.calls if call.dataset}
    return nouns.pop() if len(nouns) == 1 else "records"


def _money(cost_usd: float | None) -> str:
    if cost_usd is None:
        return "cost unknown"
    if cost_usd == 0:
        return "$0"
    return f"${cost_usd:.2f}" if cost_usd >= 0.1 else f"${cost_usd:.1g}"


def _seconds(duration_s: float) -> str:
    return f"{duration_s:.1f} s"


def _run(result: RunResult) -> str:
    return f"run {result.run_id[:SHORT_ID]}"
