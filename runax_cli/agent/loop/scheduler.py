"""The parts of a question at work: each when what it waits for is done, independent ones side by side.

Knows the order of parts, what they leave for one another, and when a result contradicts the plan: then the planner is
asked once. Knows nothing of how a part is answered.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from adapters.json_text import compact_json
from runax_cli.agent.loop.subquestion import SubQuestionInput, SubQuestionRun
from runax_cli.agent.planning.plan import Plan, SubQuestion, ready, waiting_for
from runax_cli.agent.planning.planner import KnownFacts, Planner
from runax_cli.agent.result.requested_call import RequestedCall
from runax_cli.agent.result.verdict import Stopped
from runax_cli.core.budget import Budget, BudgetShares
from runax_cli.core.errors import first_cause
from runax_cli.core.event_types import PlanMade, Warned
from runax_cli.core.events import Emitter
from runax_cli.core.untrusted_text import escape_for_prompt
from runax_cli.executor.outcome import EnvelopeStatus

MOST_ANSWER_CHARS = 2000
MOST_RECORDS = 5
RECORD_CHARS = 400


def known_from(parts: Sequence[tuple[int, SubQuestion, SubQuestionRun]]) -> str:
    """The block for a part that waited for these, by number; "" where it waited for none."""
    return escape_for_prompt("\n".join(line for number, sub, part in parts for line in _lines(number, sub, part)))


def _lines(number: int, sub: SubQuestion, part: SubQuestionRun) -> Iterator[str]:
    yield f"Part {number}: {sub.question}"
    if isinstance(part.end, Stopped) or not part.text.strip():
        yield "could not be answered"
    else:
        yield f"answer: {_cut(' '.join(part.text.split()), MOST_ANSWER_CHARS)}"
    for call in part.calls.made:
        yield from _call(call)


def _call(call: RequestedCall) -> Iterator[str]:
    report = call.report
    if report.dataset is None or call.outcome is None:
        return
    yield f"dataset {report.dataset}: {report.records_read} records of {report.tool} {compact_json(report.arguments)}"
    data = call.envelope.data
    if isinstance(data, dict) and len(data) <= MOST_RECORDS:
        for ref, record in data.items():
            if "#" in ref:
                yield f"[{ref}] {_cut(compact_json(record), RECORD_CHARS)}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


PARTS_AT_ONCE = 3
_TOLD_CHARS = 600


@dataclass(slots=True, kw_only=True)
class SubQuestionScheduler:
    """A plan under way. `begin` makes a part with its share of `budget`; without a planner there is no revision.

    `replaced` are parts that were asked once more in other words: their calls were made, their answers are void.
    """

    plan: Plan
    begin: Callable[[SubQuestionInput, Budget], SubQuestionRun]
    budget: Budget
    planner: Planner | None
    emitter: Emitter
    at_once: int = PARTS_AT_ONCE
    parts: dict[int, SubQuestionRun] = field(default_factory=dict)
    replaced: list[SubQuestionRun] = field(default_factory=list)
    _done: set[int] = field(default_factory=set)
    _finished: asyncio.Queue[int] = field(default_factory=asyncio.Queue)
    _shares: BudgetShares = field(init=False)

    def __post_init__(self) -> None:
        self._shares = BudgetShares(self.budget, among=len(self.plan.parts))

    @property
    def begun(self) -> tuple[SubQuestionRun, ...]:
        """Every part that was begun, those that were replaced last."""
        return (*(self.parts[number] for number in sorted(self.parts)), *self.replaced)

    async def run(self) -> None:
        """Until every part is over. The first fault that a part does not put into its end cancels the others."""
        if self.plan.is_single:
            self.parts[1] = self.begin(SubQuestionInput(sub=self.plan.part(1)), self.budget)
            await self.parts[1].run()
            return
        try:
            async with asyncio.TaskGroup() as group:
                while len(self._done) < len(self.plan.parts):
                    self._begin_ready(group)
                    number = await self._finished.get()
                    self._done.add(number)
                    self._shares.close(self.parts[number].budget)
                    await self._reconsidered(number)
        except BaseExceptionGroup as errors:
            raise first_cause(errors) from errors

    def _begin_ready(self, group: asyncio.TaskGroup) -> None:
        room = self.at_once - (len(self.parts) - len(self._done))
        for number in ready(self.plan, begun=self.parts, done=self._done)[: max(0, room)]:
            sub = self.plan.part(number)
            known = known_from([(n, self.plan.part(n), self.parts[n]) for n in sub.after])
            share = self._shares.open(owner=f"sub-question {number}")
            self.parts[number] = self.begin(SubQuestionInput(sub=sub, number=number, known=known), share)
            group.create_task(self._run_one(number))

    async def _run_one(self, number: int) -> None:
        await self.parts[number].run()
        self._finished.put_nowait(number)

    async def _reconsidered(self, number: int) -> None:
        """Ask the planner once where a part came back without an answer or without records that others build on."""
        why = _contradiction(number, self.parts[number])
        open_parts = {n for n in waiting_for(self.plan, number) if n not in self.parts}
        open_parts |= {number} if self.plan.part(number).after else set()
        if self.planner is None or why is None or not open_parts:
            return
        planner, self.planner = self.planner, None
        told = [self._told(n) for n in self.plan.numbers]
        after = await planner.revise(self.plan, told, why=why, open_parts=open_parts)
        if after is self.plan:
            return
        before, self.plan = self.plan, after
        self._tell(why)
        if before.part(number) != after.part(number):
            self._done.discard(number)
            self.replaced.append(self.parts.pop(number))
            self._shares.reopen()

    def _told(self, number: int) -> KnownFacts:
        part = self.parts.get(number)
        if part is None:
            state = "open"
        elif part.end is None:
            state = "being answered"
        else:
            state = _contradiction(number, part) or f"answered: {' '.join(part.text.split())[:_TOLD_CHARS]}"
        return KnownFacts(number=number, question=self.plan.part(number).question, state=state)

    def _tell(self, why: str) -> None:
        self.emitter.emit(plan_made(self.plan, is_revised=True))
        tell_repairs(self.plan, self.emitter)
        self.emitter.emit(Warned(code="plan_revised", text=f"the plan was revised: {why}"))


def plan_made(plan: Plan, *, is_revised: bool = False) -> PlanMade:
    """The event that tells of a plan."""
    return PlanMade(
        sub_questions=tuple(part.question for part in plan.parts),
        needs=tuple(part.need for part in plan.parts),
        rule=plan.rule,
        after=tuple(part.after for part in plan.parts),
        is_revised=is_revised,
    )


def tell_repairs(plan: Plan, emitter: Emitter) -> None:
    """Tell what was wrong with a planner's reply."""
    for repair in plan.repairs:
        emitter.emit(Warned(code="plan_repaired", text=repair))


def _contradiction(number: int, part: SubQuestionRun) -> str | None:
    """Why the plan may not hold, in words: the part has no answer, or found no record at all."""
    if isinstance(part.end, Stopped):
        return f"Part {number} could not be answered: {part.end.error}"
    statuses = [call.envelope.status for call in part.calls.made if call.outcome is not None]
    if statuses and all(status is EnvelopeStatus.ERROR for status in statuses):
        return f"Part {number} could not be answered: every call failed."
    if _is_empty(statuses):
        return f"Part {number} found no records."
    return None


def _is_empty(statuses: Sequence[EnvelopeStatus]) -> bool:
    return bool(statuses) and all(status is EnvelopeStatus.EMPTY for status in statuses)
