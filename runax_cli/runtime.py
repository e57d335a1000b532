"""The composition root: settings in, running parts out.

Owns every lifetime: sources, model connections, journal, the folder of the datasets. Knows how the parts fit together
and nothing of what they do.
"""

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from adapters.clock import Clock, SystemClock
from adapters.combine import Catalog
from runax_cli.agent import prompts
from runax_cli.agent.session import Session, TraceOf, TurnLimits
from runax_cli.connections import open_catalog
from runax_cli.errors import ConfigurationError
from runax_cli.events import EventSink
from runax_cli.executor.call import Executor
from runax_cli.executor.dataset import DatasetStore
from runax_cli.executor.label import LabellerPrompts
from runax_cli.executor.reader import Reader
from runax_cli.executor.reduce import ReducerPrompts
from runax_cli.executor.workbench import LabellerParts, Workbench
from runax_cli.folders import state_folder
from runax_cli.guard.policy import Approver
from runax_cli.memory.journal import Journal
from runax_cli.models.base import Role
from runax_cli.models.registry import ModelRegistry
from runax_cli.models.rules import RulesModel
from runax_cli.roles import role_configs
from runax_cli.settings import FIELDS, Settings
from runax_cli.settings_load import Configuration
from runax_cli.state import journal_path, mark_session, session_folder

REDUCER_PROMPTS = ReducerPrompts(
    system=prompts.REDUCER_SYSTEM,
    user=prompts.REDUCER_USER,
    repair=prompts.REDUCER_REPAIR,
    merge_system=prompts.MERGE_SYSTEM,
    merge_user=prompts.MERGE_USER,
)


LABELLER_PROMPTS = LabellerPrompts(
    system=prompts.LABELLER_SYSTEM, user=prompts.LABELLER_USER, repair=prompts.LABELLER_REPAIR
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """The running parts of one process."""

    configuration: Configuration
    catalog: Catalog
    registry: ModelRegistry
    executor: Executor
    journal: Journal
    store: DatasetStore
    clock: Clock
    lifetimes: ExitStack

    def session(
        self,
        *,
        sink: EventSink,
        approver: Approver,
        trace_of: TraceOf,
        allow_writes: bool = False,
        notices: tuple[str, ...] = (),
    ) -> Session:
        """A conversation over these parts."""
        settings = self.configuration.settings
        workbench = self._workbench()
        session = Session(
            registry=self.registry,
            executor=workbench,
            workbench=workbench,
            catalog=self.catalog,
            journal=self.journal,
            sink=sink,
            limits=limits_of(settings),
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

    def _workbench(self) -> Workbench:
        """Where one session keeps its datasets; closed with the runtime."""
        concurrency = self.configuration.settings.llm_concurrency
        labeller = self.registry.config(Role.LABELLER)
        workbench = Workbench(
            self.executor,
            self.store.folder,
            self.journal,
            reader=Reader(
                self.registry.counter(Role.REDUCER),
                prompts=REDUCER_PROMPTS,
                effective_tokens=self.registry.config(Role.REDUCER).effective_tokens,
                concurrency=concurrency,
            ),
            labels=LabellerParts(
                counter=self.registry.counter(Role.LABELLER),
                prompts=LABELLER_PROMPTS,
                effective_tokens=labeller.effective_tokens,
                concurrency=concurrency,
            ),
            clock=self.clock,
        )
        self.lifetimes.callback(workbench.close)
        return workbench


def limits_of(settings: Settings) -> TurnLimits:
    """What one turn may use."""
    return TurnLimits(
        steps=settings.max_steps,
        calls=settings.max_calls,
        parallel_calls=settings.max_parallel_calls,
        tokens=settings.max_tokens,
        usd=settings.max_usd,
        timeout_s=settings.timeout,
    )


@asynccontextmanager
async def open_runtime(
    configuration: Configuration, *, state: Path | None = None, clock: Clock | None = None
) -> AsyncIterator[Runtime]:
    """Open everything that a conversation needs; leaving the block closes it.

    `state` takes the place of the user's state folder. Raises ConfigurationError, SourceUnavailable, StoreError.
    """
    clock, root = clock or SystemClock(), state or state_folder()
    roles = role_configs(configuration)
    settings = configuration.settings
    registry = ModelRegistry(roles, concurrency=settings.llm_concurrency, clock=clock, rules=RulesModel)
    try:
        with (
            closing(Journal.open(journal_path(root), secrets=configuration.secrets())) as journal,
            session_folder(root, token_hex(8)) as folder,
            ExitStack() as lifetimes,
        ):
            async with open_catalog(configuration) as catalog:
                _require_tools(catalog, configuration)
                store = DatasetStore(folder)
                yield Runtime(
                    configuration=configuration,
                    catalog=catalog,
                    registry=registry,
                    executor=_executor(catalog, store, journal, registry=registry, settings=settings),
                    journal=journal,
                    store=store,
                    clock=clock,
                    lifetimes=lifetimes,
                )
    finally:
        await registry.aclose()


def _require_tools(catalog: Catalog, configuration: Configuration) -> None:
    """A question over no tool at all could only be answered by making something up."""
    if catalog.tools:
        return
    if globs := configuration.structure.tools:
        named = ", ".join(f"'{glob}'" for glob in globs)
        raise ConfigurationError(f"no tool matches {named}. `runax tools list` shows all of them.", setting="tools")
    why = f" ({catalog.left_out[0].path}: {catalog.left_out[0].why})" if catalog.left_out else ""
    raise ConfigurationError(
        f"the sources have no tool that can be used{why}. `runax tools list` says what was left out.",
        setting="OPENAPI_SPEC",
    )


def _executor(
    catalog: Catalog, store: DatasetStore, journal: Journal, *, registry: ModelRegistry, settings: Settings
) -> Executor:
    reducer = registry.config(Role.REDUCER)
    return Executor(
        catalog,
        store,
        journal,
        counter=registry.counter(Role.REDUCER),
        effective_tokens=reducer.effective_tokens,
        prompts=REDUCER_PROMPTS,
        api_concurrency=settings.api_concurrency,
        reducer_concurrency=settings.llm_concurrency,
    )
