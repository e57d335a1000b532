"""`runax runs`: list, show, resume, export and prune past runs; print their usage and the schema of results."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from runax_cli.agent.result.certificate import certificate_line
from runax_cli.commands.config import configuration_of
from runax_cli.commands.conversation import open_conversation, until_interrupted, view_of
from runax_cli.commands.options import CommonOptions
from runax_cli.commands.printing import Printer, Row, environment_of
from runax_cli.commands.save import parse_targets, save_results
from runax_cli.core.budget import Amount
from runax_cli.core.errors import UsageError
from runax_cli.core.exit_codes import ExitCode
from runax_cli.core.paths import state_folder
from runax_cli.core.results import RunResult, RunStatus, counted
from runax_cli.executor.sql.export import ExportFormat, export, open_dataset
from runax_cli.memory.journal import Journal, StoredRun
from runax_cli.memory.spend_ledger import SharedLedger, TenantSpend
from runax_cli.runtime.state import (
    datasets_of,
    has_journal,
    has_ledger,
    is_in_use,
    journal_path,
    ledger_path,
    remove,
    sessions_to_remove,
    stored_sessions,
)
from runax_cli.settings.loader import Configuration, load
from runax_cli.ui.json_output import line_schema
from runax_cli.ui.view_factory import build_view

_DAY_S = 86_400
_GB = 1_000_000_000
_COMPARED_SETTINGS = ("base_api_url", "openapi_spec", "mcp_url", "llm_name", "llm_reducer_name")


def list_runs(limit: int, common: CommonOptions) -> ExitCode:
    """Print the latest runs."""
    printer = Printer(environment_of(common), common.output.form)
    journal = _open_journal()
    stored: Sequence[StoredRun] = ()
    if journal is not None:
        with closing(journal):
            stored = journal.latest_runs(limit)
    if not stored:
        printer.note("No runs yet. Ask a question with `runax query`, or try `runax demo`.")
    printer.rows("runs", [_row(run) for run in stored], columns=("run_id", "started", "status", "records", "question"))
    return ExitCode.COMPLETE


def _open_journal() -> Journal | None:
    """The journal; None if there is none yet, since reading must not create it."""
    return Journal.open(journal_path(state_folder())) if has_journal(state_folder()) else None


def _row(run: StoredRun) -> Row:
    coverage = run.result.coverage if run.result else None
    return {
        "run_id": run.run_id,
        "session_id": run.session_id,
        "started": run.started_at.isoformat(timespec="seconds"),
        "status": run.status.value if run.status else "unfinished",
        "exit_code": run.exit_code,
        "records": coverage.records_read if coverage else None,
        "question": run.question,
    }


def show_run(prefix: str, common: CommonOptions) -> ExitCode:
    """Print the result of a run. The exit code is that of this command, not of the run."""
    stored = stored_run(prefix)
    if stored.result is None:
        Printer(environment_of(common), common.output.form).one(
            _row(stored), text=f"The run '{stored.run_id}' has no result: it is still running, or its process died."
        )
        return ExitCode.COMPLETE
    env = environment_of(common)
    build_view(
        common.output.form,
        env,
        certificate=certificate_line,
        quiet=common.output.quiet,
        evidence=common.answer.evidence,
    ).print_result(stored.result)
    return ExitCode.COMPLETE


def stored_run(prefix: str) -> StoredRun:
    """The run whose id starts with `prefix`. Raises UsageError if there is not exactly one."""
    journal = _open_journal()
    stored = None
    if journal is not None:
        with closing(journal):
            stored = journal.find_run(prefix)
    if stored is None:
        raise UsageError(f"no run id starts with '{prefix}'. `runax runs list` lists the ids.")
    return stored


def show_schema(common: CommonOptions) -> ExitCode:
    """Print the JSON Schema of the object of `-o json`, or with `-o jsonl` that of a line."""
    printer = Printer(environment_of(common), "json")
    printer.json(line_schema() if common.output.form == "jsonl" else RunResult.model_json_schema())
    return ExitCode.COMPLETE


def prune(common: CommonOptions, *, is_all: bool) -> ExitCode:
    """Remove datasets over the age or size limit of the settings. Sessions in use are kept."""
    settings = configuration_of(common).settings
    stored = stored_sessions(state_folder())
    max_bytes = -1.0 if is_all else settings.state_max_gb * _GB
    removed = sessions_to_remove(stored, max_bytes=max_bytes, max_age_s=settings.state_max_age_days * _DAY_S)
    remove(removed)
    freed = sum(session.n_bytes for session in removed)
    row = {"removed": len(removed), "freed_bytes": freed, "kept": len(stored) - len(removed)}
    text = f"Removed the datasets of {counted(len(removed), 'session')} ({freed / 1e6:.1f} MB); kept {row['kept']}."
    Printer(environment_of(common), common.output.form).one(row, text=text)
    return ExitCode.COMPLETE


async def show_usage(common: CommonOptions, *, is_cleared: bool) -> ExitCode:
    """Print what was used per day and tenant; first clear what dead processes may have used, if requested."""
    printer = Printer(environment_of(common), common.output.form)
    spent: tuple[TenantSpend, ...] = ()
    # Reading must not create a ledger.
    if has_ledger(state_folder()):
        with closing(SharedLedger(ledger_path(state_folder()))) as ledger:
            if is_cleared:
                await ledger.clear_perhaps()
            spent = await ledger.used()
    if not spent:
        printer.note("Nothing was used yet.")
    if any(day.perhaps != Amount() for day in spent):
        printer.note(
            "What processes had reserved when they died may have been billed and counts toward the limits. Compare it "
            "with the bill of the provider; `runax runs usage --clear` removes it."
        )
    columns = ("day", "tenant", "tokens", "usd", "unsettled_tokens", "unsettled_usd")
    printer.rows("usage", [_usage_row(day) for day in spent], columns=columns)
    return ExitCode.COMPLETE


def _usage_row(spend: TenantSpend) -> Row:
    unsettled = {f"unsettled_{name}": value for name, value in asdict(spend.perhaps).items()}
    return {"day": spend.day, "tenant": spend.tenant, **asdict(spend.amount), **unsettled}


async def run_resume(prefix: str, common: CommonOptions) -> ExitCode:
    """Resume a run. A complete run is only printed again, at no cost."""
    stored = stored_run(prefix)
    note = Printer(environment_of(common), common.output.form).note
    if stored.status is RunStatus.COMPLETE and stored.result is not None:
        note(f"The run '{stored.run_id}' is complete; this is its answer. To ask again, use `runax query`.")
        return show_run(stored.run_id, common)
    if stored.finished_at is None and is_in_use(state_folder(), stored.session_id):
        raise UsageError(
            f"the run '{stored.run_id}' is still running in another process. Wait until it ends, or stop the process."
        )
    configuration = configuration_for(stored, common)
    view = view_of(common)
    async with open_conversation(configuration, common, view) as conversation:
        for change in changed_settings(stored, configuration):
            note(change)
        result = await until_interrupted(conversation.resume(stored), conversation, view)
        view.print_result(result)
    return ExitCode(result.exit_code)  # type: ignore[call-arg]  # looks up a member


def configuration_for(stored: StoredRun, common: CommonOptions) -> Configuration:
    """The configuration that the run was started with, overridden by the options given now."""
    invocation = _invocation(stored)
    given = {name: value for name, value in common.flags().items() if value is not None}
    folder = Path(invocation.get("folder") or Path.cwd())
    config = common.source.config or (Path(invocation["config"]) if invocation.get("config") else None)
    return load(
        {**invocation.get("flags", {}), **given},
        config=config,
        tools=tuple(common.source.tools or invocation.get("tools", ())),
        folder=folder if folder.is_dir() else None,
    )


def changed_settings(stored: StoredRun, configuration: Configuration) -> list[str]:
    """Messages about sources and models that changed since the run; stored work of the old ones is not reused."""
    before = stored.settings
    now = {name: configuration.settings.shown(name) for name in _COMPARED_SETTINGS}
    return [
        f"{name.upper()} changed from '{before[name]}' to '{now[name]}'; results stored for the old value are not used."
        for name in _COMPARED_SETTINGS
        if name in before and before[name] != now[name]
    ]


def _invocation(stored: StoredRun) -> dict[str, Any]:
    invocation = stored.settings.get("invocation")
    return invocation if isinstance(invocation, dict) else {}


def run_export(
    prefix: str, common: CommonOptions, *, form: ExportFormat, out: Path, save: Sequence[str] = ()
) -> ExitCode:
    """Write every dataset of a run to `<out>/<dataset>.<form>`; with `save` only the stored results that it names."""
    stored = stored_run(prefix)
    if save:
        return _export_results(stored, save, common)
    folders = _dataset_folders(stored)
    targets = {folder: out / f"{folder.name}.{form.value}" for folder in folders}
    for target in targets.values():
        if target.exists():
            raise UsageError(f"'{target}' already exists. Choose another folder with --out, or move the file.")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot use the folder '{out}': {error.strerror or error}.") from error
    rows = [_export(folder, target, form) for folder, target in targets.items()]
    Printer(environment_of(common), common.output.form).rows("datasets", rows, columns=("dataset", "records", "path"))
    return ExitCode.COMPLETE


def _export_results(stored: StoredRun, save: Sequence[str], common: CommonOptions) -> ExitCode:
    targets = parse_targets(save)
    if stored.result is None:
        raise UsageError(
            f"the run '{stored.run_id}' did not finish. Resume it first: runax runs resume {stored.run_id}"
        )
    rows = save_results(targets, stored.result)
    Printer(environment_of(common), common.output.form).rows("results", rows, columns=("result", "rows", "path"))
    return ExitCode.COMPLETE


def _export(folder: Path, target: Path, form: ExportFormat) -> Row:
    dataset = open_dataset(folder)
    export(dataset, target, form)
    return {"dataset": dataset.name, "records": dataset.n_records, "path": str(target), "format": form.value}


def _dataset_folders(stored: StoredRun) -> tuple[Path, ...]:
    """The folders of the run's datasets, in the order of its calls. Raises UsageError if there is none."""
    calls = stored.result.calls if stored.result else ()
    names = tuple(dict.fromkeys(call.dataset for call in calls if call.dataset))
    if not names:
        raise UsageError(f"the run '{stored.run_id}' has no dataset: it fetched no data, or it did not finish.")
    kept = datasets_of(state_folder(), stored.session_id)
    folders = tuple(folder for name in names if (folder := _latest(kept, name)) is not None)
    if not folders:
        raise UsageError(
            f"the datasets of the run '{stored.run_id}' ({', '.join(names)}) were removed by the age limit, the size "
            f"limit or `runax runs prune`. Ask again to fetch them: runax query '{stored.question}'"
        )
    return folders


def _latest(folders: Sequence[Path], name: str) -> Path | None:
    """The newest dataset of that name; an interrupted run leaves an older one behind."""
    return next((folder / name for folder in folders if (folder / name / "manifest.jsonl").exists()), None)
