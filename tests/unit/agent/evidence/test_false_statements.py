"""No planted lie is certified, and the truth is not doubted."""

import random
import re
from collections.abc import Iterator

import pytest

from benchmarks.lies import MOST_FALSE_ALARMS, certified, doubted, is_accepted
from benchmarks.statements.truths import ON_QUERIES, truths
from benchmarks.statements.untruths import lies

LIES, TRUTHS = tuple(lies()), tuple(truths())
_OTHER_DIGITS = "123456789"


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_not_certified(lie: str) -> None:
    assert certified([lie]) == []


def test_true_statements_are_hardly_ever_doubted() -> None:
    wrong = doubted(TRUTHS)
    assert len(wrong) <= MOST_FALSE_ALARMS * len(TRUTHS), wrong


def test_there_are_enough_of_both() -> None:
    assert len(set(TRUTHS)) == len(TRUTHS) >= 200
    assert len(set(LIES)) == len(LIES) >= 100


def altered() -> Iterator[str]:
    """Statements on queries with the first digit of one figure of four digits and more changed."""
    rng = random.Random(7)
    for statement in ON_QUERIES:
        for match in re.finditer(r"\b\d{1,3}[ ,.]?\d{3}\b", statement):
            if not re.search(r"about|some|kolem|asi|than|least|necel", statement):
                digit = rng.choice([one for one in _OTHER_DIGITS if one != statement[match.start()]])
                yield statement[: match.start()] + digit + statement[match.start() + 1 :]


def test_no_figure_can_be_changed_unnoticed() -> None:
    changed = list(altered())
    assert len(changed) > 20
    assert [statement for statement in changed if is_accepted(statement)] == []
