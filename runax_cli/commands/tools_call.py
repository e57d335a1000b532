"""`runax tools call`: call a tool without a model, read all its records and print them."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import Any, assert_never

from adapters.base import ToolSpec
from adapters.catalog import ToolCatalog
from adapters.clock import SystemClock
from adapters.json_text import compact_json_bytes
from runax_cli.agent.result.certificate import certificate_line
from runax_cli.commands.config import configuration_of
from runax_cli.commands.conversation import approver_of, run_turn
from runax_cli.commands.options import CommonOptions, OutputOptions
from runax_cli.commands.printing import Printer, environment_of
from runax_cli.commands.tools import tool_of
from runax_cli.core.errors import ApprovalDenied, RunaxError, SourceUnavailable, TurnTimedOut, UsageError
from runax_cli.core.events import Emitter
from runax_cli.core.exit_codes import ExitCode
from runax_cli.core.paths import state_folder
from runax_cli.core.results import TotalIs, counted
from runax_cli.executor.executor import Executor
from runax_cli.executor.fetch.source_client import ConcurrencyLimiter
from runax_cli.executor.outcome import CallOutcome, CallScope, DecidedCall, FaultCode, ToolFault
from runax_cli.executor.store.dataset import Dataset, DatasetStore
from runax_cli.guard.approval import READ_ONLY_HINT, WritePolicy
from runax_cli.guard.validation import RejectedCall, parse_arguments
from runax_cli.guard.visible_tool import SplitArguments, VisibleTool, split_virtual_arguments, visible_tool
from runax_cli.memory.journal import Journal
from runax_cli.models.rules import RulesModel
from runax_cli.models.tokens import CalibratedCounter, O200kCounter
from runax_cli.runtime.runtime import REDUCER_PROMPTS, session_budgets
from runax_cli.runtime.sources import open_catalog
from runax_cli.runtime.state import journal_path, session_folder
from runax_cli.settings.limits import LimitScope
from runax_cli.settings.loader import Configuration
from runax_cli.settings.settings import Settings, limits_in
from runax_cli.telemetry.credential_mask import CredentialMask
from runax_cli.telemetry.redaction import RedactingSink, Redactor
from runax_cli.ui.console import one_line
from runax_cli.ui.view_factory import View, build_view

_RECORDS_SHOWN = 10
_CHARS_SHOWN = 200


def print_outcome(outcome: CallOutcome, printer: Printer, output: OutputOptions) -> ExitCode:
    """Print the records, and a coverage line to standard error. Raises the error of a failed call."""
    match output.form:
        case "text":
            _preview(outcome.dataset, printer)
        case "json":
            _envelope(outcome, printer)
        case "jsonl":
            _records(outcome.dataset, printer)
        case _ as never:
            assert_never(never)
    if outcome.envelope.error is not None:
        raise _error(outcome.envelope.error, outcome)
    if not output.quiet:
        printer.note(certificate_of(outcome))
    return ExitCode.COMPLETE if outcome.coverage.is_complete else ExitCode.INCOMPLETE


def _preview(dataset: Dataset | None, printer: Printer) -> None:
    if dataset is None:
        return
    for line in dataset.lines(1, 1 + _RECORDS_SHOWN):
        printer.text(one_line(line.decode("utf-8", "replace"), limit=_CHARS_SHOWN))
    if dataset.n_records > _RECORDS_SHOWN:
        printer.note(f"… and {dataset.n_records - _RECORDS_SHOWN:,} more; use -o jsonl to print all")


def _records(dataset: Dataset | None, printer: Printer, *, separator: str = "") -> None:
    lines = () if dataset is None else dataset.lines()
    for number, line in enumerate(lines):
        printer.json_line(line, before=separator if number else "", end="" if separator else "\n")
        if printer.is_broken:
            return
    printer.flush()


def _envelope(outcome: CallOutcome, printer: Printer) -> None:
    """Print the envelope as one JSON object on one line; its `data` is streamed record by record."""
    fields = outcome.envelope.model_dump(mode="json", exclude_none=True, exclude={"data"})
    printer.json_line(compact_json_bytes(fields)[:-1], end=',"data":[')
    _records(outcome.dataset, printer, separator=",")
    printer.json_line(b"", end="]}\n")
    printer.flush()


def _error(fault: ToolFault, outcome: CallOutcome) -> RunaxError:
    text = f"'{outcome.report.tool}' failed: {fault.message.rstrip('.')}"
    if fault.code is FaultCode.INVALID_ARGUMENTS:
        return UsageError(f"{text}. `runax tools show {outcome.report.tool}` lists its arguments.")
    hint = f"`runax doctor` checks the source, `runax tools show {outcome.report.tool}` lists the tool's arguments."
    return SourceUnavailable(f"{text}. {'Try again later.' if fault.retryable else hint}")


def certificate_of(outcome: CallOutcome) -> str:
    """The coverage of the call in one line."""
    coverage, report = outcome.coverage, outcome.report
    least = "≥" if coverage.total_is is TotalIs.AT_LEAST else ""
    total = "?" if coverage.records_total is None else f"{least}{coverage.records_total:,}"
    noun = report.dataset.rpartition("_")[0] if report.dataset else "records"
    parts = [
        f"{coverage.records_read:,}/{total} {noun} fetched",
        counted(coverage.pages_read, "page") + (f", {coverage.pages_failed} failed" if coverage.pages_failed else ""),
        "complete" if coverage.is_complete else "incomplete",
        *(reason.text for reason in coverage.reasons),
        counted(report.requests, "request"),
        f"{report.duration_s:.1f} s",
    ]
    return " · ".join(parts)


def typed_arguments(typed: Sequence[str], tool: VisibleTool) -> dict[str, Any]:
    """The arguments of the command line, validated against the tool, virtual arguments included. Raises UsageError."""
    properties = tool.schema.parameters.get("properties", {})
    given = dict(_pair(text, properties) for text in typed)
    checked = parse_arguments(json.dumps(given), tool)
    if isinstance(checked, RejectedCall):
        name = tool.spec.name
        raise UsageError(
            f"invalid arguments of '{name}': {checked.message}. `runax tools show {name}` lists its arguments."
        )
    return checked


def _pair(text: str, properties: dict[str, Any]) -> tuple[str, Any]:
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise UsageError(f"'{text}' must be KEY=VALUE, for example 'customer_id=4'.")
    return key, _value(value, properties.get(key) or {})


def _value(text: str, schema: dict[str, Any]) -> Any:
    """The parsed value if the text is JSON, else the text itself; always the text if the schema allows only strings."""
    kinds = schema.get("type")
    if kinds == "string" or kinds == ["string"]:
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class _CallSetup:
    """The parts that one call needs."""

    catalog: ToolCatalog
    executor: Executor
    scope: CallScope
    redactor: Redactor


async def run_call(name: str, typed: Sequence[str], common: CommonOptions) -> ExitCode:
    """Read all records of a tool and print them in the output format."""
    env = environment_of(common)
    configuration = configuration_of(common)
    view = build_view(
        "text", env, certificate=certificate_line, quiet=common.output.quiet, verbose=common.output.verbose
    )
    async with _open_call(configuration, view) as setup:
        spec = tool_of(setup.catalog, name)
        tool = visible_tool(spec)
        arguments = split_virtual_arguments(tool, typed_arguments(typed, tool))
        approver = approver_of(common, view)
        policy = WritePolicy(
            allow_writes=common.call.allow_writes, approver=approver, preview=setup.catalog.preview_request
        )
        await _require_approval(spec, arguments, policy)
        call = _read_all(spec, arguments, setup, timeout_s=configuration.settings.timeout)
        outcome = await run_turn(call, before_abort=view.close)
        view.close()
        return print_outcome(_masked(outcome, setup.redactor), Printer(env, common.output.form), common.output)


def _masked(outcome: CallOutcome, redactor: Redactor) -> CallOutcome:
    """The outcome with secrets masked: the error message of a server may repeat the request."""
    return replace(outcome, envelope=redactor.model(outcome.envelope), coverage=redactor.model(outcome.coverage))


@asynccontextmanager
async def _open_call(configuration: Configuration, view: View) -> AsyncIterator[_CallSetup]:
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
                # No request is sent to a model; the rules model only fills the parameter.
                limits = limits_in(LimitScope.TURN, configuration.settings)
                scope = CallScope(emitter=emitter, budget=budget().child(limits, owner="call"), reducer=RulesModel())
                executor = _executor(
                    catalog,
                    DatasetStore(folder, mask=CredentialMask(configuration.secrets())),
                    journal,
                    settings=configuration.settings,
                )
                yield _CallSetup(catalog=catalog, executor=executor, scope=scope, redactor=redactor)
    finally:
        view.close()


def _executor(catalog: ToolCatalog, store: DatasetStore, journal: Journal, *, settings: Settings) -> Executor:
    return Executor(
        catalog,
        store,
        journal,
        counter=CalibratedCounter(O200kCounter(), ratio=1.0),
        effective_tokens=int(settings.llm_max_context * settings.llm_context_utilization),
        prompts=REDUCER_PROMPTS,
        api_concurrency=settings.api_concurrency,
        limiter=ConcurrencyLimiter(settings.total_concurrency),
        call_timeout_s=settings.call_timeout,
    )


async def _require_approval(spec: ToolSpec, arguments: SplitArguments, policy: WritePolicy) -> None:
    if not await policy.permits(spec, arguments.api):
        raise ApprovalDenied(
            f"'{spec.name}' changes data ({spec.locator}) and was not approved. Use --allow-writes. {READ_ONLY_HINT}"
        )


async def _read_all(
    spec: ToolSpec, arguments: SplitArguments, setup: _CallSetup, *, timeout_s: float | None
) -> CallOutcome:
    call = DecidedCall(call_id="1", tool=spec, arguments=arguments.api, focus="", at_most=arguments.at_most)
    try:
        async with asyncio.timeout(timeout_s):
            return await setup.executor.read_all(call, setup.scope)
    except TimeoutError as error:
        raise TurnTimedOut(f"timed out after {timeout_s:g} s (--timeout)") from error
