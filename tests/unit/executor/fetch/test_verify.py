"""Which checks apply to the state of a fetch, and when a single response is the end of the data."""

from dataclasses import replace
from typing import Any

import pytest

from adapters.base import Pagination, PaginationStyle, ToolSpec
from adapters.pagination import Certainty
from runax_cli.core.results import ReasonCode
from runax_cli.executor.coverage import AnnouncedTotal
from runax_cli.executor.fetch.page_schedule import ReceivedPage
from runax_cli.executor.fetch.verify import (
    CHECKS_AFTER_WALK,
    CHECKS_BEFORE_WALK,
    FetchState,
    judge_missing_cursor,
    judge_single_page,
)
from runax_cli.executor.outcome import DecidedCall

BY_OFFSET = Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit")
BY_PAGE = Pagination(convention=PaginationStyle.PAGE, position="page", size="limit", first=1)
LIMIT_SCHEMA = {"type": "object", "properties": {"top": {"type": "integer", "default": 30}, "paging": {}}}
TOOL = ToolSpec(name="t", description="", parameters=LIMIT_SCHEMA, source="api", locator="GET /")
STATE = FetchState(
    call=DecidedCall(call_id="c", tool=TOOL, arguments={}, focus=""),
    pagination=BY_OFFSET,
    announced=AnnouncedTotal(),
    received={0: ReceivedPage(records=10), 1: ReceivedPage(records=10), 2: ReceivedPage(records=0)},
    first_records=tuple({"id": number} for number in range(10)),
    page_size=10,
    next_index=3,
    n_records=20,
    n_cached=0,
    page_announces_total=False,
    has_more=None,
    has_next=False,
    has_continuation=False,
    has_enough=False,
    is_incomplete=False,
    is_start_verified=False,
    reached_end=True,
)
EXACT_20 = AnnouncedTotal(total=20, certainty=Certainty.EXACT)


def applying(state: FetchState) -> set[str]:
    return {check.name for check in (*CHECKS_BEFORE_WALK, *CHECKS_AFTER_WALK) if check.applies(state)}


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({}, {"offset unit", "records moved"}),
        ({"pagination": BY_PAGE}, {"start position", "records moved"}),
        ({"announced": EXACT_20}, set()),
        ({"announced": EXACT_20, "pagination": BY_PAGE, "n_records": 19}, {"start position"}),
        ({"pagination": BY_PAGE, "is_start_verified": True}, {"records moved"}),
        ({"pagination": replace(BY_PAGE, is_declared=True)}, {"records moved"}),
        ({"pagination": replace(BY_OFFSET, is_declared=True)}, {"records moved"}),
        ({"has_continuation": True}, {"records moved"}),
        ({"first_records": ({"id": 0}, {"id": 1})}, {"records moved"}),
        ({"n_cached": 1}, {"offset unit"}),
        ({"is_incomplete": True}, {"offset unit"}),
        ({"has_enough": True}, {"offset unit"}),
        ({"reached_end": False}, {"offset unit"}),
        ({"received": {0: ReceivedPage(records=10)}}, {"offset unit"}),
    ],
)
def test_a_check_applies_only_if_nothing_else_would_show_the_error(changes: dict[str, Any], names: set[str]) -> None:
    assert applying(replace(STATE, **changes)) == names


@pytest.mark.parametrize(
    ("changes", "is_end", "code"),
    [
        ({"n_records": 7}, True, None),
        ({"n_records": 7, "has_more": True}, False, ReasonCode.PAGINATION_UNKNOWN),
        ({"n_records": 7, "has_next": True}, False, ReasonCode.PAGINATION_UNKNOWN),
        ({"n_records": 7, "announced": EXACT_20}, False, ReasonCode.PAGINATION_UNKNOWN),
        ({"n_records": 7, "announced": EXACT_20, "has_enough": True}, False, None),
        ({"n_records": 30}, False, ReasonCode.PAGINATION_UNKNOWN),
        ({"n_records": 30, "page_announces_total": True}, True, None),
        ({"n_records": 25}, False, ReasonCode.PAGINATION_UNKNOWN),
        ({"n_records": 1}, True, None),
    ],
)
def test_a_single_page_is_the_end_unless_something_limits_it(
    changes: dict[str, Any], is_end: bool, code: ReasonCode | None
) -> None:
    verdict = judge_single_page(replace(STATE, **changes))
    assert (verdict.is_end, verdict.code) == (is_end, code)


def test_a_limiting_argument_is_named() -> None:
    assert "the value of 'top'" in judge_single_page(replace(STATE, n_records=30)).text
    assert "'paging' may lead to more" in judge_single_page(replace(STATE, n_records=25)).text


def test_a_full_page_without_a_cursor_is_the_end_only_if_smaller_pages_had_one() -> None:
    full = replace(STATE, received={0: ReceivedPage(records=20)})
    assert judge_missing_cursor(full, size=20, was_probe_silent=False).is_end
    assert not judge_missing_cursor(full, size=20, was_probe_silent=True).is_end
    assert judge_missing_cursor(replace(full, announced=EXACT_20), size=20, was_probe_silent=True).is_end
    odd = replace(STATE, received={0: ReceivedPage(records=17)})
    assert judge_missing_cursor(odd, size=20, was_probe_silent=True).is_end
