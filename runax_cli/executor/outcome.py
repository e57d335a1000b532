"""Values that pass between the agent loop and the executor: a decided call, its scope, its result, its outcome."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from typing import Any, Literal, Protocol, TypeAlias

from adapters.base import Effect, JsonObject, Pagination, PaginationStyle, ToolSpec
from adapters.json_text import compact_json
from runax_cli.core.budget import Budget
from runax_cli.core.events import Emitter
from runax_cli.core.results import CallReport, Coverage, Lineage, StoredModel
from runax_cli.executor.sql.lineage import ColumnLineage
from runax_cli.executor.sql.query_shape import QueryShape
from runax_cli.executor.store.dataset import Dataset
from runax_cli.models.base import Model


class EnvelopeStatus(StrEnum):
    """The status of a requested call."""

    SUCCESS = "success"
    EMPTY = "empty"
    PARTIAL = "partial"
    ERROR = "error"
    VALIDATION_ERROR = "validation_error"
    DUPLICATE_CALL_BLOCKED = "duplicate_call_blocked"
    DEFERRED = "deferred"
    DENIED = "denied"
    BUDGET_EXHAUSTED = "budget_exhausted"


class FaultCode(IntEnum):
    """JSON-RPC error codes."""

    NOT_JSON = -32700
    NO_SUCH_TOOL = -32601
    INVALID_ARGUMENTS = -32602
    TRAPPED = -32000
    INTERNAL = -32603


class ToolFault(StoredModel):
    """The error of a call. `retry_after_ms` and `retries_left` are None if unknown."""

    type: str
    code: FaultCode
    message: str
    retryable: bool = False
    retryable_after_correction: bool | None = None
    retry_after_ms: int | None = None
    retries_left: int | None = None
    instruction: Literal["RE-EVALUATE_INTENT", "CORRECT_ARGUMENTS", "ANSWER_WITH_WHAT_IS_KNOWN"] = "RE-EVALUATE_INTENT"


class ResultEnvelope(StoredModel):
    """The result of a call as the model sees it. Fields that do not apply are None and are left out of the text."""

    status: EnvelopeStatus
    tool: str | None = None
    query: dict[str, Any] | None = None
    strategy: str | None = None
    total_matches: int | None = None
    records_read: int | None = None
    is_complete: bool | None = None
    dataset: str | None = None
    data: Any = None
    error: ToolFault | None = None
    next_action_hint: str

    def to_model_text(self) -> str:
        """Return compact JSON without the fields that do not apply; nulls inside `data` are kept."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        if self.error is not None:
            fields["error"] = self.error.model_dump(mode="json", exclude_none=True)
        return compact_json({name: value for name, value in fields.items() if value is not None})

    @classmethod
    def failed(cls, tool: str, fault: ToolFault, *, hint: str | None = None) -> "ResultEnvelope":
        """The call failed. That says nothing about the data, and is not the same as an empty result."""
        advice = (
            f"Calling {tool} again may help; if it fails again, say that its data could not be read."
            if fault.retryable
            else f"Do not repeat {tool} with the same arguments: change them, use another tool, or say what is missing."
        )
        text = hint or f"This is a failure and not an empty result: no conclusion about the data follows. {advice}"
        return cls(status=EnvelopeStatus.ERROR, tool=tool, error=fault, next_action_hint=text)

    @classmethod
    def validation_error(
        cls, tool: str, message: str, *, code: FaultCode = FaultCode.INVALID_ARGUMENTS, hint: str | None = None
    ) -> "ResultEnvelope":
        """The arguments are invalid or not JSON, or the tool does not exist. No request was sent."""
        fault = ToolFault(
            type="validation",
            code=code,
            message=message,
            retryable_after_correction=True,
            instruction="CORRECT_ARGUMENTS",
        )
        text = hint or (
            "Choose one of the listed tools, by its exact name."
            if code is FaultCode.NO_SUCH_TOOL
            else f"No request was sent. Correct what the message names and call {tool} again."
        )
        return cls(status=EnvelopeStatus.VALIDATION_ERROR, tool=tool, error=fault, next_action_hint=text)

    @classmethod
    def duplicate(
        cls, tool: str, query: dict[str, Any], *, dataset: str | None, hint: str | None = None
    ) -> "ResultEnvelope":
        """The same call was made before; its result is above in the conversation."""
        where = f" Its records are dataset {dataset}." if dataset else ""
        text = hint or (
            f"{tool} was already called with these arguments and its result is above.{where} "
            "Answer from it, or call something else."
        )
        return cls(
            status=EnvelopeStatus.DUPLICATE_CALL_BLOCKED, tool=tool, query=query, dataset=dataset, next_action_hint=text
        )

    @classmethod
    def deferred(
        cls, tool: str, query: dict[str, Any], *, waits_for: Sequence[str], hint: str | None = None
    ) -> "ResultEnvelope":
        """The call was requested together with one that runs alone, and was not made."""
        text = hint or (
            f"{tool} was not called yet: it was requested in the same step as {', '.join(waits_for)}, which runs "
            "alone. Read that result, then call it if it is still needed."
        )
        return cls(status=EnvelopeStatus.DEFERRED, tool=tool, query=query, next_action_hint=text)

    @classmethod
    def denied(cls, tool: str, query: dict[str, Any], *, why: str, hint: str | None = None) -> "ResultEnvelope":
        """The user's policy does not permit the call."""
        text = hint or f"{tool} was not called: {why}. Do not request it again; tell the user what it would have done."
        return cls(status=EnvelopeStatus.DENIED, tool=tool, query=query, next_action_hint=text)

    @classmethod
    def budget_exhausted(
        cls, tool: str, query: dict[str, Any], *, why: str, hint: str | None = None
    ) -> "ResultEnvelope":
        """A limit stopped the call before any record was read."""
        fault = ToolFault(type="budget", code=FaultCode.TRAPPED, message=why, instruction="ANSWER_WITH_WHAT_IS_KNOWN")
        text = hint or "No further calls are possible. Answer from the results above and say what was not read."
        return cls(status=EnvelopeStatus.BUDGET_EXHAUSTED, tool=tool, query=query, error=fault, next_action_hint=text)

    @classmethod
    def internal(cls, tool: str, message: str) -> "ResultEnvelope":
        """An internal error of runax."""
        return cls.failed(tool, ToolFault(type="internal", code=FaultCode.INTERNAL, message=message))


