"""What a probe brings back.

Knows figures, a pagination that is confirmed or corrected, and a page worth keeping. Knows no way to get them.
"""

from dataclasses import dataclass
from enum import StrEnum

import orjson

from adapters.base import CallResult, Json, PageAddress, Pagination
from adapters.pagination import Certainty, PageReading


class Rung(StrEnum):
    """Which rung of the ladder gave the figures."""

    METADATA = "metadata"
    COUNT_OPERATION = "count_operation"
    SMALLEST_PAGE = "smallest_page"
    HEAD = "head"
    FIRST_PAGE = "first_page"
    SINGLE = "single"


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPage:
    """A page fetched on the way that serves as the first page of the call; it is never fetched twice."""

    address: PageAddress | None
    size: int | None
    result: CallResult
    reading: PageReading


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What the look taught.

    `pagination` is confirmed or corrected. `total` is None where nothing trustworthy was announced, with certainty
    UNKNOWN; zero means that there are none. `bytes_per_record` is measured on `sample` as compact JSON, and rough where
    the sample is one record. `is_silent`: a page as long as was asked for named no next one, and nothing else says that
    it was the last. `first` is None where the walk has to begin with a request of its own. `requests` counts
    retries and refused rungs.
    """

    pagination: Pagination
    records_path: str
    total: int | None
    certainty: Certainty
    rung: Rung
    tokens_estimation: int | None = None
    sample: tuple[Json, ...] = ()
    bytes_per_record: float | None = None
    first: FirstPage | None = None
    is_silent: bool = False
    requests: int = 1
    notes: tuple[str, ...] = ()


def bytes_per_record(sample: tuple[Json, ...]) -> float | None:
    """The mean size of the sample's records as compact JSON; None without any."""
    if not sample:
        return None
    try:
        return len(orjson.dumps(list(sample))) / len(sample)
    except TypeError:
        return len(repr(sample)) / len(sample)
