"""An answer uses data if a call returned some, or if it cites what is known."""

from collections.abc import Callable
from typing import Any

import pytest

from runax_cli.agent.evidence.shown import ShownData, ShownDataset
from runax_cli.agent.result.data_use import has_earlier_data, uses_no_data
from runax_cli.agent.result.requested_call import RequestedCall
from runax_cli.executor.outcome import EnvelopeStatus

MakeCall = Callable[..., RequestedCall]


class Tickets:
    """A dataset without records."""

    name = "tickets_1"

    def record(self, row: int) -> dict[str, Any]:
        raise KeyError(row)

    def records(self) -> Any:
        return iter(())


def earlier() -> ShownData:
    shown = ShownData()
    shown.datasets["tickets_1"] = ShownDataset(Tickets())
    return shown


def test_no_call_and_no_citation_is_no_data() -> None:
    assert uses_no_data("There are no stores.", (), ShownData())
    assert not has_earlier_data(ShownData())


@pytest.mark.parametrize("status", [EnvelopeStatus.SUCCESS, EnvelopeStatus.EMPTY, EnvelopeStatus.PARTIAL])
def test_a_call_that_returned_something_or_nothing_is_data(ran: MakeCall, status: EnvelopeStatus) -> None:
    assert not uses_no_data("There are no stores.", (ran(status=status),), ShownData())


@pytest.mark.parametrize("status", [EnvelopeStatus.DENIED, EnvelopeStatus.BUDGET_EXHAUSTED, EnvelopeStatus.ERROR])
def test_a_call_that_could_not_run_has_a_verdict_of_its_own(not_run: MakeCall, status: EnvelopeStatus) -> None:
    assert not uses_no_data("I may not close it.", (not_run(status),), ShownData())


def test_mistakes_of_the_model_are_no_data(not_run: MakeCall) -> None:
    assert uses_no_data("There are none.", (not_run(EnvelopeStatus.VALIDATION_ERROR),), ShownData())


@pytest.mark.parametrize(
    ("answer", "is_cited"),
    [
        ("As said [tickets_1#1].", True),
        ("All 12 [tickets_1].", True),
        ("As said [orders_9#1].", False),
        ("Yes.", False),
    ],
)
def test_what_an_earlier_turn_read_is_data_if_it_is_cited(answer: str, is_cited: bool) -> None:
    assert uses_no_data(answer, (), earlier()) is not is_cited
    assert has_earlier_data(earlier())
