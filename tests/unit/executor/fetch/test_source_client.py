"""The request budget of one page whose source retries more often than `max_attempts`."""

import asyncio
from collections.abc import Mapping

from adapters.base import CallResult, Json, PageAddress, ToolSpec
from adapters.source_events import OnEvent, RetryPlanned, RetryRefused, ignore_events
from runax_cli.core.budget import Budget, Limits
from runax_cli.core.events import CollectingSink, Emitter
from runax_cli.executor.fetch.source_client import SourceClient
from runax_cli.executor.outcome import CallScope, DecidedCall
from runax_cli.models.base import ScriptedModel

MAX_ATTEMPTS = 3


class UnavailableSource:
    """A source that retries until it answers or a retry is refused."""

    def __init__(self, attempts: int) -> None:
        self.attempts = attempts

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Json],
        page: PageAddress | None = None,
        *,
        observer: OnEvent = ignore_events,
    ) -> CallResult:
        for attempt in range(2, self.attempts + 1):
            try:
                observer(RetryPlanned("api", "GET /", attempt, 1.0, "503"))
            except RetryRefused:
                return CallResult(payload="refused", location="GET /", requests=attempt - 1)
        return CallResult(payload="answered", location="GET /", requests=self.attempts)


async def _send(attempts: int, *, requests: int) -> tuple[Json, Budget]:
    budget = Budget(Limits(requests=requests), owner="turn")
    emitter = Emitter.for_run(CollectingSink(), run_id="r", session_id="s")
    scope = CallScope(emitter=emitter, budget=budget, reducer=ScriptedModel([]))
    tool = ToolSpec(name="t", description="", parameters={}, source="api", locator="GET /")
    call = DecidedCall(call_id="c", tool=tool, arguments={}, focus="")
    client = SourceClient(
        UnavailableSource(attempts), call, scope=scope, slots=asyncio.Semaphore(1), max_attempts=MAX_ATTEMPTS
    )
    return (await client(None)).payload, budget


async def test_requests_beyond_max_attempts_are_reserved_and_settled_once():
    payload, budget = await _send(9, requests=20)
    assert payload == "answered"
    assert (budget.spent.requests, budget.reserved.requests) == (9, 0)


async def test_an_outage_is_not_waited_out_beyond_the_request_budget():
    payload, budget = await _send(9, requests=5)
    assert payload == "refused"
    assert (budget.spent.requests, budget.reserved.requests) == (5, 0)
