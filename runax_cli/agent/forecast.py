"""Forecasts what answering a question will take: requests, tokens, cost and time.

The functions are pure arithmetic over completed steps and expected calls. The constants are averages over replies of
real models; everything else is measured. `ForecastTracker` compares the forecast of a run with what it used.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from runax_cli.core.event_types import CallProbed, ChunkingPlanned, ModelReplied, StrategyChosen
from runax_cli.core.events import Event, EventSink
from runax_cli.core.results import ForecastCheck, ForecastRange, UsageReport
from runax_cli.executor.strategy import Strategy
from runax_cli.models.base import Role
from runax_cli.settings.settings import ReviewMode

ANSWER_TOKENS = 180
QUERY_TOKENS = 90
QUERY_RESULT_TOKENS = 220
CARD_TOKENS = 650
ENVELOPE_TOKENS = 150
REFERENCE_TOKENS = 9
FINDINGS_TOKENS = 280
MERGE_SHARE = 4
READ_SHARE = 0.9
"""The share of tokens that records keep in compact form, if not measured: 1.0 for texts, 0.75 for fields."""
REVIEW_PROMPT_TOKENS = 700
REVIEW_EVIDENCE_TOKENS = 300
"""Tokens of statements, calls and a query result in the request of a review."""
REVIEW_RECORDS, REVIEW_RECORD_TOKENS = 5, 400
"""An answer cites about this many records, each of which is shortened to about this many tokens."""
REVIEW_REPLY_TOKENS = 200
REDUCER_OVERHEAD_TOKENS = 700
"""Tokens of a reducer request without records, if not measured."""
RANGE_SHARE = 0.25
"""A forecast is shown as a range of this share around the expected value."""
MAX_DURATION_FACTOR, MIN_DURATION_FACTOR = 2.0, 0.6


@dataclass(frozen=True, slots=True)
class TokenEstimate:
    """Input and output tokens of a number of model requests."""

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
    """A call that is expected to run. `tokens` are those of its records, None if unknown.

    `overhead` are the tokens of a reducer request without records, `read_share` is the share of tokens that records
    keep in compact form. `is_computed` if figures over the records are wanted.
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
        """Whether a query will follow. Figures are always computed, even over few records."""
        return self.strategy is Strategy.TABLE or (self.is_computed and self.strategy is Strategy.DIRECT_PASS)

    @property
    def is_read(self) -> bool:
        """Whether the answer will rest on records that a model reads."""
        return not self.is_queried and self.strategy is not Strategy.EMPTY


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenForecast:
    """The tokens of one sub-question, by role. A lower bound if the size of a call is unknown (not `is_known`)."""

    agent: TokenEstimate
    reducer: TokenEstimate
    reviewer: TokenEstimate = TokenEstimate()
    is_known: bool = True

    @property
    def total(self) -> int:
        """The tokens of all roles."""
        return self.agent.total + self.reducer.total + self.reviewer.total


def reducer_tokens(call: ExpectedCall) -> TokenEstimate:
    """The tokens that reducers will take for a call."""
    match call.strategy:
        case Strategy.SINGLE_REDUCTION | Strategy.PAGINATED_REDUCTION:
            chunks = max(1, call.chunks or 1)
            references = (call.records or 0) * REFERENCE_TOKENS // 2
            read = int((call.tokens or 0) * call.read_share) + references + chunks * call.overhead
            return TokenEstimate(read, chunks * FINDINGS_TOKENS, chunks)
        case Strategy.EMPTY | Strategy.DIRECT_PASS | Strategy.TABLE:
            return TokenEstimate()


def reviewer_tokens(calls: Sequence[ExpectedCall], *, mode: ReviewMode) -> TokenEstimate:
    """The tokens that the review of an answer will take, if there is one in this mode."""
    read = [call for call in calls if call.is_read]
    if mode == "never" or (mode == "auto" and not read):
        return TokenEstimate()
    records = sum(_cited_tokens(call) for call in read)
    return TokenEstimate(REVIEW_PROMPT_TOKENS + REVIEW_EVIDENCE_TOKENS + records, REVIEW_REPLY_TOKENS, 1)


