"""Decides whether an answer rests on any data: on a call of its turn, or on data that was read before. Pure."""

from collections.abc import Sequence

from runax_cli.agent.evidence.citations import parse_citations
from runax_cli.agent.evidence.shown import ShownData
from runax_cli.agent.result.requested_call import RequestedCall
from runax_cli.executor.outcome import EnvelopeStatus

_SUCCEEDED = (EnvelopeStatus.SUCCESS, EnvelopeStatus.PARTIAL)
_MISTAKES = (EnvelopeStatus.VALIDATION_ERROR, EnvelopeStatus.DUPLICATE_CALL_BLOCKED, EnvelopeStatus.DEFERRED)


def has_earlier_data(shown: ShownData) -> bool:
    """Whether anything was read or computed."""
    return bool(shown.datasets or shown.queries)


def uses_no_data(answer: str, calls: Sequence[RequestedCall], shown: ShownData) -> bool:
    """Whether no call returned data and the answer cites nothing that is known.

    A call that was denied, stopped by a limit or failed at its source is not the choice of the model: then the answer
    has a verdict of its own. A search for tools returns no data, and a call with invalid arguments none either.
    """
    if any(_is_decisive(call) for call in calls):
        return False
    cited = parse_citations(answer)
    datasets = {*cited.datasets, *(citation.dataset for citation in cited.records)}
    return not (datasets & shown.datasets.keys() or set(cited.queries) & shown.queries.keys())


def _is_decisive(call: RequestedCall) -> bool:
    """Whether a call returned data, or could not."""
    status, outcome = call.envelope.status, call.outcome
    if status is EnvelopeStatus.EMPTY or call.envelope.dataset is not None:
        return True
    if outcome is None or status not in _SUCCEEDED:
        return status not in _MISTAKES
    return (
        outcome.dataset is not None or outcome.sql is not None or bool(outcome.source_coverage or call.report.requests)
    )
