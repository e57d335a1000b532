"""`runax runs`: what the journal keeps of past runs, the schema of results, and the removal of old datasets.

Knows the journal and the state folder. Runs nothing again.
"""

from runax_cli.agent.result.certificate import certificate_line
from runax_cli.commands.config import configuration_of
from runax_cli.commands.options import CommonOptions
from runax_cli.commands.printing import Printer, Row, environment_of
from runax_cli.core.errors import UsageError
from runax_cli.core.exit_codes import ExitCode
from runax_cli.core.paths import state_folder
from runax_cli.core.results import RunResult
from runax_cli.memory.journal import Journal, StoredRun
from runax_cli.runtime.state import has_journal, journal_path, remove, stored_sessions, to_remove
from runax_cli.ui.json_output import line_schema
from runax_cli.ui.view_factory import build_view

_DAY_S = 86_400
_GB = 1_000_000_000


def list_runs(limit: int, common: CommonOptions) -> ExitCode:
    """Print the latest runs."""
    printer = Printer(environment_of(common), common.output.form)
    journal = _journal()
    stored = () if journal is None else journal.latest_runs(limit)
    if journal is not None:
        journal.close()
    if not stored:
        printer.note("No run is stored yet: ask something with `runax query`, or see `runax demo`.")
    printer.rows("runs", [_row(run) for run in stored], columns=("run_id", "started", "status", "records", "question"))
    return ExitCode.COMPLETE


def _journal() -> Journal | None:
    """The journal; None where nothing was ever stored: to look does not make one."""
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
    """Print the result of one run as it was printed then; the exit code is that of this command."""
    stored = stored_run(prefix)
    if stored.result is None:
        Printer(environment_of(common), common.output.form).one(
            _row(stored), text=f"The run '{stored.run_id}' has no result: it is still running, or its process ended."
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
    """The run whose id begins so. Raises UsageError where none or several do."""
    journal = _journal()
    stored = None if journal is None else journal.find_run(prefix)
    if journal is not None:
        journal.close()
    if stored is None:
        raise UsageError(f"no stored run has an id that begins with '{prefix}'. `runax runs list` shows the ids.")
    return stored


def show_schema(common: CommonOptions) -> ExitCode:
    """Print the JSON Schema of the object of `-o json`, or with `-o jsonl` that of a line."""
    printer = Printer(environment_of(common), "json")
    printer.json(line_schema() if common.output.form == "jsonl" else RunResult.model_json_schema())
    return ExitCode.COMPLETE


def prune(common: CommonOptions, *, is_all: bool) -> ExitCode:
    """Remove datasets by the age limit and the size cap of the settings; sessions in use are left alone."""
    settings = configuration_of(common).settings
    stored = stored_sessions(state_folder())
    max_bytes = -1.0 if is_all else settings.state_max_gb * _GB
    doomed = to_remove(stored, max_bytes=max_bytes, max_age_s=settings.state_max_age_days * _DAY_S)
    remove(doomed)
    freed = sum(session.n_bytes for session in doomed)
    row = {"removed": len(doomed), "freed_bytes": freed, "kept": len(stored) - len(doomed)}
    words = f"Removed the datasets of {len(doomed)} sessions ({freed / 1e6:.1f} MB); {row['kept']} are kept."
    Printer(environment_of(common), common.output.form).one(row, text=words)
    return ExitCode.COMPLETE
