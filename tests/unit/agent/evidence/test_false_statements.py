"""No false statement is verified, and hardly any true one is rejected."""

import random
import re
from collections.abc import Iterator

import pytest

from benchmarks.statement_checks import MAX_FALSE_ALARM_RATE, is_accepted, rejected_statements, verified_statements
from benchmarks.statements.false_statements import false_statements
from benchmarks.statements.true_statements import ON_QUERIES, true_statements

FALSE, TRUE = tuple(false_statements()), tuple(true_statements())
_OTHER_DIGITS = "123456789"


@pytest.mark.parametrize("statement", FALSE)
def test_a_false_statement_is_not_verified(statement: str) -> None:
    assert verified_statements([statement]) == []


def test_true_statements_are_rarely_rejected() -> None:
    wrong = rejected_statements(TRUE)
    assert len(wrong) <= MAX_FALSE_ALARM_RATE * len(TRUE), wrong


def test_there_are_enough_of_both() -> None:
    assert len(set(TRUE)) == len(TRUE) >= 200
    assert len(set(FALSE)) == len(FALSE) >= 100


def altered() -> Iterator[str]:
    """Statements on queries with the first digit of one figure of four digits and more changed."""
    rng = random.Random(7)
    for statement in ON_QUERIES:
        for match in re.finditer(r"\b\d{1,3}[ ,.]?\d{3}\b", statement):
            if not re.search(r"about|some|kolem|asi|than|least|necel", statement):
                digit = rng.choice([one for one in _OTHER_DIGITS if one != statement[match.start()]])
                yield statement[: match.start()] + digit + statement[match.start() + 1 :]


def test_every_changed_figure_is_noticed() -> None:
    changed = list(altered())
    assert len(changed) > 20
    assert [statement for statement in changed if is_accepted(statement)] == []
