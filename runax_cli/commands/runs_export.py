"""`runax runs export`: the datasets of a past run as files.

Knows the journal and the state folder. Fetches nothing again.
"""

from collections.abc import Sequence
from pathlib import Path

from runax_cli.commands.options import CommonOptions
from runax_cli.commands.printing import Printer, Row, environment_of
from runax_cli.commands.runs import stored_run
from runax_cli.core.errors import UsageError
from runax_cli.core.exit_codes import ExitCode
from runax_cli.core.paths import state_folder
from runax_cli.executor.sql.parquet import ExportFormat, export, open_dataset
from runax_cli.memory.journal import StoredRun
from runax_cli.runtime.state import datasets_of


def run(prefix: str, common: CommonOptions, *, form: ExportFormat, out: Path) -> ExitCode:
    """Write every dataset that a run used to `<out>/<dataset>.<form>`."""
    stored = stored_run(prefix)
    folders = _folders(stored)
    targets = {folder: out / f"{folder.name}.{form.value}" for folder in folders}
    for target in targets.values():
        if target.exists():
            raise UsageError(f"'{target}' exists already. Choose another folder with --out, or move the file away.")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"'{out}' is no folder that can be used: {error.strerror or error}.") from error
    rows = [_written(folder, target, form) for folder, target in targets.items()]
    Printer(environment_of(common), common.output.form).rows("datasets", rows, columns=("dataset", "records", "path"))
    return ExitCode.COMPLETE


def _written(folder: Path, target: Path, form: ExportFormat) -> Row:
    dataset = open_dataset(folder)
    export(dataset, target, form)
    return {"dataset": dataset.name, "records": dataset.n_records, "path": str(target), "format": form.value}


def _folders(stored: StoredRun) -> tuple[Path, ...]:
    """The folders of the run's datasets, in the order of its calls."""
    calls = stored.result.calls if stored.result else ()
    names = tuple(dict.fromkeys(call.dataset for call in calls if call.dataset))
    if not names:
        raise UsageError(f"the run '{stored.run_id}' has no dataset: it used no data, or did not end.")
    kept = datasets_of(state_folder(), stored.session_id)
    folders = tuple(found for name in names if (found := _latest(kept, name)) is not None)
    if not folders:
        raise UsageError(
            f"the datasets of the run '{stored.run_id}' ({', '.join(names)}) are not stored any more: they were "
            "removed by the age limit, the size cap or `runax runs prune`. Ask again to fetch them: "
            f"runax query '{stored.question}'"
        )
    return folders


def _latest(folders: Sequence[Path], name: str) -> Path | None:
    """Where a dataset of that name was written last: a run that was cut off left another one behind."""
    return next((folder / name for folder in folders if (folder / name / "manifest.jsonl").exists()), None)
