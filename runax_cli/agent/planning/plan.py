"""The plan of a question: its sub-questions, what each needs, and their dependencies.

A question that clearly has one part is planned by rule, any other from the reply of a planner model. Errors in the
reply are repaired, and every repair is reported. Pure.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from runax_cli.agent.planning.everything import entity_request
from runax_cli.agent.planning.question_analysis import decide_need, missing_names, multi_part_reason, required_names
from runax_cli.guard.visible_tool import Need

MAX_SUB_QUESTIONS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class SubQuestion:
    """One sub-question. `after` are the numbers, from 1, of the other sub-questions whose answers it needs.

    `expects` describes what a good answer contains, "" if the question says it all. `tools` are those that return its
    records, as far as the planner names them.
    """

    question: str
    need: Need
    after: tuple[int, ...] = ()
    expects: str = ""
    tools: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Plan:
    """The sub-questions in the order of the question, without cycles. `rule` says who decided, and why.

    `repairs` describe what was wrong with the planner's reply, and how it was repaired.
    """

    question: str
    sub_questions: tuple[SubQuestion, ...]
    rule: str
    repairs: tuple[str, ...] = ()

    @property
    def is_single(self) -> bool:
        """Whether the question is its own only sub-question."""
        return len(self.sub_questions) == 1

    @property
    def numbers(self) -> range:
        """The numbers of the sub-questions, from 1."""
        return range(1, len(self.sub_questions) + 1)

    def sub_question(self, number: int) -> SubQuestion:
        """The sub-question with this number."""
        return self.sub_questions[number - 1]


def plan_by_rule(question: str, *, nouns: Collection[str] = ()) -> Plan | None:
    """The plan of a question whose wording clearly asks one thing; None if a planner has to decide.

    `nouns` name the records of the tools, in the singular.
    """
    if multi_part_reason(question, nouns=nouns) is not None:
        return None
    asked = entity_request(question, nouns=nouns)
    why = "" if asked is None else f"everything about '{asked.name}' is read through the tools that take its id"
    return single_plan(question, why=why)


def single_plan(question: str, *, why: str = "", repairs: Sequence[str] = (), need: Need | None = None) -> Plan:
    """A plan with the question as its only sub-question. `need` overrides what the wording says."""
    read = decide_need(question)
    decided = need or read.need
    reason = read.why if need is None else "as the planner says"
    rule = f"one sub-question, need '{decided}': {reason}" + (f"; {why}" if why else "")
    return Plan(question, (SubQuestion(question=question, need=decided),), rule, tuple(repairs))


def plan_from_reply(question: str, parts: Sequence[SubQuestion]) -> Plan:
    """A plan of the sub-questions in a planner's reply, repaired if possible, else of the question as a whole."""
    repairs: list[str] = []
    usable = _drop_empty_and_repeated(parts, repairs)
    if not usable:
        return single_plan(
            question, why="the planner returned no sub-question", repairs=["the plan has no sub-questions"]
        )
    if len(usable) == 1:
        return single_plan(question, why="the planner found one sub-question", need=usable[0].need)
    merged = merge_same_records(usable)
    if len(merged) == 1:
        return single_plan(
            question, why=f"its {len(usable)} parts need the same records", repairs=repairs, need="compute"
        )
    bounded = _merge_excess(merged, repairs)
    text = "\n".join(part.question for part in bounded)
    if missing := missing_names(required_names(question), text):
        names = ", ".join(f"'{name}'" for name in missing)
        repair = f"no sub-question mentions {names} from the question, so it is answered as a whole"
        return single_plan(question, why="the plan lost a name", repairs=[*repairs, repair])
    why = multi_part_reason(question) or "the planner found several"
    rule = f"{len(bounded)} sub-questions by the planner: {why}"
    if len(merged) < len(usable):
        rule += f"; {len(usable)} before those that need the same records were merged"
    return Plan(question, break_cycles(bounded, repairs), rule, tuple(repairs))


def revise_plan(plan: Plan, changes: Mapping[int, SubQuestion], *, open_numbers: Collection[int]) -> Plan:
    """The plan with changed sub-questions. Changes of sub-questions that are not open are ignored."""
    accepted = {number: part for number, part in changes.items() if number in open_numbers and part.question.strip()}
    repairs: list[str] = []
    parts = [accepted.get(number, plan.sub_question(number)) for number in plan.numbers]
    acyclic = break_cycles(_drop_unknown_dependencies(parts, repairs), repairs)
    return replace(plan, sub_questions=acyclic, rule="revised by the planner after a result", repairs=tuple(repairs))


def ready_to_start(plan: Plan, *, started: Collection[int], done: Collection[int]) -> tuple[int, ...]:
    """The sub-questions that can start now, in order: not started, and all their dependencies are done."""
    return tuple(n for n in plan.numbers if n not in started and all(m in done for m in plan.sub_question(n).after))


def dependents_of(plan: Plan, number: int) -> frozenset[int]:
    """The sub-questions that depend on `number`, directly or through others."""
    found: set[int] = set()
    while more := {n for n in plan.numbers if n not in found and {number, *found} & set(plan.sub_question(n).after)}:
        found |= more
    return frozenset(found)


