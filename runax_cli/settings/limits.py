"""The table of limits, from which settings, options, help and budgets are made.

Imports nothing heavy: `runax --help` reads this module.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

PARALLEL_CALLS = "max_parallel_calls"
SESSION_TIMEOUT = "session_timeout"
TIMEOUT = "timeout"
CALL_TIMEOUT = "call_timeout"
TENANT = "tenant"
TENANT_HELP = "Tenant that the run is billed to; the tenant limits apply to it."


class LimitScope(StrEnum):
    """What a limit applies to. The limits of a tenant apply per day, like those of the day."""

    TURN = "turn"
    SESSION = "session"
    DAY = "day"
    TENANT = "tenant"


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSetting:
    """One limit: `field` is the name of its setting, `name` the one that `--limit` takes."""

    field: str
    name: str
    help: str
    metavar: str = "N"
    is_whole: bool = True
    default: float | None = None
    resource: str = ""
    scope: LimitScope = LimitScope.TURN

    @property
    def option(self) -> str:
        """The option of this limit alone; an alias of `--limit` unless the limit is one of a turn."""
        return "--" + self.field.replace("_", "-")

    @property
    def flag(self) -> str:
        """The option as messages name it."""
        return self.option if self.scope is LimitScope.TURN else f"--limit {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _CountedResource:
    """A resource that budgets count, with its default limit per turn; `help` has a place for the scope."""

    resource: str
    help: str
    per_turn: float | None
    metavar: str = "N"
    is_whole: bool = True
    scopes: tuple[LimitScope, ...] = tuple(LimitScope)


_COUNTED = (
    _CountedResource(resource="steps", help="Maximum number of main-model replies {scope}.", per_turn=12),
    _CountedResource(resource="calls", help="Maximum number of tool calls {scope}.", per_turn=24),
    _CountedResource(
        resource="requests", help="Maximum number of requests to sources, retries included, {scope}.", per_turn=20_000
    ),
    _CountedResource(
        resource="retries",
        help="Maximum number of retried requests to sources and models {scope}.",
        per_turn=500,
        scopes=(LimitScope.TURN,),
    ),
    _CountedResource(resource="tokens", help="Maximum number of tokens, all models together, {scope}.", per_turn=2e6),
    _CountedResource(
        resource="usd",
        help="Maximum cost of model requests, in US dollars, {scope}.",
        per_turn=None,
        metavar="USD",
        is_whole=False,
    ),
)
_SCOPES = {
    LimitScope.TURN: "per turn",
    LimitScope.SESSION: "per session",
    LimitScope.DAY: "per day (UTC), across all processes",
    LimitScope.TENANT: "per tenant and day (UTC), across all processes",
}


def _counted_limits() -> Iterator[LimitSetting]:
    for scope, words in _SCOPES.items():
        is_turn = scope is LimitScope.TURN
        for counted in (each for each in _COUNTED if scope in each.scopes):
            yield LimitSetting(
                field=f"max_{counted.resource}" if is_turn else f"max_{scope.value}_{counted.resource}",
                name=counted.resource if is_turn else f"{scope.value}.{counted.resource}",
                help=counted.help.format(scope=words),
                metavar=counted.metavar,
                is_whole=counted.is_whole,
                default=counted.per_turn if is_turn else None,
                resource=counted.resource,
                scope=scope,
            )


_OTHER_LIMITS = (
    LimitSetting(
        field=PARALLEL_CALLS, name="parallel_calls", help="Maximum number of tool calls in parallel.", default=4
    ),
    LimitSetting(
        field=CALL_TIMEOUT,
        name="call_timeout",
        help="Timeout of one tool call, all its pages together, in seconds.",
        metavar="SECONDS",
        is_whole=False,
        default=3600,
    ),
    LimitSetting(
        field=TIMEOUT, name="timeout", help="Timeout of one turn, in seconds.", metavar="SECONDS", is_whole=False
    ),
    LimitSetting(
        field=SESSION_TIMEOUT,
        name="session.timeout",
        help="Timeout of a session, all its turns together, in seconds.",
        metavar="SECONDS",
        is_whole=False,
        scope=LimitScope.SESSION,
    ),
)
LIMIT_SETTINGS: dict[str, LimitSetting] = {limit.field: limit for limit in (*_counted_limits(), *_OTHER_LIMITS)}
"""Every limit by the name of its setting."""
LIMITS_BY_NAME: dict[str, LimitSetting] = {limit.name: limit for limit in LIMIT_SETTINGS.values()}
"""Every limit by the name that `--limit` takes."""
