"""The event types of a run: a closed list, distinguished by `type`.

Secrets are masked before an event is made. `events` adds the order, the time and the context.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from runax_cli.core.results import Coverage, ForecastCheck, RunResult, TotalIs


class EventData(BaseModel):
    """The data of an event; each has a `type` from a closed list."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ToolsOffered(EventData):
    """The tools offered to the main model, out of `total`, and their `tokens` in each of its requests."""

    type: Literal["tools.offered"] = "tools.offered"
    tools: tuple[str, ...]
    total: int
    tokens: int


class ToolSelected(EventData):
    """The main model requested a call."""

    type: Literal["tool.selected"] = "tool.selected"
    tool: str
    arguments: dict[str, Any]
    focus: str | None = None
    need: str | None = None


GuardCode = Literal[
    "run",
    "parallel",
    "deferred",
    "suppressed_duplicate",
    "read_again",
    "unknown_tool",
    "invalid_json",
    "invalid_arguments",
    "write_denied",
    "over_limit",
    "no_progress",
]


class GuardDecided(EventData):
    """The guard decided about a requested call."""

    type: Literal["guard.decided"] = "guard.decided"
    tool: str
    code: GuardCode
    text: str


class RunStarted(EventData):
    """A run started."""

    type: Literal["run.started"] = "run.started"
    question: str
    model: str
    reducer_model: str
    effective_tokens: int
    counter: str
    notices: tuple[str, ...] = ()


class RunFinished(EventData):
    """The run is over; exactly one, the last event. `forecast` compares probes with the run."""

    type: Literal["run.finished"] = "run.finished"
    result: RunResult
    forecast: ForecastCheck | None = None


class PlanMade(EventData):
    """The question was split into parts, or found to be single; `rule` says what decided.

    `after` has, for each part, the numbers (from 1) of the parts it depends on. A plan that is revised after a result
    is emitted again.
    """

    type: Literal["plan.made"] = "plan.made"
    sub_questions: tuple[str, ...]
    needs: tuple[Literal["read", "compute"], ...]
    rule: str
    after: tuple[tuple[int, ...], ...] = ()
    is_revised: bool = False


class ModelRequested(EventData):
    """A request is sent to a model."""

    type: Literal["model.requested"] = "model.requested"
    model: str
    tokens_in: int
    n_messages: int
    n_tools: int
    preview: str


class ModelReplied(EventData):
    """The reply of a model arrived. `cost_usd` is None if the price is unknown."""

    type: Literal["model.replied"] = "model.replied"
    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    duration_s: float
    first_token_s: float | None
    preview: str


class AnswerDelta(EventData):
    """A piece of the streamed answer. Views that print after verification ignore it."""

    type: Literal["answer.delta"] = "answer.delta"
    text: str


class PagingDetected(EventData):
    """The pagination of an endpoint: its convention and the parameters that are hidden from the model."""

    type: Literal["paging.detected"] = "paging.detected"
    tool: str
    convention: str
    hidden: tuple[str, ...]
    has_metadata: bool


class SourceRequested(EventData):
    """A request is sent to a source; secrets in `location` are masked."""

    type: Literal["source.requested"] = "source.requested"
    source: str
    location: str


class CallProbed(EventData):
    """The result of a probe. An unknown total is None, never zero."""

    type: Literal["call.probed"] = "call.probed"
    tool: str
    total_items: int | None
    total_is: TotalIs
    total_tokens_est: int | None
    rung: str
    records_path: str


class StrategyChosen(EventData):
    """How the result of a call is passed to the model, and why."""

    type: Literal["strategy.chosen"] = "strategy.chosen"
    strategy: Literal["empty", "direct_pass", "single_reduction", "paginated_reduction", "table"]
    why: str


class ChunkingPlanned(EventData):
    """The forecast of pages and chunks; emitted again, corrected, after the first page."""

    type: Literal["chunking.planned"] = "chunking.planned"
    budget_tokens: int
    avg_tokens_per_item: float
    items_per_chunk: int
    page_size: int | None
    pages: int | None
    chunks: int | None
    is_corrected: bool


class PageFetched(EventData):
    """A page was fetched and stored. `index` counts from 1; `of` is None if the number of pages is unknown."""

    type: Literal["page.fetched"] = "page.fetched"
    index: int
    of: int | None
    position: str
    limit: int | None
    items: int
    retries: int
    from_store: bool = False


class PageFailed(EventData):
    """A page could not be fetched, after its retries."""

    type: Literal["page.failed"] = "page.failed"
    index: int
    of: int | None
    position: str
    why: str


class ChunkPacked(EventData):
    """Records were packed for one reducer request; `pages` are the indices (from 1) of their pages."""

    type: Literal["chunk.packed"] = "chunk.packed"
    index: int
    of: int | None
    records: int
    tokens: int
    pages: tuple[int, ...] = ()


