"""The planner: one structured request that takes a question apart, and one that changes a plan after a result.

Knows the requests, their schemas and how a reply becomes parts. Whether a plan is sound is decided in `plan`; when to
ask is decided by whoever holds the parts. A planner that fails costs the plan and never the answer.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from runax_cli.agent import prompts
from runax_cli.agent.planning.plan import MOST_PARTS, Plan, SubQuestion, planned, revised, single
from runax_cli.core.errors import BudgetExhausted, ModelError
from runax_cli.core.untrusted_text import escape_for_prompt
from runax_cli.memory.conversation import History
from runax_cli.models.base import Message, Model, ModelRequest, OutputSchema, Role, ToolSchema
from runax_cli.models.tokens import CalibratedCounter, bound_off_loop

MOST_OUTPUT_TOKENS = 1024
MOST_TOOLS = 40
TOOL_CHARS = 80
_HISTORY_SHARE = 8
_QUESTION_SHARE = 2

_FIELDS: dict[str, Any] = {
    "question": {"type": "string"},
    "need": {"type": "string", "enum": ["read", "compute"]},
    "after": {"type": "array", "items": {"type": "integer"}},
    "must_contain": {"type": "string"},
}


def _schema(name: str, fields: dict[str, Any]) -> OutputSchema:
    part = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    parts = {"parts": {"type": "array", "items": part}}
    whole = {"type": "object", "properties": parts, "required": ["parts"], "additionalProperties": False}
    return OutputSchema(name, whole)


PLAN = _schema("plan", _FIELDS)
REVISION = _schema("plan_revision", {"number": {"type": "integer"}} | _FIELDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFacts:
    """What is known of one part, in words, for the planner."""

    number: int
    question: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Planner:
    """One planner model, bound to one run. `effective_tokens` is what any one request may use.

    `more_tools` is how many there are beside `tools`.
    """

    model: Model
    history: History
    tools: Sequence[ToolSchema]
    counter: CalibratedCounter
    effective_tokens: int
    today: str
    run_id: str
    more_tools: int = 0

    async def plan(self, question: str) -> Plan:
        """The plan of a question; the question as a single one, with the reason among `repairs`, where none is had."""
        if await bound_off_loop(self.counter, question) > self.effective_tokens // _QUESTION_SHARE:
            return single(question, why="it is too long for the planner")
        try:
            reply = await self._asked(prompts.PLANNER_USER.fill(question=question), PLAN)
        except (ModelError, BudgetExhausted) as error:
            return single(question, why="the planner failed", repairs=[f"no plan could be had: {error}"])
        parts = parts_of(reply)
        return planned(question, [part for _, part in parts])

    async def revise(self, plan: Plan, told: Sequence[KnownFacts], *, why: str, open_parts: Collection[int]) -> Plan:
        """The plan after a result; the same one where nothing has to change or no revision can be had."""
        shown = escape_for_prompt("\n".join(f"{part.number}. {part.question}\n   {part.state}" for part in told))
        numbers = ", ".join(str(number) for number in sorted(open_parts))
        user = prompts.PLANNER_REVISE.fill(question=plan.question, parts=shown, why=why, open=numbers)
        try:
            reply = await self._asked(user, REVISION)
        except (ModelError, BudgetExhausted):
            return plan
        changes = {number: part for number, part in parts_of(reply) if number in open_parts}
        return revised(plan, changes, open_parts=open_parts) if changes else plan

    async def _asked(self, user: str, output: OutputSchema) -> str:
        system = prompts.PLANNER_SYSTEM.fill(today=self.today, tools=self._tools(), most=str(MOST_PARTS))
        request = ModelRequest(
            role=Role.PLANNER,
            messages=(Message("system", system), *self._earlier(), Message("user", user)),
            output=output,
            max_output_tokens=min(MOST_OUTPUT_TOKENS, self.effective_tokens // 4),
            run_id=self.run_id,
        )
        return (await self.model.complete(request)).text

    def _earlier(self) -> tuple[Message, ...]:
        """The latest exchanges: "their" may mean somebody of the question before."""
        latest = self.history.latest(self.effective_tokens // _HISTORY_SHARE, measure=self.counter.bound)
        pairs = ((Message("user", one.question), Message("assistant", one.answer)) for one in latest)
        return tuple(message for pair in pairs for message in pair)

    def _tools(self) -> str:
        shown = [f"- {tool.name}: {_first_words(tool.description)}" for tool in self.tools[:MOST_TOOLS]]
        more = len(self.tools) - len(shown) + self.more_tools
        return "\n".join([*shown, *([f"- and {more} more"] if more > 0 else [])]) or "- none"


def parts_of(reply: str) -> tuple[tuple[int, SubQuestion], ...]:
    """The parts of a reply with their numbers; what is no part is left out. Any text may come in."""
    try:
        raw = json.loads(reply)
    except ValueError:
        return ()
    entries = raw.get("parts") if isinstance(raw, dict) else None
    found = enumerate(entries, 1) if isinstance(entries, list) else ()
    return tuple((_number(entry, at), _part(entry)) for at, entry in found if isinstance(entry, dict))


def _part(entry: dict[str, Any]) -> SubQuestion:
    after = entry.get("after")
    return SubQuestion(
        question=_text(entry.get("question")),
        need="compute" if entry.get("need") == "compute" else "read",
        after=tuple(n for n in after if type(n) is int) if isinstance(after, list) else (),
        expects=_text(entry.get("must_contain")),
    )


def _number(entry: dict[str, Any], at: int) -> int:
    number = entry.get("number")
    return number if type(number) is int else at


def _text(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _first_words(text: str) -> str:
    sentence = " ".join(text.split()).partition(". ")[0].rstrip(".")
    return sentence if len(sentence) <= TOOL_CHARS else sentence[: TOOL_CHARS - 1] + "…"
