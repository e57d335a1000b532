"""Whole reads over the mock API's conventions and real HTTP, with the adapter that users have."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from adapters.base import Pagination, PaginationStyle, ToolSource, ToolSpec
from adapters.clock import Clock, ManualClock
from adapters.openapi.adapter import OpenApiSource
from adapters.openapi.settings import OpenApiSettings, ToolOverride
from mock_api.conventions import Collection, ConventionName, RequestLog, create_conventions_app, record_id
from mock_api.serving import serve
from runax_cli.core.budget import Budget, Limits
from runax_cli.core.events import CollectingSink, Emitter
from runax_cli.executor.executor import Executor
from runax_cli.executor.outcome import CallOutcome, CallScope, DecidedCall
from runax_cli.executor.store.dataset import DatasetStore
from runax_cli.memory.journal import MemoryJournal
from runax_cli.models.base import ByteCounter, ScriptedModel
from runax_cli.models.tokens import CalibratedCounter
from runax_cli.runtime.runtime import REDUCER_PROMPTS


@dataclass(repr=False)
class Read:
    """One whole read: its records and coverage, and the responses of the server."""

    outcome: CallOutcome
    collection: Collection
    log: RequestLog
    sink: CollectingSink
    kind: str | None

    @property
    def ids(self) -> list[int]:
        """Ids of the records, in row order."""
        dataset = self.outcome.dataset
        return [record_id(record) for record in dataset.records()] if dataset is not None else []

    @property
    def wanted(self) -> list[int]:
        """Ids of all existing records, in the order of the ids."""
        return list(self.collection.ids(self.kind))

    @property
    def is_whole(self) -> bool:
        """The truth: whether every record was read exactly once."""
        return sorted(self.ids) == self.wanted

    @property
    def says_complete(self) -> bool:
        """The verdict."""
        return self.outcome.coverage.is_complete

    @property
    def codes(self) -> set[str]:
        """Reason codes."""
        return {reason.code.value for reason in self.outcome.coverage.reasons}

    def told(self, kind: str) -> list[Any]:
        """Events of a kind."""
        return [event.body for event in self.sink.events if event.body.type == kind]

    def __repr__(self) -> str:
        coverage, missing = self.outcome.coverage, set(self.wanted) - set(self.ids)
        asked = [f"{given.method} {given.url.partition('/by/')[2]} -> {given.status} {len(given.ids)}"
                 for given in self.log.responses]  # fmt: skip
        return f"{self.collection}\n{coverage}\nmissing {len(missing)} of {len(self.wanted)}\n" + "\n".join(asked[:40])


@dataclass(repr=False)
class Bench:
    """An executor over one source."""

    source: ToolSource
    folder: Path
    clock: Clock = field(default_factory=ManualClock)
    numbers: Iterator[int] = field(default_factory=count)

    async def read(
        self, collection: Collection, log: RequestLog, *, kind: str | None = None, concurrency: int = 4,
        at_most: int | None = None, effective_tokens: int = 16_000, limits: Limits | None = None,
    ) -> Read:  # fmt: skip
        """All records of a collection."""
        tools: dict[str, ToolSpec] = {tool.name: tool for tool in (await self.source.list_tools()).tools}
        sink, number = CollectingSink(), next(self.numbers)
        executor = Executor(
            self.source,
            DatasetStore(self.folder / str(number)),
            MemoryJournal(),
            counter=CalibratedCounter(ByteCounter(), ratio=1.0),
            effective_tokens=effective_tokens,
            prompts=REDUCER_PROMPTS,
            api_concurrency=concurrency,
            clock=self.clock,
        )
        emitter = Emitter.for_run(sink, run_id="r", session_id="s")
        budget = Budget(limits or Limits(), owner="turn")
        scope = CallScope(emitter=emitter, budget=budget, reducer=ScriptedModel([]))
        name = collection.names.get("kind", "kind")
        call = DecidedCall(
            call_id="c",
            tool=tools[collection.operation],
            arguments={} if kind is None else {name: kind},
            focus="",
            at_most=at_most,
        )
        return Read(await executor.read_all(call, scope), collection, log, sink, kind)


def told_by_the_user(collections: Sequence[Collection]) -> dict[str, ToolOverride]:
    """Information that no document has: another operation continues a scroll."""
    return {
        collection.operation: ToolOverride(
            pagination=Pagination(
                convention=PaginationStyle.CURSOR,
                position="scroll_id",
                size="size",
                max_size=collection.cap,
                next_operation=f"next_{collection.operation}",
            )
        )
        for collection in collections
        if collection.convention is ConventionName.SCROLL
    }


@asynccontextmanager
async def over_http(folder: Path, *collections: Collection, log: RequestLog) -> AsyncIterator[Bench]:
    """A bench over these collections, served over HTTP."""
    async with serve(create_conventions_app(collections, log=log), port=0) as url:
        settings = OpenApiSettings(
            name="mock", document=f"{url}/openapi.json", base_url=url, overrides=told_by_the_user(collections)
        )
        source = await OpenApiSource.open(settings, clock=ManualClock())
        try:
            yield Bench(source, folder)
        finally:
            await source.aclose()


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., AbstractAsyncContextManager[Bench]]:
    """`over_http` into the test's folder."""

    def over(*collections: Collection, log: RequestLog) -> AbstractAsyncContextManager[Bench]:
        return over_http(tmp_path, *collections, log=log)

    return over


@pytest.fixture
def bench_over(tmp_path: Path) -> Callable[[ToolSource], Bench]:
    """A bench over an open source, with its own folder."""
    folders = count()

    def over(source: ToolSource) -> Bench:
        return Bench(source, tmp_path / f"bench{next(folders)}")

    return over
