"""The forecast of a question as it is printed and sent (`runax plan -o json`).

Knows the fields and their meaning. Knows nothing of how they come about.
"""

from typing import Any, Literal

from runax_cli.results import Stored, TotalIs, UsageReport

FORECAST_VERSION = 1


class ForecastCheck(Stored):
    """A run against what its probes foretold; `off_by` 0.1 is ten percent more than was used, None of nothing."""

    tokens_forecast: int
    tokens_used: int
    off_by: float | None


class Span(Stored):
    """From a good case to a bad one; `high` None has no upper end, because the size of a call is not known."""

    low: float
    high: float | None


class RoleForecast(Stored):
    """Requests and tokens that one model role will take."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


class CallForecast(Stored):
    """One call that the main model would make first. What is not known is None.

    `is_lookup`: it was run, because others depend on what it returns. `requests` are those to the source, probe
    included; `model_requests` those to reducers. `error` says why it could not be looked at.
    """

    tool: str
    source: str
    arguments: dict[str, Any]
    focus: str
    need: Literal["read", "compute"]
    at_most: int | None = None
    is_lookup: bool = False
    dataset: str | None = None
    records_total: int | None = None
    total_is: TotalIs = TotalIs.UNKNOWN
    tokens_raw: int | None = None
    strategy: str | None = None
    why: str | None = None
    pages: int | None = None
    page_size: int | None = None
    chunks: int | None = None
    requests: int | None = None
    model_requests: int | None = None
    error: str | None = None


class PartForecast(Stored):
    """One part of the question: what it needs, which calls it would begin with, and the tokens that it will take."""

    question: str
    need: Literal["read", "compute"]
    after: tuple[int, ...] = ()
    calls: tuple[CallForecast, ...] = ()
    tokens: int = 0
    is_known: bool = True
    error: str | None = None


class QuestionForecast(Stored):
    """The whole forecast. `spent` is what the forecast itself took, of models; `price_usd` None: no price is known."""

    v: int = FORECAST_VERSION
    question: str
    rule: str
    exit_code: int
    parts: tuple[PartForecast, ...]
    pages: int | None
    requests: int | None
    tokens: int
    tokens_range: Span
    by_role: dict[str, RoleForecast]
    price_usd: Span | None
    duration_s: Span
    is_known: bool
    spent: UsageReport
    spent_usd: float | None
