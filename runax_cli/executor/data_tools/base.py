"""Finish a call over datasets: count its envelope, report its end, build its outcome.

Such a call fetches nothing. Its coverage counts what was selected and read; the coverage of the records that an earlier
call fetched goes to `source_coverage`.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from adapters.clock import Clock
from runax_cli.core.results import Coverage, Reason, StoredResult, TotalIs
from runax_cli.executor.outcome import CallOutcome, CallScope, DecidedCall, Finding, ResultEnvelope, SqlEvidence
from runax_cli.executor.responses import CallStatistics, build_report, finished_events
from runax_cli.executor.store.dataset import Dataset
from runax_cli.models.base import TokenCounter

CORRECT_HINT = "Nothing was computed. Correct what the message names, with names from the card, and call again."


@dataclass(frozen=True, slots=True, kw_only=True)
class DataCallResult:
    """The result of a call over datasets, without its envelope.

    `name` is the dataset that it worked on, `stored` what it stored.
    """

    coverage: Coverage
    dataset: Dataset | None = None
    name: str | None = None
    records: int = 0
    findings: tuple[Finding, ...] = ()
    sql: SqlEvidence | None = None
    source_coverage: Mapping[str, Coverage] = field(default_factory=dict)
    tokens_raw: int = 0
    stored: tuple[StoredResult, ...] = ()


@dataclass(frozen=True, slots=True)
class DataCall:
    """A running call over datasets. `started_s` is a monotonic time."""

    call: DecidedCall
    scope: CallScope
    counter: TokenCounter
    clock: Clock
    started_s: float

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The validated arguments."""
        return self.call.arguments

    @property
    def elapsed_s(self) -> float:
        """Seconds since the call started."""
        return self.clock.monotonic() - self.started_s

    async def reject(self, error: Exception) -> CallOutcome:
        """Reject arguments that fit the schema but not the data."""
        envelope = ResultEnvelope.validation_error(self.call.tool.name, str(error), hint=CORRECT_HINT)
        return await self.finish(envelope, DataCallResult(coverage=data_call_coverage()))

    async def finish(self, envelope: ResultEnvelope, result: DataCallResult) -> CallOutcome:
        """Report the end of the call and return its outcome."""
        statistics = CallStatistics(
            records_read=result.records,
            records_total=envelope.total_matches,
            tokens_raw=result.tokens_raw,
            tokens_to_model=await asyncio.to_thread(self.counter.count, envelope.to_model_text()),
            duration_s=self.elapsed_s,
        )
        report = build_report(self.call.request, envelope, statistics, dataset=result.name, stored=result.stored)
        for event in finished_events(report, envelope, result.coverage):
            self.scope.emitter.emit(event)
        return CallOutcome(
            envelope=envelope,
            report=report,
            coverage=result.coverage,
            dataset=result.dataset,
            findings=result.findings,
            sql=result.sql,
            source_coverage=result.source_coverage,
        )


def data_call_coverage(
    *, selected: int = 0, read_by_model: int = 0, reasons: tuple[Reason, ...] = (), is_complete: bool = True
) -> Coverage:
    """Return the coverage of a call that fetched nothing itself."""
    return Coverage(
        records_total=0,
        total_is=TotalIs.EXACT,
        selected=selected,
        read_by_model=read_by_model,
        is_complete=is_complete,
        reasons=reasons,
    )
