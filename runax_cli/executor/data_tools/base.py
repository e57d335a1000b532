"""The end of a call over datasets: its envelope counted, told, and put in an outcome with its report.

Knows outcomes, and that nothing was fetched: coverage counts what was selected and read, and leaves records that an
earlier call fetched to `behind`. Knows no table and no model.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from adapters.clock import Clock
from runax_cli.core.events import CallFinished, TokensChanged
from runax_cli.core.results import CallReport, Coverage, Reason, TotalIs
from runax_cli.executor.outcome import CallOutcome, CallScope, DecidedCall, Finding, ResultEnvelope, SqlEvidence
from runax_cli.executor.store.dataset import Dataset
from runax_cli.models.base import TokenCounter

PREVIEW_CHARS = 2000
CORRECT = "Nothing was computed. Correct what the message names, with names from the card, and try once more."


@dataclass(frozen=True, slots=True, kw_only=True)
class DataCallResult:
    """Everything that came of a call over datasets, beside its envelope."""

    coverage: Coverage
    dataset: Dataset | None = None
    name: str | None = None
    records: int = 0
    findings: tuple[Finding, ...] = ()
    sql: SqlEvidence | None = None
    behind: Mapping[str, Coverage] = field(default_factory=dict)
    tokens_raw: int = 0


@dataclass(frozen=True, slots=True)
class DataCall:
    """A call over datasets under way; it began at `began` on the clock."""

    call: DecidedCall
    scope: CallScope
    counter: TokenCounter
    clock: Clock
    began: float

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments, as the guard let them through."""
        return self.call.arguments

    @property
    def elapsed_s(self) -> float:
        """Seconds since it began."""
        return self.clock.monotonic() - self.began

    async def refused(self, why: Exception) -> CallOutcome:
        """The arguments fit the schema and not the data."""
        sent = ResultEnvelope.validation_error(self.call.tool.name, str(why), hint=CORRECT)
        return await self.ended(sent, DataCallResult(coverage=data_call_coverage()))

    async def ended(self, sent: ResultEnvelope, ends: DataCallResult) -> CallOutcome:
        """The outcome; the end is told."""
        text = sent.to_model_text()
        tokens = await asyncio.to_thread(self.counter.count, text)
        if ends.tokens_raw:
            self.scope.emitter.emit(TokensChanged(before=ends.tokens_raw, after=tokens))
        self._tell(sent, ends, text, tokens)
        return CallOutcome(
            envelope=sent,
            report=self._report(sent, ends, tokens),
            coverage=ends.coverage,
            dataset=ends.dataset,
            findings=ends.findings,
            sql=ends.sql,
            behind=ends.behind,
        )

    def _tell(self, sent: ResultEnvelope, ends: DataCallResult, text: str, tokens: int) -> None:
        self.scope.emitter.emit(
            CallFinished(
                tool=self.call.tool.name,
                status=sent.status.value,
                strategy=sent.strategy,
                dataset=ends.name,
                coverage=ends.coverage,
                tokens_to_model=tokens,
                preview=text[:PREVIEW_CHARS],
            )
        )

    def _report(self, sent: ResultEnvelope, ends: DataCallResult, tokens: int) -> CallReport:
        return CallReport(
            tool=self.call.tool.name,
            source=self.call.tool.source,
            arguments=self.call.arguments,
            focus=self.call.focus or None,
            need=self.call.need,
            status=sent.status.value,
            strategy=sent.strategy,
            dataset=ends.name,
            records_read=ends.records,
            records_total=sent.total_matches,
            tokens_raw=ends.tokens_raw,
            tokens_to_model=tokens,
            duration_s=round(self.elapsed_s, 3),
        )


def data_call_coverage(
    *, selected: int = 0, read_by_model: int = 0, reasons: tuple[Reason, ...] = (), is_complete: bool = True
) -> Coverage:
    """The coverage of a call that fetched nothing by itself."""
    return Coverage(
        records_total=0,
        total_is=TotalIs.EXACT,
        selected=selected,
        read_by_model=read_by_model,
        is_complete=is_complete,
        reasons=reasons,
    )
