"""Prices of tokens per model and endpoint: from the settings, or from the list that `genai-prices` ships (no network).

An unknown price is None, never zero. A model name alone does not show who bills, so an unlisted endpoint has no price.
"""

from dataclasses import dataclass
from typing import Protocol

from runax_cli.models.base import Usage


class Price(Protocol):
    """The price of one model at one endpoint."""

    def cost_usd(self, usage: Usage) -> float | None:
        """The cost of `usage` in US dollars, None if the price is unknown."""


@dataclass(frozen=True, slots=True)
class FreePrice:
    """The price of the offline rules model: zero."""

    def cost_usd(self, usage: Usage) -> float | None:  # noqa: ARG002
        """Zero."""
        return 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedPrice:
    """A price from the settings, in US dollars per million tokens; `cached` None means the price of other input."""

    input: float
    output: float
    cached: float | None = None

    def cost_usd(self, usage: Usage) -> float | None:
        """See `Price.cost_usd`."""
        cached = min(usage.cached_tokens, usage.input_tokens)
        cached_price = self.input if self.cached is None else self.cached
        uncached = usage.input_tokens - cached
        return (uncached * self.input + cached * cached_price + usage.output_tokens * self.output) / 1_000_000


@dataclass(frozen=True, slots=True)
class ListPrice:
    """The list price of `model` at `base_url`, with cached input at its own price."""

    model: str
    base_url: str

    def cost_usd(self, usage: Usage) -> float | None:
        """See `Price.cost_usd`."""
        from genai_prices import Usage as Billed
        from genai_prices import calc_price

        billed = Billed(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cached_tokens,
        )
        try:
            return float(calc_price(billed, self.model, provider_api_url=self.base_url).total_price)
        except LookupError:
            return None
