"""Asks a model to review the answers of a run: one request each, and one repair if verdicts cannot be used.

A failed review leaves the answer as code has judged it: it warns and returns what it has.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from runax_cli.agent import prompts
from runax_cli.agent.evidence.answer_verifier import CheckedStatement
from runax_cli.agent.evidence.citations import parse_statements
from runax_cli.agent.evidence.review import (
    MAX_EVIDENCE_CHARS,
    Judgement,
    ReviewReply,
    ReviewRequest,
    build_review,
    check_reply,
    is_reviewable,
    rests_on_read_text,
)
from runax_cli.agent.evidence.shown import ShownData
from runax_cli.agent.evidence.verify import check_statements, strip_certificates
from runax_cli.agent.loop.subquestion import RunContext, SubQuestionRun
from runax_cli.agent.result.verdict import Answered
from runax_cli.core.errors import BudgetExhausted, ModelError
from runax_cli.core.event_types import AnswerReviewed, Warned
from runax_cli.core.events import Emitter
from runax_cli.core.results import ReviewVerdict, counted
from runax_cli.models.base import Message, Model, ModelRequest, OutputSchema, Role
from runax_cli.models.tokens import CalibratedCounter, measure
from runax_cli.settings.settings import ReviewMode

MIN_OUTPUT_TOKENS = 512
MAX_OUTPUT_TOKENS = 4096
TOKENS_PER_VERDICT = 160
_MIN_EVIDENCE_CHARS = 1000
_MAX_PROBLEMS = 10
_MAX_ECHO_CHARS = 4000
OUTPUT = OutputSchema(
    "review",
    {
        "type": "object",
        "properties": {
            "verdicts": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "statement": {"type": "integer"},
                        "verdict": {"type": "string", "enum": [verdict.value for verdict in ReviewVerdict]},
                        "claim": {"type": "string"},
                        "words": {"type": "array", "items": {"type": "string"}},
                    },
                    "required": ["statement", "verdict", "claim", "words"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["verdicts"],
        "additionalProperties": False,
    },
)


async def review_answers(
    runs: Mapping[int, SubQuestionRun], context: RunContext, *, mode: ReviewMode, shown: ShownData
) -> dict[int, Mapping[int, Judgement]]:
    """Review the answers of a run's sub-questions, by their numbers. `shown` is everything that the run may cite.

    Answers that a limit or an error cut off are not reviewed.
    """
    answers = {number: _answer(run, context, shown) for number, run in runs.items() if isinstance(run.end, Answered)}
    wanted = {number: answer for number, answer in answers.items() if answer.is_wanted(mode)}
    reviews = (_reviewer(runs[number], context).review(answer) for number, answer in wanted.items())
    return dict(zip(wanted, await asyncio.gather(*reviews), strict=True))


def _answer(run: SubQuestionRun, context: RunContext, shown: ShownData) -> "AnswerToReview":
    outcomes = (call.outcome for call in run.calls.requested if call.outcome is not None)
    return AnswerToReview(
        question=run.input.sub.question,
        answer=strip_certificates(run.text),
        user_text=context.user_text,
        shown=shown,
        was_read=any(outcome.coverage.read_by_model for outcome in outcomes),
    )


def _reviewer(run: SubQuestionRun, context: RunContext) -> "Reviewer":
    return Reviewer(
        # The share of the sub-question is closed by now, so the rest of the whole budget may be used.
        model=context.model(Role.REVIEWER, budget=context.budget, emitter=run.emitter),
        counter=context.registry.counter(Role.REVIEWER),
        effective_tokens=context.registry.config(Role.REVIEWER).effective_tokens,
        emitter=run.emitter.child(role=Role.REVIEWER.value),
        run_id=context.run_id,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerToReview:
    """An answer, the question it is for, and what it may rest on.

    `user_text` is all text from the user and the date. `was_read`: a model read records for this answer.
    """

    question: str
    answer: str
    user_text: str
    shown: ShownData
    was_read: bool

    def is_wanted(self, mode: ReviewMode) -> bool:
        """Whether this answer is reviewed."""
        if mode == "auto":
            return rests_on_read_text(parse_statements(self.answer), self.shown, was_read=self.was_read)
        return mode == "always"

    def check(self) -> list[CheckedStatement]:
        """The statements as code judges them. Blocking."""
        return check_statements(self.answer, self.shown, question=self.user_text, asked=self.question)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewer:
    """Reviews answers of one run with one model, which is bound to the budget of the run."""

    model: Model
    counter: CalibratedCounter
    effective_tokens: int
    emitter: Emitter
    run_id: str

    async def review(self, answer: AnswerToReview) -> Mapping[int, Judgement]:
        """The usable verdicts by where their statement starts in the answer. Only cancellation is raised."""
        checked = await asyncio.to_thread(answer.check)
        sized = await asyncio.to_thread(self._fit, answer, checked)
        if sized is None:
            if any(map(is_reviewable, checked)):
                self._warn("its request does not fit the context of the reviewer")
            return {}
        review, request = sized
        try:
            reply = await self._ask(review, request)
        except (ModelError, BudgetExhausted) as error:
            self._warn(str(error))
            return {}
        self._report(reply, n_reviewable=sum(map(is_reviewable, checked)))
        return reply.judgements

    def _fit(
        self, answer: AnswerToReview, checked: Sequence[CheckedStatement]
    ) -> tuple[ReviewRequest, ModelRequest] | None:
        """The request with as much evidence as fits. Blocking."""
        most = MAX_EVIDENCE_CHARS
        while most >= _MIN_EVIDENCE_CHARS:
            review = build_review(answer.question, answer.answer, checked, answer.shown, max_chars=most)
            if review is None:
                return None
            request = review_request(review, run_id=self.run_id)
            if measure(request, self.counter).bound(self.counter) + request.max_output_tokens <= self.effective_tokens:
                return review, request
            most //= 2
        return None

    async def _ask(self, review: ReviewRequest, request: ModelRequest) -> ReviewReply:
        first = await self.model.complete(request)
        reply = check_reply(first.text, review)
        if not (reply.problems and reply.can_be_repaired):
            return reply
        errors = "\n".join(f"- {problem}" for problem in reply.problems[:_MAX_PROBLEMS])
        again = (
            Message("assistant", first.text[:_MAX_ECHO_CHARS]),
            Message("user", prompts.REVIEWER_REPAIR.fill(errors=errors)),
        )
        try:
            second = await self.model.complete(replace(request, messages=(*request.messages, *again)))
        except (ModelError, BudgetExhausted) as error:
            self._warn(f"unusable verdicts could not be repaired: {error}")
            return reply
        repaired = check_reply(second.text, review)
        return replace(repaired, judgements={**reply.judgements, **repaired.judgements})

    def _report(self, reply: ReviewReply, *, n_reviewable: int) -> None:
        counts = Counter(judgement.verdict for judgement in reply.judgements.values())
        n_left = n_reviewable - len(reply.judgements)
        self.emitter.emit(
            AnswerReviewed(
                supported=counts[ReviewVerdict.SUPPORTED],
                contradicted=counts[ReviewVerdict.CONTRADICTED],
                not_in_evidence=counts[ReviewVerdict.NOT_IN_EVIDENCE],
                unreviewed=n_left,
            )
        )
        if n_left:
            why = "; ".join(reply.problems[:1]) or "the evidence is too long for one request"
            self._warn(f"{counted(n_left, 'statement')} without a usable verdict ({why})")

    def _warn(self, why: str) -> None:
        self.emitter.emit(Warned(code="not_reviewed", text=f"the answer was not fully reviewed: {why}"))


def review_request(review: ReviewRequest, *, run_id: str) -> ModelRequest:
    """The request for a review."""
    user = prompts.REVIEWER_USER.fill(
        question=review.question, evidence=review.evidence_text, statements=review.statements_text
    )
    n_tokens = TOKENS_PER_VERDICT * len(review.statements)
    return ModelRequest(
        role=Role.REVIEWER,
        messages=(Message("system", prompts.REVIEWER_SYSTEM.text), Message("user", user)),
        output=OUTPUT,
        max_output_tokens=max(MIN_OUTPUT_TOKENS, min(MAX_OUTPUT_TOKENS, n_tokens)),
        run_id=run_id,
    )
