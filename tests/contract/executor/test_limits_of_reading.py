"""Where reducers come to their limits: hopeless ones, long focuses, small contexts, many findings."""

import json
from typing import Any

import pytest

from runax_cli.core.errors import ContextTooLong, ModelError, ModelReplyInvalid
from runax_cli.models.base import ModelReply, ModelRequest, Usage


def said(*findings: dict[str, Any]) -> ModelReply:
    text = json.dumps({"findings": list(findings), "nothing_relevant": not findings})
    return ModelReply(text=text, model="s", usage=Usage(is_reported=False))


def finding(*refs: int, quote: str | None = None, statement: str = "It is so.") -> dict[str, Any]:
    return {"statement": statement, "records": list(refs), "quote": quote}


def n_records(request: ModelRequest) -> int:
    inside = request.messages[1].content.partition("<records>\n")[2].rpartition("\n</records>")[0]
    return sum(not line.startswith("[columns]") for line in inside.split("\n"))


@pytest.mark.parametrize("kind", ["cut off", "too long"])
async def test_a_chunk_that_is_too_much_for_the_model_is_split_until_it_is_not(make: Any, kind: str) -> None:
    def model(request: ModelRequest) -> ModelReply:
        if n_records(request) > 6:
            if kind == "cut off":
                raise ModelReplyInvalid("the reply was cut off", model="s", retryable=True)
            raise ContextTooLong("too long for this model", model="s", retryable=False)
        return said(finding(1))

    bench = make(12, reducer=model)
    outcome = await bench.call(direct_limit=100)
    assert outcome.coverage.is_complete
    assert outcome.coverage.read_by_model == 12
    assert outcome.findings


async def test_a_hopeless_reducer_costs_a_bounded_number_of_requests_and_is_named(make: Any) -> None:
    bench = make(12, reducer=lambda _request: ModelReply(text="no JSON", model="s", usage=Usage(is_reported=False)))
    outcome = await bench.call(direct_limit=100)
    assert len(bench.reducer.requests) == 14
    assert outcome.coverage.read_by_model == 0
    assert not outcome.coverage.is_complete
    assert bench.codes(outcome) == {"chunk_failed"}
    assert outcome.coverage.records_read == 12


async def test_an_outage_in_mid_repair_costs_no_usable_reply(make: Any) -> None:
    def model(request: ModelRequest) -> ModelReply:
        if len(request.messages) > 2:
            raise ModelError("the endpoint is down", model="s", retryable=True)
        return said(finding(2, quote="this stands nowhere"))

    outcome = await make(12, reducer=model).call(direct_limit=100)
    (found,) = outcome.findings
    assert found.is_quote_verified is False
    assert outcome.coverage.is_complete
    assert "quote" not in outcome.envelope.data[0]


async def test_an_outage_costs_one_request_a_chunk_and_no_split(make: Any) -> None:
    def model(_request: ModelRequest) -> ModelReply:
        raise ModelError("the endpoint is down", model="s", retryable=True)

    bench = make(12, reducer=model)
    outcome = await bench.call(direct_limit=100)
    assert len(bench.reducer.requests) == 1
    assert not outcome.coverage.is_complete


@pytest.mark.parametrize("ratio", [None, 1.0])
async def test_a_focus_longer_than_the_context_keeps_its_ends_and_leaves_room(make: Any, ratio: float | None) -> None:
    bench = make(30, effective=12_000, ratio=ratio)
    focus = "BEGINNING " + "a pasted file " * 20_000 + " what are the outages?"
    outcome = await bench.call(focus=focus, direct_limit=100)
    assert outcome.coverage.read_by_model == 30
    assert bench.largest_request() <= bench.effective
    shown = bench.reducer.requests[0].messages[1].content
    assert "BEGINNING" in shown
    assert "what are the outages?" in shown


async def test_a_context_without_room_for_records_is_named_and_asks_no_model(make: Any) -> None:
    bench = make(30, effective=800)
    outcome = await bench.call(direct_limit=100)
    assert bench.reducer.requests == []
    assert outcome.coverage.records_read == 30
    assert outcome.coverage.read_by_model == 0
    assert not outcome.coverage.is_complete
    assert "LLM_MAX_CONTEXT" in outcome.coverage.reasons[0].text


async def test_few_records_pass_although_there_is_no_room_to_read_more(make: Any) -> None:
    outcome = await make(2, effective=800).call(direct_limit=400)
    assert outcome.envelope.strategy == "direct_pass"


async def test_findings_stay_within_the_room_that_is_left_references_included(make: Any) -> None:
    def model(request: ModelRequest) -> ModelReply:
        refs, some = list(range(1, n_records(request) + 1)), request.messages[1].content[40:90]
        return said(*(finding(*refs, statement=f"Statement {n} over {some}.") for n in range(9)))

    bench = make(261, effective=12_000, reducer=model)
    outcome = await bench.call(direct_limit=700)
    shown = json.dumps(outcome.envelope.data, ensure_ascii=False, separators=(",", ":"))
    assert bench.counter.bound(shown) <= 700
    assert len(outcome.envelope.data) < len(outcome.findings)
    assert "did not fit" in outcome.envelope.next_action_hint
