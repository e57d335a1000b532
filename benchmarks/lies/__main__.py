"""Prints how many planted errors the checks catch and how many honest answers they reject, by kind and language."""

import argparse
import json
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.lies.cases import Case, cases, domains, records
from benchmarks.lies.evidence import EvidenceBuilder
from runax_cli.agent.evidence.verify import verify_answer
from runax_cli.agent.planning.data_need import needs_data

MIN_CAUGHT = 0.75
MAX_FALSE_ALARMS = 0.01


@dataclass(frozen=True, slots=True)
class Judged:
    """A case and why its answer was rejected; "" if it was not."""

    case: Case
    why: str


def judge(case: Case, builder: EvidenceBuilder) -> Judged:
    """Check one answer as a run would."""
    if not case.calls and needs_data(case.question, ()):
        return Judged(case, "no data was used")
    shown = builder.shown(case)
    user_text = f"{case.question}\n2026-11-22"
    evidence = verify_answer(case.answer, shown, question=user_text, asked=case.question)
    failed = [f"{entry.statement[:90]!r}: {entry.note}" for entry in evidence if entry.fault is not None]
    return Judged(case, "; ".join(failed))


def judge_all(names: Iterable[str]) -> Iterator[Judged]:
    """Check all cases of these domains."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            builder = EvidenceBuilder(Path(folder) / name, records(name))
            yield from (judge(case, builder) for case in cases(name))


def main() -> int:
    """Print the rates as JSON; with --missed also each wrong decision."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--domain", action="append", choices=domains(), help="only this domain")
    parser.add_argument("--missed", action="store_true", help="print each wrong decision")
    options = parser.parse_args()
    judged = list(judge_all(options.domain or domains()))
    caught: dict[str, Counter[str]] = defaultdict(Counter)
    for one in judged:
        for group in (one.case.kind, one.case.language, one.case.domain, "all"):
            side = "errors" if one.case.is_lie else "honest"
            caught[group][side] += 1
            caught[group]["caught" if one.case.is_lie else "rejected"] += bool(one.why)
        if options.missed and bool(one.why) != one.case.is_lie:
            _print_wrong(one)
    total = caught["all"]
    sys.stdout.write(json.dumps({name: dict(counts) for name, counts in sorted(caught.items())}, indent=1) + "\n")
    is_good = (
        total["caught"] >= MIN_CAUGHT * total["errors"] and total["rejected"] <= MAX_FALSE_ALARMS * total["honest"]
    )
    return 0 if is_good else 1


def _print_wrong(one: Judged) -> None:
    case = one.case
    label = f"MISSED {case.kind}" if case.is_lie else "REJECTED"
    why = f"wrong: {case.wrong}\n  truth: {case.truth}" if case.is_lie else f"why: {one.why}"
    calls = [(call.noun, dict(call.arguments)) for call in case.calls]
    head = f"--- {label} {case.domain} {case.id}\n  Q: {case.question}\n  calls: {calls}\n  SQL: {case.sql}\n"
    sys.stdout.write(f"{head}  A: {case.answer}\n  {why}\n")


if __name__ == "__main__":
    sys.exit(main())
