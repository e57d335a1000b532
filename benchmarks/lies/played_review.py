"""Plays the reviewer over the cases: writes the request of each answer, and applies replies that were written for them.

A reply is checked once. In a run, one with unusable entries is asked for once more.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.lies.cases import Case
from runax_cli.agent.evidence.answer_verifier import CheckedStatement
from runax_cli.agent.evidence.review import ReviewRequest, apply_review, build_review, check_reply
from runax_cli.agent.evidence.shown import ShownData
from runax_cli.agent.prompts import REVIEWER_SYSTEM, REVIEWER_USER


@dataclass(frozen=True, slots=True)
class ReviewedAnswer:
    """The statements of an answer after its review, and what was wrong with the reply."""

    statements: Sequence[CheckedStatement]
    problems: tuple[str, ...] = ()


def request_of(case: Case, checked: Sequence[CheckedStatement], shown: ShownData) -> ReviewRequest | None:
    """The request of an answer; None if code has rejected all of it."""
    return build_review(case.question, case.answer, checked, shown)


def request_text(request: ReviewRequest) -> str:
    """The message that a reviewer gets after the system message."""
    return REVIEWER_USER.fill(
        question=request.question, evidence=request.evidence_text, statements=request.statements_text
    )


def write_requests(path: Path, requests: Iterable[tuple[Case, ReviewRequest]]) -> int:
    """Write one JSON line for each case and the system message beside them. Returns the number of lines."""
    lines = [
        json.dumps({"id": case.id, "request": request_text(request)}, ensure_ascii=False) for case, request in requests
    ]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    path.with_suffix(".system.txt").write_text(REVIEWER_SYSTEM.text, encoding="utf-8")
    return len(lines)


def read_replies(path: Path) -> dict[str, str]:
    """The replies by case. A reply may be text or the JSON object itself."""
    return dict(_replies(path.read_text(encoding="utf-8").splitlines()))


def _replies(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        if line.strip():
            entry = json.loads(line)
            reply = entry["reply"]
            yield entry["id"], reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)


def review_answer(
    case: Case, checked: Sequence[CheckedStatement], shown: ShownData, replies: Mapping[str, str]
) -> ReviewedAnswer:
    """Apply the reply of a case; without a request or a reply nothing changes."""
    request = request_of(case, checked, shown)
    if request is None or case.id not in replies:
        return ReviewedAnswer(checked)
    reply = check_reply(replies[case.id], request)
    return ReviewedAnswer(apply_review(checked, reply.judgements), reply.problems)
