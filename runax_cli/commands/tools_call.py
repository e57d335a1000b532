"""`runax tools call`: read all of one tool without any model.

Knows what one call needs to run. How its records are printed is in `records`.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from secrets import token_hex

from adapters.base import ToolSpec
from adapters.clock import SystemClock
from adapters.combine import Catalog
from runax_cli.agent.certificate import certificate_line
from runax_cli.commands.approval import approver_of
from runax_cli.commands.config import configuration_of
from runax_cli.commands.interruption import run_turn
from runax_cli.commands.options import Common
from runax_cli.commands.printing import Printer, environment_of
from runax_cli.commands.records import print_outcome
from runax_cli.commands.tools import tool_of
from runax_cli.commands.typed_arguments import typed_arguments
from runax_cli.connections import open_catalog
from runax_cli.errors import ApprovalDenied, TurnTimedOut
from runax_cli.events import Emitter
from runax_cli.executor.call import CallOutcome, DecidedCall, Executor, Scope
from runax_cli.executor.dataset import DatasetStore
from runax_cli.executor.places import Places
from runax_cli.exits import ExitCode
from runax_cli.folders import state_folder
from runax_cli.guard.policy import ONLY_READS, WritePolicy
from runax_cli.guard.virtual import SplitArguments, split, visible
from runax_cli.limits import LimitScope, limits_in
from runax_cli.memory.journal import Journal
from runax_cli.models.rules import RulesModel
from runax_cli.models.tokens import CalibratedCounter, O200kCounter
from runax_cli.runtime import REDUCER_PROMPTS, session_budgets
from runax_cli.settings import Settings
from runax_cli.settings_load import Configuration
from runax_cli.state import journal_path, session_folder
from runax_cli.telemetry.keys import KeyMask
from runax_cli.telemetry.redact import RedactingSink, Redactor
from runax_cli.ui.views import View, build_view


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """What one call needs."""

    catalog: Catalog
    executor: Executor
    scope: Scope
    redactor: Redactor


async def run(name: str, typed: Sequence[str], common: Common) -> ExitCode:
    """Read all records of a tool and print them in the form asked for."""
    env = environment_of(common)
    configuration = configuration_of(common)
    view = build_view(
        "text", env, certificate=certificate_line, quiet=common.output.quiet, verbose=common.output.verbose
    )
    async with _opened(configuration, view) as parts:
        spec = tool_of(parts.catalog, name)
        tool = visible(spec)
        arguments = split(tool, typed_arguments(typed, tool))
        approver = approver_of(common, view)
        policy = WritePolicy(allow_writes=common.call.allow_writes, approver=approver, shows=parts.catalog.shown)
        await _require_leave(spec, arguments, policy)
        reading = _read(spec, arguments, parts, timeout_s=configuration.settings.timeout)
        outcome = await run_turn(reading, before_abort=view.close)
        view.close()
        return print_outcome(_masked(outcome, parts.redactor), Printer(env, common.output.form), common.output)


def _masked(outcome: CallOutcome, redactor: Redactor) -> CallOutcome:
    """The outcome as it may be printed: a refusal, in the server's own words, may repeat what it was sent."""
    return replace(outcome, envelope=redactor.model(outcome.envelope), coverage=redactor.model(outcome.coverage))


@asynccontextmanager
async def _opened(configuration: Configuration, view: View) -> AsyncIterator[_Parts]:
    run_id, redactor = token_hex(6), Redactor(configuration.secrets())
    emitter = Emitter.for_run(RedactingSink(view, redactor), run_id=run_id, session_id=run_id)
    root = state_folder()
    try:
        with (
            closing(Journal.open(journal_path(root), secrets=configuration.secrets())) as journal,
            session_folder(root, run_id) as folder,
            session_budgets(configuration.settings, root, clock=SystemClock(), warn=view.warn) as budget,
        ):
            async with open_catalog(configuration) as catalog:
                # No request goes to a model, so any model will do.
                limits = limits_in(LimitScope.TURN, configuration.settings)
                scope = Scope(emitter=emitter, budget=budget().child(limits, owner="call"), reducer=RulesModel())
                executor = _executor(
                    catalog,
                    DatasetStore(folder, mask=KeyMask(configuration.secrets())),
                    journal,
                    settings=configuration.settings,
                )
                yield _Parts(catalog=catalog, executor=executor, scope=scope, redactor=redactor)
    finally:
        view.close()


def _executor(catalog: Catalog, store: DatasetStore, journal: Journal, *, settings: Settings) -> Executor:
    return Executor(
        catalog,
        store,
        journal,
        counter=CalibratedCounter(O200kCounter(), ratio=1.0),
        effective_tokens=int(settings.llm_max_context * settings.llm_context_utilization),
        prompts=REDUCER_PROMPTS,
        api_concurrency=settings.api_concurrency,
        places=Places(settings.total_concurrency),
        call_timeout_s=settings.call_timeout,
    )


async def _require_leave(spec: ToolSpec, arguments: SplitArguments, policy: WritePolicy) -> None:
    if not await policy.permits(spec, arguments.api):
        raise ApprovalDenied(
            f"'{spec.name}' changes data ({spec.locator}), and nobody allowed it. Give --allow-writes. {ONLY_READS}"
        )


async def _read(spec: ToolSpec, arguments: SplitArguments, parts: _Parts, *, timeout_s: float | None) -> CallOutcome:
    call = DecidedCall(call_id="1", tool=spec, arguments=arguments.api, focus="", at_most=arguments.at_most)
    try:
        async with asyncio.timeout(timeout_s):
            return await parts.executor.read_all(call, parts.scope)
    except TimeoutError as error:
        raise TurnTimedOut(f"the wall time of {timeout_s:g} s is used up. Raise it with --timeout.") from error
