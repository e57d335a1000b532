"""Which processes are alive: each holds a lock on a file of its own for as long as it lives.

The system takes the lock away however a process ends, so that no clock, process number or heartbeat has to be trusted.
Knows files and locks. Knows nothing of what the processes do.
"""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

_SUFFIX = ".alive"


def is_held(path: Path, *, if_free: Callable[[Path], None] = lambda _path: None) -> bool:
    """Whether some process holds the lock on a file; one that is not there is held by none. Raises OSError.

    `if_free` is done while the lock is held here, so that nobody can take it meanwhile.
    """
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        if_free(path)
        return False
    finally:
        os.close(descriptor)


class ProcessLock:
    """The mark of this process in a folder, from the moment it is made until `leave`."""

    def __init__(self, folder: Path) -> None:
        """Make the mark. Raises OSError."""
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.name, self._descriptor = _marked(folder)

    def is_alive(self, name: str) -> bool:
        """Whether the process of that mark still runs; the mark of one that does not is removed. Raises OSError."""
        if name == self.name:
            return True
        return is_held(self._folder / f"{name}{_SUFFIX}", if_free=lambda path: path.unlink(missing_ok=True))

    def leave(self) -> None:
        """Take the mark away. A second call changes nothing."""
        if self._descriptor >= 0:
            (self._folder / f"{self.name}{_SUFFIX}").unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = -1


def _marked(folder: Path) -> tuple[str, int]:
    """A new file with a lock on it. Another process may take it for a dead one's between the two: then once more."""
    while True:
        name = uuid4().hex
        path = folder / f"{name}{_SUFFIX}"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if path.exists():
            return name, descriptor
        os.close(descriptor)
