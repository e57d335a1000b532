"""The models of a process by role, and what they share: connections, slots, calibration, quirks.

Builds the layers around a model: structured output, retries, metering, masking, endpoint. Importing it is cheap: the
SDK and the vocabulary are loaded with the first model that needs them.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from adapters.clock import Clock, SystemClock
from runax_cli.core.budget import Budget
from runax_cli.core.event_types import Warned
from runax_cli.core.events import Emitter
from runax_cli.models.base import Model, Role, Usage
from runax_cli.models.metering import MaskedModel, MeteredModel, Metering, PrioritySlots, UsageMeter
from runax_cli.models.pricing import FreePrice, ListPrice, Price, StatedPrice
from runax_cli.models.retry import RequestGate, RetryModel, RetryPolicy, count_retries
from runax_cli.models.structured_output import StructuredModel
from runax_cli.models.tokens import CalibratedCounter, O200kCounter
from runax_cli.models.wire import Quirks, Sampling
from runax_cli.telemetry.credential_mask import CREDENTIAL_MASK, CredentialMask

OPENAI_URL = "https://api.openai.com/v1"

_O200K_NAMES = ("gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "o1", "o3", "o4", "chatgpt-4o")


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleConfig:
    """The model of one role. `base_url` None means OpenAI; `utilization` is a share of `max_context` (in tokens)."""

    name: str
    base_url: str | None = None
    api_key: str = field(default="", repr=False)
    api: Literal["auto", "responses", "chat"] = "auto"
    max_context: int = 131_072
    utilization: float = 0.25
    temperature: float | None = 0.0
    top_p: float | None = 1.0
    timeout_s: float = 60.0
    is_rules: bool = False
    price: StatedPrice | None = None

    @property
    def effective_tokens(self) -> int:
        """The maximum number of tokens of one request."""
        return int(self.max_context * self.utilization)

    @property
    def endpoint_url(self) -> str:
        """The base URL in use, without a trailing slash."""
        return (self.base_url or OPENAI_URL).rstrip("/")


class ModelRegistry:
    """All models of a process.

    Roles with the same configuration share a connection. Roles with the same model at the same endpoint share its
    token calibration, quirks, rate limit and circuit breaker.
    """

    def __init__(
        self,
        roles: Mapping[Role, RoleConfig],
        *,
        concurrency: int,
        rules: Callable[[], Model],
        clock: Clock | None = None,
        policy: RetryPolicy | None = None,
        mask: CredentialMask = CREDENTIAL_MASK,
    ) -> None:
        """`concurrency` limits the requests of all models together. An unconfigured role uses the agent's model."""
        self._roles = dict(roles)
        self._rules, self._mask = rules, mask
        self._clock = clock or SystemClock()
        self._policy = policy or RetryPolicy()
        self._slots = PrioritySlots(concurrency)
        self._models: dict[RoleConfig, Model] = {}
        self._counters: dict[tuple[str, str], CalibratedCounter] = {}
        self._quirks: dict[tuple[str, str], Quirks] = {}
        self._gates: dict[tuple[str, str], RequestGate] = {}
        self._warned: set[tuple[str, str]] = set()

    def config(self, role: Role) -> RoleConfig:
        """The configuration of a role."""
        return self._roles.get(role) or self._roles[Role.AGENT]

    def counter(self, role: Role) -> CalibratedCounter:
        """The token counter of the role's model, calibrated by the usage that its endpoint reports."""
        config = self.config(role)
        ratio = 1.0 if _uses_o200k(config) else None
        return self._counters.setdefault(_endpoint_key(config), CalibratedCounter(O200kCounter(), ratio=ratio))

    def price(self, role: Role) -> Price:
        """The price of the role's model."""
        return _price(self.config(role))

    def bind(self, role: Role, *, budget: Budget, emitter: Emitter, meter: UsageMeter) -> Model:
        """The role's model for one turn.

        Structured output is the outermost layer, because a repair is a separate request. Retries come next, because
        each attempt reserves its own budget and a wait must not hold a slot. Then metering, masking and the endpoint.
        """
        config, emitter = self.config(role), emitter.child(role=role.value)
        price = _price(config)
        self._warn_if_price_unknown(config, price, budget, emitter)
        metering = Metering(
            role=role,
            effective_tokens=config.effective_tokens,
            counter=self.counter(role),
            slots=self._slots,
            price=price,
            budget=budget,
            emitter=emitter,
            meter=meter,
        )
        metered = MeteredModel(MaskedModel(self._model(config), self._mask), metering=metering)
        retried = RetryModel(
            metered,
            clock=self._clock,
            on_retry=count_retries(budget, emitter),
            policy=self._policy,
            gate=self._gate(config),
            on_delay=emitter.emit,
        )
        return StructuredModel(retried, quirks=self._quirks_of(config))

    async def warm(self) -> None:
        """Load the SDK, the vocabulary and the prices in a thread, so that the first request does not wait for them."""
        await asyncio.to_thread(self._load)

    async def aclose(self) -> None:
        """Close all connections."""
        models, self._models = self._models, {}
        for model in models.values():
            await model.aclose()

    def _load(self) -> None:
        O200kCounter().warm()
        for config in self._roles.values():
            _price(config).cost_usd(Usage(1, 1))
            if not config.is_rules:
                import runax_cli.models.endpoint_model  # noqa: F401 (loads the SDK)

    def _warn_if_price_unknown(self, config: RoleConfig, price: Price, budget: Budget, emitter: Emitter) -> None:
        """Warn once per model if a limit in dollars is set and the price of the model is unknown."""
        if (
            budget.remaining("usd") is None
            or _endpoint_key(config) in self._warned
            or price.cost_usd(Usage(1, 1)) is not None
        ):
            return
        self._warned.add(_endpoint_key(config))
        text = (
            f"the price of the model '{config.name}' at '{config.endpoint_url}' is unknown, so limits in dollars do "
            "not apply to it. Add it under 'prices' in runax.yaml, or use --max-tokens or --max-day-tokens."
        )
        emitter.emit(Warned(code="price_unknown", text=text))

    def _quirks_of(self, config: RoleConfig) -> Quirks:
        return self._quirks.setdefault(_endpoint_key(config), Quirks())

    def _gate(self, config: RoleConfig) -> RequestGate:
        return self._gates.setdefault(_endpoint_key(config), RequestGate(self._clock))

    def _model(self, config: RoleConfig) -> Model:
        if config not in self._models:
            self._models[config] = self._rules() if config.is_rules else self._connect(config)
        return self._models[config]

    def _connect(self, config: RoleConfig) -> Model:
        from runax_cli.models.endpoint import Endpoint
        from runax_cli.models.endpoint_model import EndpointModel

        endpoint = Endpoint(
            config.endpoint_url,
            api_key=config.api_key,
            timeout_s=config.timeout_s,
            clock=self._clock,
            on_headers=self._gate(config).rate_limiter.update,
        )
        return EndpointModel(
            config.name,
            endpoint=endpoint,
            api=config.api,
            sampling=Sampling(temperature=config.temperature, top_p=config.top_p),
            timeout_s=config.timeout_s,
            quirks=self._quirks_of(config),
            clock=self._clock,
        )


def _endpoint_key(config: RoleConfig) -> tuple[str, str]:
    return ("", config.name) if config.is_rules else (config.endpoint_url, config.name)


def _uses_o200k(config: RoleConfig) -> bool:
    """Whether the shipped vocabulary is exact: for these models of OpenAI, and for the rules model."""
    return config.is_rules or (config.endpoint_url == OPENAI_URL and config.name.startswith(_O200K_NAMES))


def _price(config: RoleConfig) -> Price:
    return FreePrice() if config.is_rules else config.price or ListPrice(config.name, config.endpoint_url)
