"""File locks that show which processes are alive: each process holds a lock on its own file for as long as it runs.

The operating system releases the lock however a process ends, so no clock, process id or heartbeat has to be trusted.
"""

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from filelock import BaseFileLock, FileLock, Timeout

_SUFFIX = ".alive"


def is_held(path: Path, *, if_free: Callable[[Path], None] = lambda _path: None) -> bool:
    """Whether a process holds the lock on a file; a missing file is not held. Raises OSError.

    `if_free` runs while this process holds the lock, so that no other can take it in between.
    """
    if not path.exists():
        return False
    try:
        with _lock(path).acquire(blocking=False):
            if_free(path)
    except Timeout:
        return True
    return False


class ProcessLock:
    """The lock of this process in a folder that all processes share, held until `release`."""

    def __init__(self, folder: Path) -> None:
        """Create the lock file and lock it. Raises OSError."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.name = uuid4().hex
        self._folder = folder
        self._lock = _lock(self._path(self.name))
        self._lock.acquire()

    def is_alive(self, name: str) -> bool:
        """Whether the process of that lock is running; the file of a dead process is removed. Raises OSError."""
        if name == self.name:
            return True
        return is_held(self._path(name), if_free=lambda path: path.unlink(missing_ok=True))

    def release(self) -> None:
        """Remove the lock file and release the lock. A second call changes nothing."""
        if self._lock.is_locked:
            self._lock.release()
            self._path(self.name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}{_SUFFIX}"


def _lock(path: Path) -> BaseFileLock:
    """A lock of the operating system only: a fallback to the mere existence of a file would outlive its process."""
    return FileLock(path, mode=0o600, thread_local=False, fallback_to_soft=False)
