from datetime import UTC, datetime
from functools import reduce

from runax_cli.core import event_types as ev
from runax_cli.core.events import Event, Stamp
from runax_cli.telemetry.metrics import MetricsSink, RoleMetrics, RunMetrics, count


def event(body: ev.AnyEvent, *, role: str | None = None, run_id: str = "r") -> Event:
    stamp = Stamp(run_id=run_id, session_id="s", span_id="x", role=role)
    return Event(1, datetime(2026, 1, 1, tzinfo=UTC), stamp, body)


def replied(cost_usd: float | None) -> ev.ModelReplied:
    return ev.ModelReplied(
        model="m", input_tokens=10, output_tokens=2, cost_usd=cost_usd, duration_s=1.5, first_token_s=None, preview=""
    )


REQUEST = ev.ModelRequested(model="m", tokens_in=10, n_messages=1, n_tools=0, preview="")


def page(*, from_store: bool) -> ev.PageFetched:
    return ev.PageFetched(index=1, of=2, position="", limit=5, items=5, retries=0, from_store=from_store)


def test_requests_tokens_and_cost_are_kept_by_role() -> None:
    events = [
        event(REQUEST, role="reducer"),
        event(replied(0.5), role="reducer"),
        event(replied(None), role="reducer"),
        event(REQUEST),
    ]
    metrics = reduce(count, events, RunMetrics())
    assert metrics.by_role == {
        "reducer": RoleMetrics(
            requests=1, replies=2, input_tokens=20, output_tokens=4, cost_usd=0.5, unpriced=1, model_s=3.0
        ),
        "agent": RoleMetrics(requests=1),
    }


def test_pages_chunks_retries_and_reductions_are_counted() -> None:
    bodies: list[ev.AnyEvent] = [
        ev.SourceRequested(source="s", location="GET /"),
        page(from_store=False),
        page(from_store=True),
        ev.PageFailed(index=2, of=2, position="", why=""),
        ev.RetryScheduled(what="GET /", attempt=2, wait_s=0.5, why="503"),
        ev.ChunkReduced(index=1, of=1, findings=1, tokens=1, preview=""),
        ev.ChunkFailed(index=1, of=1, records=1, why=""),
        ev.TokensChanged(before=100, after=10),
        ev.TokensChanged(before=50, after=5),
    ]
    metrics = reduce(count, map(event, bodies), RunMetrics())
    assert (metrics.source_requests, metrics.pages_fetched, metrics.pages_from_store, metrics.pages_failed) == (
        1,
        2,
        1,
        1,
    )
    assert (metrics.records, metrics.chunks_reduced, metrics.chunks_failed) == (10, 1, 1)
    assert (metrics.retries, metrics.waited_s) == (1, 0.5)
    assert (metrics.tokens_before, metrics.tokens_after) == (150, 15)
    assert metrics.by_type["tokens.changed"] == 2
    assert sum(metrics.by_type.values()) == len(bodies)


def test_runs_are_kept_apart() -> None:
    sink = MetricsSink()
    sink.emit(event(REQUEST, run_id="a"))
    assert sink.of("a").by_type == {"model.requested": 1}
    assert sink.of("b") == RunMetrics()


def test_a_finished_run_is_forgotten() -> None:
    sink = MetricsSink()
    sink.emit(event(REQUEST, run_id="a"))
    sink.forget("a")
    sink.forget("a")
    assert sink.of("a") == RunMetrics()
