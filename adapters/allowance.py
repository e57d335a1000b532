"""What a server still allows, read from the headers of any answer of it.

Pure. Knows `RateLimit` (IETF draft-ietf-httpapi-ratelimit-headers, old and new form), `RateLimit-*`, `X-RateLimit-*`,
`X-Rate-Limit-*` and the families of model endpoints (`…-remaining-requests`, `…-requests-remaining`), and resets as
seconds, as a moment since the epoch, as a duration (`6m0s`) or as a date. Knows nothing of what is done about it.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_REMAINING = re.compile(r"(?P<stem>[a-z-]*?rate-?limit)(?P<before>(?:-[a-z]+)*?)-remaining(?P<after>(?:-[a-z]+)*)")
_ITEM = re.compile(r"(?:^|[,;])\s*(r|t|q|limit|remaining|reset)\s*=\s*\"?(\d{1,12})")
_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_UNITS_S = (86_400.0, 3_600.0, 60.0, 1.0, 0.001)
_NUMBER = re.compile(r"\d{1,15}(\.\d+)?")
_EPOCH_S, _EPOCH_MS = 1e9, 1e12


@dataclass(frozen=True, slots=True)
class Allowance:
    """`remaining` requests until `reset_s` seconds from now; `limit` is that of a whole window, None if unknown.

    Where a server counts something else (tokens), `remaining` is infinite as long as any of it is left.
    """

    remaining: float
    reset_s: float
    limit: float | None = None


def allowance_in(headers: Mapping[str, str], *, now: float) -> Allowance | None:
    """The tightest of what the headers tell, seen from the wall time `now`; None where they tell nothing usable."""
    lower = {name.lower(): value for name, value in headers.items()}
    found = [*_of_items(lower.get("ratelimit", "")), *_of_names(lower, now)]
    return min(found, key=lambda each: (each.remaining, -each.reset_s), default=None)


def _of_items(value: str) -> Iterator[Allowance]:
    """The one header `RateLimit`: `"default";r=5;t=30`, one for each policy, or `limit=100, remaining=5, reset=30`."""
    parts = value.split(",") if re.search(r";\s*r\s*=", value) else [value]
    for part in parts:
        figures = {name: float(figure) for name, figure in _ITEM.findall(part)}
        remaining, reset = figures.get("r", figures.get("remaining")), figures.get("t", figures.get("reset"))
        if remaining is not None and reset is not None:
            yield Allowance(remaining, reset, figures.get("q", figures.get("limit")))


def _of_names(headers: Mapping[str, str], now: float) -> Iterator[Allowance]:
    for name, value in headers.items():
        matched = _REMAINING.fullmatch(name)
        remaining = _number(value)
        if matched is None or remaining is None:
            continue
        stem, before, after = matched.group("stem", "before", "after")
        names = (f"{stem}{before}-reset{after}", f"{stem}{before}-reset-after{after}")
        resets = [reset for reset in (reset_s(headers.get(each, ""), now=now) for each in names) if reset is not None]
        if resets:
            limit = _number(headers.get(f"{stem}{before}-limit{after}", ""))
            yield _counted(Allowance(remaining, resets[0], limit), what=before + after)


def _counted(allowance: Allowance, *, what: str) -> Allowance:
    """The allowance in requests: of tokens nobody knows how many a request takes, so that only none is too few."""
    is_requests = "token" not in what
    return allowance if is_requests or not allowance.remaining else Allowance(math.inf, allowance.reset_s)


def reset_s(value: str, *, now: float) -> float | None:
    """Seconds until a reset, in any of the forms that servers use; None for nonsense, 0 for what is over."""
    text = value.strip()
    seconds = _number(text)
    if seconds is not None:
        if seconds >= _EPOCH_S:
            seconds = (seconds / 1000 if seconds >= _EPOCH_MS else seconds) - now
        return max(0.0, seconds)
    matched = _DURATION.fullmatch(text) if text else None
    if matched is not None:
        return sum(float(part) * unit for part, unit in zip(matched.groups(), _UNITS_S, strict=True) if part)
    moment = _moment(text)
    return None if moment is None else max(0.0, moment - now)


def _moment(text: str) -> float | None:
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = read(text)
        except (ValueError, TypeError, OverflowError):
            continue
        return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
    return None


def _number(value: str) -> float | None:
    """A figure at the beginning of a list of them, as `100, 100;w=60` tells the limit."""
    text = value.partition(",")[0].partition(";")[0].strip()
    return float(text) if _NUMBER.fullmatch(text) else None
