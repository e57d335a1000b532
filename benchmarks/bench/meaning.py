"""The section of labels: counts by meaning, with a labeler that is right with a known probability.

With p = 1 every answer is exact. With p < 1 every count must equal the one that follows from the labels as given, and
its error must be one that p alone explains: both are compared with a simulation.
"""

import random
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from adapters.json_text import compact_json
from benchmarks.bench.claims import Claim, Section, all_right
from benchmarks.bench.judged import Asked
from benchmarks.bench.script import scripts_of
from benchmarks.bench.sections import COLUMNS, Tell, asked_all, chosen, rightness
from benchmarks.bench.stage import Setting, stage_of
from benchmarks.bench.truth import Truth, shown, truth_of
from benchmarks.questions import LABELS, LabelQuestion, World
from benchmarks.questions.check import true_labels
from runax_cli.core.results import EvidenceKind, RunResult
from runax_cli.core.untrusted_text import escape_for_prompt
from runax_cli.executor.data_tools.labeler import LabelField, LabelTask
from runax_cli.models.tokens import O200kCounter
from runax_cli.runtime.runtime import LABELER_PROMPTS

MOST_SHARE, TOKENS_A_LABEL = 1.2, 12
SIMULATIONS = 1000
RAREST = 0.001
"""If a smaller share of the simulated benches is as far off as the answers, p does not explain them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance:
    """The counts of a task's labels: true, as given, as answered, and in many random labelings."""

    task: str
    true: Mapping[str, int]
    given: Mapping[str, int]
    answered: Mapping[str, int] | None
    simulated: Sequence[Mapping[str, int]]

    @property
    def error(self) -> int:
        """How many records the answer counts under a wrong label, at least."""
        return _error(self.answered or {}, self.true)

    @property
    def expected_error(self) -> float:
        """The same in random labelings, on average."""
        return statistics.fmean(_error(counts, self.true) for counts in self.simulated)

    @property
    def as_far(self) -> float:
        """The share of random labelings that are at least as far off as the answer; 0 without an answer."""
        if self.answered is None:
            return 0.0
        return statistics.fmean(_error(counts, self.true) >= self.error for counts in self.simulated)

    @property
    def is_as_given(self) -> bool:
        """Whether the answer equals the counts of the labels as given."""
        return self.answered is not None and all(
            self.answered.get(label, 0) == self.given[label] for label in self.true
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows of the table, one per label."""
        for label, n_true in self.true.items():
            counts = [simulation[label] for simulation in self.simulated]
            yield {
                "id": self.task,
                "label": label,
                "true": n_true,
                "as_labelled": self.given[label],
                "answered": None if self.answered is None else self.answered.get(label, 0),
                "simulated": f"{statistics.fmean(counts):.0f} ± {statistics.pstdev(counts):.1f}",
                "error_of_task": self.error,
                "expected_error": round(self.expected_error),
                "as_far_by_chance": f"{self.as_far:.1%}",
            }


def _error(counts: Mapping[str, int], true: Mapping[str, int]) -> int:
    return sum(abs(counts.get(label, 0) - n) for label, n in true.items()) // 2


async def labelled(setting: Setting, only: Sequence[str], tell: Tell) -> tuple[Section, list[Asked]]:
    """Ask every question of meaning, each with a model that knows the true labels; also return the answers."""
    questions, notes = chosen(LABELS, setting.world, only)
    asked: list[Asked] = []
    for question in questions:
        # Each question has its own stage: otherwise the stored labels of an earlier one would be used.
        knowing = replace(setting.knowing, truth=setting.knowing.truth.afresh())
        async with stage_of(replace(setting, knowing=knowing), is_hiding=True) as stage:
            asked += await asked_all(stage, [question], tell)
    by_id = {question.id: question for question in questions if isinstance(question, LabelQuestion)}
    prices = [_price(one, by_id[one.id], setting.world) for one in asked]
    shares = [price["share"] for price in prices]
    rows = [one.as_row() | price for one, price in zip(asked, prices, strict=True)]
    worst = f"{max(shares):.2f}" if shares else "none"
    claims = (
        rightness("labels right with p = 1: exact", asked),
        Claim(
            f"tokens of the labeler without prompts: at most {worst} times (distinct text + {TOKENS_A_LABEL} each), "
            f"target {MOST_SHARE}",
            all(share <= MOST_SHARE for share in shares) if shares else None,
        ),
        _no_request_more(asked, by_id),
    )
    columns = (*COLUMNS[:-1], "texts", "text_tokens", "label_tokens", "share", "why")
    return Section(name="labels", columns=columns, rows=rows, claims=claims, notes=tuple(notes)), asked


def _price(asked: Asked, question: LabelQuestion, world: World) -> dict[str, Any]:
    """The cost of labeling without its prompts, against the distinct texts and 12 tokens for each."""
    counter = O200kCounter()
    texts = [shown(text) for text in true_labels(question, world)]
    text_tokens = sum(map(counter.count, texts))
    usage = asked.result.usage.by_role.get("labeller")
    spent = 0
    if usage is not None:
        spent = usage.input_tokens + usage.output_tokens - usage.requests * _prompt_tokens(question, counter)
    fair = text_tokens + TOKENS_A_LABEL * len(texts)
    return {"texts": len(texts), "text_tokens": text_tokens, "label_tokens": spent, "share": round(spent / fair, 3)}


def _prompt_tokens(question: LabelQuestion, counter: O200kCounter) -> int:
    """The tokens of a labeler's request before its texts."""
    task = LabelTask(question.instruction, (LabelField("label", "string", question.labels),))
    fields = "\n".join(map(str, task.fields))
    user = LABELER_PROMPTS.user.fill(instruction=escape_for_prompt(task.instruction), fields=fields, texts="")
    parts = (f"system\n{LABELER_PROMPTS.system.text}\nuser\n{user}", compact_json(task.output.schema))
    return sum(map(counter.count, parts))


def _no_request_more(asked: Sequence[Asked], questions: Mapping[str, LabelQuestion]) -> Claim:
    """Pairs, joins and rankings over the same labels take as many labeler requests as their count does."""
    requests: dict[tuple[Any, ...], set[int]] = {}
    for one in asked:
        question = questions[one.id]
        key = (question.fetches[0].resource, str(question.fetches[0].arguments), question.column, question.instruction)
        usage = one.result.usage.by_role.get("labeller")
        requests.setdefault(key, set()).add(0 if usage is None else usage.requests)
    differing = sum(len(numbers) > 1 for numbers in requests.values())
    text = f"pairs, joins and rankings take as many label requests as a count: {len(requests) - differing} of "
    return Claim(f"{text}{len(requests)} tasks", not differing if requests else None)


async def counted(setting: Setting, only: Sequence[str], p: float, tell: Tell) -> Section:
    """Count every label if labels are right with probability p, and some replies are unusable."""
    tasks = list(_tasks([q for q in chosen(LABELS, setting.world, only)[0] if isinstance(q, LabelQuestion)]))
    chances: list[Chance] = []
    for task in tasks:
        truth = truth_of([task], setting.world, p=p, invalid=setting.knowing.truth.invalid, seed=setting.seed)
        knowing = replace(setting.knowing, scripts=scripts_of([task]), truth=truth)
        async with stage_of(replace(setting, knowing=knowing), is_hiding=True) as stage:
            (asked,) = await asked_all(stage, [task], lambda _line: None)
        chances.append(chance := _chance(task, asked.result, truth, setting.world, seed=setting.seed))
        tell(f"{task.id}: labels right with p = {p:g}, {chance.as_far:.1%} of random labelings are as far off")
    claims = (
        all_right(f"p = {p:g}: counts equal those of the labels as given", [c.is_as_given for c in chances]),
        _explained(chances, p),
    )
    columns = ("id", "label", "true", "as_labelled", "answered", "simulated", "error_of_task", "as_far_by_chance")
    return Section(name="noise", columns=columns, rows=[row for c in chances for row in c.rows()], claims=claims)


def _explained(chances: Sequence[Chance], p: float) -> Claim:
    if not chances:
        return Claim(f"p = {p:g}: no task was asked", None)
    errors = sum(chance.error for chance in chances), sum(chance.expected_error for chance in chances)
    as_far = as_far_together(chances)
    text = (
        f"p = {p:g}: records under a wrong label {errors[0]:,} in all, {errors[1]:,.0f} expected; of "
        f"{SIMULATIONS:,} simulated benches {as_far:.1%} are as far off (limit {RAREST:.1%})"
    )
    return Claim(text, as_far >= RAREST)


def as_far_together(chances: Sequence[Chance]) -> float:
    """The share of simulated benches whose tasks together are at least as far off as the answers.

    Each task counts by its error relative to the expected random error, so that the number of its records does not
    matter.
    """
    if any(chance.answered is None for chance in chances):
        return 0.0
    scales = [max(1.0, chance.expected_error) for chance in chances]
    found = sum(chance.error / scale for chance, scale in zip(chances, scales, strict=True))
    errors = [
        [_error(counts, chance.true) / scale for counts in chance.simulated]
        for chance, scale in zip(chances, scales, strict=True)
    ]
    return statistics.fmean(sum(bench) >= found for bench in zip(*errors, strict=True))


def _tasks(questions: Sequence[LabelQuestion]) -> Iterator[LabelQuestion]:
    """One question for each column and instruction: how often each label was given."""
    seen = set()
    for question in questions:
        first = question.fetches[0]
        key = (first.resource, str(first.arguments), question.column, question.instruction)
        if key in seen:
            continue
        seen.add(key)
        yield replace(
            question,
            id=f"{first.resource}-{question.column}-{len(seen)}".casefold(),
            text=f"How many {first.resource} are there of each label, going by their {question.column}?",
            fetches=question.fetches[:1],
            sql="SELECT label, count(*) AS n FROM {labels} GROUP BY 1",
            gold=lambda records, truth=question.truth: list(Counter(map(truth, records)).items()),
            is_ranked=False,
        )


def _chance(task: LabelQuestion, result: RunResult, truth: Truth, world: World, *, seed: int) -> Chance:
    records = list(world.raw(task.fetches[0]))
    instruction = escape_for_prompt(task.instruction)
    weights = Counter(record[task.column] for record in records)
    true, given = Counter(map(task.truth, records)), Counter[str]()
    for text, weight in weights.items():
        given[truth.given.get((instruction, shown(text)), "")] += weight
    return Chance(
        task=task.id,
        true={label: true[label] for label in task.labels},
        given=given,
        answered=_answered(result),
        simulated=simulated(weights, true_labels(task, world), task.labels, p=truth.p, seed=f"{seed} {task.id}"),
    )


def _answered(result: RunResult) -> dict[str, int] | None:
    """The counts in the evidence of the answer; None if there are none."""
    queries = [
        q for entry in result.evidence if entry.kind is EvidenceKind.SQL and entry.verified for q in entry.queries
    ]
    return {str(row[0]): int(row[1]) for row in queries[0].rows} if queries else None


def simulated(
    weights: Mapping[str, int], right: Mapping[str, str], labels: Sequence[str], *, p: float, seed: int | str
) -> list[dict[str, int]]:
    """Counts of labels in many random labelings, in which each distinct text is labeled once."""
    dice = random.Random(seed)
    others = {label: [other for other in labels if other != label] for label in labels}
    drawn = []
    for _ in range(SIMULATIONS):
        counts = dict.fromkeys(labels, 0)
        for text, weight in weights.items():
            label = right[text]
            counts[label if dice.random() < p else dice.choice(others[label])] += weight
        drawn.append(counts)
    return drawn
