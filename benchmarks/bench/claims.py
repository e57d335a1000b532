"""The result of a section of the bench: a table, and claims that held or did not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Claim:
    """One target: what was measured, in words with its figures; `holds` is None if it could not be judged."""

    text: str
    holds: bool | None

    @property
    def mark(self) -> str:
        """The verdict in words."""
        return "not judged" if self.holds is None else "reached" if self.holds else "MISSED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A finished section: the columns of its table, all figures of each row, claims and notes."""

    name: str
    columns: tuple[str, ...]
    rows: Sequence[dict[str, Any]]
    claims: tuple[Claim, ...]
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The section as JSON."""
        claims = [{"text": claim.text, "holds": claim.holds} for claim in self.claims]
        return {"name": self.name, "claims": claims, "notes": list(self.notes), "rows": list(self.rows)}


def all_right(name: str, rights: Sequence[bool]) -> Claim:
    """The claim that all of `rights` are true, with "N of N"."""
    return Claim(f"{name}: {sum(rights)} of {len(rights)}", all(rights) if rights else None)


def at_most(name: str, found: Sequence[int], most: int) -> Claim:
    """The claim that no figure is above `most` tokens; the text has the median and the maximum."""
    if not found:
        return Claim(f"{name}: none was asked", None)
    middle = sorted(found)[len(found) // 2]
    over = sum(value > most for value in found)
    told = f"{name}: at most {max(found):,} tokens, median {middle:,} (target {most:,})"
    return Claim(told + (f"; {over} of {len(found)} above" if over else ""), not over)
