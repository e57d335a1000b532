"""The result of a run as it is printed, stored and sent (`-o json`), and the forecast of a question."""

from enum import StrEnum
from typing import Any, Literal, assert_never

from pydantic import BaseModel, ConfigDict, Field

RESULT_VERSION = 1


class StoredModel(BaseModel):
    """The base of values that are stored or sent: frozen, unknown fields are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class RunStatus(StrEnum):
    """How a run ended."""

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    LIMIT = "limit"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


class TotalIs(StrEnum):
    """Whether a total is exact, a lower bound or unknown."""

    EXACT = "exact"
    AT_LEAST = "at_least"
    UNKNOWN = "unknown"


class ReasonCode(StrEnum):
    """Why coverage is incomplete, or what else was noticed about the data."""

    PAGE_FAILED = "page_failed"
    PAGE_SHORT = "page_short"
    PAGE_REPEATED = "page_repeated"
    UNREADABLE = "unreadable"
    RECORDS_REPEATED = "records_repeated"
    BEYOND_TOTAL = "beyond_total"
    TOTAL_MISMATCH = "total_mismatch"
    TOTAL_CHANGED = "total_changed"
    PAGINATION_UNKNOWN = "pagination_unknown"
    PERHAPS_CUT = "perhaps_cut"
    PAGING_CORRECTED = "paging_corrected"
    NO_PROGRESS = "no_progress"
    WINDOW_ENDED = "window_ended"
    FIRST_N = "first_n"
    COUNTED_ONLY = "counted_only"
    CHUNK_FAILED = "chunk_failed"
    LABELS_UNUSABLE = "labels_unusable"
    NOT_COMPUTED = "not_computed"
    BUDGET = "budget"
    UNSUPPORTED_STATEMENT = "unsupported_statement"
    NO_DATA_USED = "no_data_used"
    SOURCE_ERROR = "source_error"
    STORE_ERROR = "store_error"
    INTERRUPTED = "interrupted"


class Reason(StoredModel):
    """A code from the closed list, with an explanation."""

    code: ReasonCode
    text: str


class Coverage(StoredModel):
    """How much of the data was read. `records_read` counts fetched records, `read_by_model` those that a model saw."""

    records_read: int = 0
    records_total: int | None = None
    total_is: TotalIs = TotalIs.UNKNOWN
    selected: int = 0
    read_by_model: int = 0
    pages_read: int = 0
    pages_failed: int = 0
    is_complete: bool = True
    reasons: tuple[Reason, ...] = ()


class RecordRef(StoredModel):
    """A record that supports a statement: its dataset, row number (from 1) and the API's own id if it has one."""

    dataset: str
    row: int
    id: str | None = None


class EvidenceKind(StrEnum):
    """The kind of evidence for a statement.

    `absence`: complete data was searched and has nothing of the kind. `inference`: the model's own conclusion.
    """

    RECORD = "record"
    SQL = "sql"
    ABSENCE = "absence"
    INFERENCE = "inference"


class Fault(StrEnum):
    """Why a statement must not be relied on.

    `contradicted`: the data says otherwise. `unsupported`: what it claims is in no evidence. `uncited`: what it cites
    cannot be checked.
    """

    CONTRADICTED = "contradicted"
    UNSUPPORTED = "unsupported"
    UNCITED = "uncited"


class ReviewVerdict(StrEnum):
    """What the reviewer model found about a statement."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    NOT_IN_EVIDENCE = "not_in_evidence"


class Lineage(StrEnum):
    """How a figure was computed: over complete data, over labels of a model, or over incomplete data."""

    EXACT = "exact"
    BY_LABEL = "by_label"
    LOWER_BOUND = "lower_bound"


def counted(number: int, noun: str) -> str:
    """A number with its noun in singular or plural: "1 page", "1,204 pages"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def lineage_words(lineage: Lineage, agreement: float | None = None) -> str:
    """The lineage for users: "exact", "by label (agreement 94 %)" or "at least"."""
    match lineage:
        case Lineage.EXACT:
            return "exact"
        case Lineage.BY_LABEL:
            return "by label" if agreement is None else f"by label (agreement {agreement:.0%})".replace("%", " %")
        case Lineage.LOWER_BOUND:
            return "at least"
        case _:
            assert_never(lineage)


class StoredResult(StoredModel):
    """A result that is stored whole: of a SQL statement ("q1"), or a table of labels ("tickets_1_labels_1").

    `path` is its Parquet file, None if it could not be stored; `note` then says why.
    """

    name: str
    kind: Literal["sql", "labels"]
    n_rows: int
    path: str | None = None
    note: str | None = None


class SqlResult(StoredModel):
    """A query that a statement cites. `rows` are the first of `n_rows`; `agreement` (0 to 1) is that of its labels.

    `stored` is the path of the Parquet file with all rows, None if there is none.
    """

    id: str
    sql: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    n_rows: int = 0
    lineage: Lineage = Lineage.EXACT
    agreement: float | None = None
    stored: str | None = None


