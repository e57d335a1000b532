"""The planner model: one structured request splits a question, another revises the plan after a result.

If the planner fails, the question is answered as a whole.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from runax_cli.agent import prompts
from runax_cli.agent.planning.plan import (
    MAX_SUB_QUESTIONS,
    Plan,
    SubQuestion,
    plan_from_reply,
    revise_plan,
    single_plan,
)
from runax_cli.core.errors import BudgetExhausted, ModelError
from runax_cli.core.untrusted_text import escape_for_prompt
from runax_cli.memory.conversation import History
from runax_cli.models.base import Message, Model, ModelRequest, OutputSchema, Role, ToolSchema
from runax_cli.models.tokens import CalibratedCounter, bound_off_loop

MAX_OUTPUT_TOKENS = 1024
MAX_LISTED_TOOLS = 40
TOOL_CHARS = 80
_HISTORY_SHARE = 8
"""Earlier exchanges may take this fraction of the context: 1/8."""
_QUESTION_SHARE = 2
"""A question above 1/2 of the context is not planned."""

_FIELDS: dict[str, Any] = {
    "question": {"type": "string"},
    "need": {"type": "string", "enum": ["read", "compute"]},
    "after": {"type": "array", "items": {"type": "integer"}},
    "must_contain": {"type": "string"},
}
_TOOLS: dict[str, Any] = {"tools": {"type": "array", "items": {"type": "string"}}}


def _schema(name: str, fields: dict[str, Any]) -> OutputSchema:
    part = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    parts = {"parts": {"type": "array", "items": part}}
    whole = {"type": "object", "properties": parts, "required": ["parts"], "additionalProperties": False}
    return OutputSchema(name, whole)


PLAN_SCHEMA = _schema("plan", _FIELDS | _TOOLS)
REVISION_SCHEMA = _schema("plan_revision", {"number": {"type": "integer"}} | _FIELDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubQuestionState:
    """One sub-question and its state, as text for the planner."""

    number: int
    question: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Planner:
    """The planner model of one run. `effective_tokens` limits each request.

    `more_tools` is the number of tools that are not in `tools`.
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
        """Plan a question. If the planner fails, the plan is the question as a whole, with the reason in `repairs`."""
        if await bound_off_loop(self.counter, question) > self.effective_tokens // _QUESTION_SHARE:
            return single_plan(question, why="it is too long for the planner")
        try:
            reply = await self._request(prompts.PLANNER_USER.fill(question=question), PLAN_SCHEMA)
        except (ModelError, BudgetExhausted) as error:
            return single_plan(question, why="the planner failed", repairs=[f"the planner failed: {error}"])
        parts = parse_plan_reply(reply)
        return plan_from_reply(question, [part for _, part in parts])

    async def revise(
        self, plan: Plan, states: Sequence[SubQuestionState], *, why: str, open_numbers: Collection[int]
    ) -> Plan:
        """Revise a plan after a result. Returns the same plan if nothing has to change or the planner fails."""
        shown = escape_for_prompt("\n".join(f"{part.number}. {part.question}\n   {part.state}" for part in states))
        numbers = ", ".join(str(number) for number in sorted(open_numbers))
        user = prompts.PLANNER_REVISE.fill(question=plan.question, parts=shown, why=why, open=numbers)
        try:
            reply = await self._request(user, REVISION_SCHEMA)
        except (ModelError, BudgetExhausted):
            return plan
        changes = {number: part for number, part in parse_plan_reply(reply) if number in open_numbers}
        return revise_plan(plan, changes, open_numbers=open_numbers) if changes else plan

    async def _request(self, user: str, output: OutputSchema) -> str:
        system = prompts.PLANNER_SYSTEM.fill(today=self.today, tools=self._tools(), most=str(MAX_SUB_QUESTIONS))
        request = ModelRequest(
            role=Role.PLANNER,
            messages=(Message("system", system), *self._earlier(), Message("user", user)),
            output=output,
            max_output_tokens=min(MAX_OUTPUT_TOKENS, self.effective_tokens // 4),
            run_id=self.run_id,
        )
        return (await self.model.complete(request)).text

    def _earlier(self) -> tuple[Message, ...]:
        """The latest exchanges: "their" may refer to the previous question."""
        latest = self.history.latest(self.effective_tokens // _HISTORY_SHARE, measure=self.counter.bound)
        pairs = ((Message("user", one.question), Message("assistant", one.answer)) for one in latest)
        return tuple(message for pair in pairs for message in pair)

    def _tools(self) -> str:
        shown = [f"- {tool.name}: {_first_words(tool.description)}" for tool in self.tools[:MAX_LISTED_TOOLS]]
        more = len(self.tools) - len(shown) + self.more_tools
        return "\n".join([*shown, *([f"- and {more} more"] if more > 0 else [])]) or "- none"


def parse_plan_reply(reply: str) -> tuple[tuple[int, SubQuestion], ...]:
    """The sub-questions of a reply with their numbers. Accepts any text, and ignores what is not a sub-question."""
    try:
        raw = json.loads(reply)
    except ValueError:
        return ()
    entries = raw.get("parts") if isinstance(raw, dict) else None
    found = enumerate(entries, 1) if isinstance(entries, list) else ()
    return tuple((_number(entry, at), _part(entry)) for at, entry in found if isinstance(entry, dict))


def _part(entry: dict[str, Any]) -> SubQuestion:
    after, tools = entry.get("after"), entry.get("tools")
    return SubQuestion(
        question=_text(entry.get("question")),
        need="compute" if entry.get("need") == "compute" else "read",
        after=tuple(n for n in after if type(n) is int) if isinstance(after, list) else (),
        expects=_text(entry.get("must_contain")),
        tools=frozenset(name for name in tools if isinstance(name, str)) if isinstance(tools, list) else frozenset(),
    )


def _number(entry: dict[str, Any], at: int) -> int:
    number = entry.get("number")
    return number if type(number) is int else at


def _text(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _first_words(text: str) -> str:
    sentence = " ".join(text.split()).partition(". ")[0].rstrip(".")
    return sentence if len(sentence) <= TOOL_CHARS else sentence[: TOOL_CHARS - 1] + "…"
