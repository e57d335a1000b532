"""Events of a source request: sent, throttled, retried, progress and warnings. An observer of a call receives them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class RequestSent:
    """A request was sent."""

    source: str
    location: str


@dataclass(frozen=True, slots=True)
class RetryPlanned:
    """A request failed and will be repeated after `wait_s`; `attempt` is the number of the next one, from 2."""

    source: str
    location: str
    attempt: int
    wait_s: float
    reason: str


@dataclass(frozen=True, slots=True)
class RequestThrottled:
    """A request waits for `wait_s` before it is sent, because of the server's rate limit."""

    source: str
    location: str
    wait_s: float
    reason: str


@dataclass(frozen=True, slots=True)
class SourceWarning:
    """Something does not match the document and was used anyway; sent once per tool and code."""

    source: str
    tool: str
    code: str
    text: str


@dataclass(frozen=True, slots=True)
class ProgressReported:
    """A running request reports its progress: `done` of `total` (None if unknown), in its own units."""

    source: str
    location: str
    done: float
    total: float | None = None
    text: str = ""


class RetryRefused(Exception):
    """Raised by an observer to veto a `RetryPlanned`; the request then fails."""


SourceEvent: TypeAlias = RequestSent | RetryPlanned | RequestThrottled | SourceWarning | ProgressReported
OnEvent: TypeAlias = Callable[[SourceEvent], None]
"""An observer: receives every event, and may veto a `RetryPlanned` by raising RetryRefused."""


def ignore_events(_event: SourceEvent) -> None:
    """Do nothing: the default observer."""
