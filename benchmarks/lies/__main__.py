"""Prints how many planted errors the checks catch and how many honest answers they reject, by kind and language.

With `--requests FILE` it writes what a reviewer is asked about each answer: one JSON line with `id` and `request`, and
the system message to a file beside it, with the suffix `.system.txt`. With `--replies FILE`, one JSON line with `id`
and `reply` for each, the rates are those of code and review together.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.lies.cases import Case, cases, domains, records
from benchmarks.lies.evidence import EvidenceBuilder
from benchmarks.lies.played_review import read_replies, request_of, review_answer, write_requests
from runax_cli.agent.evidence.answer_verifier import CheckedStatement
from runax_cli.agent.evidence.review import ReviewRequest
from runax_cli.agent.evidence.shown import ShownData
from runax_cli.agent.evidence.verify import check_statements
from runax_cli.agent.planning.data_need import needs_data

MIN_CAUGHT = 0.75
MIN_CAUGHT_REVIEWED = 0.9
MAX_FALSE_ALARMS = 0.01


@dataclass(frozen=True, slots=True)
class Judged:
    """A case, and why its answer was rejected, "" if it was not. `problems` are those of the reviewer's reply."""

    case: Case
    why: str
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckedCase:
    """An answer that code has checked. It used no data although the question needs some if `shown` is None."""

    case: Case
    shown: ShownData | None
    statements: Sequence[CheckedStatement] = ()

    @property
    def request(self) -> ReviewRequest | None:
        """What a reviewer is asked; None if there is nothing to review."""
        return None if self.shown is None else request_of(self.case, self.statements, self.shown)

    def judge(self, replies: Mapping[str, str]) -> Judged:
        """Judge the answer as a run would, with the reviewer's reply if there is one."""
        if self.shown is None:
            return Judged(self.case, "no data was used")
        reviewed = review_answer(self.case, self.statements, self.shown, replies)
        evidence = [one.evidence for one in reviewed.statements]
        failed = [f"{entry.statement[:90]!r}: {entry.note}" for entry in evidence if entry.fault is not None]
        return Judged(self.case, "; ".join(failed), reviewed.problems)


def check(case: Case, builder: EvidenceBuilder) -> CheckedCase:
    """Check one answer by code."""
    if not case.calls and needs_data(case.question, ()):
        return CheckedCase(case, None)
    shown = builder.shown(case)
    user_text = f"{case.question}\n2026-11-22"
    return CheckedCase(case, shown, check_statements(case.answer, shown, question=user_text, asked=case.question))


def check_all(names: Iterable[str]) -> Iterator[CheckedCase]:
    """Check all cases of these domains. The evidence of a case is there until the next one."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            builder = EvidenceBuilder(Path(folder) / name, records(name))
            yield from (check(case, builder) for case in cases(name))


def main() -> int:
    """Print the rates as JSON; with --missed also each wrong decision."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--domain", action="append", choices=domains(), help="only this domain")
    parser.add_argument("--missed", action="store_true", help="print each wrong decision")
    parser.add_argument("--requests", type=Path, metavar="FILE", help="write what a reviewer is asked, and stop")
    parser.add_argument("--replies", type=Path, metavar="FILE", help="apply the replies of a reviewer")
    options = parser.parse_args()
    checked = check_all(options.domain or domains())
    if options.requests is not None:
        requests = ((one.case, request) for one in checked if (request := one.request) is not None)
        sys.stdout.write(f"{write_requests(options.requests, requests)} requests\n")
        return 0
    replies = {} if options.replies is None else read_replies(options.replies)
    judged = [one.judge(replies) for one in checked]
    caught: dict[str, Counter[str]] = defaultdict(Counter)
    for one in judged:
        for group in (one.case.kind, one.case.language, one.case.domain, "all"):
            side = "errors" if one.case.is_lie else "honest"
            caught[group][side] += 1
            caught[group]["caught" if one.case.is_lie else "rejected"] += bool(one.why)
        if options.missed and bool(one.why) != one.case.is_lie:
            _print_wrong(one)
    total = caught["all"]
    total["unusable_verdicts"] = sum(len(one.problems) for one in judged)
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