Need: TypeAlias = Literal["read", "compute"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRequest:
    """A call as reports name it."""

    tool: str
    source: str
    arguments: JsonObject
    focus: str | None = None
    need: Need | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedCall:
    """A call that the guard let through.

    `arguments` are those of the API, without the virtual ones. `focus` says in words what to find out (the question
    if the model said nothing). `at_most`: the first n records in the API's order suffice; None reads all, 0 only asks
    how many there are.
    `stored_dataset` names the dataset of an earlier call with the same arguments, which is read instead of the source.
    """

    call_id: str
    tool: ToolSpec
    arguments: JsonObject
    focus: str
    need: Need = "read"
    at_most: int | None = None
    stored_dataset: str | None = None

    @property
    def request(self) -> CallRequest:
        """The call as reports name it."""
        return CallRequest(
            tool=self.tool.name,
            source=self.tool.source,
            arguments=self.arguments,
            focus=self.focus,
            need=self.need,
        )

    @property
    def summary(self) -> str:
        """Tool and arguments, shortened; lists of datasets show it as their origin."""
        return f"{self.tool.name} {compact_json(self.arguments)}"[:_SUMMARY_CHARS]

    @property
    def is_repeatable(self) -> bool:
        """Whether the request may be sent more than once. A call that changes data is sent once.

        A POST with pagination arguments and no verb of change in its name is a listing, so its pages are requested
        once it is approved.
        """
        tool = self.tool
        if tool.effect is Effect.READ:
            return True
        is_paged = tool.effect is Effect.WRITE and tool.pagination.convention is not PaginationStyle.SINGLE
        return is_paged and not tool.locator.startswith(_SINGLE_OBJECT_METHODS) and _CHANGING.match(tool.name) is None

    @property
    def without_unsafe_paging(self) -> "DecidedCall":
        """The call itself, or a copy without pagination if it must not be repeated."""
        return self if self.is_repeatable else replace(self, tool=replace(self.tool, pagination=Pagination()))


_SUMMARY_CHARS = 120
_SINGLE_OBJECT_METHODS = ("PUT ", "PATCH ", "DELETE ")
_CHANGING = re.compile(
    "(add|approve|archive|assign|book|buy|cancel|change|charge|close|commit|confirm|copy|create|delete|disable|drop|edit"
    "|enable|execute|import|insert|invite|issue|make|merge|modify|move|new|open|order|pay|publish|put|register|reject"
    "|remove|rename|replace|reset|restore|revoke|run|save|send|set|sign|start|stop|store|submit|transfer|trigger|update"
    "|upload|upsert|write)(?-i:(?![a-z]))",
    re.IGNORECASE,
)


class QueryableTables(Protocol):
    """Registers datasets as SQL tables."""

    async def add_table(self, dataset: Dataset, coverage: Coverage, *, made_by: str) -> dict[str, Any]:
        """Register a sealed dataset as a table. Raises StoreError, QueryFailed.

        Returns its table card as `table`, and a few of its records by reference.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class CallScope:
    """The models, budget and emitter of a call; the models are bound to the turn's budget and meter.

    Without `tables` nothing can be computed, and records are read instead.
    """

    emitter: Emitter
    budget: Budget
    reducer: Model
    labeler: Model | None = None
    tables: QueryableTables | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A statement of a reducer and the rows (from 1) of the call's dataset that support it.

    `is_quote_verified` says whether the quote was found in one of the records; None without a quote.
    """

    id: str
    statement: str
    records: tuple[int, ...]
    quote: str | None = None
    is_quote_verified: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlEvidence:
    """The result of a SELECT, cited as `[q1]`. `rows` are the first of `n_rows`; `datasets` are the tables it read.

    `agreement` (0 to 1) is that of the labels behind a figure, None if no labels were used. `sources` is the lineage of
    each column, `filters` are the literals of the conditions, `shape` is the structure of the statement; empty and None
    if unknown. `records` are dataset and row of each record that `rows` name by its row number. `stored` is the path of
    the Parquet file with all rows.
    """

    id: str
    sql: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    n_rows: int
    datasets: tuple[str, ...]
    lineage: Lineage
    agreement: float | None = None
    sources: tuple[ColumnLineage, ...] = ()
    filters: tuple[str, ...] | None = None
    shape: QueryShape | None = None
    records: tuple[tuple[str, int], ...] = ()
    stored: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOutcome:
    """The outcome of a call: what the model sees, what is reported, and the evidence for the answer.

    `dataset` is None only if the call returned no records. `findings` are those of the reducers; empty for a direct
    pass. `sql` is set for a query over datasets. `source_coverage` has the coverage of each dataset that this call
    used and did not fetch; `coverage` then counts only what was selected and read here.
    """

    envelope: ResultEnvelope
    report: CallReport
    coverage: Coverage
    dataset: Dataset | None
    findings: tuple[Finding, ...] = ()
    sql: SqlEvidence | None = None
    source_coverage: Mapping[str, Coverage] = field(default_factory=dict)


class CallExecutor(Protocol):
    """Runs decided calls. Executors are stacked: single flight, tool search, dry run, dataset tools, sources."""

    async def execute(self, call: DecidedCall, scope: CallScope, *, direct_limit: int) -> CallOutcome:
        """Return the outcome of a call; failures of sources and models are outcomes too.

        `direct_limit`: tokens of records that may reach the main model as they are. Only cancellation is raised.
        """
