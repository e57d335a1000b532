"""A decided call going in, and its outcome coming out.

Knows the values that pass between the loop and the executor. Knows nothing of how the one becomes the other.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from typing import Any, Literal, Protocol, TypeAlias

from adapters.base import Effect, JsonObject, Pagination, PaginationStyle, ToolSpec
from adapters.json_text import compact
from runax_cli.core.budget import Budget
from runax_cli.core.events import Emitter
from runax_cli.core.results import CallReport, Coverage, StoredModel
from runax_cli.core.results import Lineage as Lineage
from runax_cli.executor.sql.lineage import ColumnLineage
from runax_cli.executor.store.dataset import Dataset
from runax_cli.models.base import Model


class EnvelopeStatus(StrEnum):
    """How a requested call ended."""

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
    """JSON-RPC codes: what kind of thing went wrong."""

    NOT_JSON = -32700
    NO_SUCH_TOOL = -32601
    INVALID_ARGUMENTS = -32602
    TRAPPED = -32000
    INTERNAL = -32603


class ToolFault(StoredModel):
    """What went wrong with a call. `retry_after_ms` and `retries_left` are left out where nothing is known."""

    type: str
    code: FaultCode
    message: str
    retryable: bool = False
    retryable_after_correction: bool | None = None
    retry_after_ms: int | None = None
    retries_left: int | None = None
    instruction: Literal["RE-EVALUATE_INTENT", "CORRECT_ARGUMENTS", "ANSWER_WITH_WHAT_IS_KNOWN"] = "RE-EVALUATE_INTENT"


class ResultEnvelope(StoredModel):
    """Status, figures, data and a hint. Fields that do not apply are None, and are left out of the text."""

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
        """Compact JSON without the fields that do not apply; nulls inside `data` are kept."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        if self.error is not None:
            fields["error"] = self.error.model_dump(mode="json", exclude_none=True)
        return compact({name: value for name, value in fields.items() if value is not None})

    @classmethod
    def failed(cls, tool: str, fault: ToolFault, *, hint: str | None = None) -> "ResultEnvelope":
        """The call could not be done; nothing is known about the data, and that is not the same as no data."""
        advice = (
            f"Calling {tool} again may help; if it fails again, say that its data could not be read."
            if fault.retryable
            else f"Do not repeat {tool} with the same arguments: change them, use another tool, or say what is missing."
        )
        said = hint or f"This is a failure and not an empty result: no conclusion about the data follows. {advice}"
        return cls(status=EnvelopeStatus.ERROR, tool=tool, error=fault, next_action_hint=said)

    @classmethod
    def validation_error(
        cls, tool: str, message: str, *, code: FaultCode = FaultCode.INVALID_ARGUMENTS, hint: str | None = None
    ) -> "ResultEnvelope":
        """The arguments do not fit, are no JSON, or there is no such tool; nothing was sent."""
        fault = ToolFault(
            type="validation",
            code=code,
            message=message,
            retryable_after_correction=True,
            instruction="CORRECT_ARGUMENTS",
        )
        said = hint or (
            "Choose one of the tools that are offered, by its exact name."
            if code is FaultCode.NO_SUCH_TOOL
            else f"Nothing was sent. Correct what the message names and call {tool} once more."
        )
        return cls(status=EnvelopeStatus.VALIDATION_ERROR, tool=tool, error=fault, next_action_hint=said)

    @classmethod
    def duplicate(
        cls, tool: str, query: dict[str, Any], *, dataset: str | None, hint: str | None = None
    ) -> "ResultEnvelope":
        """The same call was made before; its result stands further up in the conversation."""
        where = f" Its records are dataset {dataset}." if dataset else ""
        said = hint or (
            f"{tool} was already called with these arguments and its result stands above.{where} "
            "Answer from it, or ask for something else."
        )
        return cls(
            status=EnvelopeStatus.DUPLICATE_CALL_BLOCKED, tool=tool, query=query, dataset=dataset, next_action_hint=said
        )

    @classmethod
    def deferred(
        cls, tool: str, query: dict[str, Any], *, waits_for: Sequence[str], hint: str | None = None
    ) -> "ResultEnvelope":
        """The call was asked for beside one that runs alone, and was not made."""
        said = hint or (
            f"{tool} was not called yet: it was asked for in the same step as {', '.join(waits_for)}, which runs "
            "alone. Look at that result, then call it if it is still needed."
        )
        return cls(status=EnvelopeStatus.DEFERRED, tool=tool, query=query, next_action_hint=said)

    @classmethod
    def denied(cls, tool: str, query: dict[str, Any], *, why: str, hint: str | None = None) -> "ResultEnvelope":
        """The user's policy does not allow the call."""
        said = (
            hint or f"{tool} was not called: {why}. Do not ask for it again; tell the user what would have been done."
        )
        return cls(status=EnvelopeStatus.DENIED, tool=tool, query=query, next_action_hint=said)

    @classmethod
    def budget_exhausted(
        cls, tool: str, query: dict[str, Any], *, why: str, hint: str | None = None
    ) -> "ResultEnvelope":
        """A limit stopped the call before anything was read."""
        fault = ToolFault(type="budget", code=FaultCode.TRAPPED, message=why, instruction="ANSWER_WITH_WHAT_IS_KNOWN")
        said = hint or "No further calls are possible. Answer from the results above and say what was not looked at."
        return cls(status=EnvelopeStatus.BUDGET_EXHAUSTED, tool=tool, query=query, error=fault, next_action_hint=said)

    @classmethod
    def internal(cls, tool: str, message: str) -> "ResultEnvelope":
        """Something in runax itself failed and was trapped."""
        return cls.failed(tool, ToolFault(type="internal", code=FaultCode.INTERNAL, message=message))


