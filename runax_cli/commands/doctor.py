"""`runax doctor`: is everything reachable and usable.

Knows the checks and their order. Each check is one line; the first that failed decides the exit code.
"""

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
from runax_cli.commands.tools import price
from runax_cli.core.budget import Budget, Limits
from runax_cli.core.errors import ConfigurationError, RunaxError
from runax_cli.core.events import CollectingSink, Emitter
from runax_cli.core.exit_codes import ExitCode, exit_code_of
from runax_cli.core.paths import ensure_private, state_folder
from runax_cli.core.results import counted
from runax_cli.guard.visible_tool import visible
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

_OUTPUT_TOKENS = 64


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What one check found; `error` is None where all is well."""

    check: str
    detail: str
    error: RunaxError | None = None
    seconds: float = 0.0


Check = Callable[[], Awaitable[str]]


async def run(common: CommonOptions) -> ExitCode:
    """Run every check, print what each found; the first failure decides the exit code."""
    configuration = configuration_of(common)
    findings = [await _found(name, check) for name, check in _checks(configuration).items()]
    mask = CredentialMask(configuration.secrets())
    rows = [
        {
            "check": finding.check,
            "state": "failed" if finding.error else "ok",
            "seconds": round(finding.seconds, 2),
            "detail": mask.text(finding.detail),
        }
        for finding in findings
    ]
    Printer(environment_of(common), common.output.form).rows(
        "checks", rows, columns=("check", "state", "seconds", "detail")
    )
    return next((exit_code_of(finding.error) for finding in findings if finding.error), ExitCode.COMPLETE)


async def _found(name: str, check: Check) -> CheckResult:
    began = time.monotonic()
    try:
        return CheckResult(name, await check(), seconds=time.monotonic() - began)
    except RunaxError as error:
        return CheckResult(name, str(error), error, time.monotonic() - began)


def _checks(configuration: Configuration) -> dict[str, Check]:
    checks: dict[str, Check] = {"runax": _version, "state": _state, "vocabulary": _vocabulary}
    parts, found = configuration.sources(), list[ToolSpec]()
    for name, part in parts.items():
        checks[f"source {name}"] = lambda name=name, part=part: _source(name, part, configuration, found=found)  # type: ignore[misc]
    if not parts:
        checks["sources"] = _no_source
    if len(parts) > 1:
        checks["tools"] = lambda: _priced(found, configuration, is_all=True)
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
        "no source is configured. Set BASE_API_URL or OPENAPI_SPEC, or give --openapi or --mcp.", setting="BASE_API_URL"
    )


async def _source(
    name: str, part: OpenApiSourceSettings | McpSourceSettings, configuration: Configuration, *, found: list[ToolSpec]
) -> str:
    """What one source offers; its tools are added to `found`."""
    source = await open_source(name, part, configuration)
    globs = {name: part.tools}
    try:
        catalog = await ToolCatalog.load([source], only=configuration.structure.tools, of_source=globs)
        unmet = await _unmet(source)
    except SourceError as error:
        raise as_runax_error(error) from error
    finally:
        await source.aclose()
    found += catalog.tools
    told = [await _priced(catalog.tools, configuration, is_all=len(configuration.sources()) == 1)]
    if catalog.left_out:
        told.append(f"{counted(len(catalog.left_out), 'part')} left out: `runax tools list` says why")
    if unmet:
        told.append(f"no credential for {unmet} of all: set BASE_API_TOKEN, or `auth` of the source, if they need it")
    elif part.auth is not None and isinstance(part, OpenApiSourceSettings):
        told.append("whether its credential is right shows with a call: `runax tools call NAME`")
    return "; ".join(told)


async def _unmet(source: ToolSource) -> int:
    """How many tools no credential lets in; finds out as well that somebody answers where they are served."""
    from adapters.openapi.adapter import OpenApiSource

    if not isinstance(source, OpenApiSource):
        return 0
    await source.reach()
    return len(await source.unmet())


async def _priced(specs: Sequence[ToolSpec], configuration: Configuration, *, is_all: bool) -> str:
    """How many tools and tokens; of all tools whether the main model gets them at once. Raises where there is none."""
    if is_all and not specs:
        raise ConfigurationError("no tool can be used. `runax tools list` says what was left out.", setting="tools")
    tokens = await asyncio.to_thread(_tokens, specs)
    if is_all:
        return price(len(specs), tokens, configuration.settings)
    return f"{counted(len(specs), 'tool')}, {counted(tokens, 'token')}"


def _tokens(specs: Sequence[ToolSpec]) -> int:
    counter = O200kCounter()
    return sum(counter.count(schema_text(visible(spec).schema)) for spec in specs)


async def _models(configuration: Configuration) -> str:
    """Ask the main model and the reducer for one word each: the only way to know that name and key are right."""
    settings = configuration.settings
    registry = ModelRegistry(role_configs(configuration), concurrency=settings.llm_concurrency, rules=RulesModel)
    try:
        said = [await _one_word(registry, role) for role in (Role.AGENT, Role.REDUCER)]
    finally:
        await registry.aclose()
    return "; ".join(dict.fromkeys(said))


async def _one_word(registry: ModelRegistry, role: Role) -> str:
    name = registry.config(role).name
    if registry.config(role).is_rules:
        return f"'{name}' is the offline rules model"
    emitter = Emitter.for_run(CollectingSink(), run_id=uuid4().hex, session_id="doctor")
    model = registry.bind(role, budget=Budget(Limits(), owner="doctor"), emitter=emitter, meter=UsageMeter())
    question = Message("user", "Reply with the single word OK.")
    reply = await model.complete(ModelRequest(role=role, messages=(question,), max_output_tokens=_OUTPUT_TOKENS))
    return f"'{name}' answers in {reply.duration_s:.1f} s"
