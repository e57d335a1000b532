"""The plan of a question: its parts, what each needs, and which of them wait for which.

Makes a plan by rule where the question is plainly single, and out of a planner's reply where it is not: what is wrong
with a reply is repaired by code and told. Pure; knows no model and no prompt.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from runax_cli.agent.planning.question_analysis import lost_from, named_in, need_of, why_several
from runax_cli.guard.visible_tool import Need

MOST_PARTS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class SubQuestion:
    """One part: `after` are the numbers (from 1) of the parts whose answers it needs, all of them other parts.

    `expects` says in words what a good answer contains; "" leaves that to the question.
    """

    question: str
    need: Need
    after: tuple[int, ...] = ()
    expects: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """The parts in the order of the question, free of cycles; `rule` says, in words, who decided and why.

    `repairs` say what was wrong with the planner's reply and what was made of it.
    """

    question: str
    parts: tuple[SubQuestion, ...]
    rule: str
    repairs: tuple[str, ...] = ()

    @property
    def is_single(self) -> bool:
        """The question is its own only part."""
        return len(self.parts) == 1

    @property
    def numbers(self) -> range:
        """The numbers of the parts, from 1."""
        return range(1, len(self.parts) + 1)

    def part(self, number: int) -> SubQuestion:
        """The part of that number."""
        return self.parts[number - 1]


def plan_of(question: str) -> Plan | None:
    """The plan of a question that is plainly single, by its wording alone; None where a planner has to look at it."""
    return single(question) if why_several(question) is None else None


def single(question: str, *, why: str = "", repairs: Sequence[str] = (), need: Need | None = None) -> Plan:
    """The question as its own only part. `why` it is single; `need` takes the place of what the wording says."""
    read = need_of(question)
    decided = need or read.need
    reason = read.why if need is None else "the planner says so"
    rule = f"one sub-question, need '{decided}': {reason}" + (f"; {why}" if why else "")
    return Plan(question, (SubQuestion(question=question, need=decided),), rule, tuple(repairs))


def planned(question: str, parts: Sequence[SubQuestion]) -> Plan:
    """The plan that a planner's parts make, repaired where that is possible, else the question as a single one."""
    repairs: list[str] = []
    usable = _with_words(parts, repairs)
    if not usable:
        return single(question, why="the planner named no part", repairs=["the plan has no part"])
    if len(usable) == 1:
        return single(question, why="the planner sees one part", need=usable[0].need)
    bounded = _bounded(usable, repairs)
    said = "\n".join(part.question for part in bounded)
    if lost := lost_from(named_in(question), said):
        named = ", ".join(f"'{name}'" for name in lost)
        told = f"no part of the plan names {named}, which the question does: it is answered as one"
        return single(question, why="the plan lost a name", repairs=[*repairs, told])
    why = why_several(question) or "the planner sees several"
    rule = f"{len(bounded)} sub-questions by the planner: {why}"
    return Plan(question, without_cycles(bounded, repairs), rule, tuple(repairs))


def revised(plan: Plan, changes: Mapping[int, SubQuestion], *, open_parts: Collection[int]) -> Plan:
    """The plan with other words for parts that are open; what is said of any other part is left out."""
    taken = {number: part for number, part in changes.items() if number in open_parts and part.question.strip()}
    repairs: list[str] = []
    parts = [taken.get(number, plan.part(number)) for number in plan.numbers]
    sound = without_cycles(_within(parts, repairs), repairs)
    return replace(plan, parts=sound, rule="revised by the planner after a result", repairs=tuple(repairs))


def ready(plan: Plan, *, begun: Collection[int], done: Collection[int]) -> tuple[int, ...]:
    """The parts that may begin now, in order: not begun, and everything that they wait for is done."""
    return tuple(n for n in plan.numbers if n not in begun and all(m in done for m in plan.part(n).after))


def waiting_for(plan: Plan, number: int) -> frozenset[int]:
    """The parts that need the answer of `number`, directly or through others."""
    found: set[int] = set()
    while more := {n for n in plan.numbers if n not in found and {number, *found} & set(plan.part(n).after)}:
        found |= more
    return frozenset(found)


def without_cycles(parts: Sequence[SubQuestion], repairs: list[str]) -> tuple[SubQuestion, ...]:
    """The parts with every dependency that closes a cycle taken out; `repairs` tells of it."""
    settled: set[int] = set()
    made = list(parts)
    while len(settled) < len(made):
        free = [n for n, part in enumerate(made, 1) if n not in settled and settled.issuperset(part.after)]
        if not free:
            first = next(n for n in range(1, len(made) + 1) if n not in settled)
            kept = tuple(m for m in made[first - 1].after if m in settled)
            made[first - 1] = replace(made[first - 1], after=kept)
            repairs.append(f"part {first} waits in a circle: it waits no longer")
            free = [first]
        settled.update(free)
    return tuple(made)


def _with_words(parts: Sequence[SubQuestion], repairs: list[str]) -> list[SubQuestion]:
    """The parts that ask something, each once; dependencies follow them to their new numbers."""
    kept: list[SubQuestion] = []
    moved: dict[int, int] = {}
    for number, part in enumerate(parts, 1):
        asked = " ".join(part.question.split())
        twin = next((at for at, other in enumerate(kept, 1) if other.question == asked), None)
        if not asked:
            repairs.append(f"part {number} of the plan is empty: left out")
        elif twin is not None:
            repairs.append(f"part {number} of the plan repeats another: left out")
            moved[number] = twin
        else:
            kept.append(replace(part, question=asked))
            moved[number] = len(kept)
    return _within([replace(part, after=_moved(part.after, moved)) for part in kept], repairs)


def _within(parts: Sequence[SubQuestion], repairs: list[str]) -> list[SubQuestion]:
    """The parts with dependencies on other parts of the plan only, each once and in order."""
    sound = []
    for number, part in enumerate(parts, 1):
        after = tuple(sorted({m for m in part.after if 1 <= m <= len(parts) and m != number}))
        if set(part.after) - set(after) - {number}:
            repairs.append(f"part {number} waits for a part that does not exist: it waits no longer")
        sound.append(replace(part, after=after))
    return sound


def _bounded(parts: Sequence[SubQuestion], repairs: list[str]) -> list[SubQuestion]:
    """At most MOST_PARTS parts: those beyond are asked for together in the last one."""
    if len(parts) <= MOST_PARTS:
        return list(parts)
    repairs.append(f"the plan has {len(parts)} parts: those from {MOST_PARTS} on are asked as one")
    head, tail = parts[: MOST_PARTS - 1], parts[MOST_PARTS - 1 :]
    moved = {n: min(n, MOST_PARTS) for n in range(1, len(parts) + 1)}
    after = {m for part in tail for m in _moved(part.after, moved)} - {MOST_PARTS}
    last = SubQuestion(
        question=" ".join(part.question for part in tail),
        need="compute" if any(part.need == "compute" for part in tail) else "read",
        after=tuple(sorted(after)),
        expects=" ".join(part.expects for part in tail if part.expects),
    )
    return [*(replace(part, after=_moved(part.after, moved)) for part in head), last]


def _moved(after: Iterable[int], moved: Mapping[int, int]) -> tuple[int, ...]:
    return tuple(moved.get(number, 0) for number in after)
