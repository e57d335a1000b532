"""What answering will take, worked out from what is known before: requests, tokens, money and time.

Pure arithmetic over steps that were made and calls that were looked at. The constants are averages of replies of
real models; everything else is measured. Knows no event, no probe and no price list.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from runax_cli.core.event_types import CallProbed, ChunkingPlanned, ModelReplied, StrategyChosen
from runax_cli.core.events import Event, EventSink
from runax_cli.core.results import ForecastCheck, UsageReport
from runax_cli.executor.strategy import Strategy
from runax_cli.models.base import Role

ANSWER_TOKENS = 180
QUERY_TOKENS = 90
QUERY_RESULT_TOKENS = 220
CARD_TOKENS = 650
ENVELOPE_TOKENS = 150
REFERENCE_TOKENS = 9
FINDINGS_TOKENS = 280
MERGE_SHARE = 4
READ_SHARE = 0.9
"""What the short form of records leaves of their tokens, where nobody measured it: 1.0 of texts, 0.75 of fields."""
READER_OVERHEAD = 700
"""Of a reducer's request without records, where nobody measured it."""
RUNS_OFF = 0.25
"""A forecast is given as a range of so much around what is expected."""
SLOWEST, FASTEST = 2.0, 0.6


@dataclass(frozen=True, slots=True)
class TokenEstimate:
    """Input and output of so many requests to models."""

    input: int = 0
    output: int = 0
    requests: int = 0

    def __add__(self, other: "TokenEstimate") -> "TokenEstimate":
        return TokenEstimate(self.input + other.input, self.output + other.output, self.requests + other.requests)

    @property
    def total(self) -> int:
        """Input and output together."""
        return self.input + self.output


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCall:
    """A call that will be made. `tokens` are those of its records; None where nobody knows how many there are.

    `overhead` are the tokens of a reducer's request without records, `read_share` is what the short form leaves of
    the records. `is_computed`: figures over them are wanted.
    """

    strategy: Strategy
    records: int | None
    tokens: int | None
    chunks: int | None
    overhead: int = 0
    read_share: float = READ_SHARE
    is_computed: bool = False

    @property
    def is_queried(self) -> bool:
        """A query will follow: even over the few records that pass as they are, no figure is made by eye."""
        return self.strategy is Strategy.TABLE or (self.is_computed and self.strategy is Strategy.DIRECT_PASS)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartTokens:
    """Tokens of one part: of the main model, and of readers. Less than all where a size is not known (`is_known`)."""

    agent: TokenEstimate
    reducer: TokenEstimate
    is_known: bool = True

    @property
    def total(self) -> int:
        """All tokens of the part."""
        return self.agent.total + self.reducer.total


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRange:
    """From a good case to a bad one."""

    low: float
    high: float


def reading(call: ExpectedCall) -> TokenEstimate:
    """What reducers will read and write for a call."""
    match call.strategy:
        case Strategy.SINGLE_REDUCTION | Strategy.PAGINATED_REDUCTION:
            chunks = max(1, call.chunks or 1)
            references = (call.records or 0) * REFERENCE_TOKENS // 2
            read = int((call.tokens or 0) * call.read_share) + references + chunks * call.overhead
            return TokenEstimate(read, chunks * FINDINGS_TOKENS, chunks)
        case Strategy.EMPTY | Strategy.DIRECT_PASS | Strategy.TABLE:
            return TokenEstimate()


