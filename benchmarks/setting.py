"""Shared by benchmarks of the executor: an executor over a source, a call, and a silent event sink."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from adapters.base import ToolSpec
from runax_cli.core.budget import Budget, Limits
from runax_cli.core.events import Emitter, Event
from runax_cli.executor.executor import Executor
from runax_cli.executor.fetch.source_client import Source
from runax_cli.executor.outcome import CallScope, DecidedCall
from runax_cli.executor.store.dataset import DatasetStore
from runax_cli.memory.journal import Journal
from runax_cli.models.base import Model, ModelReply, ModelRequest, OnText, Usage
from runax_cli.models.tokens import CalibratedCounter
from runax_cli.runtime.runtime import REDUCER_PROMPTS

MISSED = 10
"""Exit code of a benchmark that did not reach its target."""
NOTHING = '{"findings": [], "nothing_relevant": true}'


class Deaf:
    """A sink that drops everything."""

    def emit(self, event: Event) -> None:
        """Drop the event."""


class Instant:
    """A reducer that finds nothing, without delay; `requests` counts."""

    name = "instant"

    def __init__(self) -> None:
        self.requests = 0

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelReply:  # noqa: ARG002
        """Nothing is relevant."""
        self.requests += 1
        return ModelReply(text=NOTHING, model=self.name, usage=Usage(is_reported=False))

    async def aclose(self) -> None:
        """Nothing is open."""


@asynccontextmanager
async def executor_over(
    source: Source, counter: CalibratedCounter, *, effective_tokens: int, **settings: Any
) -> AsyncIterator[Executor]:
    """An executor with its own journal and datasets, in a temporary folder."""
    with TemporaryDirectory() as folder, closing(Journal.open(Path(folder) / "journal.db")) as journal:
        yield Executor(
            source,
            DatasetStore(Path(folder) / "datasets"),
            journal,
            counter=counter,
            effective_tokens=effective_tokens,
            prompts=REDUCER_PROMPTS,
            **settings,
        )


def scope(reducer: Model, budget: Budget | None = None) -> CallScope:
    """A scope without limits and event sinks."""
    emitter = Emitter.for_run(Deaf(), run_id="benchmark", session_id="benchmark")
    return CallScope(emitter=emitter, budget=budget or Budget(Limits(), owner="benchmark"), reducer=reducer)


def call_of(tool: ToolSpec, **changes: Any) -> DecidedCall:
    """A call that reads everything."""
    given: dict[str, Any] = {"call_id": "c1", "tool": tool, "arguments": {}, "focus": "what customers complain about"}
    return DecidedCall(**given | changes)
