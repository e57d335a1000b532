"""The same conversation in both wire formats, streaming and not, over the real SDK."""

from typing import Any

import pytest

from runax_cli.models.base import Message, OutputSchema, Role, ToolCall, ToolSchema, Usage

CZECH = "Příliš žluťoučký kůň úpěl ďábelské ódy. 漢字 🦊\u2028konec"
TICKETS = ToolSchema("get_tickets", "Tickets of a customer.", {"type": "object", "properties": {"id": {}}})

both_formats = pytest.mark.parametrize("api", ["responses", "chat"])
both_ways = pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])


async def _ask(fake: Any, api: str, is_streamed: bool, **request: Any) -> tuple[Any, list[str]]:
    pieces: list[str] = []
    model = fake.model(api=api)
    reply = await model.complete(fake.request(**request), on_text=pieces.append if is_streamed else None)
    await model.aclose()
    return reply, pieces


@both_formats
@both_ways
async def test_a_reply_arrives_with_text_model_and_usage(fake: Any, api: str, is_streamed: bool) -> None:
    fake.plays(fake.reply(CZECH))
    reply, pieces = await _ask(fake, api, is_streamed)
    assert reply.text == CZECH
    assert reply.model == "test-model-2"
    assert reply.usage == Usage(120, 7, 20, is_reported=True)
    assert reply.requests == 1
    assert (reply.first_token_s is not None) is is_streamed
    assert pieces == ([CZECH[n : n + 5] for n in range(0, len(CZECH), 5)] if is_streamed else [])


@both_formats
@both_ways
async def test_parallel_calls_arrive_in_order_with_their_raw_arguments(fake: Any, api: str, is_streamed: bool) -> None:
    calls = (("call_a", "get_tickets", '{"customer_id": 4}'), ("call_b", "get_payments", '{"broken": '))
    fake.plays(fake.reply(calls=calls))
    reply, _ = await _ask(fake, api, is_streamed, tools=(TICKETS,))
    assert reply.tool_calls == tuple(ToolCall(*call) for call in calls)
    assert reply.text == ""


@both_formats
async def test_every_request_carries_its_role_and_run(fake: Any, api: str) -> None:
    fake.plays(fake.reply("ok"))
    await _ask(fake, api, False, role=Role.REDUCER)
    assert fake.requests[0].headers["x-runax-role"] == "reducer"
    assert fake.requests[0].headers["x-runax-run"] == "7f3a"
    assert fake.requests[0].headers["authorization"] == "Bearer sk-a-very-secret-key"


MESSAGES = (
    Message("system", "Be brief."),
    Message("user", "Tickets of Baláž?"),
    Message("assistant", "Looking.", tool_calls=(ToolCall("call_a", "get_tickets", '{"id": 4}'),)),
    Message("tool", '{"status": "success"}', tool_call_id="call_a"),
)


async def test_a_conversation_with_calls_is_sent_as_items_of_the_responses_api(fake: Any) -> None:
    fake.plays(fake.reply("ok"))
    await _ask(fake, "responses", False, messages=MESSAGES, tools=(TICKETS,), max_output_tokens=77)
    (seen,) = fake.requests
    assert seen.path == "/v1/responses"
    assert seen.body["instructions"] == "Be brief."
    assert seen.body["input"] == [
        {"type": "message", "role": "user", "content": "Tickets of Baláž?"},
        {"type": "message", "role": "assistant", "content": "Looking."},
        {"type": "function_call", "call_id": "call_a", "name": "get_tickets", "arguments": '{"id": 4}'},
        {"type": "function_call_output", "call_id": "call_a", "output": '{"status": "success"}'},
    ]
    assert seen.body["tools"][0]["parameters"] == TICKETS.parameters
    assert seen.body["max_output_tokens"] == 77
    assert seen.body["store"] is False
    assert "previous_response_id" not in seen.body


