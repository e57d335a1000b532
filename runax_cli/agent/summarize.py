"""Summaries: the older part of a conversation in a few words, once it takes too much of the context.

Knows where a conversation may be cut, what must not be lost (references, datasets, results of queries, identifiers:
they are collected by code, whatever the model writes), and how a summary is asked for. Knows no loop and no budget.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from runax_cli.agent import prompts
from runax_cli.agent.references import cited_in
from runax_cli.executor.fence import fenced
from runax_cli.executor.reduce import beginning_and_end
from runax_cli.models.base import Message, ModelRequest, Role
from runax_cli.models.tokens import CalibratedCounter, measure

SHARE = 0.7
MOST_TOKENS = 40_000
UNTOUCHED = 4
"""The last messages are never summarised."""
OUTPUT_TOKENS = 1024
MARK = "[Previous conversation summary]"
_LEAST_A_MESSAGE = 64
_MOST_REFERENCES = 200
_MOST_IDENTIFIERS = 100
_IDENTIFIER = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
    r"|\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}\b"
    r"|\b[A-Za-z]{1,12}[-_][A-Za-z0-9_-]*\d[A-Za-z0-9_-]{0,40}\b"
    r"|\"\w{0,20}[iI][dD]\"\s*:\s*(?:\"[^\"]{1,60}\"|\d{1,18})"
)
_DATASET = re.compile(r"\"(?:dataset|ref)\"\s*:\s*\"([A-Za-z]\w{0,60})\"")


@dataclass(frozen=True, slots=True)
class Kept:
    """What a summary may not lose, in the order in which it was named."""

    references: tuple[str, ...]
    identifiers: tuple[str, ...]

    def lines(self) -> str:
        """As it stands under a summary; nothing where there is nothing."""
        named = (("References", self.references), ("Identifiers", self.identifiers))
        return "\n".join(f"{title}: {', '.join(values)}" for title, values in named if values)


def most_tokens(effective_tokens: int) -> int:
    """Above so many prompt tokens the older part is summarised."""
    return min(int(effective_tokens * SHARE), MOST_TOKENS)


def cut_of(messages: Sequence[Message]) -> int:
    """How many messages, from the first, are the older part. A call is never parted from its results."""
    cut = max(0, len(messages) - UNTOUCHED)
    while cut and messages[cut].role == "tool":
        cut -= 1
    return cut


def kept_of(messages: Sequence[Message]) -> Kept:
    """References and identifiers in messages; the latest ones where there are too many."""
    references: dict[str, None] = {}
    identifiers: dict[str, None] = {}
    for message in messages:
        cited = cited_in(message.content)
        named = [f"{one.dataset}#{one.row}" for one in cited.records] + [*cited.datasets, *cited.queries]
        for name in named + _DATASET.findall(message.content):
            references[name] = references.pop(name, None)
        for found in _IDENTIFIER.findall(message.content):
            identifiers[found] = identifiers.pop(found, None)
    return Kept(tuple(references)[-_MOST_REFERENCES:], tuple(identifiers)[-_MOST_IDENTIFIERS:])


def block_of(summary: str, kept: Kept) -> Message:
    """The one message that stands for the older part."""
    text = prompts.SUMMARY_BLOCK.fill(mark=MARK, summary=fenced(summary.strip()), kept=fenced(kept.lines()))
    return Message("user", text.rstrip())


def request_for(
    older: Sequence[Message], question: str, counter: CalibratedCounter, *, effective_tokens: int, run_id: str
) -> ModelRequest:
    """The request for a summary, within `effective_tokens`: long messages lose their middle. Blocking: it counts."""
    empty = _request("", question, run_id)
    room = effective_tokens - OUTPUT_TOKENS - measure(empty, counter).bound(counter)
    each = max(_LEAST_A_MESSAGE, room // max(1, len(older)) - _LEAST_A_MESSAGE // 2)
    lines = [f"{message.role}: {beginning_and_end(_said(message), counter, most_tokens=each)}" for message in older]
    shown = beginning_and_end("\n".join(lines), counter, most_tokens=max(1, room))
    return _request(fenced(shown), question, run_id)


def _request(conversation: str, question: str, run_id: str) -> ModelRequest:
    user = prompts.SUMMARY_USER.fill(question=question, conversation=conversation)
    messages = (Message("system", prompts.SUMMARY_SYSTEM.text), Message("user", user))
    return ModelRequest(role=Role.SUMMARIZER, messages=messages, max_output_tokens=OUTPUT_TOKENS, run_id=run_id)


def _said(message: Message) -> str:
    calls = " ".join(f"{call.name}({call.arguments})" for call in message.tool_calls)
    return " ".join(part for part in (message.content, calls) if part)
