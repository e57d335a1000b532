"""Summarizes the older part of a conversation once it exceeds a share of the effective context.

References and identifiers are collected by code and added to the summary, so that none depends on the model.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

from runax_cli.agent import prompts
from runax_cli.agent.evidence.citations import parse_citations
from runax_cli.agent.loop.context import TurnContext
from runax_cli.core.errors import BudgetExhausted, ModelError
from runax_cli.core.event_types import TokensChanged, Warned
from runax_cli.core.events import Emitter
from runax_cli.core.results import counted
from runax_cli.core.untrusted_text import escape_for_prompt
from runax_cli.executor.token_fitting import truncate_middle
from runax_cli.memory.conversation import WorkingMemory
from runax_cli.models.base import Message, Model, ModelRequest, Role
from runax_cli.models.tokens import CalibratedCounter, measure

SUMMARY_TOKENS = 1024
SUMMARY_MARK = "[Previous conversation summary]"
_MIN_MESSAGE_TOKENS = 64
_MAX_REFERENCES = 200
_MAX_IDENTIFIERS = 100
_IDENTIFIER = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
    r"|\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}\b"
    r"|\b[A-Za-z]{1,12}[-_][A-Za-z0-9_-]*\d[A-Za-z0-9_-]{0,40}\b"
    r"|\"\w{0,20}[iI][dD]\"\s*:\s*(?:\"[^\"]{1,60}\"|\d{1,18})"
)
_DATASET_FIELD = re.compile(r"\"(?:dataset|ref)\"\s*:\s*\"([A-Za-z]\w{0,60})\"")


@dataclass(frozen=True, slots=True)
class PreservedReferences:
    """References and identifiers that a summary must not lose, in order of appearance."""

    references: tuple[str, ...]
    identifiers: tuple[str, ...]

    def lines(self) -> str:
        """The lines below a summary; "" if there is nothing to preserve."""
        named = (("References", self.references), ("Identifiers", self.identifiers))
        return "\n".join(f"{title}: {', '.join(values)}" for title, values in named if values)


def collect_references(messages: Sequence[Message]) -> PreservedReferences:
    """Collect references and identifiers from messages; the latest ones if there are too many."""
    references: dict[str, None] = {}
    identifiers: dict[str, None] = {}
    for message in messages:
        cited = parse_citations(message.content)
        named = [f"{one.dataset}#{one.row}" for one in cited.records] + [*cited.datasets, *cited.queries]
        for name in named + _DATASET_FIELD.findall(message.content):
            references[name] = references.pop(name, None)
        for found in _IDENTIFIER.findall(message.content):
            identifiers[found] = identifiers.pop(found, None)
    return PreservedReferences(tuple(references)[-_MAX_REFERENCES:], tuple(identifiers)[-_MAX_IDENTIFIERS:])


def summary_message(summary: str, preserved: PreservedReferences) -> Message:
    """The message that replaces the older part."""
    text = prompts.SUMMARY_BLOCK.fill(
        mark=SUMMARY_MARK, summary=escape_for_prompt(summary.strip()), kept=escape_for_prompt(preserved.lines())
    )
    return Message("user", text.rstrip())


def summary_request(
    older: Sequence[Message], question: str, counter: CalibratedCounter, *, effective_tokens: int, run_id: str
) -> ModelRequest:
    """The request for a summary, within `effective_tokens`: the middle of long messages is cut out. Blocking."""
    empty = _request("", question, run_id)
    free_tokens = effective_tokens - SUMMARY_TOKENS - measure(empty, counter).bound(counter)
    each = max(_MIN_MESSAGE_TOKENS, free_tokens // max(1, len(older)) - _MIN_MESSAGE_TOKENS // 2)
    lines = [
        f"{message.role}: {truncate_middle(_message_text(message), counter.bound, max_tokens=each)}"
        for message in older
    ]
    shown = truncate_middle("\n".join(lines), counter.bound, max_tokens=max(1, free_tokens))
    return _request(escape_for_prompt(shown), question, run_id)


def _request(conversation: str, question: str, run_id: str) -> ModelRequest:
    user = prompts.SUMMARY_USER.fill(question=question, conversation=conversation)
    messages = (Message("system", prompts.SUMMARY_SYSTEM.text), Message("user", user))
    return ModelRequest(role=Role.SUMMARIZER, messages=messages, max_output_tokens=SUMMARY_TOKENS, run_id=run_id)


def _message_text(message: Message) -> str:
    calls = " ".join(f"{call.name}({call.arguments})" for call in message.tool_calls)
    return " ".join(part for part in (message.content, calls) if part)


class Summarizer:
    """Summarizes the conversation of one sub-question. After one failure it does not try again."""

    def __init__(
        self,
        model: Model,
        counter: CalibratedCounter,
        *,
        question: str,
        effective_tokens: int,
        emitter: Emitter,
        run_id: str,
    ) -> None:
        self._model, self._counter, self._question = model, counter, question
        self._effective, self._emitter, self._run_id = effective_tokens, emitter, run_id
        self._has_failed = False

    async def summarize_if_long(self, context: TurnContext, working: WorkingMemory) -> tuple[str, ...]:
        """Replace the older part of a long conversation by a summary. Returns the calls with dropped results."""
        older = None if self._has_failed else await context.older_messages(working)
        if older is None:
            return ()
        request = await asyncio.to_thread(
            summary_request,
            older.messages,
            self._question,
            self._counter,
            effective_tokens=self._effective,
            run_id=self._run_id,
        )
        try:
            reply = await self._model.complete(request)
        except (ModelError, BudgetExhausted) as error:
            self._has_failed = True
            self._emitter.emit(Warned(code="not_summarized", text=f"the conversation could not be summarized: {error}"))
            return ()
        summary = summary_message(reply.text, await asyncio.to_thread(collect_references, older.messages))
        after, dropped = await context.replace_with_summary(older, summary, working)
        self._emitter.emit(TokensChanged(before=older.used_tokens, after=after))
        sizes = f"{older.used_tokens:,} -> {after:,} tokens"
        text = f"replaced {counted(len(older.messages), 'older message')} by a summary ({sizes})"
        self._emitter.emit(Warned(code="summarized", text=text))
        return dropped
