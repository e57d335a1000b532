"""Runs the tool calls of one step: validates, schedules and approves them, and runs them in parallel waves.

Every call ends in an envelope. A failure of a call is an envelope too, never an exception, and the turn continues.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from runax_cli.agent.result.requested_call import (
    RequestedCall,
    error_text,
    no_progress_error,
    refused_report,
    result_digest,
    step_digest,
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

_NEAR_DUPLICATE_HINT = (
    "Only case or word order differs from an earlier call, and the result is the same: do not try further variants."
)
_SUCCEEDED = (EnvelopeStatus.SUCCESS, EnvelopeStatus.EMPTY)
_GUARD_CODES: Mapping[RejectionCode, GuardCode] = {
    RejectionCode.NOT_JSON: "invalid_json",
    RejectionCode.NO_SUCH_TOOL: "unknown_tool",
    RejectionCode.INVALID_ARGUMENTS: "invalid_arguments",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDependencies:
    """What the calls of a turn need. `question` and `need` are the defaults for focus and need of a call.

    `direct_limit` maps the free tokens, and the number of calls that share them, to the direct limit of one. `datasets`
    maps fingerprints of data to datasets that contain all records of a call; a session shares it. `on_requested` is
    called with the name of every requested tool.
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
    on_requested: Callable[[str], None] = lambda _name: None


