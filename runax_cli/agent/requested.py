"""A call that the model asked for, and all that became of it.

Knows the value that loop, coverage and verdict share. Knows nothing of how it came about.
"""

from dataclasses import dataclass

from runax_cli.executor.envelope import Envelope
from runax_cli.executor.outcome import CallOutcome
from runax_cli.guard.virtual import SplitArguments
from runax_cli.results import CallReport, Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedCall:
    """`outcome` is None where nothing ran; `key` and `data_key` are its fingerprints, None where it was not valid.

    `step` counts from 1. `fault` is set where runax itself failed in the call.
    """

    step: int
    call_id: str
    envelope: Envelope
    report: CallReport
    outcome: CallOutcome | None = None
    key: str | None = None
    data_key: str | None = None
    fault: Reason | None = None

    @property
    def is_interrupted(self) -> bool:
        """It was running when the turn ended."""
        return self.report.status == INTERRUPTED


INTERRUPTED = "interrupted"


def refused_report(
    tool: str, source: str, arguments: SplitArguments, envelope: Envelope, *, status: str | None = None
) -> CallReport:
    """The report of a call that brought nothing."""
    return CallReport(
        tool=tool,
        source=source,
        arguments=arguments.api,
        focus=arguments.focus,
        need=arguments.need,
        status=status or envelope.status.value,
        dataset=envelope.dataset,
    )