async def test_a_conversation_with_calls_is_sent_as_messages_of_chat_completions(fake: Any) -> None:
    fake.plays(fake.reply("ok"))
    await _ask(fake, "chat", False, messages=MESSAGES, tools=(TICKETS,), max_output_tokens=77)
    (seen,) = fake.requests
    assert seen.path == "/v1/chat/completions"
    call = {"id": "call_a", "type": "function", "function": {"name": "get_tickets", "arguments": '{"id": 4}'}}
    assert seen.body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Tickets of Baláž?"},
        {"role": "assistant", "content": "Looking.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_a", "content": '{"status": "success"}'},
    ]
    assert seen.body["tools"][0]["function"]["name"] == "get_tickets"
    assert seen.body["max_completion_tokens"] == 77
    assert (seen.body["temperature"], seen.body["top_p"]) == (0.0, 1.0)


async def test_an_output_schema_is_sent_strict_in_both_formats(fake: Any) -> None:
    schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    fake.plays(fake.reply("{}"))
    for api in ("responses", "chat"):
        await _ask(fake, api, False, output=OutputSchema("findings", schema))
    wanted = {"name": "findings", "schema": schema, "strict": True}
    assert fake.requests[0].body["text"] == {"format": {"type": "json_schema"} | wanted}
    assert fake.requests[1].body["response_format"] == {"type": "json_schema", "json_schema": wanted}


@both_formats
async def test_a_reply_without_streaming_is_read_in_spite_of_stream(fake: Any, api: str) -> None:
    whole = fake.reply("whole at once")

    async def unstreamed(seen: Any, writer: Any) -> None:
        seen.body["stream"] = False
        await whole(seen, writer)

    fake.plays(unstreamed)
    reply, pieces = await _ask(fake, api, True)
    assert reply.text == "whole at once"
    assert pieces == ["whole at once"]


@both_formats
@both_ways
@pytest.mark.parametrize(
    "usage",
    [
        None,
        {"input_tokens": 0, "output_tokens": 0, "prompt_tokens": 0, "completion_tokens": 0},
        {"input_tokens": -3, "output_tokens": 1, "prompt_tokens": -3, "completion_tokens": 1},
        {"input_tokens": "many", "output_tokens": 1, "prompt_tokens": True, "completion_tokens": 1},
    ],
    ids=["none", "zero", "negative", "no number"],
)
async def test_missing_or_implausible_usage_is_not_reported(fake: Any, api: str, is_streamed: bool, usage: Any) -> None:
    fake.plays(fake.reply("ok", usage=usage))
    reply, _ = await _ask(fake, api, is_streamed)
    assert reply.usage == Usage(is_reported=False)


async def test_a_stream_with_an_empty_terminal_event_is_collected_from_its_pieces(fake: Any) -> None:
    fake.plays(
        fake.events(
            {"type": "response.output_text.delta", "delta": "Dobrý "},
            {"type": "response.output_text.delta", "delta": "den"},
            {"type": "response.completed", "response": {}},
        )
    )
    reply, pieces = await _ask(fake, "responses", True)
    assert reply.text == "Dobrý den"
    assert pieces == ["Dobrý ", "den"]


async def test_tool_call_deltas_without_an_index_are_kept_apart_by_their_ids(fake: Any) -> None:
    deltas = [
        {"id": "a", "function": {"name": "one", "arguments": "{"}},
        {"function": {"arguments": "}"}},
        {"id": "b", "function": {"name": "two", "arguments": "[]"}},
    ]
    events = [{"choices": [{"delta": {"tool_calls": [delta]}}]} for delta in deltas]
    fake.plays(fake.events(*events, {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}, "[DONE]"))
    reply, _ = await _ask(fake, "chat", True)
    assert reply.tool_calls == (ToolCall("a", "one", "{}"), ToolCall("b", "two", "[]"))


async def test_a_stream_that_ends_right_after_its_finish_reason_is_complete(fake: Any) -> None:
    fake.plays(fake.reply("enough", cut=2))
    reply, _ = await _ask(fake, "chat", True)
    assert reply.text == "enough"
    assert not reply.usage.is_reported