class Evidence(StoredModel):
    """A statement and its evidence; `verified` is decided by code.

    `statement` is a part of the answer, as it stands there. `sql` is the text of `queries`. `exact` is None if no
    figure was computed or counted. `note` says why a statement is not verified; `unproven` are its figures that appear
    in no evidence. `fault` is set if the statement must not be relied on. `review` is the reviewer's verdict, None
    without a review.
    """

    statement: str
    kind: EvidenceKind
    records: tuple[RecordRef, ...] = ()
    quote: str | None = None
    sql: str | None = None
    exact: bool | None = None
    verified: bool = False
    queries: tuple[SqlResult, ...] = ()
    unproven: tuple[str, ...] = ()
    note: str | None = None
    fault: Fault | None = None
    review: ReviewVerdict | None = None

    @property
    def has_failed(self) -> bool:
        """Whether the statement must not be relied on. An inference without a fault is no failure."""
        return self.fault is not None or (self.kind is not EvidenceKind.INFERENCE and not self.verified)

    @property
    def why_failed(self) -> str:
        """Why it must not be relied on; "" if it has not failed."""
        return (self.note or "not supported by its citations") if self.has_failed else ""


class CallReport(StoredModel):
    """One call in the result. `stored` are the SQL results and tables of labels that it stored."""

    tool: str
    source: str
    arguments: dict[str, Any]
    focus: str | None = None
    need: Literal["read", "compute"] | None = None
    status: str
    strategy: str | None = None
    dataset: str | None = None
    records_read: int = 0
    records_total: int | None = None
    pages: int = 0
    requests: int = 0
    tokens_raw: int = 0
    tokens_to_model: int = 0
    duration_s: float = 0.0
    stored: tuple[StoredResult, ...] = ()


class RoleUsage(StoredModel):
    """Requests and tokens of one model role."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


class UsageReport(RoleUsage):
    """Requests and tokens of all roles together and of each."""

    by_role: dict[str, RoleUsage] = Field(default_factory=dict)


class ErrorReport(StoredModel):
    """The error that was printed."""

    type: str
    message: str


class SubQuestionReport(StoredModel):
    """One part of the question and its answer.

    `after` are the numbers (from 1) of the parts whose answers it received; `error` says why it failed.
    """

    question: str
    need: Literal["read", "compute"] | None = None
    status: RunStatus = RunStatus.COMPLETE
    answer: str = ""
    after: tuple[int, ...] = ()
    error: ErrorReport | None = None


class SkippedCall(StoredModel):
    """A tool that takes the id of an entity and was not read, and why. `is_limit`: only a limit prevented it."""

    tool: str
    why: str
    is_limit: bool = False


class SweepReport(StoredModel):
    """What was read for "everything about" an entity. `kind` and `id` are None if it was not found.

    `visited` are the tools that take its id and were read, `skipped` those that were not.
    """

    name: str
    kind: str | None = None
    id: str | None = None
    visited: tuple[str, ...] = ()
    skipped: tuple[SkippedCall, ...] = ()


class RunResult(StoredModel):
    """The complete result of a run; the object of `-o json` and of the event `run.finished`."""

    v: int = RESULT_VERSION
    run_id: str
    session_id: str
    status: RunStatus
    exit_code: int
    question: str
    answer: str
    sub_questions: tuple[SubQuestionReport, ...] = ()
    coverage: Coverage = Coverage()
    calls: tuple[CallReport, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    sweeps: tuple[SweepReport, ...] = ()
    usage: UsageReport = UsageReport()
    cost_usd: float | None = None
    duration_s: float = 0.0
    trace_path: str | None = None
    error: ErrorReport | None = None


FORECAST_VERSION = 1


class ForecastCheck(StoredModel):
    """The forecast of the probes against the run. `off_by` 0.1 means ten percent too high; None if nothing was used."""

    tokens_forecast: int
    tokens_used: int
    off_by: float | None


class ForecastRange(StoredModel):
    """A range from the best to the worst case; `high` is None if the size of a call is unknown."""

    low: float
    high: float | None


class RoleForecast(StoredModel):
    """The forecast requests and tokens of one model role."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


class CallForecast(StoredModel):
    """One call that the main model would make first. Unknown values are None.

    With `is_lookup` it was executed, because other calls depend on its result. `requests` counts those to the source,
    including the probe; `model_requests` those to reducers. `error` says why it could not be previewed.
    """

    tool: str
    source: str
    arguments: dict[str, Any]
    focus: str
    need: Literal["read", "compute"]
    at_most: int | None = None
    is_lookup: bool = False
    dataset: str | None = None
    records_total: int | None = None
    total_is: TotalIs = TotalIs.UNKNOWN
    tokens_raw: int | None = None
    strategy: str | None = None
    why: str | None = None
    pages: int | None = None
    page_size: int | None = None
    chunks: int | None = None
    requests: int | None = None
    model_requests: int | None = None
    error: str | None = None


class SubQuestionForecast(StoredModel):
    """The forecast of one part of the question: its first calls and its tokens."""

    question: str
    need: Literal["read", "compute"]
    after: tuple[int, ...] = ()
    calls: tuple[CallForecast, ...] = ()
    tokens: int = 0
    is_known: bool = True
    error: str | None = None


class QuestionForecast(StoredModel):
    """The complete forecast. `spent` is the model usage of the forecast itself; `price_usd` is None if unknown."""

    v: int = FORECAST_VERSION
    question: str
    rule: str
    exit_code: int
    parts: tuple[SubQuestionForecast, ...]
    pages: int | None
    requests: int | None
    tokens: int
    tokens_range: ForecastRange
    by_role: dict[str, RoleForecast]
    price_usd: ForecastRange | None
    duration_s: ForecastRange
    is_known: bool
    spent: UsageReport
    spent_usd: float | None
