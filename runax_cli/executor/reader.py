"""A reader: records of a dataset reduced for a focus, and the findings merged to what the main model may be shown.

Knows reducers, merging and budgets of findings. Knows no page, no request to a source, no envelope.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from runax_cli.errors import StoreError
from runax_cli.events import FindingsMerged
from runax_cli.executor import conclude
from runax_cli.executor.compact import compact
from runax_cli.executor.coverage import Notes
from runax_cli.executor.dataset import Dataset
from runax_cli.executor.ledger import Ledger
from runax_cli.executor.merge import deduplicated, fitting_prefix
from runax_cli.executor.outcome import Finding, Scope
from runax_cli.executor.reading import MayPass, Read, Reading, nothing_passes
from runax_cli.executor.reduce import Reducer, ReducerPrompts
from runax_cli.models.tokens import CalibratedCounter

MERGE_SHARE = 4
_LONG_NAME = "x" * 24


class Reader:
    """Makes readings with one model, and merges what they find. What is small enough is read as it is."""

    def __init__(
        self, counter: CalibratedCounter, *, prompts: ReducerPrompts, effective_tokens: int, concurrency: int
    ) -> None:
        self.counter = counter
        self.effective_tokens = effective_tokens
        self._prompts, self._concurrency = prompts, concurrency

    async def reducer(self, focus: str, scope: Scope, ledger: Ledger) -> Reducer:
        """Built off the event loop: it measures its prompt, and the first measurement loads the vocabulary."""

        def built() -> Reducer:
            return Reducer(
                scope.reducer,
                self.counter,
                prompts=self._prompts,
                focus=focus,
                effective_tokens=self.effective_tokens,
                ledger=ledger,
            )

        return await asyncio.to_thread(built)

    def reading(
        self,
        dataset: Dataset,
        reducer: Reducer,
        *,
        scope: Scope,
        notes: Notes,
        expected_chunks: int | None,
        may_pass: MayPass = nothing_passes,
    ) -> Reading:
        """One reading of `dataset`, told as the reducer's doing."""
        told = replace(scope, emitter=scope.emitter.child(role="reducer"))
        return Reading(
            dataset,
            reducer,
            emitter=told.emitter,
            notes=notes,
            concurrency=self._concurrency,
            expected_chunks=expected_chunks,
            may_pass=may_pass,
        )

    async def merged(
        self, reducer: Reducer, result: Read, *, scope: Scope, direct_limit: int
    ) -> tuple[tuple[Finding, ...], int]:
        """Findings within the merge budget, and how many of them have to be kept back all the same."""
        raw = result.all_findings()
        findings = deduplicated(raw)
        scope.emitter.emit(FindingsMerged(level=0, before=len(raw), after=len(findings)))
        budget = max(1, min(self.effective_tokens // MERGE_SHARE, direct_limit or self.effective_tokens))
        merged = await reducer.merge(findings, budget_tokens=budget)
        if len(merged) != len(findings):
            scope.emitter.emit(FindingsMerged(level=1, before=len(findings), after=len(merged)))
        if not merged:
            return (), 0
        fitting = await asyncio.to_thread(self._fitting, merged, budget)
        return merged, len(merged) - max(1, fitting)

    async def whole(self, dataset: Dataset, *, direct_limit: int) -> dict[str, Any] | None:
        """All records as they are; None where their references make them too much, or the disk does not give them."""

        def measured() -> dict[str, Any] | None:
            with suppress(StoreError):  # told where they are read
                data = conclude.direct_data(dataset.name, list(dataset.records()))
                return data if self.counter.bound(compact(data)) <= direct_limit else None
            return None

        return await asyncio.to_thread(measured)

    def _fitting(self, findings: Sequence[Finding], budget_tokens: int) -> int:
        """How many of the first findings fit as they are shown, references and quotes included."""
        shown = (compact(conclude.findings_data(_LONG_NAME, [finding])) for finding in findings)
        return fitting_prefix([self.counter.bound(text) for text in shown], budget=budget_tokens)
