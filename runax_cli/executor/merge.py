"""Merging findings: by code wherever that can be done, and a plan of groups where a model has to condense.

Pure. Knows statements, the rows behind them, and weights. Knows no request.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from runax_cli.executor.outcome import Finding

WORTH_CONDENSING = 0.9
"""A round of condensing that leaves more than this share of the tokens is the last one."""


def deduplicated(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Equal statements become one, with the rows of all; ids (f1, f2, …) are given anew in order."""
    kept: dict[str, Finding] = {}
    for finding in findings:
        key = " ".join(finding.statement.casefold().split())
        kept[key] = _united(kept[key], finding) if key in kept else finding
    return renumbered(kept.values())


def renumbered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The same findings with ids in order."""
    return tuple(replace(finding, id=f"f{number}") for number, finding in enumerate(findings, start=1))


def groups(weights: Sequence[int], *, budget: int) -> list[range]:
    """Consecutive positions whose weights sum up to at most `budget`; one that is heavier stands alone."""
    found: list[range] = []
    start, used = 0, 0
    for at, weight in enumerate(weights):
        if at > start and used + weight > budget:
            found.append(range(start, at))
            start, used = at, 0
        used += weight
    return [*found, range(start, len(weights))] if weights else []


def condensed(statement: str, sources: Iterable[str], findings: Mapping[str, Finding]) -> Finding | None:
    """One statement over several findings: it rests on the union of their rows. None where no source is known.

    It keeps the quote of a source only where there is one source: a quote proves the statement it was made for.
    """
    behind = [findings[source] for source in dict.fromkeys(sources) if source in findings]
    if not behind or not statement.strip():
        return None
    rows = tuple(sorted({row for finding in behind for row in finding.records}))
    only = behind[0] if len(behind) == 1 else None
    return Finding(
        id=behind[0].id,
        statement=statement.strip(),
        records=rows,
        quote=only.quote if only else None,
        is_quote_verified=only.is_quote_verified if only else None,
    )


def applied(reply: Iterable[tuple[str, Sequence[str]]], findings: Sequence[Finding]) -> tuple[Finding, ...] | None:
    """Findings after a condensing reply; None where it cites none of them. What it forgets stays as it is."""
    by_id = {finding.id: finding for finding in findings}
    made = [(condensed(statement, sources, by_id), sources) for statement, sources in reply]
    kept = [(finding, sources) for finding, sources in made if finding is not None]
    if not kept:
        return None
    cited = {source for _, sources in kept for source in sources}
    return (*(finding for finding, _ in kept), *(finding for finding in findings if finding.id not in cited))


def fitting_prefix(weights: Sequence[int], *, budget: int) -> int:
    """How many of the first positions fit into `budget` together."""
    used = 0
    for at, weight in enumerate(weights):
        used += weight
        if used > budget:
            return at
    return len(weights)


def _united(first: Finding, other: Finding) -> Finding:
    rows = tuple(sorted({*first.records, *other.records}))
    proven = first if first.is_quote_verified or not other.is_quote_verified else other
    return replace(first, records=rows, quote=proven.quote, is_quote_verified=proven.is_quote_verified)
