"""Checks that the reference SQL of every question gives its gold answer, over tables as runax makes them.

`python -m benchmarks.questions.check` prints one line per question and `N of N exact`; it exits with 10 if an answer
differs. Questions whose data are not available are skipped, with the reason.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.questions import COMPOUNDS, EXACT, LABELS
from benchmarks.questions.answers import Answer, agrees, rows_of
from benchmarks.questions.question import Compound, LabelQuestion, Question
from benchmarks.questions.records import World
from benchmarks.questions.tables import Tables
from mockdata.events import DEFAULT_COUNT
from runax_cli.core.errors import RunaxError
from runax_cli.executor.sql.engine import SqlEngine

DIFFERS = 10
_SHOWN_CHARS = 90


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of one question: `difference` is None if SQL and gold agree, `skipped` says why it was not asked."""

    id: str
    group: str
    gold: Answer | None = None
    difference: str | None = None
    skipped: str | None = None

    @property
    def is_exact(self) -> bool:
        """Whether it was asked and answered exactly."""
        return self.skipped is None and self.difference is None


def check(world: World, *, only: Sequence[str] = ()) -> Iterator[Checked]:
    """Ask all questions, or those with the ids `only`; parts of compounds are asked under the compound's id."""
    with _tables(world) as tables:
        yield from (_exact(q, q.id, q.kind, world, tables) for q in EXACT if _is_wanted(q.id, only))
        for compound in COMPOUNDS:
            if _is_wanted(compound.id, only):
                yield from _parts(compound, world, tables)
    with _tables(world, is_hiding=True) as tables:
        yield from (_labelled(q, world, tables) for q in LABELS if _is_wanted(q.id, only))


def true_labels(question: LabelQuestion, world: World) -> Mapping[str, str]:
    """The true label of each distinct text. Raises ValueError if a text has two, or one that is not allowed."""
    labels: dict[str, str] = {}
    for record in world.raw(question.fetches[0]):
        label = question.truth(record)
        if labels.setdefault(record[question.column], label) != label:
            raise ValueError(f"'{question.id}': the text '{record[question.column]}' has two true labels")
    if unknown := set(labels.values()) - set(question.labels):
        raise ValueError(f"'{question.id}': true labels that are not among the labels: {sorted(unknown)}")
    return labels


@contextmanager
def _tables(world: World, *, is_hiding: bool = False) -> Iterator[Tables]:
    with tempfile.TemporaryDirectory() as folder, world.resources(is_hiding=is_hiding) as resources:
        engine = SqlEngine(Path(folder))
        try:
            yield Tables(engine, resources)
        finally:
            engine.close()


def _is_wanted(name: str, only: Sequence[str]) -> bool:
    return not only or name in only


def _exact(question: Question, name: str, group: str, world: World, tables: Tables) -> Checked:
    if reason := world.lacks(question.fetches):
        return Checked(name, group, skipped=reason)
    sql = question.statement(*(tables.of(fetch).name for fetch in question.fetches))
    return _compared(name, group, question, sql, world, tables)


def _parts(compound: Compound, world: World, tables: Tables) -> Iterator[Checked]:
    for number, part in enumerate(compound.parts, start=1):
        yield _exact(part, f"{compound.id} [{number}]", "part", world, tables)


def _labelled(question: LabelQuestion, world: World, tables: Tables) -> Checked:
    if reason := world.lacks(question.fetches):
        return Checked(question.id, "label", skipped=reason)
    labels = true_labels(question, world)
    names = [tables.of(fetch).name for fetch in question.fetches]
    side = tables.of_labels([labels[record[question.column]] for record in world.raw(question.fetches[0])])
    return _compared(question.id, "label", question, question.statement(*names, labels=side.name), world, tables)


def _compared(
    name: str, group: str, question: Question | LabelQuestion, sql: str, world: World, tables: Tables
) -> Checked:
    gold = question.gold(*map(world.raw, question.fetches))
    try:
        rows: Sequence[Sequence[Any]] = tables.engine.select(sql).rows
    except RunaxError as error:
        return Checked(name, group, gold, f"{error} in {sql}")
    if agrees(gold, rows, is_ranked=question.is_ranked):
        return Checked(name, group, gold)
    return Checked(name, group, gold, f"SQL gives {list(rows)[:5]}, gold is {rows_of(gold)[:5]}: {sql}")


def _line(checked: Checked) -> str:
    mark = "skipped" if checked.skipped else "exact" if checked.is_exact else "DIFFERS"
    told = checked.skipped or checked.difference or _shown(checked.gold)
    return f"{mark:8}{checked.group:9}{checked.id:40}{told}"


def _shown(answer: Answer | None) -> str:
    text = "; ".join(" ".join(map(str, row)) for row in rows_of(answer)) if answer is not None else ""
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"


def main(arguments: Sequence[str] | None = None) -> int:
    """Check, print, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.questions.check", description="SQL against gold.")
    parser.add_argument("--events", type=int, default=DEFAULT_COUNT, help="number of monitoring events")
    parser.add_argument("--only", nargs="*", default=(), metavar="ID", help="questions to ask")
    given = parser.parse_args(arguments)
    asked = []
    for checked in check(World(event_count=given.events), only=given.only):
        print(_line(checked), flush=True)
        asked.append(checked)
    n_asked = sum(checked.skipped is None for checked in asked)
    n_exact = sum(checked.is_exact for checked in asked)
    skipped = f"; {len(asked) - n_asked} skipped" if n_asked < len(asked) else ""
    print(f"{n_exact} of {n_asked} exact{skipped}")
    return 0 if n_exact == n_asked else DIFFERS


if __name__ == "__main__":
    sys.exit(main())
