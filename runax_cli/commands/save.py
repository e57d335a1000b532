"""Save stored results to files: the option `--save [NAME=]FILE` of `runax query` and `runax runs export`."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runax_cli.commands.printing import Row
from runax_cli.core.errors import UsageError
from runax_cli.core.results import RunResult, SqlResult, StoredResult, counted
from runax_cli.executor.sql.export import ExportFormat, export_file

_NAMED = re.compile(r"(\w+)=(.+)", re.DOTALL)
_IS_RESULT = re.compile(r"q[1-9]\d*|[a-z]\w*_labels_[1-9]\d*")
_SUFFIXES = ", ".join(f".{form.value}" for form in ExportFormat)


@dataclass(frozen=True, slots=True)
class SaveTarget:
    """A file to write, and the name of the stored result; None is the last one that the answer cites."""

    name: str | None
    path: Path
    form: ExportFormat


def parse_targets(texts: Sequence[str]) -> tuple[SaveTarget, ...]:
    """The targets of `--save`, checked before anything is spent. Raises UsageError."""
    targets = tuple(map(_parse, texts))
    for at, target in enumerate(targets):
        if target.path in {earlier.path for earlier in targets[:at]}:
            raise UsageError(f"--save names the file '{target.path}' twice. Give each result a file of its own.")
        _require_free(target.path)
    return targets


def _parse(text: str) -> SaveTarget:
    named = _NAMED.fullmatch(text)
    name, file = (named[1], named[2]) if named else (None, text)
    if name is not None and not _IS_RESULT.fullmatch(name):
        raise UsageError(
            f"'--save {text}': '{name}' is not the name of a result. Use one such as q1 or tickets_1_labels_1; for a "
            f"file with '=' in its name, write './{text}'."
        )
    path = Path(file)
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in list(ExportFormat):
        raise UsageError(f"'--save {text}': the format follows from the suffix, which must be one of {_SUFFIXES}.")
    return SaveTarget(name, path, ExportFormat(suffix))


def _require_free(path: Path) -> None:
    if path.exists():
        raise UsageError(f"'{path}' already exists. Choose another file for --save, or move the file.")
    if not path.parent.is_dir():
        raise UsageError(f"the folder '{path.parent}' of '{path.name}' does not exist. Create it, or choose another.")


def save_results(targets: Sequence[SaveTarget], result: RunResult) -> list[Row]:
    """Write stored results of a run to files. Raises UsageError if there is no such result, and StoreError.

    Nothing is written if any of them is missing.
    """
    stored = stored_results(result)
    sources = [_source(target.name, stored, result) for target in targets]
    return [_write(target, source) for target, source in zip(targets, sources, strict=True)]


def save_notes(targets: Sequence[SaveTarget], result: RunResult, *, note: Callable[[str], None]) -> None:
    """Save like `save_results`, and say what was saved."""
    for row in save_results(targets, result):
        note(f"Saved {counted(int(row['rows']), 'row')} of {row['result']} to '{row['path']}'.")


def stored_results(result: RunResult) -> Mapping[str, StoredResult]:
    """The stored results of a run by name, those of earlier turns that its answer cites included."""
    stored = {kept.name: kept for call in result.calls for kept in call.stored}
    for query in _cited(result):
        earlier = StoredResult(name=query.id, kind="sql", n_rows=query.n_rows, path=query.stored)
        stored.setdefault(query.id, earlier)
    return stored


def _cited(result: RunResult) -> Iterator[SqlResult]:
    return (query for entry in result.evidence for query in entry.queries)


def _source(name: str | None, stored: Mapping[str, StoredResult], result: RunResult) -> tuple[StoredResult, Path]:
    run, names = result.run_id, ", ".join(stored)
    if not stored:
        raise UsageError(
            f"nothing to save: the run '{run}' stored no SQL result. `runax runs export {run}` writes its datasets."
        )
    name = name or next((query.id for query in reversed(list(_cited(result)))), None)
    if name is None:
        raise UsageError(
            f"nothing to save: the answer of the run '{run}' cites no SQL result. Stored results: {names}. Name one: "
            f"runax runs export {run} --save {next(iter(stored))}=FILE"
        )
    if name not in stored:
        raise UsageError(f"the run '{run}' has no stored result '{name}'. Stored results: {names}.")
    found = stored[name]
    if found.path is None:
        raise UsageError(f"the result '{name}' of the run '{run}' was not stored: {found.note or 'unknown reason'}")
    path = Path(found.path)
    if not path.exists():
        raise UsageError(
            f"the stored result '{name}' of the run '{run}' was removed by the age limit, the size limit or "
            f"`runax runs prune`. Ask again: runax query '{result.question}'"
        )
    return found, path


def _write(target: SaveTarget, source: tuple[StoredResult, Path]) -> Row:
    found, path = source
    _require_free(target.path)
    export_file(path, target.path, target.form)
    return {"result": found.name, "rows": found.n_rows, "path": str(target.path), "format": target.form.value}
