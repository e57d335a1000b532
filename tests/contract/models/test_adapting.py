"""Parameters and features that an endpoint rejects are not used from then on."""

from typing import Any

import pytest

from runax_cli.core.errors import ModelRefused, ModelReplyInvalid
from runax_cli.models.base import OutputSchema
from runax_cli.models.structured_output import StructuredModel
from runax_cli.models.wire import Quirks

WORD = OutputSchema(
    "word",
    {
        "type": "object",
        "properties": {"word": {"type": "string"}},
        "required": ["word"],
        "additionalProperties": False,
    },
)
both_formats = pytest.mark.parametrize("api", ["responses", "chat"])


@both_formats
@pytest.mark.parametrize("name", ["temperature", "top_p"])
@pytest.mark.parametrize("is_named", [True, False], ids=["by param", "in the message"])
async def test_a_rejected_parameter_is_left_out_from_then_on(fake: Any, api: str, name: str, is_named: bool) -> None:
    message = f"Unsupported parameter: '{name}' is not supported with this model."
    refusal = fake.status(400, "not here", param=name) if is_named else fake.status(400, message)
    fake.plays(refusal, fake.reply("ok"))
    model = fake.model(api=api)
    first = await model.complete(fake.request())
    await model.complete(fake.request())
    await model.aclose()
    assert [name in seen.body for seen in fake.requests] == [True, False, False]
    assert first.requests == 2


async def test_a_model_that_rejects_two_parameters_gets_neither(fake: Any) -> None:
    fake.plays(fake.status(400, "'temperature'", param="temperature"), fake.status(400, "top_p"), fake.reply("ok"))
    model = fake.model()
    assert (await model.complete(fake.request())).text == "ok"
    await model.aclose()
    assert {"temperature", "top_p"}.isdisjoint(fake.requests[-1].body)


async def test_an_endpoint_that_rejects_everything_is_not_asked_forever(fake: Any) -> None:
    fake.plays(fake.status(400, "temperature top_p store max_output_tokens: all wrong"))
    model = fake.model()
    with pytest.raises(ModelRefused):
        await model.complete(fake.request())
    await model.aclose()
    assert len(fake.requests) == 5


@pytest.mark.parametrize(
    "message",
    [
        "Unsupported parameter: 'max_completion_tokens'. Use 'max_tokens' instead.",
        "Unrecognized request argument supplied: max_completion_tokens",
    ],
)
async def test_the_other_name_for_the_limit_of_a_reply_is_used(fake: Any, message: str) -> None:
    fake.plays(fake.status(400, message), fake.reply("ok"))
    model = fake.model(api="chat")
    await model.complete(fake.request(max_output_tokens=55))
    await model.aclose()
    assert fake.requests[1].body["max_tokens"] == 55
    assert "max_completion_tokens" not in fake.requests[1].body


@pytest.mark.parametrize("status", [404, 405, 501])
@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
async def test_auto_falls_back_to_chat_completions_and_remembers(fake: Any, status: int, is_streamed: bool) -> None:
    fake.plays(fake.raw(b'{"detail": "Not Found"}', status=status), fake.reply("ok"))
    model = fake.model(api="auto")
    listener = (lambda _piece: None) if is_streamed else None
    reply = await model.complete(fake.request(), on_text=listener)
    await model.complete(fake.request(), on_text=listener)
    await model.aclose()
    assert reply.text == "ok"
    assert [seen.is_chat for seen in fake.requests] == [False, True, True]


async def test_auto_stays_with_the_responses_api_where_there_is_one(fake: Any) -> None:
    quirks = Quirks()
    fake.plays(fake.reply("ok"), fake.raw(b"Not Found", status=404))
    model = fake.model(api="auto", quirks=quirks)
    await model.complete(fake.request())
    assert quirks.api == "responses"
    with pytest.raises(ModelRefused):
        await model.complete(fake.request())
    await model.aclose()
    assert not any(seen.is_chat for seen in fake.requests)


async def test_an_endpoint_with_neither_api_is_an_error_that_names_the_settings(fake: Any) -> None:
    fake.plays(fake.raw(b"Not Found", status=404))
    model = fake.model(api="auto")
    with pytest.raises(ModelRefused, match="Check LLM_API_BASE_URL and LLM_API"):
        await model.complete(fake.request())
    await model.aclose()
    assert len(fake.requests) == 2


@both_formats
@pytest.mark.parametrize(
    "message",
    ["'response_format' of type 'json_schema' is not supported", "Unknown parameter: 'text.format'", "json_schema: no"],
)
async def test_a_rejected_schema_goes_into_the_prompt_from_then_on(fake: Any, api: str, message: str) -> None:
    fake.plays(
        fake.status(400, message), fake.reply('Sure!\n```json\n{"word": "ano"}\n```'), fake.reply('{"word": "ne"}')
    )
    quirks = Quirks()
    model = StructuredModel(fake.model(api=api, quirks=quirks), quirks=quirks)
    first = await model.complete(fake.request(output=WORD))
    second = await model.complete(fake.request(output=WORD))
    await model.aclose()
    assert (first.text, second.text) == ('{"word": "ano"}', '{"word": "ne"}')
    for seen in fake.requests[1:]:
        assert "response_format" not in seen.body
        assert "text" not in seen.body
        assert '"additionalProperties":false' in str(seen.body)
    assert len(fake.requests) == 3


@both_formats
async def test_an_invalid_reply_is_repaired_once_with_the_errors(fake: Any, api: str) -> None:
    fake.plays(fake.reply('{"word": 7}'), fake.reply('{"word": "sedm"}'))
    quirks = Quirks()
    model = StructuredModel(fake.model(api=api, quirks=quirks), quirks=quirks)
    reply = await model.complete(fake.request(output=WORD))
    await model.aclose()
    assert reply.text == '{"word": "sedm"}'
    assert (reply.requests, reply.usage.input_tokens, reply.usage.output_tokens) == (2, 240, 14)
    assert "$.word: 7 is not of type 'string'" in str(fake.requests[1].body)
    assert not quirks.needs_schema_in_prompt


@both_formats
async def test_a_failed_repair_is_an_error(fake: Any, api: str) -> None:
    fake.plays(fake.reply('{"word": 7}'))
    quirks = Quirks()
    model = StructuredModel(fake.model(api=api, quirks=quirks), quirks=quirks)
    with pytest.raises(ModelReplyInvalid, match="even after a repair"):
        await model.complete(fake.request(output=WORD))
    await model.aclose()
    assert len(fake.requests) == 2


@both_formats
async def test_an_endpoint_that_ignores_schemas_gets_them_in_the_prompt_from_then_on(fake: Any, api: str) -> None:
    fake.plays(fake.reply("The word is ano."), fake.reply('{"word": "ano"}'))
    quirks = Quirks()
    model = StructuredModel(fake.model(api=api, quirks=quirks), quirks=quirks)
    assert (await model.complete(fake.request(output=WORD))).text == '{"word": "ano"}'
    await model.complete(fake.request(output=WORD))
    await model.aclose()
    assert ["must fit this JSON Schema" in str(seen.body) for seen in fake.requests] == [False, True, True]
