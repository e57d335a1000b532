"""Endpoints that refuse, fail, hang or send invalid data: each ends in one error that says what to do."""

import asyncio
import json
import time
from typing import Any

import pytest

from runax_cli.core.budget import Budget, Limits
from runax_cli.core.errors import ContextTooLong, ModelError, ModelRefused, ModelReplyInvalid
from runax_cli.core.events import CollectingSink, Emitter
from runax_cli.core.exit_codes import ExitCode, exit_code_of
from runax_cli.models.base import Role
from runax_cli.models.metering import MeteredModel, Metering, PrioritySlots, UsageMeter
from runax_cli.models.pricing import FreePrice
from runax_cli.models.tokens import CalibratedCounter, O200kCounter
from runax_cli.models.wire import ReplyTooLong, UnusableReply

both_formats = pytest.mark.parametrize("api", ["responses", "chat"])
both_ways = pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])


def _ignore(_piece: str) -> None:
    """No server listens there."""


async def _error(fake: Any, api: str = "responses", is_streamed: bool = False, **changes: Any) -> ModelError:
    model = fake.model(api=api, **changes)
    with pytest.raises(ModelError) as caught:
        await model.complete(fake.request(), on_text=_ignore if is_streamed else None)
    await model.aclose()
    assert "sk-a-very-secret-key" not in str(caught.value)
    return caught.value


@both_formats
async def test_an_incomplete_stream_is_an_error(fake: Any, api: str) -> None:
    fake.plays(fake.reply("half an answer", cut=3))
    error = await _error(fake, api, is_streamed=True)
    assert isinstance(error, ModelReplyInvalid)
    assert error.retryable
    assert "ended before" in str(error)


@both_formats
@both_ways
async def test_a_slow_stream_ends_at_the_deadline(fake: Any, api: str, is_streamed: bool) -> None:
    fake.plays(fake.drip(b": still there\n\n" if is_streamed else b" "))
    began = time.monotonic()
    error = await _error(fake, api, is_streamed, timeout_s=0.3)
    assert time.monotonic() - began < 60
    assert error.retryable
    assert "timed out after 0.3 s (LLM_TIMEOUT)" in str(error)


@both_formats
@both_ways
@pytest.mark.parametrize(
    "body",
    [
        b'"just words"',
        b"null",
        b"[]",
        b"{}",
        b"<html>busy</html>",
        b"",
        b'{"choices": [], "output": []}',
        b"[" * 200_000,
    ],
    ids=["text", "null", "list", "hollow", "html", "empty", "no content", "deep"],
)
async def test_a_malformed_successful_response_is_an_error(fake: Any, api: str, is_streamed: bool, body: bytes) -> None:
    fake.plays(fake.raw(body))
    error = await _error(fake, api, is_streamed)
    assert isinstance(error, ModelReplyInvalid)
    assert error.retryable


@both_formats
async def test_an_event_that_is_not_json_is_an_error(fake: Any, api: str) -> None:
    fake.plays(fake.events('{"half": '))
    error = await _error(fake, api, is_streamed=True)
    assert isinstance(error, ModelReplyInvalid)
    assert error.retryable


@both_ways
@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
async def test_a_temporary_failure_is_retryable(fake: Any, status: int, is_streamed: bool) -> None:
    fake.plays(fake.status(status, "overloaded"))
    error = await _error(fake, is_streamed=is_streamed)
    assert error.retryable
    assert not isinstance(error, ModelRefused)
    assert f"returned {status} for the model 'test-model': overloaded." in str(error)
    assert len(fake.requests) == 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({"Retry-After": "7"}, 7.0), ({"Retry-After-Ms": "1500"}, 1.5), ({"Retry-After": "soon"}, None), ({}, None)],
)
async def test_retry_after_is_passed_on(fake: Any, headers: Any, seconds: float | None) -> None:
    fake.plays(fake.status(429, "slow down", headers=headers))
    assert (await _error(fake)).retry_after_s == seconds


async def test_an_exhausted_quota_is_not_retryable(fake: Any) -> None:
    fake.plays(fake.status(429, "You exceeded your current quota", code="insufficient_quota"))
    assert isinstance(await _error(fake), ModelRefused)


@pytest.mark.parametrize("status", [401, 403])
async def test_a_rejected_key_names_the_setting_and_never_the_key(fake: Any, status: int) -> None:
    fake.plays(fake.status(status, "Incorrect API key provided: sk-a-very-secret-key"))
    error = await _error(fake)
    assert exit_code_of(error) is ExitCode.CONFIGURATION
    assert "Incorrect API key provided: ***. Check LLM_API_KEY." in str(error)


async def test_a_key_echoed_in_a_reply_stays_out_of_the_message(fake: Any) -> None:
    fake.plays(fake.raw(json.dumps({"error": {"message": "bad key sk-a-very-secret-key"}}).encode()))
    assert "bad key ***" in str(await _error(fake))


