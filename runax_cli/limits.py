"""Every limit that a user can set: name, flag, default and meaning, each defined here and nowhere else.

Settings, flags, help texts and budgets are made of this table. Knows names and words. Knows nothing of where a value
comes from.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from runax_cli.budget import Limits

PARALLEL_CALLS = "max_parallel_calls"
SESSION_TIMEOUT = "session_timeout"
TIMEOUT = "timeout"
CALL_TIMEOUT = "call_timeout"
TENANT = "tenant"


class LimitScope(StrEnum):
    """Over what a limit holds; a tenant's holds for one day, like that of the day itself."""

    TURN = "turn"
    SESSION = "session"
    DAY = "day"
    TENANT = "tenant"


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSetting:
    """One limit. `field` is its name in the settings; `resource` and `scope` say what it counts, where it counts."""

    field: str
    text: str
    metavar: str
    is_whole: bool = True
    default: float | None = None
    resource: str = ""
    scope: LimitScope = LimitScope.TURN

    @property
    def flag(self) -> str:
        """The option of the command line."""
        return "--" + self.field.replace("_", "-")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counted:
    """A resource that is counted, and the most of it that one turn may use if nobody says otherwise."""

    resource: str
    text: str
    per_turn: float | None
    metavar: str = "N"
    is_whole: bool = True
    scopes: tuple[LimitScope, ...] = tuple(LimitScope)


_COUNTED = (
    _Counted(resource="steps", text="Replies of the main model", per_turn=12),
    _Counted(resource="calls", text="Calls of tools", per_turn=24),
    _Counted(resource="requests", text="Requests to sources, retries included,", per_turn=20_000),
    _Counted(
        resource="retries",
        text="Requests to sources and models that are sent again after a failure,",
        per_turn=500,
        scopes=(LimitScope.TURN,),
    ),
    _Counted(resource="tokens", text="Tokens of all models together", per_turn=2_000_000),
    _Counted(resource="usd", text="Money for models, in US dollars,", per_turn=None, metavar="USD", is_whole=False),
)
_WHERE = {
    LimitScope.TURN: "in one turn",
    LimitScope.SESSION: "in one session",
    LimitScope.DAY: "in one day (UTC), by all processes together",
    LimitScope.TENANT: "in one day by the tenant, by all processes together",
}


def _counted() -> Iterator[LimitSetting]:
    for scope, where in _WHERE.items():
        infix = "" if scope is LimitScope.TURN else f"{scope.value}_"
        for counted in (each for each in _COUNTED if scope in each.scopes):
            yield LimitSetting(
                field=f"max_{infix}{counted.resource}",
                text=f"{counted.text} {where}.",
                metavar=counted.metavar,
                is_whole=counted.is_whole,
                default=counted.per_turn if scope is LimitScope.TURN else None,
                resource=counted.resource,
                scope=scope,
            )


_OTHERS = (
    LimitSetting(field=PARALLEL_CALLS, text="Calls at once.", metavar="N", default=4),
    LimitSetting(
        field=CALL_TIMEOUT,
        text="Seconds that one call may take, all its pages together.",
        metavar="SECONDS",
        is_whole=False,
        default=3600,
    ),
    LimitSetting(field=TIMEOUT, text="Seconds that one turn may take.", metavar="SECONDS", is_whole=False),
    LimitSetting(
        field=SESSION_TIMEOUT,
        text="Seconds that the turns of a session may take together.",
        metavar="SECONDS",
        is_whole=False,
        scope=LimitScope.SESSION,
    ),
)
LIMIT_SETTINGS: dict[str, LimitSetting] = {setting.field: setting for setting in (*_counted(), *_OTHERS)}
"""Every limit by its field."""

TENANT_TEXT = "Name on whose account a run is booked; the limits of a tenant hold for it."


def limits_in(scope: LimitScope, settings: object) -> Limits:
    """What the settings allow in a scope."""
    counted = (setting for setting in LIMIT_SETTINGS.values() if setting.resource and setting.scope is scope)
    return Limits(**{setting.resource: getattr(settings, setting.field) for setting in counted})
