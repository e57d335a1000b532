"""Plans of network and server faults for one run, a pure function of a seed.

A client can detect every fault of a plan (by a status, a length, a repeated id, a total): if the API reports no total,
no record is omitted without another sign.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from mock_api.faults import FaultKind, FaultPlan
from mock_api.pagination import PagingStyle

API, MODEL = "api", "model"
MOST_LATENCY_S = 0.01


class NetworkFault(StrEnum):
    """What happens to one HTTP exchange."""

    TOO_MANY = "429 with seconds"
    TOO_MANY_DATE = "429 with a date"
    TOO_MANY_RESET = "429 with a reset"
    BROKEN = "5xx"
    RESET_BEFORE = "reset before the answer"
    RESET_WITHIN = "reset within the answer"
    CUT = "cut body of known length"
    CUT_CHUNKS = "cut body in chunks"
    CUT_OPEN = "cut body of unknown length"
    CUT_PACKED = "cut body, compressed, of unknown length"
    NOTHING = "an answer without a body"
    DRIP = "slow drip"
    HANG = "no answer"


class DataFault(StrEnum):
    """What the API does to the data of a page; values are those of the mock API's faults."""

    SHORT_PAGE = "short_page"
    WRONG_TOTAL = "wrong_total"
    LOW_TOTAL = "low_total"
    REPEATED_RECORD = "repeated_record"
    REPEATED_PAGE = "repeated_page"
    EMPTY_PAGE = "empty_page"
    DROPPED_PAGE = "dropped_page"


WITHHOLDING = frozenset({DataFault.SHORT_PAGE, DataFault.EMPTY_PAGE})
"""Without a total, these faults cannot be detected."""
_TOTAL = frozenset({DataFault.WRONG_TOTAL, DataFault.LOW_TOTAL})
_BY_PAGE = frozenset({DataFault.DROPPED_PAGE})


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPlan:
    """One run: the question, the API, and the faults. `rates` are by server and fault."""

    seed: int
    question: int
    style: PagingStyle
    max_limit: int
    has_total: bool
    has_metadata: bool
    api: str
    kinds: tuple[NetworkFault | DataFault, ...]
    rates: Mapping[str, Mapping[NetworkFault, float]]
    faults: FaultPlan

    def fault(self, server: str, number: int) -> NetworkFault | None:
        """What happens to the request of that number, from 1, at a server."""
        left = random.Random(f"{self.seed} {server} {number}").random()
        for kind, rate in self.rates[server].items():
            left -= rate
            if left < 0:
                return kind
        return None

    def delay_s(self, server: str, number: int) -> float:
        """The latency of its response."""
        return random.Random(f"{self.seed} {server} {number} late").uniform(0, MOST_LATENCY_S)


def plan_of(seed: int, *, questions: int) -> NetworkPlan:
    """The plan of a seed. The first kind of fault rotates, so that enough plans cover all of them."""
    rng = random.Random(f"network {seed}")
    every: list[NetworkFault | DataFault] = [*NetworkFault, *DataFault]
    first = every[seed % len(every)]
    needs_total = not _is_detectable(first, has_total=False)
    styles = [
        PagingStyle.OFFSET,
        PagingStyle.PAGE,
        PagingStyle.LINK,
        PagingStyle.NEXT_URL,
        *([] if needs_total else [PagingStyle.CURSOR]),
    ]
    style = rng.choice(styles)
    has_total = style is not PagingStyle.CURSOR and (needs_total or rng.random() < 0.75)
    kinds = {first, *rng.sample(every, rng.randint(0, 3))}
    shown = tuple(kind for kind in every if kind in kinds and _is_detectable(kind, has_total=has_total))
    mishaps = [kind for kind in shown if isinstance(kind, NetworkFault)]
    return NetworkPlan(
        seed=seed,
        question=rng.randrange(questions),
        style=style,
        max_limit=rng.choice([20, 50, 200]),
        has_total=has_total,
        has_metadata=has_total and rng.random() < 0.5,
        api=rng.choice(["chat", "responses"]),
        kinds=shown,
        rates={server: {kind: _rate(kind, rng) for kind in mishaps} for server in (API, MODEL)},
        faults=_faults(seed, [kind for kind in shown if isinstance(kind, DataFault)], rng),
    )


def _is_detectable(kind: NetworkFault | DataFault, *, has_total: bool) -> bool:
    return has_total or kind not in WITHHOLDING | _TOTAL


def _rate(kind: NetworkFault, rng: random.Random) -> float:
    """A server that does not respond costs a whole timeout each time."""
    return 0.01 if kind is NetworkFault.HANG else rng.choice([0.02, 0.05, 0.1, 0.2])


def _chance(kind: DataFault, rng: random.Random) -> float:
    """A total may be wrong on every page; other faults on every page would be different data, not a fault."""
    return rng.choice([0.2, 1.0]) if kind in _TOTAL else rng.choice([0.1, 0.2, 0.4])


def _normalize(rates: dict[FaultKind, float]) -> dict[FaultKind, float]:
    """The same probabilities, at most 1 in total."""
    whole = max(1.0, sum(rates.values()))
    return {kind: rate / whole for kind, rate in rates.items()}


def _faults(seed: int, kinds: list[DataFault], rng: random.Random) -> FaultPlan:
    is_dropping = DataFault.DROPPED_PAGE in kinds
    return FaultPlan(
        seed=seed,
        rates=_normalize({FaultKind(kind): _chance(kind, rng) for kind in kinds if kind not in _BY_PAGE}),
        dropped_pages=frozenset({rng.randint(1, 4)}) if is_dropping else frozenset(),
    )
