"""The course of a bench: which sections run, in which order, and what one passes to another."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.bench.claims import Section
from benchmarks.bench.foreseen import foreseen
from benchmarks.bench.judged import Asked
from benchmarks.bench.knowing import Knowing
from benchmarks.bench.meaning import counted, labelled
from benchmarks.bench.plain_way import Measured, compared
from benchmarks.bench.scaled import FEW, scaled
from benchmarks.bench.script import scripts_of
from benchmarks.bench.sections import Tell, compound, exact, repaired
from benchmarks.bench.stage import Setting
from benchmarks.bench.truth import truth_of
from benchmarks.questions import COMPOUNDS, EXACT, LABELS, World
from mockdata.events import MAX_COUNT
from runax_cli.commands.options import CommonOptions

SECTIONS = ("exact", "repaired", "plain", "scale", "compound", "labels", "noise", "forecast")
"""In the order in which they run; `repaired`, `plain` and `forecast` need the answers of others, which then run too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """The options of a bench.

    `p` is the probability of a correct label in the section `noise`, `invalid` that of unusable replies. `common` names
    a real model and its limits, if one is used; `latency_s` delays every reply of the oracle model.
    """

    common: CommonOptions
    sections: Sequence[str] = SECTIONS
    only: Sequence[str] = ()
    events: int = MAX_COUNT
    p: float = 0.9
    invalid: float = 0.02
    seed: int = 1
    latency_s: float = 0.0


async def run(course: Course, tell: Tell) -> AsyncIterator[Section]:
    """Yield the sections as they finish; `tell` gets a line for every question."""
    underway = _Underway(course, _setting(course), tell)
    for name in SECTIONS:
        if name in course.sections:
            async for section in underway.sections(name):
                yield section


@dataclass(slots=True)
class _Underway:
    """A running bench: it keeps the answers so far for the sections that compare."""

    course: Course
    setting: Setting
    tell: Tell
    exact: list[Asked] = field(default_factory=list)
    others: list[Asked] = field(default_factory=list)
    plain: Mapping[str, Measured] = field(default_factory=dict)

    async def sections(self, name: str) -> AsyncIterator[Section]:
        """Run the section of that name; first the one whose answers it needs, if that did not run."""
        needs_exact = name in ("exact", "repaired", "plain") or (name == "forecast" and not self.others)
        if needs_exact and not self.exact:
            section, self.exact = await exact(self.setting, self.course.only, self.tell)
            yield section
        found = await self._of_figures(name) or await self._of_more(name)
        if found is not None:
            yield found

    async def _of_figures(self, name: str) -> Section | None:
        setting, course, tell = self.setting, self.course, self.tell
        match name:
            case "repaired" if setting.is_knowing:
                return await repaired(setting, self.exact, tell)
            case "plain":
                section, self.plain = await compared(setting, self.exact, tell)
                return section
            case "scale":
                sizes = sorted({min(FEW, course.events), course.events})
                return await scaled(sizes, course.common.answer.model, self.plain.get("events"), tell)
            case _:
                return None

    async def _of_more(self, name: str) -> Section | None:
        setting, only, tell = self.setting, self.course.only, self.tell
        match name:
            case "compound":
                section, asked = await compound(setting, only, tell)
                self.others += asked
                return section
            case "labels":
                section, asked = await labelled(setting, only, tell)
                self.others += asked
                return section
            case "noise" if setting.is_knowing:
                return await counted(setting, only, self.course.p, tell)
            case "forecast":
                return await foreseen(setting, [*self.exact, *self.others], tell)
            case _:
                return None


def _setting(course: Course) -> Setting:
    world = World()
    asked = [question for question in LABELS if world.lacks(question.fetches) is None]
    knowing = Knowing(
        scripts=scripts_of([*EXACT, *COMPOUNDS, *LABELS]),
        truth=truth_of(asked, world, invalid=course.invalid, seed=course.seed),
        latency_s=course.latency_s,
    )
    return Setting(course.common, world, knowing, course.seed)
