"""What the calls of a step brought, as the guard judges it: digests of results, and errors in few words.

Knows the value of a call. Knows nothing of what is done about calls that bring nothing.
"""

import hashlib
from collections.abc import Mapping, Sequence

from runax_cli.agent.requested import RequestedCall
from runax_cli.errors import NoProgress
from runax_cli.executor.compact import compact
from runax_cli.executor.envelope import EnvelopeStatus
from runax_cli.guard.progress import Stall, Stalled, StepSeen

_BROUGHT = (EnvelopeStatus.SUCCESS, EnvelopeStatus.EMPTY, EnvelopeStatus.PARTIAL)
_TOLD_TOOLS = 4
_ERROR_CHARS = 300


def result_of(call: RequestedCall) -> str | None:
    """A digest of what a call brought, whatever the names that datasets and queries got; None where it is nothing."""
    outcome, envelope = call.outcome, call.envelope
    if outcome is None or envelope.status not in _BROUGHT:
        return None
    text = compact([envelope.status.value, envelope.total_matches, envelope.records_read, envelope.data])
    for name in (envelope.dataset, outcome.sql.id if outcome.sql is not None else None):
        text = text.replace(name, "") if name else text
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def error_of(call: RequestedCall) -> str | None:
    """What went wrong with a call, in words that are the same when it goes wrong in the same way."""
    status, error = call.envelope.status, call.envelope.error
    if error is not None:
        return f"{call.report.tool}: {error.message}"[:_ERROR_CHARS]
    return f"{call.report.tool}: not permitted" if status is EnvelopeStatus.DENIED else None


def step_seen(calls: Sequence[RequestedCall], keys: Mapping[str, str], *, before: Mapping[str, str]) -> StepSeen:
    """A step as the guard sees it. `keys` tell calls apart by their ids; `before` are earlier errors by key.

    A call that was not made because it failed before counts with that error.
    """
    errors = (error_of(call) or before.get(call.key or "") for call in calls)
    results = (result_of(call) for call in calls)
    return StepSeen(
        calls=frozenset(keys[call.call_id] for call in calls),
        errors=frozenset(filter(None, errors)),
        results=frozenset(filter(None, results)),
    )


def no_progress(stalled: Stalled, calls: Sequence[RequestedCall]) -> NoProgress:
    """Why a turn leads nowhere, in words. `calls` are those of its last step."""
    named = ", ".join(list(dict.fromkeys(f"'{call.report.tool}'" for call in calls))[:_TOLD_TOOLS])
    match stalled.kind:
        case Stall.SAME_ERROR:
            return NoProgress(f"the same error came again and again: {stalled.error}")
        case Stall.CIRCLE:
            return NoProgress(f"the model asked for the same calls again and again ({named}), and nothing new came")
        case Stall.NOTHING_NEW:
            return NoProgress(f"several steps in a row brought nothing new; the last ones called {named}")
