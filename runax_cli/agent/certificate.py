"""The certificate: one line of figures under an answer, made from the result alone.

`261/261 tickets fetched · 9 pages · 14 findings, 14 verified · 355k → 2.1k tokens · $0.004 · 6.2 s · run 7f3a`
Pure; knows the result and nothing of where the line is printed.
"""

from collections.abc import Iterator

from runax_cli.results import Coverage, EvidenceKind, RunResult, TotalIs

SHORT_ID = 4


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
        return
    coverage = result.coverage
    yield f"{coverage.records_read:,}/{_total(coverage)} {_noun(result)} fetched"
    yield _counted(coverage.pages_read, "page") + (f", {coverage.pages_failed} failed" if coverage.pages_failed else "")
    if coverage.read_by_model < coverage.selected:
        yield f"{coverage.read_by_model:,}/{coverage.selected:,} read"
    yield from _evidence(result)
    if not coverage.is_complete:
        yield "incomplete"
    raw, kept = sum(call.tokens_raw for call in ran), sum(call.tokens_to_model for call in ran)
    yield f"{short_tokens(raw)} → {short_tokens(kept)} tokens"


def _evidence(result: RunResult) -> Iterator[str]:
    records = [entry for entry in result.evidence if entry.kind is EvidenceKind.RECORD]
    verified = sum(entry.verified for entry in records)
    yield f"{_counted(len(records), 'finding')}, {verified} verified" if records else "no findings cited"
    exact = [entry for entry in result.evidence if entry.kind is EvidenceKind.SQL and entry.exact]
    if exact:
        yield f"exact: {_counted(len(exact), 'SQL result')}"


def _total(coverage: Coverage) -> str:
    if coverage.records_total is None:
        return "?"
    least = "≥" if coverage.total_is is not TotalIs.EXACT else ""
    return f"{least}{coverage.records_total:,}"


def _noun(result: RunResult) -> str:
    """What all datasets hold, or "records" where they hold different things."""
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


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
