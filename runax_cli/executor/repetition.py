"""Repetitions: pages and records of one call that came before.

Knows digests of pages and identities of records. What is dropped is counted and noted.
"""

from collections.abc import Sequence

from adapters.base import Json
from adapters.pagination import fingerprint
from runax_cli.executor.coverage import Notes
from runax_cli.executor.identity import Identities, id_of
from runax_cli.executor.page import Page
from runax_cli.results import ReasonCode


class Repetitions:
    """What came so far. `noun` names records in the notes."""

    def __init__(self, noun: str, notes: Notes) -> None:
        self._noun, self._notes = noun, notes
        self._pages: dict[str, int] = {}
        self._records = Identities()
        self._before: tuple[int, list[Json]] = (-1, [])

    def twin(self, index: int, page: Page) -> int | None:
        """The other page that had the same records; a page from the journal was judged when it came."""
        if not page.held or page.from_store:
            return None
        twin = self._pages.get(fingerprint(page.records), index)
        return None if twin == index else twin

    def is_old(self, index: int, page: Page) -> bool:
        """Whether a page brings nothing new: it is another one's twin, or all of its records came before."""
        return self.twin(index, page) is not None or (not page.from_store and self._records.has_all(page.records))

    def fresh(self, index: int, page: Page) -> list[Json]:
        """The page's records that did not come before; takes note of the page and of them."""
        if page.held:
            self._pages.setdefault(fingerprint(page.records), index)
        self._tell_overlap(index, page.records)
        kept = [record for record in page.records if not self._records.is_repetition(record)]
        if dropped := len(page.records) - len(kept):
            self._notes.note(
                ReasonCode.RECORDS_REPEATED, f"{dropped} {self._noun} came twice and were kept once (page {index + 1})"
            )
        return kept

    def _tell_overlap(self, index: int, records: list[Json]) -> None:
        """Records without an id are all kept: equal ones may be different ones. Where pages meet in them it is told."""
        (before, ended), self._before = self._before, (index, records)
        if not records or before != index - 1 or id_of(records[0]) is not None:
            return
        if n := overlap(ended, records):
            text = f"page {index + 1} begins with {n} {self._noun} that the page before ended with; they have no id"
            self._notes.note(ReasonCode.RECORDS_REPEATED, text)


def overlap(ended: Sequence[Json], begun: Sequence[Json]) -> int:
    """How many of the last of `ended` are the first of `begun`, in order."""
    longest = min(len(ended), len(begun))
    return next((n for n in range(longest, 0, -1) if list(ended[-n:]) == list(begun[:n])), 0)