Need: TypeAlias = Literal["read", "compute"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedCall:
    """A call that the guard let through.

    `arguments` are those of the API, without the virtual ones. `focus` is what to find out, in words (the question
    where the model said nothing). `at_most`: the first n records in the API's order suffice; None reads all. `again`
    names the dataset that an earlier call with the same arguments left: it is read instead of the source.
    """

    call_id: str
    tool: ToolSpec
    arguments: JsonObject
    focus: str
    need: Need = "read"
    at_most: int | None = None
    again: str | None = None

    @property
    def words(self) -> str:
        """Tool and arguments in short, as lists of datasets tell where each came from."""
        return f"{self.tool.name} {compact(self.arguments)}"[:_WORDS_CHARS]

    @property
    def is_repeatable(self) -> bool:
        """Whether asking again does no harm: what changes data is sent once, whatever its answer says of more.

        A POST that has arguments of paging and no verb that changes is a listing; it may go on, once it is allowed.
        """
        tool = self.tool
        if tool.effect is Effect.READ:
            return True
        is_paged = tool.effect is Effect.WRITE and tool.pagination.convention is not PaginationStyle.SINGLE
        return is_paged and not tool.locator.startswith(_OF_ONE) and _CHANGING.match(tool.name) is None

    @property
    def sent_once(self) -> "DecidedCall":
        """The call without any paging where it must not be repeated."""
        return self if self.is_repeatable else replace(self, tool=replace(self.tool, pagination=Pagination()))


_WORDS_CHARS = 120
_OF_ONE = ("PUT ", "PATCH ", "DELETE ")
_CHANGING = re.compile(
    "(add|approve|archive|assign|book|buy|cancel|change|charge|close|commit|confirm|copy|create|delete|disable|drop|edit"
    "|enable|execute|import|insert|invite|issue|make|merge|modify|move|new|open|order|pay|publish|put|register|reject"
    "|remove|rename|replace|reset|restore|revoke|run|save|send|set|sign|start|stop|store|submit|transfer|trigger|update"
    "|upload|upsert|write)(?-i:(?![a-z]))",
    re.IGNORECASE,
)


class QueryableTables(Protocol):
    """Datasets as tables that can be queried."""

    async def add(self, dataset: Dataset, coverage: Coverage, *, made_by: str) -> str:
        """Make a sealed dataset a table, and tell it in a card. Raises StoreError, QueryFailed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallScope:
    """What a call may use and report to; the models are bound to this turn's budget and meter.

    `tables` is None where nothing can be computed: records are then read.
    """

    emitter: Emitter
    budget: Budget
    reducer: Model
    labeller: Model | None = None
    tables: QueryableTables | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a reducer learned: a statement and the rows (from 1) of the call's dataset that it rests on.

    `is_quote_verified` is None without a quote, and says else whether the quote was found in one of the records.
    """

    id: str
    statement: str
    records: tuple[int, ...]
    quote: str | None = None
    is_quote_verified: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlEvidence:
    """What a SELECT gave: cited as `[q1]`. `rows` are the first of `n_rows`; `datasets` the tables it read.

    `agreement` is that of the labels behind a figure (0 to 1), None where no label took part. `sources` says of each
    column whether it depends on data, `filters` are the literals of the conditions; empty and None: not known.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOutcome:
    """Everything that came of a call: what the model sees, what is reported, and what the answer can be proved by.

    `dataset` is None only where no record came back. `findings` are those of the reductions; empty for a direct pass.
    `sql` is set for a query over datasets. `behind` has the coverage of each dataset that was used and not fetched by
    this call; `coverage` then counts nothing of them but what was selected and read here.
    """

    envelope: ResultEnvelope
    report: CallReport
    coverage: Coverage
    dataset: Dataset | None
    findings: tuple[Finding, ...] = ()
    sql: SqlEvidence | None = None
    behind: Mapping[str, Coverage] = field(default_factory=dict)
