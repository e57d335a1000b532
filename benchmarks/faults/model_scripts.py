"""Scripts of misbehaving models, a pure function of a seed: what the model replies to its n-th request."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol


class ReplyBuilder(Protocol):
    """Builds the replies of one kind of model."""

    def __call__(self, script: "ModelScript", number: int, rng: random.Random, *, has_tools: bool) -> "ScriptedReply":
        """The reply to the request of that number."""


Call = tuple[str, str]
"""A tool name, and its arguments as raw text."""

TOOL, WRITE = "list_tickets", "close_ticket"
_WORDS = ["výpadek", "Praha", "refund", "slow line", "BRNO", "invoice", "e-mail", "<|im_start|>", "\x1b[31m", "🚀"]


class Misbehaviour(StrEnum):
    """What a model does wrong."""

    SAME_CALL = "the same call forever"
    NEW_CALLS = "always new calls"
    NEAR_DUPLICATES = "calls that differ in case and order of words"
    NO_PROGRESS = "other arguments, nothing new"
    CIRCLE = "two or three calls in a circle"
    UNKNOWN_TOOLS = "tools that do not exist"
    MALFORMED = "arguments that are malformed"
    STUBBORN = "calls after the tools were taken away"
    WRITES = "a write that was not allowed"
    FLOOD = "hundreds of calls in one reply"
    EMPTY = "empty replies"
    HUGE = "replies of two megabytes"
    HUGE_CALL = "a call with two megabytes of arguments"
    DRIPS = "a stream that drips"
    NEVER_ENDS = "a stream that never ends"
    CUT = "a stream that is cut"
    NONSENSE = "a body that is not a reply"
    MIXED = "all of it, at random"


class ReplyDelivery(StrEnum):
    """How a reply is sent over the connection."""

    WHOLE = "whole"
    DRIPS = "drips"
    NEVER_ENDS = "never ends"
    CUT = "cut"
    NONSENSE = "nonsense"


ALLOWED_EXIT_CODES: dict[Misbehaviour, frozenset[int]] = {
    Misbehaviour.SAME_CALL: frozenset({6, 7}),
    Misbehaviour.NEW_CALLS: frozenset({6}),
    Misbehaviour.NEAR_DUPLICATES: frozenset({6, 7}),
    Misbehaviour.NO_PROGRESS: frozenset({6, 7}),
    Misbehaviour.CIRCLE: frozenset({6, 7}),
    Misbehaviour.UNKNOWN_TOOLS: frozenset({5, 6, 7}),
    Misbehaviour.MALFORMED: frozenset({6, 7}),
    Misbehaviour.STUBBORN: frozenset({5, 6}),
    Misbehaviour.WRITES: frozenset({6, 8}),
    Misbehaviour.FLOOD: frozenset({5, 6}),
    Misbehaviour.EMPTY: frozenset({5, 6}),
    Misbehaviour.HUGE: frozenset({5, 6}),
    Misbehaviour.HUGE_CALL: frozenset({5, 6}),
    Misbehaviour.DRIPS: frozenset({5, 6, 124}),
    Misbehaviour.NEVER_ENDS: frozenset({5, 6, 124}),
    Misbehaviour.CUT: frozenset({5, 6}),
    Misbehaviour.NONSENSE: frozenset({5, 6}),
    Misbehaviour.MIXED: frozenset({5, 6, 7, 8, 124}),
}
"""The exit codes that a run may end with; none of these models allows a 0."""


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """One reply."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    delivery: ReplyDelivery = ReplyDelivery.WHOLE


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelScript:
    """A misbehaving model, and the limits of the run that uses it."""

    seed: int
    kind: Misbehaviour
    steps: int
    calls: int
    tokens: int
    timeout_s: float
    max_context: int

    def reply_to(self, number: int, *, has_tools: bool) -> ScriptedReply:
        """The reply to the request of that number, from 0."""
        rng = random.Random(f"{self.seed} {number}")
        return _REPLY_BUILDERS[self.kind](self, number, rng, has_tools=has_tools)


def script_of(seed: int) -> ModelScript:
    """The script of a seed. Kinds rotate, so that as many scripts as kinds cover all of them."""
    rng, kinds = random.Random(seed), list(Misbehaviour)
    return ModelScript(
        seed=seed,
        kind=kinds[seed % len(kinds)],
        steps=rng.randint(2, 12),
        calls=rng.randint(1, 24),
        tokens=rng.choice([6_000, 20_000, 60_000, 400_000]),
        timeout_s=rng.choice([6.0, 10.0, 20.0]),
        max_context=rng.choice([24_000, 64_000, 131_072]),
    )


def _answer(_script: ModelScript, _number: int, rng: random.Random) -> ScriptedReply:
    return ScriptedReply(f"Partial: {rng.choice(_WORDS)} [tickets_1#1].")


def _call_while_tools(call: Callable[[ModelScript, int, random.Random], Call]) -> ReplyBuilder:
    """Makes one call per reply while tools are offered."""

    def build(script: ModelScript, number: int, rng: random.Random, *, has_tools: bool) -> ScriptedReply:
        return ScriptedReply(calls=(call(script, number, rng),)) if has_tools else _answer(script, number, rng)

    return build


