"""The calls of one step: checked, scheduled, allowed, run in waves, each ending in an envelope.

Knows the guard's decisions and the executor's seam. Knows no message and no prompt of the conversation. No failure of
a call leaves here as an exception: it is an envelope, and the turn goes on.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from runax_cli.agent.result.requested_call import (
    RequestedCall,
    error_of,
    no_progress,
    refused_report,
    result_of,
    step_seen,
)
from runax_cli.core.budget import Amount, Budget
from runax_cli.core.errors import BudgetExhausted, NoProgress, StoreError, first_cause, raised_at
from runax_cli.core.event_types import GuardCode, GuardDecided, ToolSelected, Warned
from runax_cli.core.events import Emitter
from runax_cli.core.results import Reason, ReasonCode
from runax_cli.executor.outcome import CallExecutor, CallScope, DecidedCall, EnvelopeStatus, FaultCode, ResultEnvelope
from runax_cli.guard.approval import WritePolicy
from runax_cli.guard.duplicates import (
    CallHistory,
    CandidateCall,
    SameStep,
    SuppressCall,
    data_fingerprint,
    fingerprint,
    near_fingerprint,
)
from runax_cli.guard.scheduling import Decision, DeferCall, OverLimit, RunCall, schedule
from runax_cli.guard.stall_detection import ProgressTracker
from runax_cli.guard.validation import RejectedCall, RejectionCode, find_tool, parse_arguments
from runax_cli.guard.visible_tool import Need, SplitArguments, VisibleTool, split_virtual_arguments
from runax_cli.models.base import Model, ToolCall

_NEARLY = (
    "Only case or order of words differ from an earlier call, and the result is the same: do not try more of these."
)
_READ_SOMETHING = (EnvelopeStatus.SUCCESS, EnvelopeStatus.EMPTY)
_GUARD_CODES: Mapping[RejectionCode, GuardCode] = {
    RejectionCode.NOT_JSON: "invalid_json",
    RejectionCode.NO_SUCH_TOOL: "unknown_tool",
    RejectionCode.INVALID_ARGUMENTS: "invalid_arguments",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDependencies:
    """What the calls of a turn are run with. `question` and `need` stand in where a call does not say its own.

    `direct_limit` maps the room that is left, and the number of calls that share it, to the direct limit of one.
    `datasets` are those that hold all records of a call, by the fingerprint of its data: shared by a session. `named`
    is told the name of every tool that was asked for.
    """

    tools: Mapping[str, VisibleTool]
    executor: CallExecutor
    policy: WritePolicy
    budget: Budget
    emitter: Emitter
    reducer: Model
    question: str
    need: Need
    parallel_calls: int
    direct_limit: Callable[[int, int], int]
    measure: Callable[[str], Awaitable[int]]
    labeller: Model | None = None
    datasets: MutableMapping[str, str] = field(default_factory=dict)
    named: Callable[[str], None] = lambda _name: None


@dataclass(frozen=True, slots=True)
class StepResult:
    """One entry for each call, in the order they were asked for; `stop` where there should be no further step."""

    calls: tuple[RequestedCall, ...]
    stop: BudgetExhausted | NoProgress | None = None


@dataclass(slots=True)
class _ValidCall:
    position: int
    call_id: str
    tool: VisibleTool
    arguments: SplitArguments
    key: str
    data_key: str = field(init=False)
    near_key: str = field(init=False)

    def __post_init__(self) -> None:
        self.data_key = data_fingerprint(self.tool.spec.name, self.arguments)
        self.near_key = near_fingerprint(self.tool.spec.name, self.arguments)


class TurnCalls:
    """All calls of one turn. `made` has every call that was asked for, also those that were not run."""

    def __init__(self, parts: CallDependencies) -> None:
        self._parts = parts
        self._past: dict[str, CallHistory] = {}
        self._progress = ProgressTracker()
        self._errors: dict[str, str] = {}
        self._nearly: dict[str, str] = {}
        self._met: BudgetExhausted | None = None
        self._slots = asyncio.Semaphore(parts.parallel_calls)
        self._running: dict[str, RequestedCall] = {}
        self._made: list[RequestedCall] = []
        self._step = 0

    @property
    def made(self) -> tuple[RequestedCall, ...]:
        """Every call so far in order, and those that are still running as interrupted."""
        return (*self._made, *self._running.values())

    def forget(self, call_id: str) -> None:
        """The model can no longer see the result of this call: asking for it again is no duplicate."""
        for call in self._made:
            if call.call_id == call_id and call.key is not None:
                self._past.pop(call.key, None)

    async def run(self, requested: Sequence[ToolCall], *, room: int) -> StepResult:
        """Run what may run. `room` is what all results together may add to the context, in tokens."""
        self._step += 1
        done: dict[int, RequestedCall] = {}
        valid: list[_ValidCall] = []
        for position, call in enumerate(requested):
            checked = self._checked(position, call)
            if isinstance(checked, _ValidCall):
                valid.append(checked)
            else:
                done[position] = checked
        waves = await self._decided(valid, done)
        await self._run_waves(waves, done, room=room)
        self._hint_at_near_ones(valid, done)
        calls = tuple(done[position] for position in sorted(done))
        self._made += calls
        self._running.clear()
        stalled = self._judged(calls, requested, valid)
        over = any(call.envelope.status is EnvelopeStatus.BUDGET_EXHAUSTED and call.outcome is None for call in calls)
        return StepResult(calls, self._call_limit() if over else stalled)

    def _judged(
        self, calls: Sequence[RequestedCall], requested: Sequence[ToolCall], valid: Sequence[_ValidCall]
    ) -> NoProgress | None:
        """Why there should be no further step. Notes what the step brought, and the version of the evidence."""
        keys = {call.id: f"{call.name} {call.arguments}" for call in requested}
        keys |= {item.call_id: item.near_key + item.key for item in valid}
        self._progress = self._progress.after(step_seen(calls, keys, before=self._errors))
        for call in calls:
            if call.key is not None and call.key in self._past:
                self._past[call.key] = self._past[call.key].at(self._progress.version)
            if call.key is not None and (error := error_of(call)) is not None:
                self._errors[call.key] = error
        stalled = self._progress.stalled
        return None if stalled is None else no_progress(stalled, calls)

    def _hint_at_near_ones(self, valid: Sequence[_ValidCall], done: dict[int, RequestedCall]) -> None:
        """Tell the model of calls that differ from earlier ones only in case or order of words, and bring the same."""
        for item in valid:
            call = done[item.position]
            earlier, brought = self._nearly.setdefault(item.near_key, item.key), result_of(call)
            if earlier != item.key and brought is not None and brought in self._progress.seen:
                hint = f"{call.envelope.next_action_hint} {_NEARLY}"
                envelope = call.envelope.model_copy(update={"next_action_hint": hint})
                done[item.position] = replace(call, envelope=envelope)

    def _checked(self, position: int, call: ToolCall) -> "_ValidCall | RequestedCall":
        self._parts.named(call.name)
        tool = find_tool(call.name, self._parts.tools)
        if isinstance(tool, RejectedCall):
            return self._refused(call, tool)
        raw = parse_arguments(call.arguments, tool)
        if isinstance(raw, RejectedCall):
            return self._refused(call, raw)
        arguments = split_virtual_arguments(tool, raw)
        self._selected(call.id, call.name, arguments)
        return _ValidCall(position, call.id, tool, arguments, fingerprint(call.name, arguments))

    def _refused(self, call: ToolCall, refused: RejectedCall) -> RequestedCall:
        self._selected(call.id, call.name, SplitArguments(api={}))
        self._told(call.id, call.name, _GUARD_CODES[refused.code], refused.message)
        envelope = ResultEnvelope.validation_error(call.name, refused.message, code=FaultCode(int(refused.code)))
        source = self._parts.tools[call.name].spec.source if call.name in self._parts.tools else ""
        report = refused_report(call.name, source, SplitArguments(api={}), envelope)
        return RequestedCall(step=self._step, call_id=call.id, envelope=envelope, report=report)

    async def _decided(self, valid: Sequence[_ValidCall], done: dict[int, RequestedCall]) -> list[list[_ValidCall]]:
        """Envelopes for what does not run go to `done`; the rest comes back in waves."""
        left = self._parts.budget.remaining("calls")
        asked = [CandidateCall(item.tool.spec, item.key) for item in valid]
        calls_left = None if left is None else int(left)
        decisions = schedule(asked, self._past, calls_left=calls_left, version=self._progress.version)
        if any(isinstance(decision, OverLimit) for decision in decisions):
            await self._meet_the_limit()
        waves: dict[int, list[_ValidCall]] = {}
        for item, decision in zip(valid, decisions, strict=True):
            if not isinstance(decision, RunCall):
                done[item.position] = self._not_run(item, decision)
            elif await self._parts.policy.permits(item.tool.spec, item.arguments.api):
                waves.setdefault(decision.wave, []).append(item)
            else:
                done[item.position] = self._denied(item)
        return _one_fetch_a_wave(list(waves.values()))

    def _not_run(self, item: _ValidCall, decision: Decision) -> RequestedCall:
        name, query = item.tool.spec.name, item.arguments.api
        code: GuardCode
        match decision:
            case SuppressCall(dataset, has_failed=False):
                code, envelope = "suppressed_duplicate", ResultEnvelope.duplicate(name, query, dataset=dataset)
            case SuppressCall():
                hint = f"{name} failed often enough with these arguments: change them, or say what is missing."
                code, envelope = "suppressed_duplicate", ResultEnvelope.duplicate(name, query, dataset=None, hint=hint)
            case SameStep():
                hint = f"{name} was asked for twice in this step; its one result answers both."
                code, envelope = "suppressed_duplicate", ResultEnvelope.duplicate(name, query, dataset=None, hint=hint)
            case DeferCall(waits_for):
                code, envelope = "deferred", ResultEnvelope.deferred(name, query, waits_for=waits_for)
            case OverLimit():
                code, envelope = "over_limit", ResultEnvelope.budget_exhausted(name, query, why=str(self._call_limit()))
            case RunCall():
                raise AssertionError("a call that runs has no envelope yet")
            case _:
                assert_never(decision)
        return self._without_outcome(item, code, envelope)

    def _denied(self, item: _ValidCall) -> RequestedCall:
        why = "it changes data, and neither --allow-writes nor the user's word permits it"
        envelope = ResultEnvelope.denied(item.tool.spec.name, item.arguments.api, why=why)
        return self._without_outcome(item, "write_denied", envelope)

    def _without_outcome(self, item: _ValidCall, code: GuardCode, envelope: ResultEnvelope) -> RequestedCall:
        spec = item.tool.spec
        self._told(item.call_id, spec.name, code, envelope.next_action_hint)
        report = refused_report(spec.name, spec.source, item.arguments, envelope)
        return RequestedCall(step=self._step, call_id=item.call_id, envelope=envelope, report=report)

    async def _run_waves(
        self, waves: Sequence[Sequence[_ValidCall]], done: dict[int, RequestedCall], *, room: int
    ) -> None:
        left, pending = room, sum(len(wave) for wave in waves)
        for wave in waves:
            limit = self._parts.direct_limit(left, pending)
            async with asyncio.TaskGroup() as group:
                for item in wave:
                    self._tell_run(item, is_alone=len(wave) == 1, limit=limit)
                    self._running[item.call_id] = self._unfinished(item)
                    group.create_task(self._run_one(item, done, direct_limit=limit))
            for item in wave:
                left -= await self._parts.measure(done[item.position].envelope.to_model_text())
            pending -= len(wave)

    def _tell_run(self, item: _ValidCall, *, is_alone: bool, limit: int) -> None:
        again = self._again(item)
        code: GuardCode = "run" if is_alone else "parallel"
        text = f"up to {limit} tokens may come as they are"
        if again is not None:
            code, text = "read_again", f"its records are there already, as {again}: nothing is fetched; {text}"
        self._told(item.call_id, item.tool.spec.name, code, text)

    def _again(self, item: _ValidCall) -> str | None:
        """The dataset that has all records of this call already; never for a tool that needs fresh input."""
        return None if item.tool.spec.requires_fresh_input else self._parts.datasets.get(item.data_key)

    async def _run_one(self, item: _ValidCall, done: dict[int, RequestedCall], *, direct_limit: int) -> None:
        try:
            async with self._slots, self._parts.budget.reservation(Amount(calls=1)):
                call = await self._executed(item, direct_limit=direct_limit)
        except BudgetExhausted as limit:
            # Others used the rest up between the decision and now.
            self._met = limit
            done[item.position] = self._running[item.call_id] = self._not_run(item, OverLimit())
            return
        done[item.position] = self._running[item.call_id] = call
        is_success = call.envelope.status in _READ_SOMETHING
        before = self._past.get(item.key, CallHistory())
        self._past[item.key] = before.after(is_success=is_success, dataset=call.envelope.dataset)
        self._keep(item, call)

    def _keep(self, item: _ValidCall, call: RequestedCall) -> None:
        """Complete data is read again and not fetched again. One record is as cheap to fetch, and may have changed."""
        outcome = call.outcome
        if outcome is not None and outcome.dataset is not None and item.tool.virtual and outcome.coverage.is_complete:
            self._parts.datasets.setdefault(item.data_key, outcome.dataset.name)

    async def _executed(self, item: _ValidCall, *, direct_limit: int) -> RequestedCall:
        parts, arguments = self._parts, item.arguments
        decided = DecidedCall(
            call_id=item.call_id,
            tool=item.tool.spec,
            arguments=arguments.api,
            focus=arguments.focus or parts.question,
            need=arguments.need or parts.need,
            at_most=arguments.at_most,
            stored_dataset=self._again(item),
        )
        emitter = parts.emitter.child(call_id=item.call_id)
        scope = CallScope(emitter=emitter, budget=parts.budget, reducer=parts.reducer, labeler=parts.labeller)
        try:
            outcome = await parts.executor.execute(decided, scope, direct_limit=direct_limit)
        except Exception as error:
            return self._trapped(item, first_cause(error))
        return replace(self._unfinished(item), envelope=outcome.envelope, report=outcome.report, outcome=outcome)

    def _trapped(self, item: _ValidCall, error: BaseException) -> RequestedCall:
        """A fault of runax itself: told to the user with its words, to the model by its kind alone."""
        name, kind = item.tool.spec.name, type(error).__name__
        text = f"'{name}' failed inside runax: {kind}: {error} ({raised_at(error)}). Ask again, and report this line."
        self._parts.emitter.child(call_id=item.call_id).emit(Warned(code="internal_error", text=text))
        code = ReasonCode.STORE_ERROR if isinstance(error, StoreError) else ReasonCode.SOURCE_ERROR
        envelope = ResultEnvelope.internal(name, f"runax failed inside ({kind})")
        report = refused_report(name, item.tool.spec.source, item.arguments, envelope)
        return replace(self._unfinished(item), envelope=envelope, report=report, fault=Reason(code=code, text=text))

    def _unfinished(self, item: _ValidCall) -> RequestedCall:
        """What stands in for a call until it is over, and stays where it is interrupted."""
        name = item.tool.spec.name
        envelope = ResultEnvelope.internal(name, "interrupted")
        report = refused_report(name, item.tool.spec.source, item.arguments, envelope, status="interrupted")
        return RequestedCall(
            step=self._step,
            call_id=item.call_id,
            envelope=envelope,
            report=report,
            key=item.key,
            data_key=item.data_key,
        )

    async def _meet_the_limit(self) -> None:
        """Learn which limit is in the way of one more call: that of the turn, or a wider one."""
        try:
            (await self._parts.budget.reserve_shared(Amount(calls=1))).settle(Amount())
        except BudgetExhausted as met:
            self._met = met

    def _call_limit(self) -> BudgetExhausted:
        if self._met is not None:
            return self._met
        budget = self._parts.budget
        used = budget.spent.calls + budget.reserved.calls
        limit = budget.limits.calls if budget.limits.calls is not None else used
        return BudgetExhausted(resource="calls", owner=budget.owner, limit=limit, used=used, requested=1)

    def _selected(self, call_id: str, name: str, arguments: SplitArguments) -> None:
        self._parts.emitter.child(call_id=call_id).emit(
            ToolSelected(tool=name, arguments=arguments.api, focus=arguments.focus, need=arguments.need)
        )

    def _told(self, call_id: str, name: str, code: GuardCode, text: str) -> None:
        self._parts.emitter.child(call_id=call_id).emit(GuardDecided(tool=name, code=code, text=text))


def _one_fetch_a_wave(waves: Sequence[Sequence[_ValidCall]]) -> list[list[_ValidCall]]:
    """Calls for data that another call of the same wave fetches wait for it, in a wave of their own."""
    found: list[list[_ValidCall]] = []
    for wave in waves:
        first = {item.data_key: item.call_id for item in reversed(wave)}
        found.append([item for item in wave if first[item.data_key] == item.call_id])
        if rest := [item for item in wave if first[item.data_key] != item.call_id]:
            found.append(rest)
    return found
