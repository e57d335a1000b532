"""Shared by the corpora: one operation with the truth about its pagination, and scores of the detection."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from adapters.base import JsonObject, Pagination, PaginationStyle
from adapters.pagination import ResponseSchema, detect

RECALL = 0.98
PRECISION = 0.90


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One operation.

    `positions` are the accepted arguments, any of which is correct; empty if it is not paged by an argument.
    `is_size_known` is False if the truth does not include the size.
    """

    name: str
    parameters: dict[str, JsonObject]
    is_paged: bool
    description: str = ""
    required: frozenset[str] = frozenset()
    response: ResponseSchema | None = None
    conventions: tuple[str, ...] = ()
    positions: tuple[str, ...] = ()
    size: str | None = None
    is_size_known: bool = True

    def found(self) -> Pagination:
        """The result of the detection."""
        return detect(self.parameters, description=self.description, response=self.response, required=self.required)


@dataclass(slots=True)
class Score:
    """Counts over a corpus; `wrong` are paged operations whose convention, position or size was detected wrongly."""

    right: int = 0
    missed: list[str] = field(default_factory=list)
    invented: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def recall(self) -> float:
        """Recall: the share of the paged operations that were detected."""
        return self.right / max(1, self.right + len(self.missed))

    @property
    def precision(self) -> float:
        """Precision: the share of the operations detected as paged that are."""
        return self.right / max(1, self.right + len(self.invented))

    def line(self, corpus: str) -> str:
        """The figures in one line."""
        return (
            f"{corpus}: {self.right + len(self.missed)} paged operations, recall {self.recall:.3f}, "
            f"precision {self.precision:.3f}, {len(self.wrong)} in a wrong way"
        )


def score(cases: Iterable[Case]) -> Score:
    """Score the detection over some operations."""
    total = Score()
    for case in cases:
        found = case.found()
        is_found = found.convention is not PaginationStyle.SINGLE
        if case.is_paged and is_found:
            total.right += 1
            if said := differences(case, found):
                total.wrong.append(f"{case.name}: {said}")
        elif case.is_paged:
            total.missed.append(case.name)
        elif is_found:
            total.invented.append(f"{case.name}: {found.convention} {found.position} {found.size}")
    return total


def differences(case: Case, found: Pagination) -> str:
    """What differs from the truth in the result of a paged operation; "" if nothing does."""
    is_other = bool(case.conventions) and found.convention not in case.conventions
    is_moved = bool(case.positions) and found.position is not None and found.position not in case.positions
    is_sized = case.is_size_known and case.size != found.size
    said = [f"{found.convention} instead of {case.conventions}"] if is_other else []
    said += [f"position '{found.position}' instead of {case.positions}"] if is_moved else []
    return "; ".join(said + ([f"size '{found.size}' instead of '{case.size}'"] if is_sized else []))