def to_model(call: ExpectedCall, *, effective_tokens: int) -> int:
    """What the main model will be shown of a call."""
    match call.strategy:
        case Strategy.EMPTY:
            return ENVELOPE_TOKENS
        case Strategy.DIRECT_PASS:
            return ENVELOPE_TOKENS + (call.tokens or 0) + (call.records or 0) * REFERENCE_TOKENS
        case Strategy.SINGLE_REDUCTION | Strategy.PAGINATED_REDUCTION:
            found = max(1, call.chunks or 1) * FINDINGS_TOKENS
            return ENVELOPE_TOKENS + min(found, effective_tokens // MERGE_SHARE)
        case Strategy.TABLE:
            return ENVELOPE_TOKENS + CARD_TOKENS


def of_part(
    steps: Sequence[TokenEstimate], ahead: Sequence[ExpectedCall], *, effective_tokens: int, tools_to_come: int = 0
) -> PartTokens:
    """The tokens of a part: the steps that were made, and those that its calls `ahead` make necessary.

    Each later step sends everything again that was said before it. `tools_to_come` are tokens of tools that are offered
    once there is a dataset. A part without calls ahead has had its last step.
    """
    made = sum(steps, TokenEstimate())
    if not ahead:
        return PartTokens(agent=made, reducer=TokenEstimate())
    last = steps[-1] if steps else TokenEstimate()
    shown = sum(to_model(call, effective_tokens=effective_tokens) for call in ahead)
    has_dataset = any(call.strategy is not Strategy.EMPTY for call in ahead)
    context = last.total + shown + (tools_to_come if has_dataset else 0)
    later = TokenEstimate()
    if any(call.is_queried for call in ahead):
        later += TokenEstimate(context, QUERY_TOKENS, 1)
        context += QUERY_TOKENS + QUERY_RESULT_TOKENS
    later += TokenEstimate(context, ANSWER_TOKENS, 1)
    is_known = all(call.strategy is Strategy.EMPTY or call.tokens is not None for call in ahead)
    readers = sum((reading(call) for call in ahead), TokenEstimate())
    return PartTokens(agent=made + later, reducer=readers, is_known=is_known)


def around(expected: float, *, is_known: bool = True) -> TokenRange:
    """The range around what is expected. Where sizes are unknown there is no upper end."""
    return TokenRange(low=expected * (1 - RUNS_OFF), high=expected * (1 + RUNS_OFF) if is_known else math.inf)


def price(costs: Sequence[tuple[TokenEstimate, Callable[[TokenEstimate], float | None]]]) -> float | None:
    """The sum over roles; None as soon as the price of one that is used is not known."""
    known = [cost(tokens) for tokens, cost in costs if tokens.requests]
    return None if any(one is None for one in known) else sum(one for one in known if one is not None)


def seconds(
    parts: Sequence[PartTokens],
    *,
    requests: int,
    request_s: float,
    model_s: float,
    api_concurrency: int,
    model_concurrency: int,
) -> TokenRange:
    """Wall time: the steps of the longest part one after the other, pages and chunks as many at once as is allowed."""
    steps = max((part.agent.requests for part in parts), default=0)
    chunks = sum(part.reducer.requests for part in parts)
    expected = (
        steps * model_s
        + math.ceil(chunks / max(1, model_concurrency)) * model_s
        + math.ceil(requests / max(1, api_concurrency)) * request_s
    )
    return TokenRange(low=expected * FASTEST, high=expected * SLOWEST)


def off_by(*, forecast: float, used: float) -> float | None:
    """How far a forecast was off, as a share of what was used: 0.1 is ten percent too much. None where nothing was."""
    return None if used <= 0 else (forecast - used) / used


@dataclass(slots=True)
class _ProbedCall:
    """One call as its probe saw it. Later figures of the same call are corrections, and are not taken."""

    step: int
    records: int | None
    tokens: int | None
    strategy: Strategy | None = None
    chunks: int | None = None
    chunk_tokens: int | None = None

    def ahead(self) -> ExpectedCall:
        tokens = self.tokens
        if tokens is not None and self.chunks is not None and self.chunk_tokens is not None:
            tokens = min(tokens, self.chunks * self.chunk_tokens)
        return ExpectedCall(
            strategy=Strategy.EMPTY if self.records == 0 or self.strategy is None else self.strategy,
            records=self.records,
            tokens=tokens,
            chunks=self.chunks,
            overhead=READER_OVERHEAD,
        )


@dataclass(slots=True)
class _TrackedPart:
    """The steps of one part, and its calls by id."""

    steps: list[TokenEstimate] = field(default_factory=list)
    calls: dict[str, _ProbedCall] = field(default_factory=dict)

    def foretold(self, *, effective_tokens: int, tools_to_come: int) -> int:
        last = max((call.step for call in self.calls.values()), default=len(self.steps))
        ahead = [call.ahead() for call in self.calls.values() if call.step == last]
        earlier = sum((reading(call.ahead()) for call in self.calls.values() if call.step != last), TokenEstimate())
        to_come = tools_to_come if len({call.step for call in self.calls.values()}) == 1 else 0
        part = of_part(self.steps[:last], ahead, effective_tokens=effective_tokens, tools_to_come=to_come)
        return part.total + earlier.total


@dataclass(slots=True)
class ForecastTracker:
    """One run as it was foreseen. Hands every event on to `to`."""

    to: EventSink
    _parts: dict[int | None, _TrackedPart] = field(default_factory=dict)
    _planner: TokenEstimate = field(default_factory=TokenEstimate)

    def emit(self, event: Event) -> None:
        """Take note of what matters, and pass the event on."""
        self.to.emit(event)
        body, part = event.body, self._parts.setdefault(event.stamp.sub_question, _TrackedPart())
        match body:
            case ModelReplied() if event.stamp.role == Role.AGENT:
                part.steps.append(TokenEstimate(body.input_tokens, body.output_tokens, 1))
            case ModelReplied() if event.stamp.role == Role.PLANNER:
                self._planner += TokenEstimate(body.input_tokens, body.output_tokens, 1)
            case CallProbed():
                seen = _ProbedCall(len(part.steps), body.total_items, body.total_tokens_est)
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

    def _note(self, call: _ProbedCall | None, body: StrategyChosen | ChunkingPlanned) -> None:
        if call is None:
            return
        match body:
            case StrategyChosen():
                call.strategy = call.strategy or Strategy(body.strategy)
            case ChunkingPlanned():
                if call.chunk_tokens is None:
                    call.chunk_tokens, call.chunks = body.budget_tokens, body.chunks
