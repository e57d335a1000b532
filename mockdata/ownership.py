"""Which records belong to which owner, computed without storing a table. Records and owners are numbered from 1."""

from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate
from math import gcd


class Ownership:
    """Owner *i* has `counts[i - 1]` records; a bijection scatters them over the numbers 1 to `total`."""

    def __init__(self, counts: Iterable[int], *, seed: int) -> None:
        self._ends = tuple(accumulate(counts))
        self.total = self._ends[-1]
        self._factor = _coprime(self.total, near=int(self.total * 0.618) + seed % 97)
        self._inverse = pow(self._factor, -1, self.total) if self.total > 1 else 0
        self._shift = seed % self.total
        self.of = lru_cache(maxsize=4096)(self._of)

    def owner(self, n: int) -> int:
        """The owner of record `n`."""
        slot = ((n - 1) * self._factor + self._shift) % self.total
        return bisect_right(self._ends, slot) + 1

    def _of(self, owner: int) -> tuple[int, ...]:
        """The numbers of the owner's records, ascending; empty for an unknown owner."""
        if not 1 <= owner <= len(self._ends):
            return ()
        start = self._ends[owner - 2] if owner > 1 else 0
        slots = range(start, self._ends[owner - 1])
        return tuple(sorted((slot - self._shift) * self._inverse % self.total + 1 for slot in slots))


def _coprime(total: int, *, near: int) -> int:
    factor = max(1, near)
    while gcd(factor, total) != 1:
        factor += 1
    return factor
