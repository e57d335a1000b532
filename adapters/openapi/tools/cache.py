"""Disk cache of built tools.

An entry is valid for the same bytes of every file, location of the document, relevant settings and program version. Of
secret settings only the names enter the key.
"""

import hashlib
import importlib.metadata
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from adapters.base import Json, ToolList
from adapters.http.secret_mask import SecretMask
from adapters.openapi.settings import OpenApiSettings

MAX_BYTES = 64 * 2**20
_MAGIC = b"runax-kept-1"
_ENDING, _UNFINISHED = ".kept", ".part"
_WRITABLE_BY_OTHERS = 0o022
"""Permissions with which other users could have written a file."""


@dataclass(frozen=True, slots=True)
class DiskCache:
    """A folder of entries, of at most `max_bytes` in total; the least recently used are evicted."""

    folder: Path
    max_bytes: int = MAX_BYTES

    def get(self, key: str) -> bytes | None:
        """Return the entry of a key (letters and digits); None if there is no intact one."""
        path = self._path(key)
        try:
            with path.open("rb") as file:
                if _is_untrusted(os.fstat(file.fileno())):
                    return None
                head, _, payload = file.read(self.max_bytes + 1).partition(b"\n")
        except OSError:
            return None
        if head != _header(key, payload):
            return None
        with suppress(OSError):
            os.utime(path)
        return payload

    def put(self, key: str, payload: bytes) -> bool:
        """Write an entry atomically and return whether it was written."""
        text = _header(key, payload) + b"\n" + payload
        if len(text) > self.max_bytes:
            return False
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.folder.chmod(0o700)
            self._write(self._path(key), text)
            self._evict(keep=self._path(key))
        except OSError:
            return False
        return True

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_ENDING}"

    def _write(self, path: Path, text: bytes) -> None:
        handle, temporary = tempfile.mkstemp(suffix=_UNFINISHED, dir=self.folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(text)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise

    def _evict(self, *, keep: Path) -> None:
        files = sorted(self._files(), key=lambda file: (file[0] == keep, file[1].st_mtime_ns))
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


def _header(key: str, payload: bytes) -> bytes:
    return b" ".join((_MAGIC, key.encode(), hashlib.sha256(payload).hexdigest().encode()))


def _is_untrusted(stat: os.stat_result) -> bool:
    """Whether another user may have written a file."""
    return stat.st_uid != os.getuid() or bool(stat.st_mode & _WRITABLE_BY_OTHERS)


_IRRELEVANT_SETTINGS = frozenset({"cache_folder", "timeout_s", "max_attempts", "max_bytes"})
"""Settings that do not affect tools."""


@dataclass(frozen=True, slots=True)
class CachedTools:
    """A list of tools, and the digests of the files it was built from except the root (None: unreadable)."""

    files: dict[str, str | None]
    listed: ToolList


def load_tools(cache: DiskCache, key: str) -> CachedTools | None:
    """Return the cached tools of a key, if they are valid."""
    payload = cache.get(key)
    if payload is None:
        return None
    try:
        return _type_adapter().validate_json(payload)
    except ValueError:
        return None


def store_tools(cache: DiskCache, key: str, tools: CachedTools, *, mask: SecretMask) -> bool:
    """Cache a list of tools and return whether it was written.

    A list that contains a secret, or does not survive serialization unchanged, is not cached.
    """
    try:
        payload = _type_adapter().dump_json(tools)
        text = payload.decode()
        if mask.text(text) != text:
            return False
        return _type_adapter().validate_json(payload) == tools and cache.put(key, payload)
    except ValueError:
        return False


def cache_key(uri: str, digest: str, settings: OpenApiSettings, provided: Iterable[object]) -> str:
    """Return the key of a document: its URI and digest, the settings, and the parameters that credentials fill."""
    relevant = {
        one.name: _canonical(getattr(settings, one.name) if one.repr else sorted(getattr(settings, one.name)))
        for one in fields(settings)
        if one.name not in _IRRELEVANT_SETTINGS
    }
    parts = (_program_version(), uri, digest, repr(sorted(relevant.items())), repr(_canonical(frozenset(provided))))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _canonical(value: Json) -> Json:
    """Return a setting in canonical form."""
    if is_dataclass(value):
        return {one.name: _canonical(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return sorted((str(name), repr(_canonical(inner))) for name, inner in value.items())
    if isinstance(value, frozenset):
        return sorted(repr(inner) for inner in value)
    return repr(value)


@cache
def _type_adapter() -> TypeAdapter[CachedTools]:
    return TypeAdapter(CachedTools)


@cache
def _program_version() -> str:
    """Return version and module states of the program: entries of another version are not used."""
    try:
        version = importlib.metadata.version("runax")
    except importlib.metadata.PackageNotFoundError:
        version = ""
    folder = Path(__file__).parents[2]
    modules = ((path, path.stat()) for path in sorted(folder.rglob("*.py")))
    return repr((version, [(str(path), stat.st_size, stat.st_mtime_ns) for path, stat in modules]))
