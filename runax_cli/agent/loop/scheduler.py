"""Schedules the sub-questions of a plan: independent ones in parallel, dependent ones after those they depend on.

If a result contradicts the plan, the planner revises it, once in a run.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from adapters.json_text import compact_json
from runax_cli.agent.loop.subquestion import SubQuestionInput, SubQuestionRun
from runax_cli.agent.planning.plan import Plan, SubQuestion, dependents_of, ready_to_start
from runax_cli.agent.planning.planner import Planner, SubQuestionState
from runax_cli.agent.result.requested_call import RequestedCall
from runax_cli.agent.result.verdict import Stopped
from runax_cli.core.budget import Budget, BudgetShares
from runax_cli.core.errors import first_cause
from runax_cli.core.event_types import PlanMade, Warned
from runax_cli.core.events import Emitter
from runax_cli.core.results import counted
from runax_cli.core.untrusted_text import escape_for_prompt
from runax_cli.executor.outcome import EnvelopeStatus

MAX_ANSWER_CHARS = 2000
MAX_RECORDS = 5
MAX_RECORD_CHARS = 400


def context_from(dependencies: Sequence[tuple[int, SubQuestion, SubQuestionRun]]) -> str:
    """What a sub-question gets to know about those it depends on, by number; "" if it depends on none."""
    return escape_for_prompt(
        "\n".join(line for number, sub, run in dependencies for line in _context_lines(number, sub, run))
    )


def _context_lines(number: int, sub: SubQuestion, run: SubQuestionRun) -> Iterator[str]:
    yield f"Part {number}: {sub.question}"
    if isinstance(run.end, Stopped) or not run.text.strip():
        yield "could not be answered"
    else:
        yield f"answer: {_truncate(' '.join(run.text.split()), MAX_ANSWER_CHARS)}"
    for call in run.calls.requested:
        yield from _call_lines(call)


def _call_lines(call: RequestedCall) -> Iterator[str]:
    report = call.report
    if report.dataset is None or call.outcome is None:
        return
    records = counted(report.records_read, "record")
    yield f"dataset {report.dataset}: {records} of {report.tool} {compact_json(report.arguments)}"
    data = call.envelope.data
    if isinstance(data, dict) and len(data) <= MAX_RECORDS:
        for ref, record in data.items():
            if "#" in ref:
                yield f"[{ref}] {_truncate(compact_json(record), MAX_RECORD_CHARS)}"


def _truncate(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


MAX_PARALLEL = 3
_STATE_CHARS = 600


@dataclass(slots=True, kw_only=True)
class SubQuestionScheduler:
    """Runs the sub-questions of a plan. `start` creates a run with its share of `budget`.

    `superseded` are runs of sub-questions that were asked again in other words: their calls count, their answers do
    not. Without a planner the plan is not revised.
    """

    plan: Plan
    start: Callable[[SubQuestionInput, Budget], SubQuestionRun]
    budget: Budget
    planner: Planner | None
    emitter: Emitter
    max_parallel: int = MAX_PARALLEL
    runs: dict[int, SubQuestionRun] = field(default_factory=dict)
    superseded: list[SubQuestionRun] = field(default_factory=list)
    _done: set[int] = field(default_factory=set)
    _finished: asyncio.Queue[int] = field(default_factory=asyncio.Queue)
    _shares: BudgetShares = field(init=False)

    def __post_init__(self) -> None:
        self._shares = BudgetShares(self.budget, among=len(self.plan.sub_questions))

    @property
    def started(self) -> tuple[SubQuestionRun, ...]:
        """Every run that was started, superseded ones last."""
        return (*(self.runs[number] for number in sorted(self.runs)), *self.superseded)

    async def run(self) -> None:
        """Run until every sub-question has ended. An unexpected exception of one cancels the others."""
        if self.plan.is_single:
            self.runs[1] = self.start(SubQuestionInput(sub=self.plan.sub_question(1)), self.budget)
            await self.runs[1].run()
            return
        try:
            async with asyncio.TaskGroup() as group:
                while len(self._done) < len(self.plan.sub_questions):
                    self._start_ready(group)
                    number = await self._finished.get()
                    self._done.add(number)
                    self._shares.close(self.runs[number].budget)
                    await self._revise_if_contradicted(number)
        except BaseExceptionGroup as errors:
            raise first_cause(errors) from errors

    def _start_ready(self, group: asyncio.TaskGroup) -> None:
        room = self.max_parallel - (len(self.runs) - len(self._done))
        for number in ready_to_start(self.plan, started=self.runs, done=self._done)[: max(0, room)]:
            sub = self.plan.sub_question(number)
            context = context_from([(n, self.plan.sub_question(n), self.runs[n]) for n in sub.after])
            share = self._shares.open(owner=f"sub-question {number}")
            self.runs[number] = self.start(SubQuestionInput(sub=sub, number=number, context=context), share)
            group.create_task(self._run_one(number))

    async def _run_one(self, number: int) -> None:
        await self.runs[number].run()
        self._finished.put_nowait(number)

    async def _revise_if_contradicted(self, number: int) -> None:
        """Revise the plan, once, if this sub-question has no answer or found no records that others depend on."""
        why = _contradiction(number, self.runs[number])
        open_numbers = {n for n in dependents_of(self.plan, number) if n not in self.runs}
        open_numbers |= {number} if self.plan.sub_question(number).after else set()
        if self.planner is None or why is None or not open_numbers:
            return
        planner, self.planner = self.planner, None
        states = [self._state(n) for n in self.plan.numbers]
        after = await planner.revise(self.plan, states, why=why, open_numbers=open_numbers)
        if after is self.plan:
            return
        before, self.plan = self.plan, after
        self._emit_revision(why)
        if before.sub_question(number) != after.sub_question(number):
            self._done.discard(number)
            self.superseded.append(self.runs.pop(number))
            self._shares.reopen()

    def _state(self, number: int) -> SubQuestionState:
        run = self.runs.get(number)
        if run is None:
            state = "open"
        elif run.end is None:
            state = "being answered"
        else:
            state = _contradiction(number, run) or f"answered: {' '.join(run.text.split())[:_STATE_CHARS]}"
        return SubQuestionState(number=number, question=self.plan.sub_question(number).question, state=state)

    def _emit_revision(self, why: str) -> None:
        emit_plan(self.plan, self.emitter, is_revised=True)
        self.emitter.emit(Warned(code="plan_revised", text=f"the plan was revised: {why}"))


def emit_plan(plan: Plan, emitter: Emitter, *, is_revised: bool = False) -> None:
    """Emit a plan, and a warning for each repair of the planner's reply."""
    emitter.emit(
        PlanMade(
            sub_questions=tuple(sub.question for sub in plan.sub_questions),
            needs=tuple(sub.need for sub in plan.sub_questions),
            rule=plan.rule,
            after=tuple(sub.after for sub in plan.sub_questions),
            is_revised=is_revised,
        )
    )
    for repair in plan.repairs:
        emitter.emit(Warned(code="plan_repaired", text=repair))


def _contradiction(number: int, run: SubQuestionRun) -> str | None:
    """How a result contradicts the plan: the sub-question has no answer, or found no records; None if it does not."""
    if isinstance(run.end, Stopped):
        return f"Part {number} could not be answered: {run.end.error}"
    statuses = [call.envelope.status for call in run.calls.requested if call.outcome is not None]
    if statuses and all(status is EnvelopeStatus.ERROR for status in statuses):
        return f"Part {number} could not be answered: every call failed."
    if _is_empty(statuses):
        return f"Part {number} found no records."
    return None


def _is_empty(statuses: Sequence[EnvelopeStatus]) -> bool:
    return bool(statuses) and all(status is EnvelopeStatus.EMPTY for status in statuses)
