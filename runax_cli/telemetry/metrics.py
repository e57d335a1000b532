"""Metrics of a run: a pure fold over its events, and a sink that keeps them for each run."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from runax_cli.core import event_types as ev
from runax_cli.core.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleMetrics:
    """The requests of one model role. `cost_usd` sums known prices; `unpriced` counts replies without one."""

    requests: int = 0
    replies: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    model_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMetrics:
    """The metrics of one run. `by_type` counts events; `tokens_before` and `tokens_after` sum over reductions."""

    by_type: Mapping[str, int] = field(default_factory=dict)
    by_role: Mapping[str, RoleMetrics] = field(default_factory=dict)
    source_requests: int = 0
    pages_fetched: int = 0
    pages_failed: int = 0
    pages_from_store: int = 0
    records: int = 0
    chunks_reduced: int = 0
    chunks_failed: int = 0
    retries: int = 0
    waited_s: float = 0.0
    tokens_before: int = 0
    tokens_after: int = 0
    duration_s: float | None = None


def count(metrics: RunMetrics, event: Event) -> RunMetrics:
    """The metrics after `event`."""
    by_type = {**metrics.by_type, event.body.type: metrics.by_type.get(event.body.type, 0) + 1}
    counted = replace(metrics, by_type=by_type)
    match event.body:
        case ev.ModelRequested() | ev.ModelReplied() as body:
            return _count_model(counted, event.stamp.role or "agent", body)
        case ev.RetryScheduled(wait_s=wait_s):
            return replace(counted, retries=counted.retries + 1, waited_s=counted.waited_s + wait_s)
        case ev.RequestDelayed(wait_s=wait_s):
            return replace(counted, waited_s=counted.waited_s + wait_s)
        case ev.TokensChanged(before=before, after=after):
            sums = counted.tokens_before + before, counted.tokens_after + after
            return replace(counted, tokens_before=sums[0], tokens_after=sums[1])
        case ev.RunFinished(result=result):
            return replace(counted, duration_s=result.duration_s)
        case body:
            return _count_data(counted, body)


def _count_data(metrics: RunMetrics, body: ev.AnyEvent) -> RunMetrics:
    match body:
        case ev.SourceRequested():
            return replace(metrics, source_requests=metrics.source_requests + 1)
        case ev.PageFetched():
            return replace(
                metrics,
                pages_fetched=metrics.pages_fetched + 1,
                pages_from_store=metrics.pages_from_store + body.from_store,
                records=metrics.records + body.items,
            )
        case ev.PageFailed():
            return replace(metrics, pages_failed=metrics.pages_failed + 1)
        case ev.ChunkReduced():
            return replace(metrics, chunks_reduced=metrics.chunks_reduced + 1)
        case ev.ChunkFailed():
            return replace(metrics, chunks_failed=metrics.chunks_failed + 1)
        case _:
            return metrics


def _count_model(metrics: RunMetrics, role: str, body: ev.ModelRequested | ev.ModelReplied) -> RunMetrics:
    before = metrics.by_role.get(role, RoleMetrics())
    match body:
        case ev.ModelRequested():
            after = replace(before, requests=before.requests + 1)
        case ev.ModelReplied():
            after = replace(
                before,
                replies=before.replies + 1,
                input_tokens=before.input_tokens + body.input_tokens,
                output_tokens=before.output_tokens + body.output_tokens,
                cost_usd=before.cost_usd + (body.cost_usd or 0.0),
                unpriced=before.unpriced + (body.cost_usd is None),
                model_s=before.model_s + body.duration_s,
            )
    return replace(metrics, by_role={**metrics.by_role, role: after})


class MetricsSink:
    """Keeps the metrics of each run."""

    def __init__(self) -> None:
        self._by_run: dict[str, RunMetrics] = {}

    def emit(self, event: Event) -> None:
        """Count one event."""
        run_id = event.stamp.run_id
        self._by_run[run_id] = count(self.of(run_id), event)

    def of(self, run_id: str) -> RunMetrics:
        """The metrics of a run; all zero for an unknown run."""
        return self._by_run.get(run_id, RunMetrics())

    def forget(self, run_id: str) -> None:
        """Drop the metrics of a finished run."""
        self._by_run.pop(run_id, None)
