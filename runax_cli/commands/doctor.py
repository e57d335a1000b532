"""`runax doctor`: check the installation, the sources and the models, one line per check."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from uuid import uuid4

from adapters.base import ToolSource, ToolSpec
from adapters.catalog import ToolCatalog
from adapters.errors import SourceError
from runax_cli import __version__
from runax_cli.agent.loop.toolbox import schema_text
from runax_cli.commands.config import configuration_of
from runax_cli.commands.options import CommonOptions
from runax_cli.commands.printing import Printer, environment_of
from runax_cli.commands.tools import size_summary
from runax_cli.core.budget import Budget, Limits
from runax_cli.core.errors import ConfigurationError, RunaxError
from runax_cli.core.events import CollectingSink, Emitter
from runax_cli.core.exit_codes import ExitCode, exit_code_of
from runax_cli.core.paths import ensure_private, state_folder
from runax_cli.core.results import counted
from runax_cli.guard.visible_tool import visible_tool
from runax_cli.models.base import Message, ModelRequest, Role
from runax_cli.models.metering import UsageMeter
from runax_cli.models.registry import ModelRegistry
from runax_cli.models.rules import RulesModel
from runax_cli.models.tokens import O200kCounter
from runax_cli.runtime.models import role_configs
from runax_cli.runtime.sources import as_runax_error, open_source
from runax_cli.settings.file_schema import McpSourceSettings, OpenApiSourceSettings
from runax_cli.settings.loader import Configuration
from runax_cli.telemetry.credential_mask import CredentialMask
from runax_cli.telemetry.redaction import Redactor

_OUTPUT_TOKENS = 64


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check; `error` is None if it passed."""

    check: str
    detail: str
    error: RunaxError | None = None
    seconds: float = 0.0


Check = Callable[[], Awaitable[str]]


async def run(common: CommonOptions) -> ExitCode:
    """Run every check and print the results; the first failure decides the exit code."""
    configuration = configuration_of(common)
    results = [await _run_check(name, check) for name, check in _checks(configuration).items()]
    mask, redactor = CredentialMask(configuration.secrets()), Redactor(configuration.secrets())
    rows = [
        {
            "check": result.check,
            "state": "failed" if result.error else "ok",
            "seconds": round(result.seconds, 2),
            "detail": redactor.text(mask.text(result.detail)),
        }
        for result in results
    ]
    Printer(environment_of(common), common.output.form).rows(
        "checks", rows, columns=("check", "state", "seconds", "detail")
    )
    return next((exit_code_of(result.error) for result in results if result.error), ExitCode.COMPLETE)


async def _run_check(name: str, check: Check) -> CheckResult:
    started = time.monotonic()
    try:
        return CheckResult(name, await check(), seconds=time.monotonic() - started)
    except RunaxError as error:
        return CheckResult(name, str(error), error, time.monotonic() - started)


def _checks(configuration: Configuration) -> dict[str, Check]:
    checks: dict[str, Check] = {"runax": _version, "state": _state, "vocabulary": _vocabulary}
    parts, tools = configuration.sources(), list[ToolSpec]()
    for name, part in parts.items():
        checks[f"source {name}"] = lambda name=name, part=part: _source(name, part, configuration, tools=tools)  # type: ignore[misc]
    if not parts:
        checks["sources"] = _no_source
    if len(parts) > 1:
        checks["tools"] = lambda: _tools_summary(tools, configuration, is_all=True)
    checks["models"] = lambda: _models(configuration)
    return checks


async def _version() -> str:
    return f"{__version__}, Python {sys.version.split()[0]}"


async def _state() -> str:
    return str(ensure_private(state_folder()))


async def _vocabulary() -> str:
    await asyncio.to_thread(O200kCounter().warm)
    return O200kCounter.name


async def _no_source() -> str:
    raise ConfigurationError(
        "no source is configured. Set BASE_API_URL or OPENAPI_SPEC, or use --openapi or --mcp.", setting="BASE_API_URL"
    )


async def _source(
    name: str, part: OpenApiSourceSettings | McpSourceSettings, configuration: Configuration, *, tools: list[ToolSpec]
) -> str:
    """Open a source and summarize its tools, which are added to `tools`."""
    source = await open_source(name, part, configuration)
    globs = {name: part.tools}
    try:
        catalog = await ToolCatalog.load([source], only=configuration.structure.tools, source_globs=globs)
        n_without_credential = await _count_without_credential(source)
    except SourceError as error:
        raise as_runax_error(error) from error
    finally:
        await source.aclose()
    tools += catalog.tools
    summary = [await _tools_summary(catalog.tools, configuration, is_all=len(configuration.sources()) == 1)]
    if catalog.skipped:
        summary.append(f"skipped {counted(len(catalog.skipped), 'part')}: `runax tools list` shows why")
    if n_without_credential:
        summary.append(
            f"{counted(n_without_credential, 'tool')} without a credential: if required, set BASE_API_TOKEN or `auth` "
            "of the source"
        )
    elif part.auth is not None and isinstance(part, OpenApiSourceSettings):
        summary.append("to test the credential, use `runax tools call NAME`")
    return "; ".join(summary)


async def _count_without_credential(source: ToolSource) -> int:
    """The number of tools that no configured credential authorizes. Also checks that the API server is reachable."""
    from adapters.openapi.adapter import OpenApiSource

    if not isinstance(source, OpenApiSource):
        return 0
    await source.check_reachable()
    return len(await source.tools_missing_credentials())


async def _tools_summary(specs: Sequence[ToolSpec], configuration: Configuration, *, is_all: bool) -> str:
    """The number of tools and their size in tokens. With `is_all`, raises ConfigurationError if there is no tool."""
    if is_all and not specs:
        raise ConfigurationError(
            "there are no usable tools. `runax tools list` shows what was skipped.", setting="tools"
        )
    tokens = await asyncio.to_thread(_tokens, specs)
    if is_all:
        return size_summary(len(specs), tokens, configuration.settings)
    return f"{counted(len(specs), 'tool')}, {counted(tokens, 'token')}"


def _tokens(specs: Sequence[ToolSpec]) -> int:
    counter = O200kCounter()
    return sum(counter.count(schema_text(visible_tool(spec).schema)) for spec in specs)


async def _models(configuration: Configuration) -> str:
    """Send a one-word request to the main model and to the reducer, which checks their names and keys."""
    settings = configuration.settings
    registry = ModelRegistry(role_configs(configuration), concurrency=settings.llm_concurrency, rules=RulesModel)
    try:
        replies = [await _one_word(registry, role) for role in (Role.AGENT, Role.REDUCER)]
    finally:
        await registry.aclose()
    return "; ".join(dict.fromkeys(replies))


async def _one_word(registry: ModelRegistry, role: Role) -> str:
    name = registry.config(role).name
    if registry.config(role).is_rules:
        return f"'{name}' is the offline rules model"
    emitter = Emitter.for_run(CollectingSink(), run_id=uuid4().hex, session_id="doctor")
    model = registry.bind(role, budget=Budget(Limits(), owner="doctor"), emitter=emitter, meter=UsageMeter())
    question = Message("user", "Reply with the single word OK.")
    reply = await model.complete(ModelRequest(role=role, messages=(question,), max_output_tokens=_OUTPUT_TOKENS))
    return f"'{name}' replied in {reply.duration_s:.1f} s"
