"""`runax runs resume`: go on with a run that did not end well.

Knows how a stored run tells what it was asked with. What is taken over is decided where it was stored.
"""

from pathlib import Path
from typing import Any

from runax_cli.commands.conversation import open_conversation, until_interrupted, view_of
from runax_cli.commands.options import CommonOptions
from runax_cli.commands.printing import Printer, environment_of
from runax_cli.commands.runs import show_run, stored_run
from runax_cli.core.errors import UsageError
from runax_cli.core.exit_codes import ExitCode
from runax_cli.core.paths import state_folder
from runax_cli.core.results import RunStatus
from runax_cli.memory.journal import StoredRun
from runax_cli.runtime.state import is_in_use
from runax_cli.settings.loader import Configuration, load


async def run(prefix: str, common: CommonOptions) -> ExitCode:
    """Resume a run; one that is complete is shown again, and costs nothing."""
    stored = stored_run(prefix)
    note = Printer(environment_of(common), common.output.form).note
    if stored.status is RunStatus.COMPLETE and stored.result is not None:
        note(f"The run '{stored.run_id}' is complete; this is its answer. To ask anew: runax query \"…\"")
        return show_run(stored.run_id, common)
    if stored.finished_at is None and is_in_use(state_folder(), stored.session_id):
        raise UsageError(
            f"the run '{stored.run_id}' is still under way in another process. Wait for its end, or stop that process."
        )
    configuration = configuration_for(stored, common)
    view = view_of(common)
    async with open_conversation(configuration, common, view) as conversation:
        for change in changes(stored, configuration):
            note(change)
        result = await until_interrupted(conversation.resume(stored), conversation, view)
        view.print_result(result)
    return ExitCode(result.exit_code)  # type: ignore[call-arg]  # a lookup, and not the making of a member


def configuration_for(stored: StoredRun, common: CommonOptions) -> Configuration:
    """The settings as the run was asked with, seen from its folder; what the command line gives now goes before."""
    asked = _invocation(stored)
    given = {name: value for name, value in common.flags().items() if value is not None}
    folder = Path(asked.get("folder") or Path.cwd())
    config = common.source.config or (Path(asked["config"]) if asked.get("config") else None)
    return load(
        {**asked.get("flags", {}), **given},
        config=config,
        tools=tuple(common.source.tools or asked.get("tools", ())),
        folder=folder if folder.is_dir() else None,
    )


def changes(stored: StoredRun, configuration: Configuration) -> list[str]:
    """What is not as it was in what decides over stored work: the sources and the models."""
    before = stored.settings
    watched = ("base_api_url", "openapi_spec", "mcp_url", "llm_name", "llm_reducer_name")
    now = {name: configuration.settings.shown(name) for name in watched}
    return [
        f"{name.upper()} was '{before[name]}' and is '{now[name]}': what was stored under it is not used again."
        for name in watched
        if name in before and before[name] != now[name]
    ]


def _invocation(stored: StoredRun) -> dict[str, Any]:
    asked = stored.settings.get("invocation")
    return asked if isinstance(asked, dict) else {}
