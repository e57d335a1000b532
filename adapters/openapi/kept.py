"""The tools of a document as they were built once, for the next time that the very same document is opened.

Knows what a list of tools depends on: the bytes of every file, where the first one stands, the settings that have a
say, and the program itself. Knows no disk (`shelf`) and no document. Of what settings keep from showing, the names go
into a key and no value.
"""

import hashlib
import importlib.metadata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from adapters.base import Json, ToolList
from adapters.masking import Mask
from adapters.openapi.settings import OpenApiSettings
from adapters.openapi.shelf import Shelf

_WITHOUT_SAY = frozenset({"cache_folder", "timeout_s", "max_attempts", "max_bytes"})
"""Settings that change no tool."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A list of tools, and the digests of the files that it was built from besides the first (None: unreadable)."""

    files: dict[str, str | None]
    listed: ToolList


def find(shelf: Shelf, key: str) -> Kept | None:
    """What was kept under a key, if it is sound."""
    payload = shelf.find(key)
    if payload is None:
        return None
    try:
        return _form().validate_json(payload)
    except ValueError:
        return None


def keep(shelf: Shelf, key: str, kept: Kept, *, mask: Mask) -> bool:
    """Keep a list of tools, and say whether it was.

    One that would not come back the same is not kept, nor one in which a server repeats a secret.
    """
    try:
        payload = _form().dump_json(kept)
        text = payload.decode()
        if mask.text(text) != text:
            return False
        return _form().validate_json(payload) == kept and shelf.keep(key, payload)
    except ValueError:
        return False


def key_of(uri: str, digest: str, settings: OpenApiSettings, provided: Iterable[object]) -> str:
    """The key of a document's tools: its URI and digest, the settings, and the parameters that credentials fill."""
    said = {
        one.name: _plain(getattr(settings, one.name) if one.repr else sorted(getattr(settings, one.name)))
        for one in fields(settings)
        if one.name not in _WITHOUT_SAY
    }
    parts = (_program(), uri, digest, repr(sorted(said.items())), repr(_plain(frozenset(provided))))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _plain(value: Json) -> Json:
    """A setting in a form that is written in one way only."""
    if is_dataclass(value):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return sorted((str(name), repr(_plain(inner))) for name, inner in value.items())
    if isinstance(value, frozenset):
        return sorted(repr(inner) for inner in value)
    return repr(value)


@cache
def _form() -> TypeAdapter[Kept]:
    return TypeAdapter(Kept)


@cache
def _program() -> str:
    """The version and the state of the modules that build tools: what another version kept is not to be used."""
    try:
        version = importlib.metadata.version("runax")
    except importlib.metadata.PackageNotFoundError:
        version = ""
    folder = Path(__file__).parents[1]
    modules = ((path, path.stat()) for path in sorted(folder.rglob("*.py")))
    return repr((version, [(str(path), stat.st_size, stat.st_mtime_ns) for path, stat in modules]))
