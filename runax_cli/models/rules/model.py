"""The rules model: one reply per role, computed from the messages of the request."""

import json
from collections.abc import Sequence
from typing import Any

from runax_cli.models.base import Message, ModelReply, ModelRequest, OnText, Role, ToolCall, ToolSchema, Usage
from runax_cli.models.rules.answering import QUERY, ToolResult, compose_answer, compose_plan, read_tool_result
from runax_cli.models.rules.reading import (
    MAX_FINDINGS,
    brief,
    focus_of,
    label_texts,
    numbered_lines,
    records_of,
    relevant,
)
from runax_cli.models.rules.sql import read_table, select_statement
from runax_cli.models.rules.tool_selection import KnownEntity, WantedCall, entities_of, next_calls
from runax_cli.models.rules.words import Clues, content_stems, read_clues, topic_stems

NAME = "rules"
NOTICE = (
    "The model is 'rules': offline, it matches words and does not understand language. Set LLM_NAME for a real one."
)
FINDERS = frozenset({"find_tools", "runax_find_tools"})
OVER_DATA = frozenset({QUERY, "label_dataset", "read_dataset"})
_STREAM_CHARS = 80


class RulesModel:
    """Replies by rules, immediately and free of charge; the same request gives the same reply."""

    name = NAME

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelReply:
        """See `Model.complete`. Text is streamed to `on_text` in pieces."""
        reply = self.reply(request)
        if on_text is not None:
            for start in range(0, len(reply.text), _STREAM_CHARS):
                on_text(reply.text[start : start + _STREAM_CHARS])
        return reply

    def reply(self, request: ModelRequest) -> ModelReply:
        """The reply as a function of the request."""
        match request.role:
            case Role.REDUCER:
                return _reply(json.dumps(_reduced(request), ensure_ascii=False))
            case Role.SUMMARIZER:
                return _reply("\n".join(_brief_lines(request.messages)))
            case Role.PLANNER:
                return _reply(json.dumps(compose_plan(request), ensure_ascii=False))
            case Role.LABELLER:
                return _reply(json.dumps(label_texts(request.messages[-1].content), ensure_ascii=False))
            case Role.REVIEWER:
                # Words that match are no proof, so there is no verdict.
                return _reply('{"verdicts": []}')
            case Role.AGENT:
                return _agent(request)

    async def aclose(self) -> None:
        """Nothing is open."""


def _reply(text: str, calls: tuple[ToolCall, ...] = ()) -> ModelReply:
    return ModelReply(text=text, model=NAME, tool_calls=calls, usage=Usage(is_reported=False), cost_usd=0.0)


def _agent(request: ModelRequest) -> ModelReply:
    question, turn = _turn(request.messages)
    clues = read_clues(question)
    results = [call for call in _tool_results(turn) if call.tool not in FINDERS]
    entities = [e for call in results for e in entities_of(call.tool, [r for _, r in call.records], clues)]
    done = frozenset(WantedCall(call.tool, call.arguments).key for call in results)
    tools = [tool for tool in request.tools if tool.name not in OVER_DATA | FINDERS]
    wishes = next_calls(clues, tools, entities, done) if _needs_call(results, entities, tools) else []
    if not wishes:
        wishes = _figures(clues, results, request.tools) or _search(
            clues, results, request.tools, n_calls=len(_tool_results(turn))
        )
    if wishes:
        calls = tuple(
            ToolCall(f"call_{len(results) + i}", w.tool, json.dumps(w.arguments, ensure_ascii=False))
            for i, w in enumerate(wishes, 1)
        )
        return _reply("", calls)
    return _reply(compose_answer(clues, _relevant_results(results, clues)))


def _search(
    clues: Clues, results: Sequence[ToolResult], tools: Sequence[ToolSchema], *, n_calls: int
) -> list[WantedCall]:
    """One search for further tools if no offered one matches; `n_calls` is the number of calls in this turn."""
    finder = next((tool.name for tool in tools if tool.name in FINDERS), None)
    words = " ".join(content_stems(clues.text))
    return [WantedCall(finder, {"query": words})] if finder and words and not results and not n_calls else []


def _figures(clues: Clues, results: Sequence[ToolResult], tools: Sequence[ToolSchema]) -> list[WantedCall]:
    """A query over the dataset of the last call, if the question asks for a figure."""
    if not results or not any(tool.name == QUERY for tool in tools):
        return []
    last = results[-1]
    sheet = read_table(last.envelope)
    sql = select_statement(clues.text, sheet, last.arguments) if sheet is not None else None
    return [WantedCall(QUERY, {"sql": sql})] if sql else []


def _needs_call(results: Sequence[ToolResult], entities: Sequence[KnownEntity], tools: Sequence[ToolSchema]) -> bool:
    """Whether a call is needed: the first one, or one with an id that earlier calls found."""
    return bool(tools) and (not results or (bool(entities) and len(results) < len(tools)))


def _relevant_results(results: Sequence[ToolResult], clues: Clues) -> list[ToolResult]:
    """The results without lookups that only returned an id for a later call."""
    if clues.wants_everything or len(results) < 2:
        return list(results)
    last = results[-1]
    return [last] if last.envelope.get("status") in {"success", "partial", "empty"} else list(results)


def _turn(messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    """The question of this turn, and the messages after it."""
    at = max((i for i, m in enumerate(messages) if m.role == "user" and _is_question(messages, i)), default=0)
    return (messages[at].content if messages else ""), messages[at + 1 :]


def _is_question(messages: Sequence[Message], at: int) -> bool:
    """Whether a user message is a question: right after a tool result or a question, it is an instruction of runax."""
    return at == 0 or messages[at - 1].role not in ("tool", "user")


def _tool_results(turn: Sequence[Message]) -> list[ToolResult]:
    calls = {call.id: call for message in turn for call in message.tool_calls}
    messages = [m for m in turn if m.role == "tool" and m.tool_call_id in calls]
    return [
        read_tool_result(calls[m.tool_call_id or ""].name, calls[m.tool_call_id or ""].arguments, m.content)
        for m in messages
    ]


def _reduced(request: ModelRequest) -> dict[str, Any]:
    message = next((m.content for m in request.messages if m.role == "user"), "")
    if request.output is not None and request.output.name == "merged_findings":
        return _merged(message)
    records = records_of(message)
    focus = focus_of(message)
    found = relevant(focus, records)[:MAX_FINDINGS]
    findings = [{"statement": p.statement, "records": [int(p.ref)], "quote": p.quote} for p in found]
    if not findings and _is_general(focus):
        findings = [{"statement": brief(r), "records": [int(ref)], "quote": None} for ref, r in records[:2] if brief(r)]
    return {"findings": findings, "nothing_relevant": not findings}


def _is_general(focus: str) -> bool:
    clues: Clues = read_clues(focus)
    return clues.wants_everything or not topic_stems(focus)


def _merged(message: str) -> dict[str, Any]:
    """The more relevant half of the findings, each with its source."""
    findings = list(numbered_lines(message, "findings"))
    best = [p.ref for p in relevant(focus_of(message), findings)] or [ref for ref, _ in findings]
    kept = set(best[: max(1, len(findings) // 2)])
    return {"findings": [{"statement": text, "sources": [ref]} for ref, text in findings if ref in kept]}


def _brief_lines(messages: Sequence[Message]) -> list[str]:
    return [f"{m.role}: {m.content[:200]}" for m in messages if m.role in {"user", "assistant"} and m.content]
