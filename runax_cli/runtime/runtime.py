"""The composition root: builds the parts of a process from the configuration and closes them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from adapters.catalog import ToolCatalog
from adapters.clock import Clock, SystemClock
from runax_cli.agent import prompts
from runax_cli.agent.loop.toolbox import ToolLimits
from runax_cli.agent.session import Session, TraceOf, TurnLimits
from runax_cli.core.budget import Budget, Limits
from runax_cli.core.errors import ConfigurationError
from runax_cli.core.events import EventSink
from runax_cli.core.paths import state_folder
from runax_cli.executor.data_tools.labeler import LabelerPrompts
from runax_cli.executor.data_tools.router import DatasetToolRouter, LabelerDependencies
from runax_cli.executor.executor import Executor
from runax_cli.executor.fetch.snapshot import ReusePolicy
from runax_cli.executor.fetch.source_client import ConcurrencyLimiter
from runax_cli.executor.reduce.pipeline import ReducerFactory
from runax_cli.executor.reduce.reducer import ReducerPrompts
from runax_cli.executor.store.dataset import DatasetStore
from runax_cli.guard.approval import Approver
from runax_cli.memory.journal import Journal
from runax_cli.memory.spend_ledger import LedgerLimits, SharedLedger
from runax_cli.models.base import Role
from runax_cli.models.registry import ModelRegistry
from runax_cli.models.rules import RulesModel
from runax_cli.runtime.models import role_configs
from runax_cli.runtime.sources import open_catalog, source_fingerprints
from runax_cli.runtime.state import journal_path, ledger_path, mark_session, session_folder
from runax_cli.settings.limits import LimitScope
from runax_cli.settings.loader import Configuration
from runax_cli.settings.settings import FIELDS, Settings, limits_in
from runax_cli.telemetry.credential_mask import CredentialMask

_HOUR_S = 3600.0
_GB = 1_000_000_000
REDUCER_PROMPTS = ReducerPrompts(
    system=prompts.REDUCER_SYSTEM,
    user=prompts.REDUCER_USER,
    repair=prompts.REDUCER_REPAIR,
    merge_system=prompts.MERGE_SYSTEM,
    merge_user=prompts.MERGE_USER,
)


LABELER_PROMPTS = LabelerPrompts(
    system=prompts.LABELLER_SYSTEM, user=prompts.LABELLER_USER, repair=prompts.LABELLER_REPAIR
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """The parts of one process. `budget` creates the budget of a session."""

    configuration: Configuration
    catalog: ToolCatalog
    registry: ModelRegistry
    executor: Executor
    journal: Journal
    store: DatasetStore
    clock: Clock
    budget: Callable[[], Budget]
    exit_stack: ExitStack

    def session(
        self,
        *,
        sink: EventSink,
        approver: Approver,
        trace_of: TraceOf,
        allow_writes: bool = False,
        notices: tuple[str, ...] = (),
    ) -> Session:
        """Create a session that uses these parts."""
        settings = self.configuration.settings
        router = self._dataset_tool_router()
        session = Session(
            registry=self.registry,
            executor=router,
            workbench=router,
            catalog=self.catalog,
            journal=self.journal,
            sink=sink,
            limits=limits_of(settings),
            tool_limits=tool_limits_of(settings),
            review=settings.review,
            budget=self.budget(),
            allow_writes=allow_writes,
            approver=approver,
            clock=self.clock,
            trace_of=trace_of,
            settings={name: settings.shown(name) for name in FIELDS}
            | {"invocation": self.configuration.invocation.stored()},
            notices=notices,
        )
        mark_session(self.store.folder, session.id)
        return session

    def _dataset_tool_router(self) -> DatasetToolRouter:
        """The datasets of one session; closed with the runtime."""
        concurrency = self.configuration.settings.llm_concurrency
        router = DatasetToolRouter(
            self.executor,
            self.store,
            self.journal,
            reducers=ReducerFactory(
                self.registry.counter(Role.REDUCER),
                prompts=REDUCER_PROMPTS,
                effective_tokens=self.registry.config(Role.REDUCER).effective_tokens,
                concurrency=concurrency,
            ),
            labels=LabelerDependencies(
                counter=self.registry.counter(Role.LABELLER),
                prompts=LABELER_PROMPTS,
                effective_tokens=self.registry.config(Role.LABELLER).effective_tokens,
                concurrency=concurrency,
            ),
            clock=self.clock,
            max_result_bytes=int(self.configuration.settings.state_max_gb * _GB),
        )
        self.exit_stack.callback(router.close)
        return router


def tool_limits_of(settings: Settings) -> ToolLimits:
    """The limits of the list of tools given to the main model."""
    return ToolLimits(tools=settings.max_tools, tokens=settings.max_tool_tokens)


def limits_of(settings: Settings) -> TurnLimits:
    """The limits of one turn."""
    return TurnLimits(
        steps=settings.max_steps,
        calls=settings.max_calls,
        parallel_calls=settings.max_parallel_calls,
        requests=settings.max_requests,
        retries=settings.max_retries,
        tokens=settings.max_tokens,
        usd=settings.max_usd,
        timeout_s=settings.timeout,
        session_timeout_s=settings.session_timeout,
    )


@contextmanager
def session_budgets(
    settings: Settings, root: Path, *, clock: Clock, warn: Callable[[str], None]
) -> Iterator[Callable[[], Budget]]:
    """A factory of session budgets within the budget of the day. `warn` is called if the ledger cannot be written."""
    loop = asyncio.get_running_loop()
    limits = LedgerLimits(
        day=limits_in(LimitScope.DAY, settings),
        tenant=limits_in(LimitScope.TENANT, settings),
        name=settings.tenant or "",
    )
    if limits.tenant != Limits() and not limits.name:
        raise ConfigurationError("a tenant limit is set, but no tenant. Set TENANT or use --tenant.", setting="TENANT")
    session_limits = limits_in(LimitScope.SESSION, settings)

    def on_lost(why: str) -> None:
        loop.call_soon_threadsafe(warn, why)

    ledger = SharedLedger(ledger_path(root), limits, clock, on_error=on_lost)
    with closing(ledger):
        yield lambda: Budget(session_limits, owner="session", shared=ledger, flags="--limit session.")


@asynccontextmanager
async def open_runtime(
    configuration: Configuration,
    *,
    state: Path | None = None,
    clock: Clock | None = None,
    warn: Callable[[str], None] = lambda _text: None,
) -> AsyncIterator[Runtime]:
    """Open everything that a conversation needs; leaving the block closes it.

    `state` replaces the user's state folder; `warn` is called with problems that stop nothing. Raises
    ConfigurationError, SourceUnavailable and StoreError.
    """
    clock, root = clock or SystemClock(), state or state_folder()
    roles = role_configs(configuration)
    settings, mask = configuration.settings, CredentialMask(configuration.secrets())
    registry = ModelRegistry(roles, concurrency=settings.llm_concurrency, clock=clock, rules=RulesModel, mask=mask)
    try:
        with (
            closing(_open_journal(configuration, root)) as journal,
            session_folder(root, token_hex(8)) as folder,
            session_budgets(settings, root, clock=clock, warn=warn) as budget,
            ExitStack() as exit_stack,
        ):
            async with open_catalog(configuration, clock=clock) as catalog:
                _require_tools(catalog, configuration)
                store = DatasetStore(folder, mask=mask)
                yield Runtime(
                    configuration=configuration,
                    catalog=catalog,
                    registry=registry,
                    executor=_executor(catalog, store, journal, registry=registry, configuration=configuration),
                    journal=journal,
                    store=store,
                    clock=clock,
                    budget=budget,
                    exit_stack=exit_stack,
                )
    finally:
        await registry.aclose()


def _open_journal(configuration: Configuration, root: Path) -> Journal:
    is_isolated = configuration.settings.cache_max_age_hours == 0
    return Journal.open(journal_path(root), secrets=configuration.secrets(), is_isolated=is_isolated)


def _require_tools(catalog: ToolCatalog, configuration: Configuration) -> None:
    """Raise ConfigurationError if there is no tool: an answer without any data would be made up."""
    if catalog.tools:
        return
    if globs := configuration.structure.tools:
        named = ", ".join(f"'{glob}'" for glob in globs)
        raise ConfigurationError(f"no tool matches {named}. `runax tools list` lists the tools.", setting="tools")
    why = f" ({catalog.skipped[0].path}: {catalog.skipped[0].reason})" if catalog.skipped else ""
    raise ConfigurationError(
        f"the sources have no usable tools{why}. `runax tools list` shows what was skipped.",
        setting="OPENAPI_SPEC",
    )


def _executor(
    catalog: ToolCatalog,
    store: DatasetStore,
    journal: Journal,
    *,
    registry: ModelRegistry,
    configuration: Configuration,
) -> Executor:
    reducer, settings = registry.config(Role.REDUCER), configuration.settings
    return Executor(
        catalog,
        store,
        journal,
        counter=registry.counter(Role.REDUCER),
        effective_tokens=reducer.effective_tokens,
        prompts=REDUCER_PROMPTS,
        api_concurrency=settings.api_concurrency,
        reducer_concurrency=settings.llm_concurrency,
        limiter=ConcurrencyLimiter(settings.total_concurrency),
        call_timeout_s=settings.call_timeout,
        reuse=ReusePolicy(source_fingerprints(configuration), max_age_s=settings.cache_max_age_hours * _HOUR_S),
    )
