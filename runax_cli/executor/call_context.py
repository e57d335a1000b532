"""A call under way: its parts, and what it tells of itself while it runs.

Knows events and their fields. Decides nothing.
"""

from dataclasses import dataclass

from adapters.base import Json
from adapters.pagination.probe.probe import FirstPage, ProbeResult
from runax_cli.core.event_types import (
    AnyEvent,
    CallFinished,
    CallProbed,
    ChunkingPlanned,
    DatasetSealed,
    PagingDetected,
    Resumed,
    StrategyChosen,
    StructureSeen,
    TokensChanged,
    Warned,
)
from runax_cli.core.results import Coverage, TotalIs, counted
from runax_cli.executor.coverage import CoverageNotes
from runax_cli.executor.fetch.call_limits import Deadline
from runax_cli.executor.fetch.snapshot import Snapshot
from runax_cli.executor.fetch.source_client import SourceClient
from runax_cli.executor.outcome import CallScope, DecidedCall, ResultEnvelope
from runax_cli.executor.reduce.reducer import Reducer
from runax_cli.executor.run_cache import RunCache
from runax_cli.executor.sql.parquet import SealedFile
from runax_cli.executor.strategy import SizeEstimate, StrategyChoice, forecast

_MOST_NAMES = 40
_DEEPEST = 3


def structure_of(value: Json, *, depth: int = 0) -> str:
    """`{id: int, tags: [str], owner: {…}}`; deeper than three levels is left out."""
    match value:
        case dict() if depth < _DEEPEST:
            named = [
                f"{name}: {structure_of(inner, depth=depth + 1)}" for name, inner in list(value.items())[:_MOST_NAMES]
            ]
            return "{" + ", ".join(named + ["…"] * (len(value) > _MOST_NAMES)) + "}"
        case dict():
            return "{…}"
        case list():
            return f"[{structure_of(value[0], depth=depth + 1)}]" if value else "[]"
        case None:
            return "null"
        case _:
            return type(value).__name__


_PREVIEW_CHARS = 2000


@dataclass(slots=True, kw_only=True)
class CallContext:
    """One call under way. `first` is a page that the probe brought; it is let go of as soon as it is on disk."""

    call: DecidedCall
    scope: CallScope
    sender: SourceClient
    deadline: Deadline
    ledger: RunCache
    notes: CoverageNotes
    reducer: Reducer
    direct_limit: int
    began: float
    first: FirstPage | None = None
    snapshot: Snapshot | None = None
    choice: StrategyChoice | None = None
    tokens_raw: int = 0

    @property
    def computes(self) -> bool:
        """Whether figures are wanted, and there are tables to compute them over."""
        return self.call.need == "compute" and self.scope.tables is not None

    def tell(self, body: AnyEvent) -> None:
        """Send an event of this call."""
        self.scope.emitter.emit(body)

    def tell_probe(self, found: ProbeResult, estimate: SizeEstimate) -> None:
        """What the probe learned."""
        tool, paging = self.call.tool, found.pagination
        self.tell(
            PagingDetected(
                tool=tool.name,
                convention=paging.convention.value,
                hidden=paging.hidden,
                has_metadata=paging.metadata is not None,
            )
        )
        for note in found.notes:
            self.tell(Warned(code="probe", text=f"{tool.name}: {note}"))
        self.tell(
            CallProbed(
                tool=tool.name,
                total_items=found.total,
                total_is=TotalIs(found.certainty.value),
                total_tokens_est=estimate.tokens,
                rung=found.method.value,
                records_path=found.records_path,
            )
        )
        if found.sample:
            self.tell(StructureSeen(tool=tool.name, text=structure_of(found.sample[0])))

    def tell_choice(self, choice: StrategyChoice) -> None:
        """The strategy, where it is another one than was told before."""
        if self.choice is None or self.choice.strategy is not choice.strategy:
            self.tell(StrategyChosen(strategy=choice.strategy.value, why=choice.why))
        self.choice = choice

    def tell_forecast(self, estimate: SizeEstimate, size: int | None) -> None:
        """Pages and chunks to come."""
        chunk_tokens = self.reducer.chunk_tokens
        told = forecast(estimate, chunk_tokens=chunk_tokens, page_size=size, at_most=self.call.at_most)
        self.tell(
            ChunkingPlanned(
                budget_tokens=chunk_tokens,
                avg_tokens_per_item=round(told.tokens_per_record, 1),
                items_per_chunk=told.records_per_chunk,
                page_size=told.page_size,
                pages=told.pages,
                chunks=told.chunks,
                is_corrected=estimate.is_corrected,
            )
        )

    def tell_taken_over(self, dataset: str, pages: int) -> None:
        """Pages that were not asked for, because they are stored."""
        if pages:
            why = f", unchanged by {self.snapshot.validated_by.value}" if self.snapshot else ""
            self.tell(Resumed(text=f"{dataset}: {counted(pages, 'page')} from the store{why}"))

    def tell_sealed(self, dataset: str, sealed: SealedFile, *, took_s: float) -> None:
        """The dataset is one Parquet file."""
        self.tell(
            DatasetSealed(dataset=dataset, records=sealed.records, n_bytes=sealed.n_bytes, duration_s=round(took_s, 3))
        )

    def tell_end(self, sent: ResultEnvelope, coverage: Coverage, *, tokens_to_model: int) -> None:
        """The call is over."""
        if self.tokens_raw:
            self.tell(TokensChanged(before=self.tokens_raw, after=tokens_to_model))
        self.tell(
            CallFinished(
                tool=self.call.tool.name,
                status=sent.status.value,
                strategy=sent.strategy,
                dataset=sent.dataset,
                coverage=coverage,
                tokens_to_model=tokens_to_model,
                preview=sent.to_model_text()[:_PREVIEW_CHARS],
            )
        )
