"""The real SDK reads every reply of the model endpoint, in both formats, streaming and not."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import openai
import pytest
from openai import AsyncOpenAI

from mock_api.llm_server import (
    WireCompletion,
    WireMessage,
    WireRefused,
    WireRequest,
    WireSchema,
    WireTool,
    WireToolCall,
    create_llm_app,
)
from mock_api.serving import serve

SCHEMA = {
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "required": ["word"],
    "additionalProperties": False,
}
PARAMETERS = {"type": "object", "properties": {"customer_id": {"type": "integer"}}}
LONG = "Zpráva o výpadku: příliš žluťoučký kůň úpěl ďábelské ódy. " * 5


class Endpoint:
    """A client of a served endpoint, and the requests that reached its answer."""

    def __init__(self, client: AsyncOpenAI, requests: list[WireRequest]) -> None:
        self.client, self.requests = client, requests


@asynccontextmanager
async def endpoint(
    reply: WireCompletion | Callable[[WireRequest], Awaitable[WireCompletion]],
    *,
    token: str | None = None,
    key: str = "k",
) -> AsyncIterator[Endpoint]:
    requests: list[WireRequest] = []

    async def answer(request: WireRequest) -> WireCompletion:
        requests.append(request)
        return reply if isinstance(reply, WireCompletion) else await reply(request)

    async with (
        serve(create_llm_app(answer, token=token), port=0) as base_url,
        AsyncOpenAI(base_url=f"{base_url}/v1", api_key=key, max_retries=0) as client,
    ):
        yield Endpoint(client, requests)


SPOKEN = WireCompletion(text=LONG, input_tokens=12, output_tokens=34)
CALLED = WireCompletion(
    tool_calls=(
        WireToolCall("list_tickets", '{"customer_id": 4, "note": "' + "x" * 90 + '"}', "call_a"),
        WireToolCall("list_payments", "{broken", "call_b"),
    ),
    input_tokens=5,
    output_tokens=6,
)


async def test_responses_returns_text_and_usage() -> None:
    async with endpoint(SPOKEN) as at:
        response = await at.client.responses.create(model="m", input="hello")
    assert response.status == "completed"
    assert response.output_text == LONG
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens, response.usage.total_tokens) == (12, 34, 46)


async def test_responses_stream_ends_with_the_whole_response() -> None:
    async with endpoint(SPOKEN) as at, at.client.responses.stream(model="m", input="hello") as stream:
        events = [event async for event in stream]
        final = await stream.get_final_response()
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert len(deltas) > 1
    assert "".join(deltas) == LONG == final.output_text
    assert events[0].type == "response.created"
    assert events[-1].type == "response.completed"
    assert [event.sequence_number for event in events] == sorted({event.sequence_number for event in events})


async def test_responses_returns_tool_calls_with_raw_arguments() -> None:
    async with endpoint(CALLED) as at:
        response = await at.client.responses.create(model="m", input="hello")
    calls = [item for item in response.output if item.type == "function_call"]
    assert [(call.call_id, call.name, call.arguments) for call in calls] == [
        (call.id, call.name, call.arguments) for call in CALLED.tool_calls
    ]


async def test_responses_streams_tool_calls() -> None:
    async with endpoint(CALLED) as at, at.client.responses.stream(model="m", input="hello") as stream:
        final = await stream.get_final_response()
    assert [item.arguments for item in final.output if item.type == "function_call"] == [
        call.arguments for call in CALLED.tool_calls
    ]


async def test_a_truncated_reply_is_incomplete_in_both_formats() -> None:
    messages: Any = [{"role": "user", "content": "hello"}]
    async with endpoint(WireCompletion(text="half", is_truncated=True)) as at:
        response = await at.client.responses.create(model="m", input="hello")
        stream = await at.client.responses.create(model="m", input="hello", stream=True)
        events = [event async for event in stream]
        chat = await at.client.chat.completions.create(model="m", messages=messages)
    assert response.status == "incomplete"
    assert events[-1].type == "response.incomplete"
    assert chat.choices[0].finish_reason == "length"


async def test_chat_returns_text_and_usage() -> None:
    async with endpoint(SPOKEN) as at:
        chat = await at.client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hello"}])
    assert chat.choices[0].message.content == LONG
    assert chat.choices[0].finish_reason == "stop"
    assert chat.usage is not None
    assert (chat.usage.prompt_tokens, chat.usage.completion_tokens) == (12, 34)


async def test_chat_stream_ends_with_a_finish_reason_and_usage() -> None:
    async with endpoint(SPOKEN) as at:
        stream = await at.client.chat.completions.create(
            model="m",
            messages=[{"role": "user", "content": "hello"}],
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]
    assert "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices) == LONG
    assert [choice.finish_reason for chunk in chunks for choice in chunk.choices][-1] == "stop"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 46


async def test_chat_stream_sends_usage_only_on_request() -> None:
    async with endpoint(SPOKEN) as at:
        stream = await at.client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "hello"}], stream=True
        )
        assert [chunk.usage async for chunk in stream if chunk.usage] == []


async def test_chat_returns_and_streams_tool_calls() -> None:
    async with endpoint(CALLED) as at:
        chat = await at.client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hello"}])
        async with at.client.chat.completions.stream(
            model="m", messages=[{"role": "user", "content": "hello"}]
        ) as stream:
            streamed = await stream.get_final_completion()
    for completion in (chat, streamed):
        choice = completion.choices[0]
        assert choice.finish_reason == "tool_calls"
        calls = [call for call in choice.message.tool_calls or () if call.type == "function"]
        assert [(call.id, call.function.name, call.function.arguments) for call in calls] == [
            (call.id, call.name, call.arguments) for call in CALLED.tool_calls
        ]


async def test_usage_that_is_unknown_is_left_out() -> None:
    async with endpoint(WireCompletion(text="x")) as at:
        response = await at.client.responses.create(model="m", input="hello")
        chat = await at.client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hello"}])
    assert response.usage is None
    assert chat.usage is None


EXPECTED = WireRequest(
    role="reducer",
    run="7f3a",
    model="m",
    messages=(
        WireMessage("system", "Be exact."),
        WireMessage("user", "How many?"),
        WireMessage("assistant", "I look.", (WireToolCall("list_tickets", "{}", "c1"),)),
        WireMessage("tool", '{"total": 261}', tool_call_id="c1"),
    ),
    tools=(WireTool("list_tickets", "Tickets.", PARAMETERS),),
    output_schema=WireSchema("findings", SCHEMA),
    max_output_tokens=77,
)
HEADERS = {"X-Runax-Role": "reducer", "X-Runax-Run": "7f3a"}


async def test_both_formats_are_read_as_the_same_request() -> None:
    items: Any = [
        {"role": "system", "content": "Be exact."},
        {"role": "user", "content": [{"type": "input_text", "text": "How many?"}]},
        {"role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "c1", "name": "list_tickets", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": '{"total": 261}'},
    ]
    call = {"id": "c1", "type": "function", "function": {"name": "list_tickets", "arguments": "{}"}}
    messages: Any = [
        {"role": "system", "content": "Be exact."},
        {"role": "user", "content": [{"type": "text", "text": "How many?"}]},
        {"role": "assistant", "content": "I look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"total": 261}'},
    ]
    function: Any = {"name": "list_tickets", "description": "Tickets.", "parameters": PARAMETERS}
    schema: Any = {"name": "findings", "schema": SCHEMA, "strict": True}
    async with endpoint(WireCompletion(text='{"word": "ok"}')) as at:
        response = await at.client.responses.create(
            model="m",
            input=items,
            tools=[{"type": "function", "strict": True, **function}],
            text={"format": {"type": "json_schema", **schema}},
            max_output_tokens=77,
            extra_headers=HEADERS,
        )
        await at.client.chat.completions.create(
            model="m",
            messages=messages,
            tools=[{"type": "function", "function": function}],
            response_format={"type": "json_schema", "json_schema": schema},
            max_completion_tokens=77,
            extra_headers=HEADERS,
        )
    assert json.loads(response.output_text) == {"word": "ok"}
    assert at.requests == [EXPECTED, EXPECTED]


async def test_instructions_are_the_system_message() -> None:
    async with endpoint(SPOKEN) as at:
        await at.client.responses.create(model="m", instructions="Be exact.", input="Hi")
    assert at.requests[0].messages == (WireMessage("system", "Be exact."), WireMessage("user", "Hi"))


async def test_a_refused_request_has_status_code_parameter_and_retry_after() -> None:
    async def refuse(_request: WireRequest) -> WireCompletion:
        raise WireRefused("slow down", status=429, code="rate_limit", param="temperature", retry_after_s=1.5)

    async with endpoint(refuse) as at:
        with pytest.raises(openai.RateLimitError) as caught:
            await at.client.responses.create(model="m", input="hello")
    assert caught.value.response.headers["retry-after"] == "1.5"
    assert (caught.value.code, caught.value.param) == ("rate_limit", "temperature")


async def test_a_wrong_key_is_rejected() -> None:
    async with endpoint(SPOKEN, token="secret", key="other") as at:
        with pytest.raises(openai.AuthenticationError):
            await at.client.models.list()
        with pytest.raises(openai.AuthenticationError):
            await at.client.responses.create(model="m", input="hello")
    assert at.requests == []


async def test_the_right_key_lists_the_model() -> None:
    async with endpoint(SPOKEN, token="secret", key="secret") as at:
        assert [model.id async for model in at.client.models.list()] == ["rules"]


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/chat/completions"])
@pytest.mark.parametrize("body", [b"no json", b"[]", b'{"input": 3, "messages": 3}', b'{"input": [{"type": "image"}]}'])
async def test_an_invalid_body_is_a_400(path: str, body: bytes) -> None:
    async def answer(_request: WireRequest) -> WireCompletion:
        return SPOKEN

    async with serve(create_llm_app(answer), port=0) as base_url, httpx2.AsyncClient() as client:
        response = await client.post(base_url + path, content=body)
    assert response.status_code == 400
    assert response.json()["error"]["message"]
