"""A decided call going in, and its outcome coming out.

Knows the values that pass between the loop and the executor. Knows nothing of how the one becomes the other.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeAlias

from adapters.base import Convention, Effect, JsonObject, Pagination, ToolSpec
from runax_cli.budget import Budget
from runax_cli.events import Emitter
from runax_cli.executor.compact import compact
from runax_cli.executor.dataset import Dataset
from runax_cli.executor.envelope import Envelope
from runax_cli.models.base import Model
from runax_cli.results import CallReport, Coverage
from runax_cli.results import Lineage as Lineage

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
        is_paged = tool.effect is Effect.WRITE and tool.pagination.convention is not Convention.SINGLE
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


class Tables(Protocol):
    """Datasets as tables that can be queried."""

    async def add(self, dataset: Dataset, coverage: Coverage, *, made_by: str) -> str:
        """Make a sealed dataset a table, and tell it in a card. Raises StoreError, QueryFailed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a call may use and report to; the models are bound to this turn's budget and meter.

    `tables` is None where nothing can be computed: records are then read.
    """

    emitter: Emitter
    budget: Budget
    reducer: Model
    labeller: Model | None = None
    tables: Tables | None = None


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

    `agreement` is that of the labels behind a figure (0 to 1), None where no label took part.
    """

    id: str
    sql: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    n_rows: int
    datasets: tuple[str, ...]
    lineage: Lineage
    agreement: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOutcome:
    """Everything that came of a call: what the model sees, what is reported, and what the answer can be proved by.

    `dataset` is None only where no record came back. `findings` are those of the reductions; empty for a direct pass.
    `sql` is set for a query over datasets. `behind` has the coverage of each dataset that was used and not fetched by
    this call; `coverage` then counts nothing of them but what was selected and read here.
    """

    envelope: Envelope
    report: CallReport
    coverage: Coverage
    dataset: Dataset | None
    findings: tuple[Finding, ...] = ()
    sql: SqlEvidence | None = None
    behind: Mapping[str, Coverage] = field(default_factory=dict)
