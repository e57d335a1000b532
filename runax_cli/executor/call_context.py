"""The state of one running call, and the events that it emits."""

from dataclasses import dataclass

from adapters.base import Json
from adapters.pagination.probe.probe import FirstPage, ProbeResult
from runax_cli.core.event_types import (
    AnyEvent,
    DatasetSealed,
    Resumed,
    StrategyChosen,
    StructureSeen,
    Warned,
)
from runax_cli.core.results import counted
from runax_cli.executor.call_plan import CallPlan, PlanLimits, chunking_event, paging_event, probe_event
from runax_cli.executor.coverage import CoverageNotes
from runax_cli.executor.fetch.call_limits import Deadline
from runax_cli.executor.fetch.snapshot import Snapshot
from runax_cli.executor.fetch.source_client import SourceClient
from runax_cli.executor.outcome import CallScope, DecidedCall
from runax_cli.executor.reduce.reducer import Reducer
from runax_cli.executor.run_cache import RunCache
from runax_cli.executor.sql.parquet import SealedFile
from runax_cli.executor.strategy import SizeEstimate, StrategyChoice

_MAX_NAMES = 40
_MAX_DEPTH = 3


def structure_of(value: Json, *, depth: int = 0) -> str:
    """Describe the structure of a record, as `{id: int, tags: [str], owner: {…}}`, down to three levels."""
    match value:
        case dict() if depth < _MAX_DEPTH:
            members = [
                f"{name}: {structure_of(inner, depth=depth + 1)}" for name, inner in list(value.items())[:_MAX_NAMES]
            ]
            return "{" + ", ".join(members + ["…"] * (len(value) > _MAX_NAMES)) + "}"
        case dict():
            return "{…}"
        case list():
            return f"[{structure_of(value[0], depth=depth + 1)}]" if value else "[]"
        case None:
            return "null"
        case _:
            return type(value).__name__


@dataclass(slots=True, kw_only=True)
class CallContext:
    """One running call.

    `first_page` is a page that the probe fetched; it is dropped once it is on disk. `tokens_raw` are the tokens of all
    records, 0 until they were counted. `started_s` is a monotonic time.
    """

    call: DecidedCall
    scope: CallScope
    source: SourceClient
    cache: RunCache
    notes: CoverageNotes
    reducer: Reducer
    direct_limit: int
    deadline: Deadline
    started_s: float
    first_page: FirstPage | None = None
    snapshot: Snapshot | None = None
    choice: StrategyChoice | None = None
    tokens_raw: int = 0

    @property
    def computes(self) -> bool:
        """Whether figures are wanted and an SQL engine is available."""
        return self.call.need == "compute" and self.scope.tables is not None

    @property
    def limits(self) -> PlanLimits:
        """The limits that its plan depends on."""
        return PlanLimits(
            direct_limit=self.direct_limit,
            chunk_tokens=self.reducer.chunk_tokens,
            can_compute=self.scope.tables is not None,
        )

    def emit(self, event: AnyEvent) -> None:
        """Emit an event of this call."""
        self.scope.emitter.emit(event)

    def emit_probe(self, probe: ProbeResult, estimate: SizeEstimate) -> None:
        """Report what the probe found."""
        tool = self.call.tool
        self.emit(paging_event(tool, probe.pagination))
        for note in probe.notes:
            self.emit(Warned(code="probe", text=f"{tool.name}: {note}"))
        self.emit(probe_event(tool, probe, tokens=estimate.tokens))
        if probe.sample:
            self.emit(StructureSeen(tool=tool.name, text=structure_of(probe.sample[0])))

    def emit_choice(self, choice: StrategyChoice) -> None:
        """Report the strategy if it differs from the one reported before."""
        if self.choice is None or self.choice.strategy is not choice.strategy:
            self.emit(StrategyChosen(strategy=choice.strategy.value, why=choice.why))
        self.choice = choice

    def emit_chunking(self, plan: CallPlan) -> None:
        """Report the expected pages and chunks."""
        self.emit(chunking_event(plan))

    def emit_reused_pages(self, dataset: str, pages: int) -> None:
        """Report pages that were not requested because they are stored."""
        if pages:
            why = f", unchanged by {self.snapshot.validated_by.value}" if self.snapshot else ""
            self.emit(Resumed(text=f"{dataset}: {counted(pages, 'page')} from the store{why}"))

    def emit_sealed(self, dataset: str, sealed: SealedFile, *, duration_s: float) -> None:
        """Report that the dataset is one Parquet file."""
        self.emit(
            DatasetSealed(
                dataset=dataset, records=sealed.records, n_bytes=sealed.n_bytes, duration_s=round(duration_s, 3)
            )
        )
