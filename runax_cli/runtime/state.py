"""The state folder: its files, which sessions are in use, and which datasets to remove."""

import os
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from runax_cli.core.errors import StoreError
from runax_cli.core.paths import ensure_private

_DATASETS = "datasets"
_JOURNAL = "journal.sqlite"
_LEDGER = "ledger.sqlite"
_LOCK = ".in_use"
_MARK = ".session_"


def journal_path(root: Path) -> Path:
    """The journal file in the state folder `root`, which is created if it is missing."""
    return ensure_private(root) / _JOURNAL


def ledger_path(root: Path) -> Path:
    """The ledger of the daily use of all processes, in the state folder `root`, which is created if it is missing."""
    return ensure_private(root) / _LEDGER


def has_journal(root: Path) -> bool:
    """Whether a journal exists."""
    return (root / _JOURNAL).exists()


def has_ledger(root: Path) -> bool:
    """Whether a ledger exists."""
    return (root / _LEDGER).exists()


@contextmanager
def session_folder(root: Path, session_id: str) -> Iterator[Path]:
    """A folder for the datasets of one session, locked as in use for the duration of the block."""
    folder = ensure_private(ensure_private(root / _DATASETS) / session_id)
    with _lock(folder):
        yield folder


def _lock(folder: Path) -> FileLock:
    return FileLock(folder / _LOCK, blocking=False, mode=0o600, thread_local=False)


def mark_session(folder: Path, session_id: str) -> None:
    """Mark the folder as holding datasets of the conversation `session_id`. Raises StoreError."""
    path = folder / f"{_MARK}{session_id}"
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    except OSError as error:
        raise StoreError(
            f"cannot write '{path}': {error.strerror or error}. Free some space or set XDG_STATE_HOME to another disk.",
            path=str(path),
        ) from error


def datasets_of(root: Path, session_id: str) -> tuple[Path, ...]:
    """The folders with datasets of a conversation, newest first; a resumed run has its own folder."""
    marks = sorted((root / _DATASETS).glob(f"*/{_MARK}{session_id}"), key=lambda mark: -mark.stat().st_mtime_ns)
    return tuple(mark.parent for mark in marks)


def is_in_use(root: Path, session_id: str) -> bool:
    """Whether a running process has this conversation open."""
    return any(_is_in_use(folder) for folder in datasets_of(root, session_id))


@dataclass(frozen=True, slots=True)
class SessionFolder:
    """The datasets of one session on disk: their size, and their age since the last write."""

    folder: Path
    n_bytes: int
    age_s: float


def stored_sessions(root: Path) -> tuple[SessionFolder, ...]:
    """Every session that has a folder and is not in use."""
    datasets = root / _DATASETS
    folders = [folder for folder in datasets.iterdir() if folder.is_dir()] if datasets.is_dir() else []
    return tuple(_measure(folder) for folder in folders if not _is_in_use(folder))


def _measure(folder: Path) -> SessionFolder:
    files = [path.stat() for path in folder.rglob("*") if path.is_file()]
    written_at = max((file.st_mtime for file in files), default=folder.stat().st_mtime)
    return SessionFolder(folder, sum(file.st_size for file in files), max(0.0, time.time() - written_at))


def _is_in_use(folder: Path) -> bool:
    if not (folder / _LOCK).exists():
        return False
    try:
        with _lock(folder):
            return False
    except Timeout:
        return True
    except OSError:
        return False


def sessions_to_remove(
    sessions: Iterable[SessionFolder], *, max_bytes: float, max_age_s: float
) -> tuple[SessionFolder, ...]:
    """The sessions over the age limit, and then the oldest ones until the rest fits into `max_bytes`."""
    newest_first = sorted(sessions, key=lambda session: session.age_s)
    removed: list[SessionFolder] = []
    kept_bytes = 0
    for session in newest_first:
        kept_bytes += session.n_bytes
        if session.age_s > max_age_s or kept_bytes > max_bytes:
            kept_bytes -= session.n_bytes
            removed.append(session)
    return tuple(removed)


def remove(sessions: Sequence[SessionFolder]) -> None:
    """Delete the folders."""
    for session in sessions:
        shutil.rmtree(session.folder)