def _cited_tokens(call: ExpectedCall) -> int:
    """The tokens of the records that an answer is expected to cite of a call."""
    if not call.records or call.tokens is None:
        return 0
    return min(call.records, REVIEW_RECORDS) * min(call.tokens // call.records, REVIEW_RECORD_TOKENS)


def result_tokens(call: ExpectedCall, *, effective_tokens: int) -> int:
    """The tokens of a call's result in the context of the main model."""
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


def forecast_tokens(
    steps: Sequence[TokenEstimate],
    calls: Sequence[ExpectedCall],
    *,
    effective_tokens: int,
    data_tool_tokens: int = 0,
    review: ReviewMode = "never",
) -> TokenForecast:
    """The tokens of a sub-question: its completed steps, and those that its expected calls will need.

    Each later step sends the whole conversation again. `data_tool_tokens` are those of the tools over datasets, which
    are offered once there is a dataset. A sub-question without expected calls has completed its last step.
    """
    completed = sum(steps, TokenEstimate())
    if not calls:
        return TokenForecast(agent=completed, reducer=TokenEstimate(), reviewer=reviewer_tokens((), mode=review))
    last = steps[-1] if steps else TokenEstimate()
    results = sum(result_tokens(call, effective_tokens=effective_tokens) for call in calls)
    has_dataset = any(call.strategy is not Strategy.EMPTY for call in calls)
    context = last.total + results + (data_tool_tokens if has_dataset else 0)
    later = TokenEstimate()
    if any(call.is_queried for call in calls):
        later += TokenEstimate(context, QUERY_TOKENS, 1)
        context += QUERY_TOKENS + QUERY_RESULT_TOKENS
    later += TokenEstimate(context, ANSWER_TOKENS, 1)
    is_known = all(call.strategy is Strategy.EMPTY or call.tokens is not None for call in calls)
    reducers = sum((reducer_tokens(call) for call in calls), TokenEstimate())
    reviewer = reviewer_tokens(calls, mode=review)
    return TokenForecast(agent=completed + later, reducer=reducers, reviewer=reviewer, is_known=is_known)


def range_around(expected: float, *, is_known: bool = True) -> ForecastRange:
    """The range around an expected value. It has no upper end if sizes are unknown."""
    return ForecastRange(low=expected * (1 - RANGE_SHARE), high=expected * (1 + RANGE_SHARE) if is_known else None)


def total_price(costs: Sequence[tuple[TokenEstimate, Callable[[TokenEstimate], float | None]]]) -> float | None:
    """The sum over roles; None if the price of a used role is unknown."""
    known = [cost(tokens) for tokens, cost in costs if tokens.requests]
    return None if any(one is None for one in known) else sum(one for one in known if one is not None)


def duration_range(
    forecasts: Sequence[TokenForecast],
    *,
    requests: int,
    request_s: float,
    model_s: float,
    api_concurrency: int,
    model_concurrency: int,
) -> ForecastRange:
    """Wall time: the steps of the longest sub-question in sequence; pages and chunks in parallel, up to the limits."""
    steps = max((forecast.agent.requests + forecast.reviewer.requests for forecast in forecasts), default=0)
    chunks = sum(forecast.reducer.requests for forecast in forecasts)
    expected = (
        steps * model_s
        + math.ceil(chunks / max(1, model_concurrency)) * model_s
        + math.ceil(requests / max(1, api_concurrency)) * request_s
    )
    return ForecastRange(low=expected * MIN_DURATION_FACTOR, high=expected * MAX_DURATION_FACTOR)


def relative_error(*, forecast: float, used: float) -> float | None:
    """The error of a forecast relative to what was used: 0.1 is ten percent too much. None if nothing was used."""
    return None if used <= 0 else (forecast - used) / used


@dataclass(slots=True)
class _ProbedCall:
    """One call according to its probe. Later figures of the same call are corrections, and are ignored."""

    step: int
    records: int | None
    tokens: int | None
    strategy: Strategy | None = None
    chunks: int | None = None
    chunk_tokens: int | None = None

    def expected(self) -> ExpectedCall:
        tokens = self.tokens
        if tokens is not None and self.chunks is not None and self.chunk_tokens is not None:
            tokens = min(tokens, self.chunks * self.chunk_tokens)
        return ExpectedCall(
            strategy=Strategy.EMPTY if self.records == 0 or self.strategy is None else self.strategy,
            records=self.records,
            tokens=tokens,
            chunks=self.chunks,
            overhead=REDUCER_OVERHEAD_TOKENS,
        )


@dataclass(slots=True)
class _TrackedSubQuestion:
    """The steps of one sub-question, and its calls by id."""

    steps: list[TokenEstimate] = field(default_factory=list)
    calls: dict[str, _ProbedCall] = field(default_factory=dict)

    def forecast(self, *, effective_tokens: int, data_tool_tokens: int, review: ReviewMode) -> int:
        last = max((call.step for call in self.calls.values()), default=len(self.steps))
        last_calls = [call.expected() for call in self.calls.values() if call.step == last]
        earlier = sum(
            (reducer_tokens(call.expected()) for call in self.calls.values() if call.step != last), TokenEstimate()
        )
        if len({call.step for call in self.calls.values()}) > 1:
            data_tool_tokens = 0
        tokens = forecast_tokens(
            self.steps[:last],
            last_calls,
            effective_tokens=effective_tokens,
            data_tool_tokens=data_tool_tokens,
            review=review,
        )
        return tokens.total + earlier.total


@dataclass(slots=True)
class ForecastTracker:
    """Collects the forecast of a run from its events, and passes every event on to `to`.

    `review` says which answers will be reviewed.
    """

    to: EventSink
    review: ReviewMode = "never"
    _sub_questions: dict[int | None, _TrackedSubQuestion] = field(default_factory=dict)
    _planner: TokenEstimate = field(default_factory=TokenEstimate)

    def emit(self, event: Event) -> None:
        """Pass the event on, and record what the forecast needs."""
        self.to.emit(event)
        body, sub = event.body, self._sub_questions.setdefault(event.stamp.sub_question, _TrackedSubQuestion())
        match body:
            case ModelReplied() if event.stamp.role == Role.AGENT:
                sub.steps.append(TokenEstimate(body.input_tokens, body.output_tokens, 1))
            case ModelReplied() if event.stamp.role == Role.PLANNER:
                self._planner += TokenEstimate(body.input_tokens, body.output_tokens, 1)
            case CallProbed():
                probed = _ProbedCall(len(sub.steps), body.total_items, body.total_tokens_est)
                sub.calls.setdefault(event.stamp.call_id or "", probed)
            case StrategyChosen() | ChunkingPlanned():
                self._record_plan(sub.calls.get(event.stamp.call_id or ""), body)
            case _:
                return

    @property
    def has_probed(self) -> bool:
        """Whether a call was probed."""
        return any(sub.calls for sub in self._sub_questions.values())

    def check(self, usage: UsageReport, *, effective_tokens: int, data_tool_tokens: int) -> ForecastCheck | None:
        """Compare the forecast with what was used; None if no call was probed."""
        if not self.has_probed:
            return None
        of_sub_questions = (
            sub.forecast(effective_tokens=effective_tokens, data_tool_tokens=data_tool_tokens, review=self.review)
            for sub in self._sub_questions.values()
        )
        used = usage.input_tokens + usage.output_tokens
        forecast = self._planner.total + sum(of_sub_questions)
        share = relative_error(forecast=forecast, used=used)
        return ForecastCheck(
            tokens_forecast=forecast, tokens_used=used, off_by=None if share is None else round(share, 4)
        )

    def _record_plan(self, call: _ProbedCall | None, body: StrategyChosen | ChunkingPlanned) -> None:
        if call is None:
            return
        match body:
            case StrategyChosen():
                call.strategy = call.strategy or Strategy(body.strategy)
            case ChunkingPlanned():
                if call.chunk_tokens is None:
                    call.chunk_tokens, call.chunks = body.budget_tokens, body.chunks
