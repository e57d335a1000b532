"""A question with its reference SQL and a gold answer that is computed from raw records in plain Python."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import ModuleType
from typing import Any, Literal, TypeAlias

from benchmarks.questions.answers import Answer

Record: TypeAlias = Mapping[str, Any]
Records: TypeAlias = Iterable[Record]
Gold: TypeAlias = Callable[..., Answer]
"""Takes the raw records of each fetch, in order; records can be iterated more than once."""


class Kind(StrEnum):
    """The computation that a question needs."""

    COUNT = "count"
    SUM = "sum"
    AVERAGE = "average"
    MEDIAN = "median"
    DISTINCT = "distinct"
    TOP = "top"
    GROUP = "group"
    DATES = "dates"
    SHARE = "share"
    TEXT = "text"
    NESTED = "nested"
    JOIN = "join"


@dataclass(frozen=True, slots=True)
class Fetch:
    """One call that a question needs: a resource of the API, and the arguments that narrow it."""

    resource: str
    arguments: Mapping[str, str | int] = field(default_factory=dict)

    @property
    def tool(self) -> str:
        """The tool's name."""
        return f"list_{self.resource}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One exact question. In `sql`, `{0}` and `{1}` are the tables of `fetches`."""

    id: str
    text: str
    fetches: tuple[Fetch, ...]
    sql: str
    gold: Gold
    kind: Kind
    language: Literal["en", "cs"] = "en"
    is_ranked: bool = False

    def statement(self, *tables: str) -> str:
        """The reference SQL over tables of these names."""
        return self.sql.format(*tables)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compound:
    """A question of several parts; each part is a question with its own gold."""

    id: str
    text: str
    parts: tuple[Question, ...]
    language: Literal["en", "cs"] = "en"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelQuestion:
    """A question that needs a value for each text of `column` in the first fetch before SQL can answer it.

    `truth` returns a raw record's true label. In `sql`, `{labels}` is a table with the columns `row` (of the first
    table) and `label`. The columns in `records.HIDDEN` would reveal the answer and are removed from the data.
    """

    id: str
    text: str
    fetches: tuple[Fetch, ...]
    column: str
    instruction: str
    labels: tuple[str, ...]
    truth: Callable[[Record], str]
    sql: str
    gold: Gold
    language: Literal["en", "cs"] = "en"
    is_ranked: bool = False

    def statement(self, *tables: str, labels: str) -> str:
        """The reference SQL over tables of these names."""
        return self.sql.format(*tables, labels=labels)


def asked(
    text: str,
    *fetches: Fetch,
    sql: str,
    kind: Kind,
    language: Literal["en", "cs"] = "en",
    is_ranked: bool = False,
) -> Callable[[Gold], Question]:
    """Define a question by the function that computes its gold; the function's name becomes its id."""

    def made(gold: Gold) -> Question:
        return Question(
            id=gold.__name__.replace("_", "-"),
            text=text,
            fetches=fetches,
            sql=sql,
            gold=gold,
            kind=kind,
            language=language,
            is_ranked=is_ranked,
        )

    return made


def questions_in(*modules: ModuleType) -> tuple[Question, ...]:
    """Every question that modules define, in source order."""
    return tuple(_values(modules, Question))


def _values(modules: Iterable[ModuleType], kind: type[Question]) -> Iterator[Question]:
    for module in modules:
        yield from (value for value in vars(module).values() if isinstance(value, kind))
