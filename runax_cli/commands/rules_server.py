"""The rules model as the answer of a model endpoint: what arrives on the wire becomes a request, its reply goes back.

Knows both shapes. Sees what any model would be sent and nothing else.
"""

import asyncio

from mock_api.llm_server import WireMessage, WireReply, WireRequest, WireToolCall
from runax_cli.models.base import Message, ModelReply, ModelRequest, OutputSchema, Role, ToolCall, ToolSchema
from runax_cli.models.rules import RulesModel
from runax_cli.models.tokens import O200kCounter, compact_json, request_text

_MODEL = RulesModel()
_COUNTER = O200kCounter()


async def answer(wire: WireRequest) -> WireReply:
    """What the rules model replies, with its tokens counted as an endpoint would report them."""
    return await asyncio.to_thread(_answered, wire)


def _answered(wire: WireRequest) -> WireReply:
    request = _request(wire)
    reply = _MODEL.reply(request)
    return WireReply(
        text=reply.text,
        tool_calls=tuple(WireToolCall(call.name, call.arguments, call.id) for call in reply.tool_calls),
        input_tokens=_COUNTER.count(request_text(request)),
        output_tokens=_COUNTER.count(_said(reply)),
    )


def _said(reply: ModelReply) -> str:
    return reply.text + "".join(compact_json([call.name, call.arguments]) for call in reply.tool_calls)


def _request(wire: WireRequest) -> ModelRequest:
    known = {role.value: role for role in Role}
    schema = wire.output_schema
    return ModelRequest(
        role=known.get(wire.role, Role.AGENT),
        messages=tuple(map(_message, wire.messages)),
        tools=tuple(ToolSchema(tool.name, tool.description, tool.parameters) for tool in wire.tools),
        output=None if schema is None else OutputSchema(schema.name, schema.schema),
        run_id=wire.run,
    )


def _message(wire: WireMessage) -> Message:
    calls = tuple(ToolCall(call.id, call.name, call.arguments) for call in wire.tool_calls)
    match wire.role:
        case "assistant":
            return Message("assistant", wire.content, tool_calls=calls)
        case "tool":
            return Message("tool", wire.content, tool_call_id=wire.tool_call_id)
        case "user":
            return Message("user", wire.content)
        case _:
            return Message("system", wire.content)
