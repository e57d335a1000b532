"""What tokens cost, by the model and the endpoint that bills them.

Knows the prices that `genai-prices` ships (no network), and those that the user states. A price that is not known is
None and never zero: a name alone does not tell who bills, so an endpoint that is in no price list has no price.
"""

from dataclasses import dataclass
from typing import Protocol

from runax_cli.models.base import Usage


class Price(Protocol):
    """What one model at one endpoint costs."""

    def cost_usd(self, usage: Usage) -> float | None:
        """US dollars for `usage`; None where the price is not known."""


@dataclass(frozen=True, slots=True)
class FreePrice:
    """Costs nothing: the offline rules model."""

    def cost_usd(self, usage: Usage) -> float | None:  # noqa: ARG002
        """Zero."""
        return 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedPrice:
    """What the user says that it costs, in US dollars a million tokens; `cached` None is as any other input."""

    input: float
    output: float
    cached: float | None = None

    def cost_usd(self, usage: Usage) -> float | None:
        """See `Price.cost_usd`."""
        cached = min(usage.cached_tokens, usage.input_tokens)
        of_cached = self.input if self.cached is None else self.cached
        spent = (usage.input_tokens - cached) * self.input + cached * of_cached + usage.output_tokens * self.output
        return spent / 1_000_000


@dataclass(frozen=True, slots=True)
class ListPrice:
    """The list price of `model` at `base_url`."""

    model: str
    base_url: str

    def cost_usd(self, usage: Usage) -> float | None:
        """See `Price.cost_usd`; cached input at its own price."""
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