class ChunkReduced(EventData):
    """The findings of one chunk were checked and stored; `saved_chars` is what the short form of its records saved."""

    type: Literal["chunk.reduced"] = "chunk.reduced"
    index: int
    of: int | None
    findings: int
    tokens: int
    preview: str
    pages: tuple[int, ...] = ()
    from_store: bool = False
    saved_chars: int = 0


class ChunkFailed(EventData):
    """A chunk, or a part of it after a repair and a split, could not be reduced."""

    type: Literal["chunk.failed"] = "chunk.failed"
    index: int
    of: int | None
    records: int
    why: str
    pages: tuple[int, ...] = ()


class FindingsMerged(EventData):
    """Findings were merged; `level` 0 is by code, higher levels compressed by a reducer."""

    type: Literal["findings.merged"] = "findings.merged"
    level: int
    before: int
    after: int


class AnswerReviewed(EventData):
    """A model reviewed the statements of an answer; `unreviewed` are those without a usable verdict."""

    type: Literal["answer.reviewed"] = "answer.reviewed"
    supported: int
    contradicted: int
    not_in_evidence: int
    unreviewed: int


class TokensChanged(EventData):
    """The tokens before and after a reduction."""

    type: Literal["tokens.changed"] = "tokens.changed"
    before: int
    after: int


class DatasetSealed(EventData):
    """All records of a call were written to one Parquet file."""

    type: Literal["dataset.sealed"] = "dataset.sealed"
    dataset: str
    records: int
    n_bytes: int
    duration_s: float


class DatasetQueried(EventData):
    """A SELECT ran over datasets, or was rejected (`error` is set and `ref` is empty). `preview` shows its result."""

    type: Literal["dataset.queried"] = "dataset.queried"
    ref: str
    sql: str
    n_rows: int = 0
    lineage: str | None = None
    duration_s: float = 0.0
    preview: str = ""
    error: str | None = None


class DatasetLabelled(EventData):
    """Texts of a dataset were labeled; `agreement` is that of a second labeling of `n_sample` texts."""

    type: Literal["dataset.labelled"] = "dataset.labelled"
    dataset: str
    table: str
    rows: int
    texts: int
    unusable: int
    agreement: float | None
    n_sample: int
    requests: int
    from_store: int


class StructureSeen(EventData):
    """The structure of a response, with the types of its items."""

    type: Literal["structure.seen"] = "structure.seen"
    tool: str
    text: str


class CallFinished(EventData):
    """A call is finished; `preview` is what the main model receives."""

    type: Literal["call.finished"] = "call.finished"
    tool: str
    status: str
    strategy: str | None
    dataset: str | None
    coverage: Coverage
    tokens_to_model: int
    preview: str


class RetryScheduled(EventData):
    """A request to a source or a model will be retried after `wait_s` seconds."""

    type: Literal["retry.scheduled"] = "retry.scheduled"
    what: str
    attempt: int
    wait_s: float
    why: str


class RequestDelayed(EventData):
    """A request to a source or a model waits `wait_s` seconds because of a rate limit."""

    type: Literal["request.held"] = "request.held"
    what: str
    wait_s: float
    why: str


class SourceProgressed(EventData):
    """A running request reports its progress: `done` of `total`, in its own units."""

    type: Literal["source.progressed"] = "source.progressed"
    source: str
    location: str
    done: float
    total: float | None = None
    text: str = ""


class BudgetNoted(EventData):
    """A budget is near its limit or exhausted."""

    type: Literal["budget.noted"] = "budget.noted"
    resource: str
    used: float
    limit: float
    is_exhausted: bool
    text: str


class ContextMeasured(EventData):
    """The share of the effective context that the next request uses."""

    type: Literal["context.measured"] = "context.measured"
    used_tokens: int
    effective_tokens: int


class Resumed(EventData):
    """Stored work was reused instead of repeated."""

    type: Literal["resumed"] = "resumed"
    text: str


class Warned(EventData):
    """A problem occurred that does not stop the run."""

    type: Literal["warned"] = "warned"
    code: str
    text: str


AnyEvent = Annotated[
    RunStarted
    | RunFinished
    | PlanMade
    | ModelRequested
    | ModelReplied
    | AnswerDelta
    | ToolsOffered
    | ToolSelected
    | GuardDecided
    | PagingDetected
    | SourceRequested
    | CallProbed
    | StrategyChosen
    | ChunkingPlanned
    | PageFetched
    | PageFailed
    | ChunkPacked
    | ChunkReduced
    | ChunkFailed
    | FindingsMerged
    | AnswerReviewed
    | TokensChanged
    | DatasetSealed
    | DatasetQueried
    | DatasetLabelled
    | StructureSeen
    | CallFinished
    | RetryScheduled
    | RequestDelayed
    | SourceProgressed
    | BudgetNoted
    | ContextMeasured
    | Resumed
    | Warned,
    Field(discriminator="type"),
]