@pytest.mark.parametrize(
    "message", ["The model `test-model` does not exist.", 'model "test-model" not found, try pulling it']
)
@pytest.mark.parametrize("api", ["responses", "chat", "auto"])
async def test_an_unknown_model_names_the_setting(fake: Any, message: str, api: str) -> None:
    fake.plays(fake.status(404, message))
    error = await _error(fake, api)
    assert isinstance(error, ModelRefused)
    assert "Check LLM_NAME." in str(error)
    assert len(fake.requests) == 1


@pytest.mark.parametrize(
    ("status", "fields"),
    [
        (400, {"message": "too long", "code": "context_length_exceeded"}),
        (400, {"message": "This model's maximum context length is 8192 tokens."}),
        (400, {"message": "prompt is too long: 210000 tokens > 200000 maximum"}),
        (413, {"message": "Request Entity Too Large"}),
    ],
)
async def test_a_request_beyond_the_context_raises_context_too_long(fake: Any, status: int, fields: Any) -> None:
    fake.plays(fake.status(status, **fields))
    assert isinstance(await _error(fake), ContextTooLong)


async def test_an_invalid_request_is_not_retryable(fake: Any) -> None:
    fake.plays(fake.raw(b'{"detail": "messages must alternate"}', status=422))
    error = await _error(fake)
    assert isinstance(error, ModelRefused)
    assert "returned 422 for the model 'test-model': messages must alternate." in str(error)


async def test_an_unreachable_endpoint_is_retryable_and_names_the_setting(fake: Any) -> None:
    error = await _error(fake, base_url="http://127.0.0.1:9/v1")
    assert error.retryable
    assert "request to 'http://127.0.0.1:9/v1'" in str(error)
    assert "LLM_API_BASE_URL" in str(error)


@both_ways
async def test_a_redirect_is_not_followed_because_it_would_forward_the_key(fake: Any, is_streamed: bool) -> None:
    fake.plays(fake.raw(b"", status=307, headers={"Location": f"{fake.base_url}/elsewhere"}))
    error = await _error(fake, is_streamed=is_streamed)
    assert isinstance(error, ModelRefused)
    assert "set LLM_API_BASE_URL to the target" in str(error)
    assert len(fake.requests) == 1