@dataclass(frozen=True, slots=True)
class StepResult:
    """The calls of a step in the requested order. `stop` is set if there should be no further step."""

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
    """All calls of one turn."""

    def __init__(self, dependencies: CallDependencies) -> None:
        self._deps = dependencies
        self._history: dict[str, CallHistory] = {}
        self._progress = ProgressTracker()
        self._errors: dict[str, str] = {}
        self._near_keys: dict[str, str] = {}
        self._limit_reached: BudgetExhausted | None = None
        self._slots = asyncio.Semaphore(dependencies.parallel_calls)
        self._running: dict[str, RequestedCall] = {}
        self._requested: list[RequestedCall] = []
        self._step = 0

    @property
    def requested(self) -> tuple[RequestedCall, ...]:
        """Every requested call in order, whether it ran or not. Calls that are still running count as interrupted."""
        return (*self._requested, *self._running.values())

    def forget(self, call_id: str) -> None:
        """The model can no longer see the result of this call: requesting it again is not a duplicate."""
        for call in self._requested:
            if call.call_id == call_id and call.key is not None:
                self._history.pop(call.key, None)

    async def run(self, requested: Sequence[ToolCall], *, free_tokens: int) -> StepResult:
        """Run the calls that may run. All results together may add `free_tokens` to the context."""
        self._step += 1
        done: dict[int, RequestedCall] = {}
        valid: list[_ValidCall] = []
        for position, call in enumerate(requested):
            validated = self._validate(position, call)
            if isinstance(validated, _ValidCall):
                valid.append(validated)
            else:
                done[position] = validated
        waves = await self._schedule(valid, done)
        await self._run_waves(waves, done, free_tokens=free_tokens)
        self._hint_at_near_duplicates(valid, done)
        calls = tuple(done[position] for position in sorted(done))
        self._requested += calls
        self._running.clear()
        stalled = self._check_progress(calls, requested, valid)
        is_over_limit = any(
            call.envelope.status is EnvelopeStatus.BUDGET_EXHAUSTED and call.outcome is None for call in calls
        )
        return StepResult(calls, self._call_limit() if is_over_limit else stalled)

    def _check_progress(
        self, calls: Sequence[RequestedCall], requested: Sequence[ToolCall], valid: Sequence[_ValidCall]
    ) -> NoProgress | None:
        """Record the results of a step. Returns the reason to stop if there is no progress."""
        keys = {call.id: f"{call.name} {call.arguments}" for call in requested}
        keys |= {item.call_id: item.near_key + item.key for item in valid}
        self._progress = self._progress.after(step_digest(calls, keys, before=self._errors))
        for call in calls:
            if call.key is not None and call.key in self._history:
                self._history[call.key] = self._history[call.key].at(self._progress.version)
            if call.key is not None and (error := error_text(call)) is not None:
                self._errors[call.key] = error
        stalled = self._progress.stalled
        return None if stalled is None else no_progress_error(stalled, calls)

    def _hint_at_near_duplicates(self, valid: Sequence[_ValidCall], done: dict[int, RequestedCall]) -> None:
        """Add a hint to calls that differ from earlier ones only in case or word order, and return the same."""
        for item in valid:
            call = done[item.position]
            earlier, digest = self._near_keys.setdefault(item.near_key, item.key), result_digest(call)
            if earlier != item.key and digest is not None and digest in self._progress.seen:
                hint = f"{call.envelope.next_action_hint} {_NEAR_DUPLICATE_HINT}"
                envelope = call.envelope.model_copy(update={"next_action_hint": hint})
                done[item.position] = replace(call, envelope=envelope)

    def _validate(self, position: int, call: ToolCall) -> "_ValidCall | RequestedCall":
        self._deps.on_requested(call.name)
        tool = find_tool(call.name, self._deps.tools)
        if isinstance(tool, RejectedCall):
            return self._rejected(call, tool)
        raw = parse_arguments(call.arguments, tool)
        if isinstance(raw, RejectedCall):
            return self._rejected(call, raw)
        arguments = split_virtual_arguments(tool, raw)
        self._emit_selected(call.id, call.name, arguments)
        return _ValidCall(position, call.id, tool, arguments, fingerprint(call.name, arguments))

    def _rejected(self, call: ToolCall, rejected: RejectedCall) -> RequestedCall:
        self._emit_selected(call.id, call.name, SplitArguments(api={}))
        self._emit_decision(call.id, call.name, _GUARD_CODES[rejected.code], rejected.message)
        envelope = ResultEnvelope.validation_error(call.name, rejected.message, code=FaultCode(int(rejected.code)))
        source = self._deps.tools[call.name].spec.source if call.name in self._deps.tools else ""
        report = refused_report(call.name, source, SplitArguments(api={}), envelope)
        return RequestedCall(step=self._step, call_id=call.id, envelope=envelope, report=report)

    async def _schedule(self, valid: Sequence[_ValidCall], done: dict[int, RequestedCall]) -> list[list[_ValidCall]]:
        """Return the calls that may run, in waves. Envelopes of the others go to `done`."""
        left = self._deps.budget.remaining("calls")
        candidates = [CandidateCall(item.tool.spec, item.key) for item in valid]
        calls_left = None if left is None else int(left)
        decisions = schedule(candidates, self._history, calls_left=calls_left, version=self._progress.version)
        if any(isinstance(decision, OverLimit) for decision in decisions):
            await self._find_limit()
        waves: dict[int, list[_ValidCall]] = {}
        for item, decision in zip(valid, decisions, strict=True):
            if not isinstance(decision, RunCall):
                done[item.position] = self._not_run(item, decision)
            elif await self._deps.policy.permits(item.tool.spec, item.arguments.api):
                waves.setdefault(decision.wave, []).append(item)
            else:
                done[item.position] = self._denied(item)
        return _separate_equal_fetches(list(waves.values()))

    def _not_run(self, item: _ValidCall, decision: Decision) -> RequestedCall:
        name, query = item.tool.spec.name, item.arguments.api
        code: GuardCode
        match decision:
            case SuppressCall(dataset, has_failed=False):
                code, envelope = "suppressed_duplicate", ResultEnvelope.duplicate(name, query, dataset=dataset)
            case SuppressCall():
                hint = f"{name} failed repeatedly with these arguments: change them, or say what is missing."
                code, envelope = "suppressed_duplicate", ResultEnvelope.duplicate(name, query, dataset=None, hint=hint)
            case SameStep():
                hint = f"{name} was requested twice in this step; one result answers both."
                code, envelope = "suppressed_duplicate", ResultEnvelope.duplicate(name, query, dataset=None, hint=hint)
            case DeferCall(waits_for):
                code, envelope = "deferred", ResultEnvelope.deferred(name, query, waits_for=waits_for)
            case OverLimit():
                code, envelope = "over_limit", ResultEnvelope.budget_exhausted(name, query, why=str(self._call_limit()))
            case RunCall():
                raise AssertionError("a call that may run has no envelope yet")
            case _:
                assert_never(decision)
        return self._without_outcome(item, code, envelope)

    def _denied(self, item: _ValidCall) -> RequestedCall:
        why = "it changes data, and neither --allow-writes nor the user approved it"
        envelope = ResultEnvelope.denied(item.tool.spec.name, item.arguments.api, why=why)
        return self._without_outcome(item, "write_denied", envelope)

    def _without_outcome(self, item: _ValidCall, code: GuardCode, envelope: ResultEnvelope) -> RequestedCall:
        spec = item.tool.spec
        self._emit_decision(item.call_id, spec.name, code, envelope.next_action_hint)
        report = refused_report(spec.name, spec.source, item.arguments, envelope)
        return RequestedCall(step=self._step, call_id=item.call_id, envelope=envelope, report=report)

    async def _run_waves(
        self, waves: Sequence[Sequence[_ValidCall]], done: dict[int, RequestedCall], *, free_tokens: int
    ) -> None:
        left, pending = free_tokens, sum(len(wave) for wave in waves)
        for wave in waves:
            limit = self._deps.direct_limit(left, pending)
            async with asyncio.TaskGroup() as group:
                for item in wave:
                    self._emit_run(item, is_alone=len(wave) == 1, limit=limit)
                    self._running[item.call_id] = self._unfinished(item)
                    group.create_task(self._run_one(item, done, direct_limit=limit))
            for item in wave:
                left -= await self._deps.measure(done[item.position].envelope.to_model_text())
            pending -= len(wave)

    def _emit_run(self, item: _ValidCall, *, is_alone: bool, limit: int) -> None:
        dataset = self._fetched_dataset(item)
        code: GuardCode = "run" if is_alone else "parallel"
        text = f"up to {limit:,} tokens are passed to the model unchanged"
        if dataset is not None:
            code, text = "read_again", f"its records are in {dataset} already, nothing is fetched; {text}"
        self._emit_decision(item.call_id, item.tool.spec.name, code, text)

    def _fetched_dataset(self, item: _ValidCall) -> str | None:
        """The dataset that already has all records of this call; None for a tool that requires fresh input."""
        return None if item.tool.spec.requires_fresh_input else self._deps.datasets.get(item.data_key)

    async def _run_one(self, item: _ValidCall, done: dict[int, RequestedCall], *, direct_limit: int) -> None:
        try:
            async with self._slots, self._deps.budget.reservation(Amount(calls=1)):
                call = await self._execute(item, direct_limit=direct_limit)
        except BudgetExhausted as limit:
            # Other calls have used up the rest since the decision.
            self._limit_reached = limit
            done[item.position] = self._running[item.call_id] = self._not_run(item, OverLimit())
            return
        done[item.position] = self._running[item.call_id] = call
        is_success = call.envelope.status in _SUCCEEDED
        before = self._history.get(item.key, CallHistory())
        self._history[item.key] = before.after(is_success=is_success, dataset=call.envelope.dataset)
        self._remember_dataset(item, call)

    def _remember_dataset(self, item: _ValidCall, call: RequestedCall) -> None:
        """Remember complete data, to read it again without fetching. A single record is cheap, and may have changed."""
        outcome = call.outcome
        if outcome is None or outcome.dataset is None or item.arguments.at_most == 0:
            return
        if item.tool.virtual and outcome.coverage.is_complete:
            self._deps.datasets.setdefault(item.data_key, outcome.dataset.name)

    async def _execute(self, item: _ValidCall, *, direct_limit: int) -> RequestedCall:
        deps, arguments = self._deps, item.arguments
        decided = DecidedCall(
            call_id=item.call_id,
            tool=item.tool.spec,
            arguments=arguments.api,
            focus=arguments.focus or deps.question,
            need=arguments.need or deps.need,
            at_most=arguments.at_most,
            stored_dataset=self._fetched_dataset(item),
        )
        emitter = deps.emitter.child(call_id=item.call_id)
        scope = CallScope(emitter=emitter, budget=deps.budget, reducer=deps.reducer, labeler=deps.labeller)
        try:
            outcome = await deps.executor.execute(decided, scope, direct_limit=direct_limit)
        except Exception as error:
            return self._internal_error(item, first_cause(error))
        return replace(self._unfinished(item), envelope=outcome.envelope, report=outcome.report, outcome=outcome)

    def _internal_error(self, item: _ValidCall, error: BaseException) -> RequestedCall:
        """An error inside runax: the user gets its message, the model only its type."""
        name, kind = item.tool.spec.name, type(error).__name__
        text = f"'{name}' failed with an internal error: {kind}: {error} ({raised_at(error)}). Please report it."
        self._deps.emitter.child(call_id=item.call_id).emit(Warned(code="internal_error", text=text))
        code = ReasonCode.STORE_ERROR if isinstance(error, StoreError) else ReasonCode.SOURCE_ERROR
        envelope = ResultEnvelope.internal(name, f"internal error ({kind})")
        report = refused_report(name, item.tool.spec.source, item.arguments, envelope)
        return replace(self._unfinished(item), envelope=envelope, report=report, fault=Reason(code=code, text=text))

    def _unfinished(self, item: _ValidCall) -> RequestedCall:
        """A placeholder for a running call, which stays if the call is interrupted."""
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

    async def _find_limit(self) -> None:
        """Find out which limit prevents one more call: that of the turn, or a wider one."""
        try:
            (await self._deps.budget.reserve_shared(Amount(calls=1))).settle(Amount())
        except BudgetExhausted as limit:
            self._limit_reached = limit

    def _call_limit(self) -> BudgetExhausted:
        if self._limit_reached is not None:
            return self._limit_reached
        budget = self._deps.budget
        used = budget.spent.calls + budget.reserved.calls
        limit = budget.limits.calls if budget.limits.calls is not None else used
        return BudgetExhausted(resource="calls", owner=budget.owner, limit=limit, used=used, requested=1)

    def _emit_selected(self, call_id: str, name: str, arguments: SplitArguments) -> None:
        self._deps.emitter.child(call_id=call_id).emit(
            ToolSelected(tool=name, arguments=arguments.api, focus=arguments.focus, need=arguments.need)
        )

    def _emit_decision(self, call_id: str, name: str, code: GuardCode, text: str) -> None:
        self._deps.emitter.child(call_id=call_id).emit(GuardDecided(tool=name, code=code, text=text))


def _separate_equal_fetches(waves: Sequence[Sequence[_ValidCall]]) -> list[list[_ValidCall]]:
    """Move calls for data that another call of the same wave fetches to a wave of their own."""
    found: list[list[_ValidCall]] = []
    for wave in waves:
        first = {item.data_key: item.call_id for item in reversed(wave)}
        found.append([item for item in wave if first[item.data_key] == item.call_id])
        if rest := [item for item in wave if first[item.data_key] != item.call_id]:
            found.append(rest)
    return found
