"""The limits of one call."""

from pathlib import Path

import pytest

from adapters.clock import ManualClock
from runax_cli.executor.fetch.call_limits import CallLimits, Deadline, LimitChecker
from runax_cli.executor.store.dataset import DatasetStore


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (CallLimits(), None),
        (CallLimits(pages=1), "the limit of 1 page per call is reached"),
        (CallLimits(records=2), None),
        (CallLimits(records=1), "the limit of 1 record per call is reached"),
        (CallLimits(n_bytes=10), "the limit of 10 bytes per call is reached"),
    ],
)
def test_the_exceeded_limit_is_named(tmp_path: Path, limits: CallLimits, text: str | None) -> None:
    dataset = DatasetStore(tmp_path).create("items")
    dataset.add_page(0, [{"id": 1}, {"id": 2}], position="0")
    assert LimitChecker(limits, Deadline(60.0, ManualClock()), dataset).exceeded() == text


def test_a_deadline_expires_once_and_for_all_its_users(tmp_path: Path) -> None:
    clock = ManualClock()
    deadline = Deadline(60.0, clock)
    checker = LimitChecker(CallLimits(), deadline, DatasetStore(tmp_path).create("items"))
    clock.now += 59.0
    assert (deadline.remaining_s, checker.exceeded()) == (1.0, None)
    clock.now += 5.0
    assert deadline.remaining_s == 0.0
    assert checker.exceeded() == "the call timed out after 60 s (--call-timeout)"
