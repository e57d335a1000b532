"""Fault injection is a pure function of seed and request number, and the app applies it."""

import itertools
from collections import Counter
from collections.abc import Mapping

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mock_api.app import create_app, default_resources
from mock_api.faults import TOTAL_ERROR, Fault, FaultKind, FaultPlan, InvalidFaults, parse_faults
from mock_api.serving import serve

RESOURCES = default_resources()


def always(kind: FaultKind) -> FaultPlan:
    return FaultPlan(rates={kind: 1.0})


async def fetch(plan: FaultPlan, *paths: str) -> list[httpx2.Response]:
    app = create_app(RESOURCES, faults=plan)
    async with serve(app, port=0) as base_url, httpx2.AsyncClient(base_url=base_url) as client:
        return [await client.get(path) for path in paths]


def ids(response: httpx2.Response) -> list[int]:
    return [record["id"] for record in response.json()["payments"]]


@given(seed=st.integers(0, 99), number=st.integers(1, 9999), page=st.none() | st.integers(1, 9))
def test_a_plan_is_deterministic(seed: int, number: int, page: int | None) -> None:
    plans = [FaultPlan(seed=seed, rates={FaultKind.SERVER_ERROR: 0.4}, latency_s=1.0) for _ in range(2)]
    assert plans[0].fault_for(number, page=page) == plans[1].fault_for(number, page=page)
    assert plans[0].delay_s(number) == plans[1].delay_s(number)
    assert 0.5 <= plans[0].delay_s(number) <= 1.5


def test_rates_are_kept() -> None:
    plan = FaultPlan(seed=1, rates={FaultKind.RATE_LIMITED: 0.2, FaultKind.CUT_BODY: 0.1})
    seen = Counter(fault.kind for number in range(10_000) if (fault := plan.fault_for(number)) is not None)
    assert seen[FaultKind.RATE_LIMITED] == pytest.approx(2000, rel=0.1)
    assert seen[FaultKind.CUT_BODY] == pytest.approx(1000, rel=0.1)


def test_another_seed_fails_other_requests() -> None:
    failing = [
        {n for n in range(100) if FaultPlan(seed=seed, rates={FaultKind.SERVER_ERROR: 0.3}).fault_for(n)}
        for seed in (1, 2)
    ]
    assert failing[0] != failing[1]


def test_a_plan_is_parsed_from_text() -> None:
    plan = parse_faults(
        "rate_limited=0.1, cut_body=0.05,latency=0.2,retry_after=3,dropped_page=2,dropped_page=5", seed=9
    )
    assert dict(plan.rates) == {FaultKind.RATE_LIMITED: 0.1, FaultKind.CUT_BODY: 0.05}
    assert (plan.latency_s, plan.retry_after_s, plan.seed) == (0.2, 3.0, 9)
    assert plan.dropped_pages == {2, 5}
    assert plan.only_pages is None
    assert parse_faults("short_page=1,only_page=3").only_pages == {3}
    assert parse_faults("") == FaultPlan()


@pytest.mark.parametrize(
    ("text", "words"),
    [("slow=1", "unknown fault 'slow'"), ("latency", "needs a number"), ("cut_body=0.6,short_page=0.6", "at most 1")],
)
def test_an_invalid_plan_is_an_error(text: str, words: str) -> None:
    with pytest.raises(InvalidFaults, match=words):
        parse_faults(text)


async def test_rate_limited_sends_retry_after() -> None:
    plan = FaultPlan(rates={FaultKind.RATE_LIMITED: 1.0}, retry_after_s=2.5)
    (response,) = await fetch(plan, "/tickets")
    assert response.status_code == 429
    assert response.headers["retry-after"] == "2.5"


async def test_a_server_error_is_a_500_also_for_single_records() -> None:
    responses = await fetch(always(FaultKind.SERVER_ERROR), "/tickets", "/tickets/1", "/tickets?meta_only=true")
    assert [response.status_code for response in responses] == [500, 500, 500]


@pytest.mark.parametrize("path", ["/tickets", "/tickets/1"])
async def test_a_cut_body_is_shorter_than_its_content_length(path: str) -> None:
    with pytest.raises(httpx2.RemoteProtocolError):
        await fetch(always(FaultKind.CUT_BODY), path)


async def test_a_short_page_lacks_its_last_record_and_keeps_the_total() -> None:
    (whole,) = await fetch(FaultPlan(), "/payments?limit=10")
    (short,) = await fetch(always(FaultKind.SHORT_PAGE), "/payments?limit=10")
    assert ids(short) == ids(whole)[:-1]
    assert short.json()["total"] == whole.json()["total"]


async def test_a_repeated_record_replaces_the_last() -> None:
    (page,) = await fetch(always(FaultKind.REPEATED_RECORD), "/payments?limit=4")
    assert ids(page) == [1, 1, 2, 3]


async def test_a_repeated_page_is_the_first_one_again() -> None:
    (page,) = await fetch(always(FaultKind.REPEATED_PAGE), "/payments?limit=3&offset=30")
    assert ids(page) == [1, 2, 3]
    assert page.json()["offset"] == 30


async def test_a_wrong_total_is_wrong_in_pages_and_in_metadata() -> None:
    page, meta = await fetch(
        always(FaultKind.WRONG_TOTAL), "/tickets?customer_id=4", "/tickets?customer_id=4&meta_only=1"
    )
    assert page.json()["total"] == meta.json()["total_items"] == 261 + TOTAL_ERROR


async def test_a_dropped_page_fails_on_every_request() -> None:
    plan = FaultPlan(dropped_pages=frozenset({2}))
    responses = await fetch(
        plan, *["/payments?limit=5&offset=5"] * 3, "/payments?limit=5", "/payments?limit=5&offset=10"
    )
    assert [response.status_code for response in responses] == [500, 500, 500, 200, 200]


async def test_rates_can_be_confined_to_a_page() -> None:
    plan = FaultPlan(rates={FaultKind.SHORT_PAGE: 1.0}, only_pages=frozenset({3}))
    pages = await fetch(plan, *[f"/payments?limit=5&offset={offset}" for offset in (0, 5, 10, 15)])
    assert [len(ids(page)) for page in pages] == [5, 5, 4, 5]


async def test_the_app_does_what_the_plan_says_request_by_request() -> None:
    rates: Mapping[FaultKind, float] = {FaultKind.RATE_LIMITED: 0.3, FaultKind.SERVER_ERROR: 0.3}
    plan = FaultPlan(seed=5, rates=rates)
    responses = await fetch(plan, *["/payments?limit=1"] * 30)
    status = {FaultKind.RATE_LIMITED: 429, FaultKind.SERVER_ERROR: 500}
    faults: list[Fault | None] = [plan.fault_for(number, page=1) for number in range(1, 31)]
    assert [response.status_code for response in responses] == [
        status[fault.kind] if fault else 200 for fault in faults
    ]
    assert len(set(itertools.chain(response.status_code for response in responses))) == 3
