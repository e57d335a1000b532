"""What the oracle model does for a question: the calls, the labels, the SQL, and the parts of the question."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from benchmarks.questions import Compound, Fetch, LabelQuestion, Question, World

_LITERAL = re.compile(r"('[^']*')")


@dataclass(frozen=True, slots=True)
class Labelling:
    """The column to read and the decision about each of its texts."""

    column: str
    instruction: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One figure: the calls it needs, its SQL, and the labels before it. `column` is misspelled at first."""

    fetches: tuple[Fetch, ...]
    sql: str
    labelling: Labelling | None = None
    column: str | None = None

    def statement(self, tables: Sequence[str], labels: str | None = None) -> str:
        """The correct SQL over tables of these names."""
        return self.sql.format(*tables, labels=labels)

    def misspelt(self, tables: Sequence[str]) -> str | None:
        """The same with a column that does not exist; None if the first attempt is correct."""
        if self.column is None:
            return None
        return _renamed(self.statement(tables), self.column)


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A question's steps; `parts` are its parts, empty if it is single."""

    text: str
    steps: tuple[Step, ...]
    parts: tuple[str, ...] = ()


Scripts: TypeAlias = Mapping[str, Script]
"""By the question's text with white space normalized."""


def scripts_of(questions: Iterable[Question | Compound | LabelQuestion]) -> Scripts:
    """The scripts of questions and of the parts of compounds."""
    made: dict[str, Script] = {}
    for question in questions:
        if isinstance(question, Compound):
            made |= scripts_of(question.parts)
            parts = tuple(part.text for part in question.parts)
            steps = tuple(step_of(part) for part in question.parts)
        else:
            parts, steps = (), (step_of(question),)
        made[folded(question.text)] = Script(text=question.text, steps=steps, parts=parts)
    return made


def step_of(question: Question | LabelQuestion) -> Step:
    """The only step of a question that is not compound."""
    labelling = None
    if isinstance(question, LabelQuestion):
        labelling = Labelling(question.column, question.instruction, question.labels)
    return Step(fetches=question.fetches, sql=question.sql, labelling=labelling)


def with_wrong_columns(scripts: Scripts, questions: Iterable[Question], world: World) -> dict[str, Script]:
    """The scripts of the questions whose SQL names a column of the first call, with that name misspelled at first."""
    changed: dict[str, Script] = {}
    for question in questions:
        columns = next(iter(world.raw(question.fetches[0])), {})
        named = [name for name in columns if _renamed(question.sql, name) != question.sql]
        script = scripts[folded(question.text)]
        if named:
            step = replace(script.steps[0], column=max(named, key=len))
            changed[folded(question.text)] = replace(script, steps=(step,))
    return changed


def folded(text: str) -> str:
    """A text with single spaces."""
    return " ".join(text.split())


def _renamed(sql: str, column: str) -> str:
    """`sql` with a column misspelled everywhere outside of literals."""
    pieces = _LITERAL.split(sql)
    name = re.compile(rf"(?<![\w{{]){re.escape(column)}(?!\w)")
    return "".join(piece if piece.startswith("'") else name.sub(f"{column}x", piece) for piece in pieces)
