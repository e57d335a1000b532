"""The sections that ask questions of computing: exact ones, compound ones, and ones whose first SQL is wrong."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TypeAlias

from benchmarks.bench.claims import Claim, Section, all_right, at_most
from benchmarks.bench.judged import Asked
from benchmarks.bench.script import with_wrong_columns
from benchmarks.bench.stage import Setting, Stage, lacking, stage_of
from benchmarks.questions import COMPOUNDS, EXACT, Compound, LabelQuestion, Question, World

MOST_TOKENS, MOST_TOKENS_OF_A_JOIN, MOST_TOKENS_OF_A_REPAIR = 5000, 9000, 2500
COLUMNS = ("id", "kind", "right", "tokens", "requests", "seconds", "why")
REPAIRED = 20
"""Number of questions that are asked with a wrong column."""
AnyQuestion: TypeAlias = Question | Compound | LabelQuestion
Tell: TypeAlias = Callable[[str], None]


def chosen(questions: Sequence[AnyQuestion], world: World, only: Sequence[str]) -> tuple[list[AnyQuestion], list[str]]:
    """The selected questions that can be asked, and notes about those that cannot."""
    wanted = [q for q in questions if not only or any(fnmatchcase(q.id, glob) for glob in only)]
    reasons = {q.id: why for q in wanted if (why := lacking(q, world)) is not None}
    notes = [f"{len(reasons)} questions are skipped: {'; '.join(sorted(set(reasons.values())))}"] if reasons else []
    return [q for q in wanted if q.id not in reasons], notes


async def asked_all(stage: Stage, questions: Sequence[AnyQuestion], tell: Tell) -> list[Asked]:
    """Ask each question in its own conversation."""
    answered = []
    for question in questions:
        asked = await stage.anew().ask(question)
        tell(told(asked))
        answered.append(asked)
    return answered


def rightness(name: str, answered: Sequence[Asked]) -> Claim:
    """The claim that all are right; it cannot be judged if every run failed as a whole."""
    claim = all_right(name, [asked.is_right for asked in answered])
    if answered and all(asked.has_failed for asked in answered):
        return Claim(f"{claim.text}; every run failed, the first one: {answered[0].why}", None)
    return claim


def told(asked: Asked) -> str:
    """One question in one line."""
    mark = "right" if asked.is_right else f"WRONG ({asked.why})"
    return f"{asked.id}: {mark}, {asked.own_tokens:,} tokens, {asked.seconds:.1f} s"


async def exact(setting: Setting, only: Sequence[str], tell: Tell) -> tuple[Section, list[Asked]]:
    """Ask questions over one dataset and over two; also return the answers, for comparisons."""
    questions, notes = chosen(EXACT, setting.world, only)
    async with stage_of(setting) as stage:
        answered = await asked_all(stage, questions, tell)
    ended = [asked for asked in answered if not asked.has_failed]
    single = [asked.own_tokens for asked in ended if asked.n_sources == 1]
    joins = [asked.own_tokens for asked in ended if asked.n_sources > 1]
    claims = (
        rightness("exact", answered),
        at_most("a question over one dataset, without the sources' tool list", single, MOST_TOKENS),
        at_most("a join of two, without the sources' tool list", joins, MOST_TOKENS_OF_A_JOIN),
    )
    return _section("exact", answered, claims, notes), answered


async def compound(setting: Setting, only: Sequence[str], tell: Tell) -> tuple[Section, list[Asked]]:
    """Ask questions of two and three parts; also return the answers."""
    questions, notes = chosen(COMPOUNDS, setting.world, only)
    async with stage_of(setting) as stage:
        answered = await asked_all(stage, questions, tell)
    claims = (rightness("compound, every part right", answered),)
    return _section("compound", answered, claims, notes), answered


async def repaired(setting: Setting, before: Sequence[Asked], tell: Tell) -> Section:
    """Ask some questions again with a wrong column at first, and compare their cost with that of `before`."""
    was_asked = {asked.id: asked for asked in before if asked.is_right}
    questions = [q for q in EXACT if q.id in was_asked and len(q.fetches) == 1]
    scripts = with_wrong_columns(setting.knowing.scripts, questions, setting.world)
    several = [q for q in questions if q.text in scripts][:: max(1, len(scripts) // REPAIRED)][:REPAIRED]
    wrong = replace(setting, knowing=replace(setting.knowing, scripts={**setting.knowing.scripts, **scripts}))
    async with stage_of(wrong) as stage:
        answered = await asked_all(stage, several, tell)
    rows = [asked.as_row() | {"more": asked.own_tokens - was_asked[asked.id].own_tokens} for asked in answered]
    n_refused = sum(any(call.status == "validation_error" for call in asked.result.calls) for asked in answered)
    claims = (
        all_right("exact after a repair", [asked.is_right for asked in answered]),
        Claim(f"the wrong column was refused: {n_refused} of {len(answered)}", n_refused == len(answered) or None),
        at_most("more for a repaired SQL", [row["more"] for row in rows], MOST_TOKENS_OF_A_REPAIR),
    )
    columns = ("id", "right", "tokens", "more", "why")
    return Section(name="repaired", columns=columns, rows=rows, claims=claims)


def _section(name: str, answered: Sequence[Asked], claims: tuple[Claim, ...], notes: Sequence[str]) -> Section:
    rows = [asked.as_row() for asked in answered]
    return Section(name=name, columns=COLUMNS, rows=rows, claims=claims, notes=tuple(notes))
