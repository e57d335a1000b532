"""What a check is given, and what it returns."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any

from runax_cli.agent.evidence.figures import EvidencePool, Figure, figures_in
from runax_cli.agent.evidence.support import Support
from runax_cli.agent.evidence.values import ValueIndex
from runax_cli.core.results import Fault
from runax_cli.executor.outcome import SqlEvidence
from runax_cli.executor.sql.query_shape import QueryShape


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a statement fails: the data says otherwise, or says nothing of the kind."""

    fault: Fault
    note: str


@dataclass(frozen=True, kw_only=True)
class StatementContext:
    """One statement with everything that it may rest on.

    `given` has the values that need no citation: the question, arguments of calls, totals. `answer_rows` are the rows
    of all queries that the answer cites. `indexes` and `totals` (exact numbers of records) are by dataset;
    `cited_datasets` are cited for their totals; `is_item`: it is a list item or a table row;
    `records_read` are the numbers of records that were fetched.
    """

    text: str
    question: str
    support: Support
    given: EvidencePool
    answer_rows: EvidencePool
    indexes: Mapping[str, ValueIndex] = field(default_factory=dict)
    totals: Mapping[str, int] = field(default_factory=dict)
    cited_datasets: tuple[str, ...] = ()
    is_item: bool = False
    records_read: tuple[int, ...] = ()

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """The figures of the statement."""
        return figures_in(self.text)

    def states(self, value: Decimal) -> bool:
        """Whether a figure of the statement may be this value."""
        return any(figure.number is not None and figure.number.includes(value) for figure in self.figures)

    @property
    def queries(self) -> Sequence[SqlEvidence]:
        """The cited queries."""
        return self.support.queries

    @property
    def shapes(self) -> Sequence[QueryShape]:
        """The shapes of the cited queries that could be analyzed."""
        return [query.shape for query in self.queries if query.shape is not None]

    @property
    def dataset_names(self) -> tuple[str, ...]:
        """The datasets that the statement rests on."""
        of_records = (cited.ref.dataset for cited in self.support.records)
        of_queries = (name for query in self.queries for name in query.datasets)
        return tuple(dict.fromkeys((*of_records, *of_queries, *self.cited_datasets)))

    @property
    def own_indexes(self) -> Sequence[ValueIndex]:
        """The values of these datasets."""
        return [self.indexes[name] for name in self.dataset_names if name in self.indexes]

    @property
    def pools(self) -> tuple[EvidencePool, ...]:
        """All evidence that the statement may use."""
        support = self.support
        return (support.in_records, support.in_rows, support.filters, self.given, self.answer_rows)


def column_values(query: SqlEvidence, at: int) -> Iterator[Any]:
    """The cells of one column of a result."""
    return (row[at] for row in query.rows if at < len(row))
