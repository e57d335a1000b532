"""Absence is evidence of its own: complete data, the condition evaluated, nothing found."""

from collections.abc import Callable

import pytest

from runax_cli.core.results import EvidenceKind
from tests.unit.agent.evidence.checks.conftest import Check

Faults = Callable[..., list[str]]
NONE = "SELECT count(*) AS n FROM orders_1 WHERE status = 'returned'"
SOME = "SELECT count(*) AS n FROM orders_1 WHERE status = 'cancelled'"


@pytest.mark.parametrize(
    "answer",
    [
        "No orders were returned [q1].",
        "None was returned.",
        "Es wurde keine Bestellung retourniert [q1].",
        "Žádná [q1].",
    ],
)
def test_a_query_that_found_nothing_proves_absence(check: Check, answer: str) -> None:
    entries = check(answer, NONE)
    assert [entry.fault for entry in entries] == [None] * len(entries)
    assert all((entry.kind, entry.verified) == (EvidenceKind.ABSENCE, True) for entry in entries)


def test_of_several_queries_none_proves_an_absence_that_cites_nothing(check: Check) -> None:
    (entry,) = check("No order was cancelled.", NONE, SOME)
    assert (entry.kind, entry.verified) == (EvidenceKind.INFERENCE, False)


def test_a_query_that_found_something_refutes_absence(faults: Faults) -> None:
    assert "q1 has found 2" in faults("No order was cancelled [q1].", SOME)[0]


def test_a_condition_in_another_spelling_proves_nothing(faults: Faults) -> None:
    sql = "SELECT count(*) AS n FROM orders_1 WHERE status = 'Cancelled'"
    assert "spelled 'cancelled'" in faults("No order was cancelled [q1].", sql)[0]


def test_what_the_data_does_not_say_may_be_said(faults: Faults) -> None:
    assert faults("The data does not say why order 0102 was cancelled.", SOME, question="Why was 0102 cancelled?") == []
