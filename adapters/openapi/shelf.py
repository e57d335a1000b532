"""Entries in a folder of the user's cache: bytes by a key, kept from one run to the next.

Knows files, their rights, a checksum and a cap on the whole. Knows nothing of what an entry says. A cache is never
needed: whatever is wrong with the disk, nothing is found, and nothing is kept. Files are readable by their owner only.
"""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MAX_BYTES = 64 * 2**20
_MAGIC = b"runax-kept-1"
_ENDING, _UNFINISHED = ".kept", ".part"
_OF_OTHERS = 0o022
"""Rights by which others could have written a file."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """A folder of entries, of `max_bytes` together: beyond it those used longest ago go."""

    folder: Path
    max_bytes: int = MAX_BYTES

    def find(self, key: str) -> bytes | None:
        """The entry under a key (of letters and digits); None where there is none that is whole."""
        path = self._path(key)
        try:
            with path.open("rb") as file:
                if _is_foreign(os.fstat(file.fileno())):
                    return None
                head, _, payload = file.read(self.max_bytes + 1).partition(b"\n")
        except OSError:
            return None
        if head != _head(key, payload):
            return None
        with suppress(OSError):
            os.utime(path)
        return payload

    def keep(self, key: str, payload: bytes) -> bool:
        """Write an entry, whole or not at all, and say whether it was."""
        text = _head(key, payload) + b"\n" + payload
        if len(text) > self.max_bytes:
            return False
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.folder.chmod(0o700)
            self._write(self._path(key), text)
            self._make_room(besides=self._path(key))
        except OSError:
            return False
        return True

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_ENDING}"

    def _write(self, path: Path, text: bytes) -> None:
        handle, unfinished = tempfile.mkstemp(suffix=_UNFINISHED, dir=self.folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(text)
            Path(unfinished).replace(path)
        except BaseException:
            Path(unfinished).unlink(missing_ok=True)
            raise

    def _make_room(self, *, besides: Path) -> None:
        files = sorted(self._files(), key=lambda file: (file[0] == besides, file[1].st_mtime_ns))
        total = sum(stat.st_size for _, stat in files)
        for path, stat in files:
            if total <= self.max_bytes:
                return
            path.unlink(missing_ok=True)
            total -= stat.st_size

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        for path in self.folder.iterdir():
            if path.suffix in (_ENDING, _UNFINISHED):
                with suppress(FileNotFoundError):
                    yield path, path.stat()


def _head(key: str, payload: bytes) -> bytes:
    return b" ".join((_MAGIC, key.encode(), hashlib.sha256(payload).hexdigest().encode()))


def _is_foreign(stat: os.stat_result) -> bool:
    """Whether somebody else than the user may have written a file."""
    return stat.st_uid != os.getuid() or bool(stat.st_mode & _OF_OTHERS)
