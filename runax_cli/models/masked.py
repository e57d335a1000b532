"""A model that is sent no credential, wherever in a request one may stand.

The last gate before a request leaves: a question, an argument, an error of a server or a description may hold one.
Knows messages and tools. Knows nothing of where their text comes from.
"""

import json
from dataclasses import replace

from runax_cli.models.base import Message, Model, ModelReply, ModelRequest, OnText, ToolSchema
from runax_cli.telemetry.keys import KeyMask


class MaskedModel:
    """Wraps a model; what it is sent is masked."""

    def __init__(self, inner: Model, mask: KeyMask) -> None:
        self._inner, self._mask = inner, mask

    @property
    def name(self) -> str:
        """The name of the model behind."""
        return self._inner.name

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelReply:
        """See `Model.complete`."""
        masked = replace(
            request,
            messages=tuple(self._message(message) for message in request.messages),
            tools=tuple(self._tool(tool) for tool in request.tools),
        )
        return await self._inner.complete(masked, on_text=on_text)

    async def aclose(self) -> None:
        """Close the model behind."""
        await self._inner.aclose()

    def _message(self, message: Message) -> Message:
        calls = tuple(replace(call, arguments=self._mask.text(call.arguments)) for call in message.tool_calls)
        return replace(message, content=self._mask.text(message.content), tool_calls=calls)

    def _tool(self, tool: ToolSchema) -> ToolSchema:
        told = json.dumps(tool.parameters, ensure_ascii=False)
        masked = self._mask.text(told)
        parameters = tool.parameters if masked == told else json.loads(masked)
        return replace(tool, description=self._mask.text(tool.description), parameters=parameters)
