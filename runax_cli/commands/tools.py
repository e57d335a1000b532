"""`runax tools list` and `show`: the tools as the model sees them, their size in tokens and their pagination."""

import json
from difflib import get_close_matches
from typing import Any

from adapters.base import ToolSpec
from adapters.catalog import ToolCatalog
from runax_cli.agent.loop.toolbox import schema_text
from runax_cli.commands.config import configuration_of
from runax_cli.commands.options import CommonOptions
from runax_cli.commands.printing import Printer, environment_of
from runax_cli.core.errors import UsageError
from runax_cli.core.exit_codes import ExitCode
from runax_cli.core.results import counted
from runax_cli.guard.visible_tool import shorten, visible_tool
from runax_cli.models.tokens import O200kCounter
from runax_cli.runtime.runtime import tool_limits_of
from runax_cli.runtime.sources import open_catalog
from runax_cli.settings.loader import Configuration
from runax_cli.settings.settings import Settings
from runax_cli.telemetry.credential_mask import CredentialMask

_COLUMNS = ("name", "tokens", "effect", "hidden", "source", "description")
_DESCRIPTION_SHOWN = 60


async def list_tools(common: CommonOptions) -> ExitCode:
    """Print every tool; skipped parts of the sources are listed on standard error with the reason."""
    printer = Printer(environment_of(common), common.output.form)
    configuration = configuration_of(common)
    async with open_catalog(configuration) as catalog:
        counter = O200kCounter()
        rows = [_row(spec, counter) for spec in catalog.tools]
        rows = _mask_secrets(rows, configuration)
        if common.output.form == "text":
            rows = [row | _text_columns(row) for row in rows]
        printer.rows("tools", rows, columns=_COLUMNS)
        if not common.output.quiet:
            for part in catalog.skipped:
                printer.note(f"skipped: {part.path}: {part.reason}")
            if configuration.structure.tools and not rows:
                printer.note(f"no tool matches {', '.join(map(repr, configuration.structure.tools))}")
            printer.note(size_summary(len(rows), sum(row["tokens"] for row in rows), configuration.settings))
    return ExitCode.COMPLETE


def size_summary(n_tools: int, tokens: int, settings: Settings) -> str:
    """The number of tools, their size in tokens, and whether the main model gets all of them in each request."""
    size = f"{counted(n_tools, 'tool')}, {counted(tokens, 'token')}"
    if tool_limits_of(settings).capped_to(_effective(settings)).allows(n_tools, tokens) or n_tools <= 1:
        return f"{size} in every request to the main model"
    return f"{size}: more than fits into one list, so the main model gets the most relevant tools and `find_tools`"


def _effective(settings: Settings) -> int:
    return int(settings.llm_max_context * settings.llm_context_utilization)


def _row(spec: ToolSpec, counter: O200kCounter) -> dict[str, Any]:
    return {
        "name": spec.name,
        "tokens": counter.count(schema_text(visible_tool(spec).schema)),
        "effect": spec.effect.value,
        "hidden": list(spec.pagination.hidden),
        "source": spec.source,
        "locator": spec.locator,
        "description": spec.description,
    }


def _mask_secrets(rows: list[dict[str, Any]], configuration: Configuration) -> list[dict[str, Any]]:
    """The rows with secrets masked: a server may echo credentials in its document."""
    masked: list[dict[str, Any]] = json.loads(
        CredentialMask(configuration.secrets()).text(json.dumps(rows, default=str))
    )
    return masked


def _text_columns(row: dict[str, Any]) -> dict[str, Any]:
    return {"hidden": ",".join(row["hidden"]) or "-", "description": shorten(row["description"], _DESCRIPTION_SHOWN)}


async def show_tool(name: str, common: CommonOptions) -> ExitCode:
    """Print one tool: description, pagination and schema."""
    printer = Printer(environment_of(common), common.output.form)
    configuration = configuration_of(common)
    async with open_catalog(configuration) as catalog:
        spec = tool_of(catalog, name)
        (shown,) = _mask_secrets([_row(spec, O200kCounter()) | _details(spec)], configuration)
        printer.one(shown, text=_text(shown, rule=spec.pagination.rule))
    return ExitCode.COMPLETE


def tool_of(catalog: ToolCatalog, name: str) -> ToolSpec:
    """The tool of that name. Raises UsageError with a suggestion."""
    spec = catalog.find(name)
    if spec is None:
        raise UsageError(f"unknown tool '{name}'. {_suggestion(catalog, name)}")
    return spec


def _suggestion(catalog: ToolCatalog, name: str) -> str:
    """The tools of that name if several sources have one, else the most similar name."""
    names = [tool.name for tool in catalog.tools]
    if shared := [each for each in names if each.endswith(f"__{name}")]:
        return f"Several sources have a tool of that name: {', '.join(map(repr, shared))}."
    near = get_close_matches(name, names, n=1)
    return f"Did you mean '{near[0]}'?" if near else "`runax tools list` lists the tools."


def _details(spec: ToolSpec) -> dict[str, Any]:
    pagination = spec.pagination
    return {
        "parameters": visible_tool(spec).schema.parameters,
        "paging": {
            "convention": pagination.convention.value,
            "position": pagination.position,
            "size": pagination.size,
            "metadata": pagination.metadata,
            "max_size": pagination.max_size,
            "is_declared": pagination.is_declared,
        },
        "records_path": spec.records_path,
        "dataset": spec.noun,
    }


def _text(shown: dict[str, Any], *, rule: str) -> str:
    pagination = ", ".join(f"{key} {value}" for key, value in shown["paging"].items() if value not in (None, False))
    return "\n".join(
        [
            f"{shown['name']}  ({shown['locator']}, source '{shown['source']}', {shown['effect']})",
            shown["description"],
            "",
            f"tokens       {shown['tokens']} in every request to the main model",
            f"hidden       {', '.join(shown['hidden']) or '-'}",
            f"pagination   {pagination}",
            f"matched rule {rule or '-'}",
            f"dataset      {shown['dataset']}_<n>",
            "",
            json.dumps(shown["parameters"], indent=2, ensure_ascii=False),
        ]
    )
