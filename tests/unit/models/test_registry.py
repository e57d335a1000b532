"""The registry: cheap to import, one model for each role, everything learned is shared."""

import subprocess
import sys

import pytest

from adapters.clock import ManualClock
from runax_cli.core.budget import Budget, Limits
from runax_cli.core.errors import ModelError
from runax_cli.core.event_types import RetryScheduled, Warned
from runax_cli.core.events import CollectingSink, Emitter
from runax_cli.models.base import Message, ModelReply, ModelRequest, Role, ScriptedModel, Usage
from runax_cli.models.metering import UsageMeter
from runax_cli.models.pricing import ListPrice
from runax_cli.models.registry import ModelRegistry, RoleConfig

RULES = RoleConfig(name="rules", is_rules=True)
LOCAL = RoleConfig(name="qwen", base_url="http://127.0.0.1:9/v1/", api_key="sk-secret")


def _registry(script: object = (), **roles: RoleConfig) -> ModelRegistry:
    return ModelRegistry(
        {Role(name): config for name, config in (roles or {"agent": RULES}).items()},
        concurrency=2,
        rules=lambda: ScriptedModel(script, name="rules"),  # type: ignore[arg-type]
        clock=ManualClock(),
    )


def _emitter(sink: CollectingSink) -> Emitter:
    return Emitter.for_run(sink, run_id="r", session_id="s")


def test_importing_it_loads_neither_sdk_nor_vocabulary() -> None:
    code = (
        "import sys, runax_cli.models.registry\n"
        "heavy = {'openai', 'tiktoken', 'httpx2', 'genai_prices', 'jsonschema', 'anyio'} & set(sys.modules)\n"
        "print(sorted(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_key_is_not_in_the_representation_of_a_role() -> None:
    assert "sk-secret" not in repr(LOCAL)


def test_the_effective_context_is_a_share_of_the_context() -> None:
    assert RULES.effective_tokens == 32_768


def test_an_unconfigured_role_uses_the_model_of_the_agent() -> None:
    registry = _registry(agent=LOCAL)
    assert registry.config(Role.REDUCER) is LOCAL
    assert registry.counter(Role.REDUCER) is registry.counter(Role.AGENT)


def test_another_endpoint_has_another_counter() -> None:
    registry = _registry(agent=LOCAL, reducer=RoleConfig(name="qwen", base_url="http://127.0.0.1:10/v1"))
    assert registry.counter(Role.REDUCER) is not registry.counter(Role.AGENT)


@pytest.mark.parametrize(
    ("config", "is_calibrated"),
    [
        (RULES, True),
        (RoleConfig(name="gpt-5-mini"), True),
        (RoleConfig(name="gpt-5-mini", base_url="https://api.openai.com/v1/"), True),
        (RoleConfig(name="gpt-5-mini", base_url="https://gateway.example/v1"), False),
        (RoleConfig(name="gpt-4-turbo"), False),
        (LOCAL, False),
    ],
)
def test_the_shipped_vocabulary_is_exact_only_for_models_that_use_it(config: RoleConfig, is_calibrated: bool) -> None:
    assert _registry(agent=config).counter(Role.AGENT).is_calibrated is is_calibrated


async def test_a_bound_model_retries_counts_and_emits_events_with_its_role() -> None:
    busy = ModelError("busy", model="rules", retryable=True)
    registry = _registry([busy, ModelReply(text="ok", model="rules", usage=Usage(9, 1))])
    sink, meter = CollectingSink(), UsageMeter()
    model = registry.bind(Role.REDUCER, budget=Budget(Limits(), owner="turn"), emitter=_emitter(sink), meter=meter)
    reply = await model.complete(ModelRequest(role=Role.REDUCER, messages=(Message("user", "Hello"),)))
    assert (reply.text, reply.requests, reply.cost_usd) == ("ok", 2, 0.0)
    assert meter.report().by_role["reducer"].requests == 2
    assert [event.body.type for event in sink.events] == [
        "model.requested",
        "retry.scheduled",
        "model.requested",
        "model.replied",
    ]
    assert {event.stamp.role for event in sink.events} == {"reducer"}
    assert any(isinstance(event.body, RetryScheduled) for event in sink.events)
    await registry.aclose()


async def test_closing_closes_every_model() -> None:
    made: list[ScriptedModel] = []

    def rules() -> ScriptedModel:
        made.append(ScriptedModel([]))
        return made[-1]

    registry = ModelRegistry({Role.AGENT: RULES}, concurrency=1, rules=rules)
    for role in (Role.AGENT, Role.REDUCER):
        registry.bind(
            role, budget=Budget(Limits(), owner="turn"), emitter=_emitter(CollectingSink()), meter=UsageMeter()
        )
    await registry.aclose()
    assert [model.is_closed for model in made] == [True]


async def test_a_dollar_limit_with_an_unknown_price_warns_once() -> None:
    registry, sink = _registry(agent=LOCAL), CollectingSink()
    for limits in (Limits(), Limits(usd=1.0), Limits(usd=1.0)):
        registry.bind(Role.AGENT, budget=Budget(limits, owner="turn"), emitter=_emitter(sink), meter=UsageMeter())
    await registry.aclose()
    (event,) = sink.events
    assert isinstance(event.body, Warned)
    assert "the price of the model 'qwen' at 'http://127.0.0.1:9/v1' is unknown" in event.body.text


async def test_warm_loads_what_the_first_request_needs() -> None:
    await _registry(agent=LOCAL).warm()
    assert "openai" in sys.modules
    assert _registry(agent=LOCAL).counter(Role.AGENT).is_ready


@pytest.mark.parametrize(
    ("model", "base_url", "is_known"),
    [
        ("gpt-4o", "https://api.openai.com/v1", True),
        ("gpt-4o", "http://127.0.0.1:9100/v1", False),
        ("no-such-model", "https://api.openai.com/v1", False),
    ],
)
def test_only_a_listed_endpoint_has_a_list_price(model: str, base_url: str, is_known: bool) -> None:
    cost_usd = ListPrice(model, base_url).cost_usd(Usage(1_000_000, 1_000_000))
    assert (cost_usd is not None) is is_known
    assert cost_usd is None or cost_usd > 0


def test_cached_input_is_cheaper() -> None:
    price = ListPrice("gpt-4o", "https://api.openai.com/v1")
    cached, plain = price.cost_usd(Usage(1000, 10, 800)), price.cost_usd(Usage(1000, 10))
    assert cached is not None
    assert plain is not None
    assert cached < plain
