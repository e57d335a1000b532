"""Whether a run answered a question correctly: figures in the answer, rows of the evidence, and the status. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.questions import Answer, Compound, LabelQuestion, Question, World, agrees, is_stated
from runax_cli.core.results import EvidenceKind, RunResult, RunStatus, SqlResult


@dataclass(frozen=True, slots=True)
class Gold:
    """The answer to one figure, whether its order counts, and whether it must rest on exact SQL."""

    answer: Answer
    is_ranked: bool
    is_exact: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question that was asked.

    `why` says what is wrong with the answer; "" if nothing is. `tokens` are those of all models; `tool_list_tokens` is
    the part of them that lists the sources' tools.
    """

    id: str
    kind: str
    n_sources: int
    why: str
    tokens: int
    tool_list_tokens: int
    requests: int
    seconds: float
    result: RunResult

    @property
    def is_right(self) -> bool:
        """Whether nothing is wrong."""
        return not self.why

    @property
    def has_failed(self) -> bool:
        """Whether the run failed as a whole, for example because the endpoint is down."""
        return self.result.status is RunStatus.FAILED

    @property
    def own_tokens(self) -> int:
        """Tokens without the list of the sources' tools."""
        return max(0, self.tokens - self.tool_list_tokens)

    def as_row(self) -> dict[str, Any]:
        """The question as a row of a section."""
        return {
            "id": self.id,
            "kind": self.kind,
            "right": self.is_right,
            "tokens": self.own_tokens,
            "tool_list_tokens": self.tool_list_tokens,
            "requests": self.requests,
            "seconds": round(self.seconds, 3),
            "why": self.why,
            "answer": self.result.answer,
            "by_role": {role: usage.model_dump() for role, usage in self.result.usage.by_role.items()},
        }


def golds_of(question: Question | Compound | LabelQuestion, world: World) -> tuple[Gold, ...]:
    """The gold of each part of a question, in order."""
    if isinstance(question, Compound):
        return tuple(gold for part in question.parts for gold in golds_of(part, world))
    answer = question.gold(*map(world.raw, question.fetches))
    return (Gold(answer, question.is_ranked, is_exact=isinstance(question, Question)),)


def fault_of(golds: Sequence[Gold], result: RunResult) -> str:
    """What is wrong with a result, in words; "" if nothing is."""
    return "; ".join(_faults(golds, result))


def _faults(golds: Sequence[Gold], result: RunResult) -> Iterator[str]:
    if result.exit_code != 0:
        reasons = ", ".join(reason.text for reason in result.coverage.reasons)
        why = result.error.message if result.error else reasons or next(_doubts(result), "")
        yield f"exit code {result.exit_code}: {why}"
    for number, gold in enumerate(golds, 1):
        part = f"part {number}: " if len(golds) > 1 else ""
        if not is_stated(gold.answer, _text_of(number, len(golds), result), is_ranked=gold.is_ranked):
            yield f"{part}the answer lacks a figure of {_short(gold.answer)}"
        elif not any(_is_behind(gold, query) for query in _queries(result, is_exact=gold.is_exact)):
            yield f"{part}no verified SQL evidence has the rows of {_short(gold.answer)}"


def _text_of(number: int, n_golds: int, result: RunResult) -> str:
    """The answer of a part; the whole answer if the parts of the run differ from those of the question."""
    if len(result.sub_questions) == n_golds > 1:
        return result.sub_questions[number - 1].answer
    return result.answer


def _queries(result: RunResult, *, is_exact: bool) -> Iterator[SqlResult]:
    for entry in result.evidence:
        if entry.kind is EvidenceKind.SQL and entry.verified and (entry.exact or not is_exact):
            yield from entry.queries


def _is_behind(gold: Gold, query: SqlResult) -> bool:
    return query.n_rows == len(query.rows) and agrees(gold.answer, query.rows, is_ranked=gold.is_ranked)


def _doubts(result: RunResult) -> Iterator[str]:
    """Why evidence is not verified, in its own words."""
    for entry in result.evidence:
        if entry.note or entry.unproven:
            yield f"'{entry.statement[:80]}': {entry.note or ''} {', '.join(entry.unproven)}".strip()


def _short(answer: Answer) -> str:
    text = str(answer)
    return text if len(text) <= 80 else f"{text[:79]}…"