def break_cycles(parts: Sequence[SubQuestion], repairs: list[str]) -> tuple[SubQuestion, ...]:
    """Remove every dependency that closes a cycle, and report it in `repairs`."""
    settled: set[int] = set()
    made = list(parts)
    while len(settled) < len(made):
        free = [n for n, part in enumerate(made, 1) if n not in settled and settled.issuperset(part.after)]
        if not free:
            first = next(n for n in range(1, len(made) + 1) if n not in settled)
            kept = tuple(m for m in made[first - 1].after if m in settled)
            made[first - 1] = replace(made[first - 1], after=kept)
            repairs.append(f"removed a circular dependency of sub-question {first}")
            free = [first]
        settled.update(free)
    return tuple(made)


def _drop_empty_and_repeated(parts: Sequence[SubQuestion], repairs: list[str]) -> list[SubQuestion]:
    """Drop empty and repeated sub-questions, and renumber the dependencies of the others."""
    kept: list[SubQuestion] = []
    moved: dict[int, int] = {}
    for number, part in enumerate(parts, 1):
        question = " ".join(part.question.split())
        twin = next((at for at, other in enumerate(kept, 1) if other.question == question), None)
        if not question:
            repairs.append(f"removed empty sub-question {number}")
        elif twin is not None:
            repairs.append(f"removed sub-question {number}, which repeats another")
            moved[number] = twin
        else:
            kept.append(replace(part, question=question))
            moved[number] = len(kept)
    return _drop_unknown_dependencies([replace(part, after=_renumber(part.after, moved)) for part in kept], repairs)


def _drop_unknown_dependencies(parts: Sequence[SubQuestion], repairs: list[str]) -> list[SubQuestion]:
    """Drop dependencies on sub-questions that do not exist; sort and deduplicate the others."""
    cleaned = []
    for number, part in enumerate(parts, 1):
        after = tuple(sorted({m for m in part.after if 1 <= m <= len(parts) and m != number}))
        if set(part.after) - set(after) - {number}:
            repairs.append(f"removed a dependency of sub-question {number} on one that does not exist")
        cleaned.append(replace(part, after=after))
    return cleaned


def _merge_excess(parts: Sequence[SubQuestion], repairs: list[str]) -> list[SubQuestion]:
    """Merge the sub-questions from MAX_SUB_QUESTIONS on into one."""
    if len(parts) <= MAX_SUB_QUESTIONS:
        return list(parts)
    repairs.append(f"merged sub-questions {MAX_SUB_QUESTIONS} to {len(parts)} into one")
    head, tail = parts[: MAX_SUB_QUESTIONS - 1], parts[MAX_SUB_QUESTIONS - 1 :]
    moved = {n: min(n, MAX_SUB_QUESTIONS) for n in range(1, len(parts) + 1)}
    after = {m for part in tail for m in _renumber(part.after, moved)} - {MAX_SUB_QUESTIONS}
    return [*(replace(part, after=_renumber(part.after, moved)) for part in head), _joined(tail, after=after)]


def merge_same_records(parts: Sequence[SubQuestion]) -> list[SubQuestion]:
    """Merge sub-questions for figures that need the records of the same tools: one SQL answers them.

    A figure over other answers alone (a comparison) joins the group that has all these answers. Nothing is merged if a
    group would have to wait for itself.
    """
    groups: list[list[int]] = []
    for number in range(1, len(parts) + 1):
        group = next((group for group in groups if _belongs_to(number, parts, group)), None)
        if group is None:
            groups.append([number])
        else:
            group.append(number)
    merged = _merge_groups(parts, groups)
    cycles: list[str] = []
    break_cycles(merged, cycles)
    return list(parts) if cycles else merged


def _belongs_to(number: int, parts: Sequence[SubQuestion], group: Sequence[int]) -> bool:
    """Whether a part is a figure over the records of a group of earlier parts, or over their answers alone."""
    part, first = parts[number - 1], parts[group[0] - 1]
    if part.need != "compute" or first.need != "compute" or not first.tools:
        return False
    if part.tools:
        return part.tools == first.tools and set(part.after) <= {*group, *first.after}
    return bool(part.after) and set(part.after) <= set(group)


def _merge_groups(parts: Sequence[SubQuestion], groups: Sequence[Sequence[int]]) -> list[SubQuestion]:
    """One sub-question for each group, at the place of its first part."""
    moved = {number: at for at, group in enumerate(groups, 1) for number in group}
    merged = []
    for at, group in enumerate(groups, 1):
        members = [parts[number - 1] for number in group]
        after = {n for member in members for n in _renumber(member.after, moved)} - {at}
        merged.append(_joined(members, after=after))
    return merged


def _joined(members: Sequence[SubQuestion], *, after: Iterable[int]) -> SubQuestion:
    """One sub-question that asks what several asked."""
    return SubQuestion(
        question=" ".join(part.question for part in members),
        need="compute" if any(part.need == "compute" for part in members) else "read",
        after=_sorted(after),
        expects=" ".join(part.expects for part in members if part.expects),
        tools=members[0].tools,
    )


def _sorted(numbers: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(numbers)))


def _renumber(after: Iterable[int], moved: Mapping[int, int]) -> tuple[int, ...]:
    return tuple(moved.get(number, 0) for number in after)
