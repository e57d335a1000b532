"""What the probes of a run foretold, held against what it took in the end.

Listens to a run on the way to its sink. A forecast is what `forecast` makes of the steps up to the last probes and of
the figures of these probes, before a page was read; corrections that came later take no part. Knows events.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from runax_cli.agent.forecast import READER_OVERHEAD, Ahead, Tokens, of_part, off_by, reading
from runax_cli.events import CallProbed, ChunkingPlanned, Event, EventSink, ModelReplied, StrategyChosen
from runax_cli.executor.strategy import Strategy
from runax_cli.forecasts import ForecastCheck
from runax_cli.models.base import Role
from runax_cli.results import UsageReport


@dataclass(slots=True)
class _Probed:
    """One call as its probe saw it. Later figures of the same call are corrections, and are not taken."""

    step: int
    records: int | None
    tokens: int | None
    strategy: Strategy | None = None
    chunks: int | None = None
    chunk_tokens: int | None = None

    def ahead(self) -> Ahead:
        tokens = self.tokens
        if tokens is not None and self.chunks is not None and self.chunk_tokens is not None:
            tokens = min(tokens, self.chunks * self.chunk_tokens)
        return Ahead(
            strategy=Strategy.EMPTY if self.records == 0 or self.strategy is None else self.strategy,
            records=self.records,
            tokens=tokens,
            chunks=self.chunks,
            overhead=READER_OVERHEAD,
        )


@dataclass(slots=True)
class _PartHeard:
    """The steps of one part, and its calls by id."""

    steps: list[Tokens] = field(default_factory=list)
    calls: dict[str, _Probed] = field(default_factory=dict)

    def foretold(self, *, effective_tokens: int, tools_to_come: int) -> int:
        last = max((call.step for call in self.calls.values()), default=len(self.steps))
        ahead = [call.ahead() for call in self.calls.values() if call.step == last]
        earlier = sum((reading(call.ahead()) for call in self.calls.values() if call.step != last), Tokens())
        to_come = tools_to_come if len({call.step for call in self.calls.values()}) == 1 else 0
        part = of_part(self.steps[:last], ahead, effective_tokens=effective_tokens, tools_to_come=to_come)
        return part.total + earlier.total


@dataclass(slots=True)
class Foretold:
    """One run as it was foreseen. Hands every event on to `to`."""

    to: EventSink
    _parts: dict[int | None, _PartHeard] = field(default_factory=dict)
    _planner: Tokens = field(default_factory=Tokens)

    def emit(self, event: Event) -> None:
        """Take note of what matters, and pass the event on."""
        self.to.emit(event)
        body, part = event.body, self._parts.setdefault(event.stamp.sub_question, _PartHeard())
        match body:
            case ModelReplied() if event.stamp.role == Role.AGENT:
                part.steps.append(Tokens(body.input_tokens, body.output_tokens, 1))
            case ModelReplied() if event.stamp.role == Role.PLANNER:
                self._planner += Tokens(body.input_tokens, body.output_tokens, 1)
            case CallProbed():
                seen = _Probed(len(part.steps), body.total_items, body.total_tokens_est)
                part.calls.setdefault(event.stamp.call_id or "", seen)
            case StrategyChosen() | ChunkingPlanned():
                self._note(part.calls.get(event.stamp.call_id or ""), body)
            case _:
                return

    @property
    def has_probed(self) -> bool:
        """Whether there is anything to hold the run against."""
        return any(part.calls for part in self._parts.values())

    def check(self, usage: UsageReport, *, effective_tokens: int, tools_to_come: int) -> ForecastCheck | None:
        """The forecast against what was used; None where no call was probed."""
        if not self.has_probed:
            return None
        told = sum(self._of_parts(effective_tokens=effective_tokens, tools_to_come=tools_to_come))
        used = usage.input_tokens + usage.output_tokens
        forecast = self._planner.total + told
        share = off_by(forecast=forecast, used=used)
        return ForecastCheck(
            tokens_forecast=forecast, tokens_used=used, off_by=None if share is None else round(share, 4)
        )

    def _of_parts(self, *, effective_tokens: int, tools_to_come: int) -> Iterator[int]:
        for part in self._parts.values():
            yield part.foretold(effective_tokens=effective_tokens, tools_to_come=tools_to_come)

    def _note(self, call: _Probed | None, body: StrategyChosen | ChunkingPlanned) -> None:
        if call is None:
            return
        match body:
            case StrategyChosen():
                call.strategy = call.strategy or Strategy(body.strategy)
            case ChunkingPlanned():
                if call.chunk_tokens is None:
                    call.chunk_tokens, call.chunks = body.budget_tokens, body.chunks
