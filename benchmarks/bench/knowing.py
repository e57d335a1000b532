"""The oracle model: answers of a model endpoint if the right plan, the right SQL and the true labels are known.

It measures the errors, tokens and time that the architecture itself adds, free of charge and repeatably. `moves`
decides what is done in a conversation, `truth` the labels.
"""

import asyncio
import json
from dataclasses import dataclass, field

from adapters.json_text import compact_json
from benchmarks.bench.moves import move_of
from benchmarks.bench.script import Scripts, folded
from benchmarks.bench.truth import Truth
from mock_api.llm_server import WireCompletion, WireRequest
from runax_cli.models.tokens import O200kCounter

_NOTHING = '{"findings":[],"nothing_relevant":true}'
_PROSE_CHARS = 600


@dataclass(slots=True, kw_only=True)
class Knowing:
    """An `answer` for a model server. Scripts and truth can be replaced; every reply waits `latency_s`."""

    scripts: Scripts
    truth: Truth
    latency_s: float = 0.0
    _counter: O200kCounter = field(default_factory=O200kCounter)
    _counted: dict[str, int] = field(default_factory=dict)

    async def answer(self, wire: WireRequest) -> WireCompletion:
        """Return the reply, with its tokens counted as an endpoint would report them."""
        if self.latency_s:
            await asyncio.sleep(self.latency_s)
        return await asyncio.to_thread(self._answered, wire)

    def _answered(self, wire: WireRequest) -> WireCompletion:
        reply = self._reply(wire)
        said = reply.text + "".join(compact_json([call.name, call.arguments]) for call in reply.tool_calls)
        return WireCompletion(
            text=reply.text,
            tool_calls=reply.tool_calls,
            input_tokens=self._input_tokens(wire),
            output_tokens=self._counter.count(said),
        )

    def _reply(self, wire: WireRequest) -> WireCompletion:
        last = wire.messages[-1].content if wire.messages else ""
        match wire.role:
            case "planner":
                return WireCompletion(text=self._plan(last))
            case "labeller":
                return WireCompletion(text=self.truth.reply(last))
            case "reducer":
                # The plain agent requests prose, runax findings in a schema.
                return WireCompletion(text=_prose(last) if wire.output_schema is None else _NOTHING)
            case _:
                move = move_of(wire, self.scripts)
                return WireCompletion(text=move.text, tool_calls=move.calls)

    def _plan(self, request: str) -> str:
        """The parts of a question; the question itself if it is single."""
        question = request.partition("QUESTION:\n")[2].strip()
        script = self.scripts.get(folded(question))
        parts = (script.parts or (script.text,)) if script is not None else (question,)
        tools = (
            [sorted({fetch.tool for fetch in step.fetches}) for step in script.steps] if script is not None else [[]]
        )
        told = [
            {"question": part, "need": "compute", "after": [], "must_contain": "", "tools": named}
            for part, named in zip(parts, tools, strict=True)
        ]
        return json.dumps({"parts": told}, ensure_ascii=False)

    def _input_tokens(self, wire: WireRequest) -> int:
        messages = (
            f"{m.role}\n{m.content}\n{m.tool_call_id or ''}"
            + "".join(f"\n{call.id} {call.name} {call.arguments}" for call in m.tool_calls)
            for m in wire.messages
        )
        tools = "\n".join(f"{t.name} {t.description}\n{compact_json(t.parameters)}" for t in wire.tools)
        output = "" if wire.output_schema is None else compact_json(wire.output_schema.schema)
        return sum(map(self._count, ("\n".join(messages), tools, output)))

    def _count(self, text: str) -> int:
        """Count tokens; repeated texts, such as the tools, are counted once."""
        if text not in self._counted:
            if len(self._counted) > 64:
                self._counted.clear()
            self._counted[text] = self._counter.count(text)
        return self._counted[text]


def _prose(request: str) -> str:
    """The prose reduction of a page: some sentences made of its beginning."""
    return "This page says: " + folded(request.partition("\n\n")[2])[:_PROSE_CHARS]
