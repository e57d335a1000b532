"""`runax tools list` and `show`: the tools as the model sees them, what they cost, how they page.

Knows tools. Needs no model; tokens are counted with the shipped vocabulary.
"""

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
from runax_cli.guard.visible_tool import brief, visible
from runax_cli.models.tokens import O200kCounter
from runax_cli.runtime.runtime import tool_limits_of
from runax_cli.runtime.sources import open_catalog
from runax_cli.settings.loader import Configuration
from runax_cli.settings.settings import Settings
from runax_cli.telemetry.credential_mask import CredentialMask

_COLUMNS = ("name", "tokens", "effect", "hidden", "source", "description")
_DESCRIPTION_SHOWN = 60


async def list_tools(common: CommonOptions) -> ExitCode:
    """Print every tool; what was left out of a source goes to standard error, with the reason."""
    printer = Printer(environment_of(common), common.output.form)
    configuration = configuration_of(common)
    async with open_catalog(configuration) as catalog:
        counter = O200kCounter()
        rows = [_row(spec, counter) for spec in catalog.tools]
        rows = _without_secrets(rows, configuration)
        if common.output.form == "text":
            rows = [row | _for_text(row) for row in rows]
        printer.rows("tools", rows, columns=_COLUMNS)
        if not common.output.quiet:
            for part in catalog.left_out:
                printer.note(f"left out: {part.path}: {part.why}")
            if configuration.structure.tools and not rows:
                printer.note(f"no tool matches {', '.join(map(repr, configuration.structure.tools))}")
            printer.note(price(len(rows), sum(row["tokens"] for row in rows), configuration.settings))
    return ExitCode.COMPLETE


def price(n_tools: int, tokens: int, settings: Settings) -> str:
    """How many tools there are and what they take, in words; and whether the main model gets all of them at once."""
    told = f"{counted(n_tools, 'tool')}, {counted(tokens, 'token')}"
    if tool_limits_of(settings).capped_to(_effective(settings)).allows(n_tools, tokens) or n_tools <= 1:
        return f"{told} in every request of the main model"
    return f"{told}: too much for one list, so the main model gets the most relevant of them and `find_tools`"


def _effective(settings: Settings) -> int:
    return int(settings.llm_max_context * settings.llm_context_utilization)


def _row(spec: ToolSpec, counter: O200kCounter) -> dict[str, Any]:
    return {
        "name": spec.name,
        "tokens": counter.count(schema_text(visible(spec).schema)),
        "effect": spec.effect.value,
        "hidden": list(spec.pagination.hidden),
        "source": spec.source,
        "locator": spec.locator,
        "description": spec.description,
    }


def _without_secrets(rows: list[dict[str, Any]], configuration: Configuration) -> list[dict[str, Any]]:
    """Documents are foreign text as well, and some servers write into them who asked."""
    masked: list[dict[str, Any]] = json.loads(
        CredentialMask(configuration.secrets()).text(json.dumps(rows, default=str))
    )
    return masked


def _for_text(row: dict[str, Any]) -> dict[str, Any]:
    return {"hidden": ",".join(row["hidden"]) or "-", "description": brief(row["description"], _DESCRIPTION_SHOWN)}


async def show_tool(name: str, common: CommonOptions) -> ExitCode:
    """Print one tool: description, schema, how it pages."""
    printer = Printer(environment_of(common), common.output.form)
    configuration = configuration_of(common)
    async with open_catalog(configuration) as catalog:
        spec = tool_of(catalog, name)
        (shown,) = _without_secrets([_row(spec, O200kCounter()) | _details(spec)], configuration)
        printer.one(shown, text=_text(shown))
    return ExitCode.COMPLETE


def tool_of(catalog: ToolCatalog, name: str) -> ToolSpec:
    """The tool of that name. Raises UsageError, which names the nearest."""
    spec = catalog.find(name)
    if spec is None:
        raise UsageError(f"there is no tool '{name}'. {_nearest(catalog, name)}")
    return spec


def _nearest(catalog: ToolCatalog, name: str) -> str:
    """What else was meant: the tools of that name that several sources have, else the most similar one."""
    names = [tool.name for tool in catalog.tools]
    if shared := [known for known in names if known.endswith(f"__{name}")]:
        return f"Several sources have one: {', '.join(map(repr, shared))}."
    near = get_close_matches(name, names, n=1)
    return f"Did you mean '{near[0]}'?" if near else "`runax tools list` shows the names."


def _details(spec: ToolSpec) -> dict[str, Any]:
    pagination = spec.pagination
    return {
        "parameters": visible(spec).schema.parameters,
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


def _text(shown: dict[str, Any]) -> str:
    paging = ", ".join(f"{key} {value}" for key, value in shown["paging"].items() if value not in (None, False))
    return "\n".join(
        [
            f"{shown['name']}  ({shown['locator']}, source '{shown['source']}', {shown['effect']})",
            shown["description"],
            "",
            f"tokens       {shown['tokens']} in every request of the main model",
            f"hidden       {', '.join(shown['hidden']) or '-'}",
            f"paging       {paging}",
            f"dataset      {shown['dataset']}_<n>",
            "",
            json.dumps(shown["parameters"], indent=2, ensure_ascii=False),
        ]
    )
