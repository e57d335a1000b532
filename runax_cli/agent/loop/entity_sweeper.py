"""Runs the calls of "find everything about X" as steps of a turn. `agent.planning.entity_sweep` decides them.

The calls go through guard and executor like those of a model, so that approval, budgets, journal, events and evidence
apply to them.
"""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeAlias

from adapters.base import Json
from adapters.json_text import compact_json
from runax_cli.agent import prompts
from runax_cli.agent.loop.toolbox import ToolRegistry
from runax_cli.agent.planning.entity_sweep import (
    MAX_CALLS,
    PlannedCall,
    SweepPlan,
    ambiguous_plan,
    entity_kinds,
    listing_calls,
    lookup_calls,
    matching_entities,
    sweep_calls,
)
from runax_cli.agent.planning.everything import EntityRequest
from runax_cli.agent.planning.references import FoundEntity, noun_of
from runax_cli.agent.result.requested_call import RequestedCall
from runax_cli.core.errors import StoreError
from runax_cli.core.results import SkippedCall, SweepReport
from runax_cli.core.untrusted_text import escape_for_prompt
from runax_cli.executor.outcome import EnvelopeStatus
from runax_cli.models.base import ToolCall

MAX_SEARCHED_RECORDS = 100_000
"""X is searched for in at most this many records of one result."""
_READ = (EnvelopeStatus.SUCCESS, EnvelopeStatus.EMPTY, EnvelopeStatus.PARTIAL)
_Stage: TypeAlias = Literal["start", "searched", "listed", "ended"]


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """Calls that code requests as the next step of a turn. `note` tells the model about their results."""

    calls: tuple[ToolCall, ...]
    note: str = ""


class EntitySweeper:
    """Finds one entity, and reads every tool that takes its id.

    `calls_left` returns how many calls the budget still allows, None if there is no limit. If neither a search nor the
    listing of its kind finds X, the model looks it up; what its calls return is searched too.
    """

    def __init__(
        self, question: str, request: EntityRequest, tools: ToolRegistry, *, calls_left: Callable[[], float | None]
    ) -> None:
        self._question, self._request, self._tools, self._calls_left = question, request, tools, calls_left
        self._specs = tuple(tools.specs.values())
        self._kinds = entity_kinds(request, self._specs)
        self._stage: _Stage = "start"
        self._n_searched = 0
        self._entity: FoundEntity | None = None
        self._plan = SweepPlan()

    async def next_step(self, requested: Sequence[RequestedCall]) -> PlannedStep | None:
        """The calls to run next; None if it is the model's turn. `requested` are all calls of the turn so far."""
        if self._stage == "ended" or not self._kinds:
            return None
        return await asyncio.to_thread(self._next_step, requested)

    def report(self, requested: Sequence[RequestedCall]) -> SweepReport | None:
        """What was read and what was not; None if no tool lists entities that X could be."""
        if not self._kinds:
            return None
        skipped = [SkippedCall(tool=one.tool, why=one.why, is_limit=one.is_limit) for one in self._plan.uncalled]
        visited = []
        for planned in self._plan.calls:
            why = _why_not_read(planned, requested)
            if why is None:
                visited.append(planned.tool.name)
            else:
                skipped.append(SkippedCall(tool=planned.tool.name, why=why))
        entity = self._entity
        return SweepReport(
            name=self._request.name,
            kind=None if entity is None else entity.noun,
            id=None if entity is None else str(entity.id),
            visited=tuple(dict.fromkeys(visited)),
            skipped=tuple(skipped),
        )

    def _next_step(self, requested: Sequence[RequestedCall]) -> PlannedStep | None:
        found = self._find(requested)
        if found:
            return self._sweep(found, requested)
        if self._stage == "start":
            self._stage = "searched"
            if calls := lookup_calls(self._request, self._kinds, self._specs):
                return self._step(calls)
        if self._stage == "searched":
            self._stage = "listed"
            calls = tuple(call for call in listing_calls(self._kinds, self._specs) if not _was_made(call, requested))
            return self._step(calls) if calls else None
        return None

    def _sweep(self, found: Sequence[FoundEntity], requested: Sequence[RequestedCall]) -> PlannedStep | None:
        self._stage = "ended"
        if len(found) > 1:
            self._plan = ambiguous_plan(found, self._specs)
            return None
        self._entity = found[0]
        left = self._calls_left()
        most = MAX_CALLS if left is None else min(MAX_CALLS, int(left))
        self._plan = sweep_calls(found[0], self._specs, max_calls=most)
        calls = [call for call in self._plan.calls if not _was_made(call, requested)]
        return self._step(calls, note=_note(found[0], self._plan)) if calls else None

    def _find(self, requested: Sequence[RequestedCall]) -> tuple[FoundEntity, ...]:
        """X in the results of the calls since the last search."""
        new, self._n_searched = requested[self._n_searched :], len(requested)
        for call in new:
            spec = self._tools.specs.get(call.report.tool)
            if spec is None or noun_of(spec) not in self._kinds:
                continue
            if found := matching_entities(self._request, _records_of(call), spec):
                return found
        return ()

    def _step(self, calls: Sequence[PlannedCall], *, note: str = "") -> PlannedStep:
        return PlannedStep(tuple(self._tool_call(call) for call in calls), note)

    def _tool_call(self, call: PlannedCall) -> ToolCall:
        """The call as a model would request it: with the virtual arguments that the tool has."""
        virtual = {"need": call.need, "focus": self._focus()}
        names = self._tools[call.tool.name].virtual
        added = {names[name]: value for name, value in virtual.items() if value and name in names}
        return ToolCall("", call.tool.name, json.dumps(call.arguments | added, ensure_ascii=False))

    def _focus(self) -> str:
        """What reducers look for in large results: their records name the entity by its id alone."""
        entity = self._entity
        return "" if entity is None else prompts.SWEEP_FOCUS.fill(question=self._question, entity=entity.text)


def _note(entity: FoundEntity, plan: SweepPlan) -> str:
    skipped = "\n".join(f"- {one.tool}: {one.why}" for one in plan.uncalled) or "- none"
    return prompts.AGENT_SWEEP.fill(entity=escape_for_prompt(entity.text), skipped=escape_for_prompt(skipped))


def _records_of(call: RequestedCall) -> Iterator[dict[str, Json]]:
    """The records of a call; none if it has none or they cannot be read."""
    dataset = None if call.outcome is None else call.outcome.dataset
    if dataset is None:
        return
    try:
        yield from (record for record in islice(dataset.records(), MAX_SEARCHED_RECORDS))
    except (StoreError, OSError):
        return


def _was_made(call: PlannedCall, requested: Sequence[RequestedCall]) -> bool:
    return any(_is_of(call, one) for one in requested)


def _is_of(call: PlannedCall, made: RequestedCall) -> bool:
    is_same_tool = made.report.tool == call.tool.name
    return is_same_tool and compact_json(made.report.arguments) == compact_json(call.arguments)


def _why_not_read(call: PlannedCall, requested: Sequence[RequestedCall]) -> str | None:
    """Why a planned call returned nothing; None if it was read, now or earlier in the turn."""
    made = [one for one in requested if _is_of(call, one)]
    if any(one.envelope.status in _READ for one in made):
        return None
    if not made:
        return "the turn ended before it was called"
    envelope = made[-1].envelope
    return envelope.error.message if envelope.error is not None else envelope.next_action_hint
