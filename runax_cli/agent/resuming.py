"""Going on with a run: what it used before counts, and what it is spared is told.

Knows the journal, the meter and the budget. What is taken over, and by which key, is the business of those who stored
it.
"""

from runax_cli.budget import Amount, Budget
from runax_cli.events import Emitter, Resumed
from runax_cli.memory.journal import Journal, StoredRun
from runax_cli.models.base import ModelReply, ModelRequest
from runax_cli.models.metered import UsageMeter
from runax_cli.models.tokens import CalibratedCounter, measure


def taken_up(run: StoredRun, journal: Journal, *, emitter: Emitter, meter: UsageMeter, budget: Budget) -> None:
    """Begin a stored run again. Raises StoreError.

    What it used stands in the meter and counts in the budget. Requests that were in flight when it stopped may have
    been billed, and will be sent again: that is told with the most that they may have cost.
    """
    tokens, usd = 0, 0.0
    for spent in journal.spent(run.run_id):
        meter.record(spent.role, spent.usage, requests=spent.requests, cost_usd=spent.cost_usd)
        tokens += spent.usage.input_tokens + spent.usage.output_tokens
        usd += spent.cost_usd or 0.0
    budget.charge(Amount(tokens=tokens, usd=usd))
    emitter.emit(Resumed(text=f"run {run.run_id} of {run.started_at:%Y-%m-%d %H:%M} goes on; {tokens:,} tokens used"))
    lost = journal.in_flight(run.run_id)
    if lost:
        reserved = sum(unit.reserved_tokens for unit in lost)
        kinds = ", ".join(sorted({unit.kind.value for unit in lost}))
        text = f"{len(lost)} requests ({kinds}) were in flight when it stopped: perhaps billed, repeated where needed"
        emitter.emit(Resumed(text=f"{text}; at most {reserved:,} tokens were set aside for their replies"))
    journal.begin_again(run.run_id)


def replayed(emitter: Emitter, counter: CalibratedCounter, request: ModelRequest, reply: ModelReply) -> None:
    """A reply came from the journal: the counter learns from it as it did from the first, and nothing was sent."""
    if reply.usage.is_reported:
        counter.observe(measure(request, counter).counted, reply.usage.input_tokens)
    emitter.emit(Resumed(text=f"{request.role.value}: a stored reply of {reply.model} is used; nothing is sent"))
