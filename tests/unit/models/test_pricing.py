"""The price of tokens: from the settings, from the price list, or unknown."""

import pytest

from runax_cli.models.base import Role, Usage
from runax_cli.models.pricing import ListPrice, StatedPrice
from runax_cli.runtime.models import role_configs
from runax_cli.settings.file_schema import PriceSettings, SettingsFile
from runax_cli.settings.loader import Configuration
from runax_cli.settings.settings import Settings

MILLION = 1_000_000


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        (Usage(MILLION, 0), 2.0),
        (Usage(0, MILLION), 8.0),
        (Usage(MILLION, MILLION, cached_tokens=MILLION // 2), 9.25),
        (Usage(10, 0, cached_tokens=99), 0.000005),
    ],
)
def test_a_stated_price_is_per_million_tokens_with_its_own_price_of_cached_input(usage: Usage, cost: float) -> None:
    assert StatedPrice(input=2, output=8, cached=0.5).cost_usd(usage) == pytest.approx(cost)


def test_cached_input_without_a_price_costs_as_much_as_other_input() -> None:
    assert StatedPrice(input=2, output=8).cost_usd(Usage(MILLION, 0, cached_tokens=MILLION)) == 2.0


def test_an_unlisted_endpoint_has_no_price() -> None:
    assert ListPrice("gpt-5-mini", "http://127.0.0.1:9/v1").cost_usd(Usage(1, 1)) is None


def test_a_price_from_the_settings_applies_to_every_role_with_the_model() -> None:
    settings = Settings(llm_name="mine", llm_api_base_url="http://127.0.0.1:9/v1", llm_reducer_name="small")
    structure = SettingsFile(prices={"mine": PriceSettings(input=1, output=2)})
    configs = role_configs(Configuration(settings=settings, structure=structure, origins={}))
    assert configs[Role.AGENT].price == configs[Role.PLANNER].price == StatedPrice(input=1, output=2)
    assert configs[Role.REDUCER].price is None
