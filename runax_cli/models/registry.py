"""Which model works for which role, and what all roles share.

Knows the configuration of roles and builds the layers around a model: structured output, retries, metering, the
endpoint. Importing it is cheap: SDK and vocabulary are loaded with the first model that needs them.
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
    """The model of one role. `base_url` None is OpenAI; `max_context` is in tokens, `utilization` a share of it."""

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
        """What any one request may use."""
        return int(self.max_context * self.utilization)

    @property
    def endpoint_url(self) -> str:
        """The base URL in use, without a slash at its end."""
        return (self.base_url or OPENAI_URL).rstrip("/")


class ModelRegistry:
    """All models of a process.

    Roles of the same configuration share a connection; those with the same model at the same endpoint share what was
    learned of it: calibration and quirks.
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
        """`concurrency` is over all models together. A role that is not configured works with the agent's model."""
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
        """The counter of the role's model, corrected by all that its endpoint has reported so far."""
        config = self.config(role)
        ratio = 1.0 if _uses_o200k(config) else None
        return self._counters.setdefault(_endpoint_key(config), CalibratedCounter(O200kCounter(), ratio=ratio))

    def price(self, role: Role) -> Price:
        """What the role's model costs."""
        return _price(self.config(role))

    def bind(self, role: Role, *, budget: Budget, emitter: Emitter, meter: UsageMeter) -> Model:
        """The role's model for one turn.

        Structured output is outermost, because a repair is a request of its own; then retries, because each attempt
        is reserved by itself and a wait holds no slot; then metering; then the endpoint.
        """
        config, told = self.config(role), emitter.child(role=role.value)
        price = _price(config)
        self._warn_of_price(config, price, budget, told)
        metering = Metering(
            role=role,
            effective_tokens=config.effective_tokens,
            counter=self.counter(role),
            slots=self._slots,
            price=price,
            budget=budget,
            emitter=told,
            meter=meter,
        )
        metered = MeteredModel(MaskedModel(self._model(config), self._mask), metering=metering)
        retried = RetryModel(
            metered,
            clock=self._clock,
            on_retry=count_retries(budget, told),
            policy=self._policy,
            gate=self._gate(config),
            on_held=told.emit,
        )
        return StructuredModel(retried, quirks=self._quirks_of(config))

    async def warm(self) -> None:
        """Load what the first request will need (SDK, vocabulary, prices; seconds on a slow machine) in a thread."""
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

    def _warn_of_price(self, config: RoleConfig, price: Price, budget: Budget, emitter: Emitter) -> None:
        """Say once for each model that a limit of money cannot hold where nobody knows the price."""
        if (
            budget.remaining("usd") is None
            or _endpoint_key(config) in self._warned
            or price.cost_usd(Usage(1, 1)) is not None
        ):
            return
        self._warned.add(_endpoint_key(config))
        text = (
            f"the price of the model '{config.name}' at '{config.endpoint_url}' is not known: no limit of money "
            "holds it. State it under 'prices' in runax.yaml, or limit tokens with --max-tokens or --max-day-tokens."
        )
        emitter.emit(Warned(code="price_unknown", text=text))

    def _quirks_of(self, config: RoleConfig) -> Quirks:
        return self._quirks.setdefault(_endpoint_key(config), Quirks())

    def _gate(self, config: RoleConfig) -> RequestGate:
        return self._gates.setdefault(_endpoint_key(config), RequestGate(self._clock))

    def _model(self, config: RoleConfig) -> Model:
        if config not in self._models:
            self._models[config] = self._rules() if config.is_rules else self._connected(config)
        return self._models[config]

    def _connected(self, config: RoleConfig) -> Model:
        from runax_cli.models.endpoint import Endpoint
        from runax_cli.models.endpoint_model import EndpointModel

        endpoint = Endpoint(
            config.endpoint_url,
            api_key=config.api_key,
            timeout_s=config.timeout_s,
            clock=self._clock,
            heard=self._gate(config).pace.update,
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
    """The rules model has no other tokens, and these models of OpenAI use the very vocabulary that is shipped."""
    return config.is_rules or (config.endpoint_url == OPENAI_URL and config.name.startswith(_O200K_NAMES))


def _price(config: RoleConfig) -> Price:
    return FreePrice() if config.is_rules else config.price or ListPrice(config.name, config.endpoint_url)
