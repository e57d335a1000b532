"""Fetches all pages of a `PagedApi` with a `Fetcher`, without probe, executor and model."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from adapters.base import Json, Pagination, ToolSpec
from adapters.pagination import Certainty
from adapters.pagination.probe.probe import ProbeMethod, ProbeResult
from runax_cli.core.budget import Budget, Limits
from runax_cli.core.events import CollectingSink, Emitter
from runax_cli.core.results import Coverage
from runax_cli.executor.coverage import CoverageNotes, fetch_coverage, note_discrepancies
from runax_cli.executor.fetch.call_limits import CallLimits, Deadline
from runax_cli.executor.fetch.fetcher import Fetcher, FetchOptions
from runax_cli.executor.fetch.page_client import FetchContext
from runax_cli.executor.fetch.source_client import SourceClient
from runax_cli.executor.outcome import CallScope, DecidedCall
from runax_cli.executor.run_cache import RunCache
from runax_cli.executor.store.dataset import Dataset, DatasetStore
from runax_cli.memory.journal import MemoryJournal
from runax_cli.models.base import ScriptedModel
from tests.fakes.paged_api import PagedApi


@dataclass(frozen=True, kw_only=True)
class FetchResult:
    """What a fetch stored: ids in row order, coverage, the order of the pages as handed on, and warnings."""

    ids: list[int]
    coverage: Coverage
    api: PagedApi
    page_order: list[int]
    warnings: list[str]

    @property
    def codes(self) -> set[str]:
        """The codes of the coverage's reasons."""
        return {reason.code.value for reason in self.coverage.reasons}


async def fetch_all(
    api: PagedApi,
    pagination: Pagination,
    folder: Path,
    *,
    page_size: int,
    total: int | None = None,
    at_most: int | None = None,
    concurrency: int = 3,
    limits: CallLimits | None = None,
    timeout_s: float = 3600.0,
    budget: Budget | None = None,
    sample: tuple[Json, ...] = (),
    is_end_unconfirmed: bool = False,
    id_name: str = "id",
) -> FetchResult:
    """Fetch all pages as after a probe that found `total` and `sample`."""
    sink, notes, dataset = CollectingSink(), CoverageNotes(), DatasetStore(folder).create("items")
    tool = ToolSpec(name="t", description="", parameters={}, source="api", locator="GET /", pagination=pagination)
    call = DecidedCall(call_id="c", tool=tool, arguments={}, focus="", at_most=at_most)
    emitter = Emitter.for_run(sink, run_id="r", session_id="s")
    scope = CallScope(emitter=emitter, budget=budget or Budget(Limits(), owner="test"), reducer=ScriptedModel([]))
    context = FetchContext(
        call=call,
        send=SourceClient(api, call, scope=scope, slots=asyncio.Semaphore(concurrency), max_attempts=1),
        emitter=emitter,
        cache=RunCache(MemoryJournal(), emitter),
        notes=notes,
    )
    options = FetchOptions(
        page_size=page_size,
        concurrency=concurrency,
        deadline=Deadline(timeout_s, api.clock),
        limits=limits or CallLimits(),
    )
    fetcher = Fetcher(
        context, _probe_result(pagination, total, sample, is_end_unconfirmed=is_end_unconfirmed), dataset, options
    )
    await fetcher.fetch_first()
    page_order: list[int] = []
    async with asyncio.TaskGroup() as group:
        group.create_task(_listen(fetcher, dataset, page_order))
        group.create_task(fetcher.fetch_rest())
    summary = fetcher.summary()
    note_discrepancies(summary, notes, noun="items")
    return FetchResult(
        ids=[int(record[id_name]) for record in dataset.records()],
        coverage=fetch_coverage(summary, notes, read_by_model=0),
        api=api,
        page_order=page_order,
        warnings=[event.body.text for event in sink.events if event.body.type == "warned"],
    )


def _probe_result(
    pagination: Pagination, total: int | None, sample: tuple[Json, ...], *, is_end_unconfirmed: bool
) -> ProbeResult:
    return ProbeResult(
        pagination=pagination,
        records_path="items",
        total=total,
        certainty=Certainty.UNKNOWN if total is None else Certainty.EXACT,
        method=ProbeMethod.FIRST_PAGE,
        sample=sample,
        is_end_unconfirmed=is_end_unconfirmed,
    )


async def _listen(fetcher: Fetcher, dataset: Dataset, page_order: list[int]) -> None:
    async for index in fetcher.in_order():
        assert index in dataset.spool.entries, "a page is handed on only once it is on disk"
        page_order.append(index)