CHAT_ENDS = [
    {"choices": [{"message": {"content": "half"}, "finish_reason": "length"}]},
    {"choices": [{"message": {"content": "h"}, "finish_reason": "content_filter"}]},
    {"choices": [{"message": {"content": None, "refusal": "I can't help with that"}, "finish_reason": "stop"}]},
]
RESPONSES_ENDS = [
    {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": []},
    {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}, "output": []},
    {"status": "completed", "output": [{"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}]},
]
USAGE = {"input_tokens": 50, "output_tokens": 9, "prompt_tokens": 50, "completion_tokens": 9}


@pytest.mark.parametrize(
    ("api", "payload"), [("chat", end) for end in CHAT_ENDS] + [("responses", end) for end in RESPONSES_ENDS]
)
async def test_a_truncated_filtered_or_refused_reply_is_an_error_with_its_usage(
    fake: Any, api: str, payload: Any
) -> None:
    fake.plays(fake.raw(json.dumps(payload | {"usage": USAGE}).encode()))
    error = await _error(fake, api)
    assert isinstance(error, UnusableReply)
    assert not error.retryable
    assert error.usage is not None
    assert (error.usage.input_tokens, error.usage.output_tokens) == (50, 9)


@pytest.mark.parametrize(
    "event",
    [
        {"type": "response.failed", "response": {"status": "failed", "error": {"message": "engine died"}}},
        {"type": "error", "message": "engine died"},
        {"type": "error", "error": {"message": "engine died"}},
        {"error": {"message": "engine died"}},
    ],
)
async def test_an_error_event_in_a_stream_is_an_error(fake: Any, event: Any) -> None:
    fake.plays(fake.events(event))
    error = await _error(fake, is_streamed=True)
    assert isinstance(error, ModelReplyInvalid)
    assert "engine died" in str(error)


@both_formats
@both_ways
async def test_a_reply_of_two_megabytes_is_read(fake: Any, api: str, is_streamed: bool) -> None:
    text = "velmi dlouhá odpověď " * 100_000
    events = {
        "responses": [
            {"type": "response.output_text.delta", "delta": text},
            {"type": "response.completed", "response": {}},
        ],
        "chat": [{"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]}],
    }
    fake.plays(fake.events(*events[api]) if is_streamed else fake.reply(text))
    model = fake.model(api=api, max_bytes=32_000_000)
    reply = await model.complete(fake.request(), on_text=_ignore if is_streamed else None)
    await model.aclose()
    assert reply.text == text


@both_formats
@both_ways
async def test_a_reply_above_the_size_limit_is_an_error(fake: Any, api: str, is_streamed: bool) -> None:
    fake.plays(fake.reply("x" * 20_000))
    error = await _error(fake, api, is_streamed, max_bytes=10_000)
    assert "is larger than 10,000 bytes" in str(error)
    assert not error.retryable


@both_ways
async def test_the_size_limit_applies_after_decompression(fake: Any, is_streamed: bool) -> None:
    fake.plays(fake.zipped(b" " * 5_000_000))
    assert "is larger than 1,000,000 bytes" in str(await _error(fake, is_streamed=is_streamed, max_bytes=1_000_000))


async def test_a_compressed_reply_is_read(fake: Any) -> None:
    payload = {"output": [{"type": "message", "content": [{"type": "output_text", "text": "small"}]}]}
    fake.plays(fake.zipped(json.dumps(payload).encode()))
    model = fake.model()
    assert (await model.complete(fake.request())).text == "small"
    await model.aclose()


@both_ways
async def test_cancellation_closes_the_connection(fake: Any, is_streamed: bool) -> None:
    fake.plays(fake.drip())
    model = fake.model()
    task = asyncio.create_task(model.complete(fake.request(), on_text=_ignore if is_streamed else None))
    await fake.arrived.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(fake.left.wait(), timeout=60)
    await model.aclose()


ENDLESS = {
    "reasoning": ("chat", {"choices": [{"delta": {"reasoning_content": "and then we think again " * 20}}]}),
    "tool arguments": (
        "chat",
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": '{"a": "b"}, ' * 40}}]}}]},
    ),
    "refusal": ("chat", {"choices": [{"delta": {"refusal": "I would rather not. " * 20}}]}),
    "second choice": ("chat", {"choices": [{"delta": {}}, {"delta": {"content": "unasked for " * 40}}]}),
    "text": ("chat", {"choices": [{"delta": {"content": "word after word " * 30}}]}),
    "reasoning item": ("responses", {"type": "response.reasoning_text.delta", "delta": "thinking on " * 40}),
    "call item": ("responses", {"type": "response.function_call_arguments.delta", "delta": '{"a": "b"}, ' * 40}),
}


@pytest.mark.parametrize("what", ENDLESS)
async def test_an_endless_stream_is_cut_at_the_maximum_of_its_request_and_booked(fake: Any, what: str) -> None:
    api, event = ENDLESS[what]
    fake.plays(fake.drip(f"data: {json.dumps(event)}\n\n".encode()))
    model, budget = fake.model(api=api, max_bytes=32_000_000, timeout_s=60.0), Budget(Limits(), owner="test")
    metered = MeteredModel(model, metering=_metering(budget))
    with pytest.raises(ReplyTooLong, match=r"exceeds max_output_tokens \(1,000\)"):
        await metered.complete(fake.request(max_output_tokens=1_000), on_text=_ignore)
    await asyncio.wait_for(fake.left.wait(), timeout=60)
    await model.aclose()
    assert 1_000 <= budget.spent.tokens <= 2_200


@both_formats
@both_ways
async def test_a_reply_above_the_size_limit_is_booked_with_its_maximum(fake: Any, api: str, is_streamed: bool) -> None:
    fake.plays(fake.drip(b": " + b"x" * 10_000 + b"\n\n"))
    model, budget = fake.model(api=api, max_bytes=100_000, timeout_s=60.0), Budget(Limits(), owner="test")
    metered = MeteredModel(model, metering=_metering(budget))
    with pytest.raises(ReplyTooLong, match="larger than 100,000 bytes"):
        await metered.complete(fake.request(max_output_tokens=1_000), on_text=_ignore if is_streamed else None)
    await model.aclose()
    assert 1_000 <= budget.spent.tokens <= 1_100


@both_ways
async def test_reasoning_counts_if_an_endpoint_reports_no_usage(fake: Any, is_streamed: bool) -> None:
    thought = "thinking " * 200
    message = {
        "content": "42",
        "reasoning": thought,
        "reasoning_details": [{"type": "reasoning.text", "text": thought}],
    }
    choice = {"delta" if is_streamed else "message": message, "finish_reason": "stop"}
    whole = {"choices": [choice]}
    fake.plays(fake.events(whole) if is_streamed else fake.raw(json.dumps(whole).encode()))
    model, budget = fake.model(api="chat"), Budget(Limits(), owner="test")
    metered = MeteredModel(model, metering=_metering(budget))
    reply = await metered.complete(fake.request(max_output_tokens=1_000), on_text=_ignore if is_streamed else None)
    await model.aclose()
    assert reply.text == "42"
    assert 200 <= reply.usage.output_tokens <= 210, "the same reasoning under two names counts once"


def _metering(budget: Budget) -> Metering:
    return Metering(
        role=Role.AGENT,
        effective_tokens=10_000,
        counter=CalibratedCounter(O200kCounter()),
        slots=PrioritySlots(1),
        price=FreePrice(),
        budget=budget,
        emitter=Emitter.for_run(CollectingSink(), run_id="7f3a", session_id="7f3a"),
        meter=UsageMeter(),
    )