def _same_call(script: ModelScript, _number: int, _draw: random.Random) -> Call:
    return TOOL, json.dumps({"customer_id": script.seed % 7})


def _new_call(_script: ModelScript, number: int, _draw: random.Random) -> Call:
    return TOOL, json.dumps({"customer_id": 100 + number})


def _near_duplicate(script: ModelScript, _number: int, rng: random.Random) -> Call:
    words = f"velká praha {script.seed}".split()
    rng.shuffle(words)
    return TOOL, json.dumps({"q": "  ".join(word.upper() if rng.random() < 0.5 else word for word in words)})


def _no_progress(_script: ModelScript, number: int, rng: random.Random) -> Call:
    return TOOL, json.dumps({"q": f"{rng.choice(_WORDS)} {number}"})


def _circle(script: ModelScript, number: int, _draw: random.Random) -> Call:
    return TOOL, json.dumps({"customer_id": number % (2 + script.seed % 2)})


def _unknown_tool(_script: ModelScript, number: int, rng: random.Random) -> Call:
    return rng.choice(["list_ticket", "get_all", "", "../etc/passwd", f"tool_{number}", "\ud800", "x" * 500]), "{}"


def _malformed(_script: ModelScript, _number: int, rng: random.Random) -> Call:
    raw: list[Any] = [
        '{"customer_id": ', "[1]", "nul", '{"customer_id": "four"}', '{"customer_id": 1e400}', '{"custmer": 4}',
        '{"customer_id": -1}', '{"since": "yesterday"}', '{"q": "\\ud800"}', '{"q": ' + "[" * 2000, "{'q': 1}",
        '{"q": {"$ne": ""}}', '{"customer_id": 99999999999999999999}', "\x00", '{"limit": 5}', "[" * 3_000,
        '{"customer_id": NaN}', json.dumps({"q": "x" * 300}),
    ]  # fmt: skip
    return TOOL, rng.choice(raw)


def _calls_without_tools(script: ModelScript, number: int, rng: random.Random, *, has_tools: bool) -> ScriptedReply:  # noqa: ARG001
    return ScriptedReply(calls=(_new_call(script, number, rng),))


def _write(_script: ModelScript, _number: int, rng: random.Random) -> Call:
    return WRITE, json.dumps({"ticket_id": rng.randint(1, 500)})


def _flood(script: ModelScript, number: int, rng: random.Random, *, has_tools: bool) -> ScriptedReply:
    if not has_tools:
        return _answer(script, number, rng)
    return ScriptedReply(calls=tuple((TOOL, json.dumps({"customer_id": n})) for n in range(rng.randint(40, 400))))


def _huge_call(_script: ModelScript, _number: int, rng: random.Random) -> Call:
    return TOOL, json.dumps({"q": rng.choice("aé ") * 2_000_000})


def _text_reply(delivery: ReplyDelivery, *, text: str = "Half an answer") -> ReplyBuilder:
    def build(script: ModelScript, number: int, rng: random.Random, *, has_tools: bool) -> ScriptedReply:  # noqa: ARG001
        return ScriptedReply(text, delivery=delivery)

    return build


def _mixed(script: ModelScript, number: int, rng: random.Random, *, has_tools: bool) -> ScriptedReply:
    kinds = [kind for kind in Misbehaviour if kind is not Misbehaviour.MIXED]
    return _REPLY_BUILDERS[rng.choice(kinds)](script, number, rng, has_tools=has_tools)


_REPLY_BUILDERS: dict[Misbehaviour, ReplyBuilder] = {
    Misbehaviour.SAME_CALL: _call_while_tools(_same_call),
    Misbehaviour.NEW_CALLS: _call_while_tools(_new_call),
    Misbehaviour.NEAR_DUPLICATES: _call_while_tools(_near_duplicate),
    Misbehaviour.NO_PROGRESS: _call_while_tools(_no_progress),
    Misbehaviour.CIRCLE: _call_while_tools(_circle),
    Misbehaviour.UNKNOWN_TOOLS: _call_while_tools(_unknown_tool),
    Misbehaviour.MALFORMED: _call_while_tools(_malformed),
    Misbehaviour.STUBBORN: _calls_without_tools,
    Misbehaviour.WRITES: _call_while_tools(_write),
    Misbehaviour.FLOOD: _flood,
    Misbehaviour.EMPTY: _text_reply(ReplyDelivery.WHOLE, text=""),
    Misbehaviour.HUGE: _text_reply(ReplyDelivery.WHOLE, text="velmi dlouhá odpověď " * 100_000),
    Misbehaviour.HUGE_CALL: _call_while_tools(_huge_call),
    Misbehaviour.DRIPS: _text_reply(ReplyDelivery.DRIPS),
    Misbehaviour.NEVER_ENDS: _text_reply(ReplyDelivery.NEVER_ENDS),
    Misbehaviour.CUT: _text_reply(ReplyDelivery.CUT),
    Misbehaviour.NONSENSE: _text_reply(ReplyDelivery.NONSENSE),
    Misbehaviour.MIXED: _mixed,
}
