"""Where files of the user live: the XDG folders, and the way from a folder up to its repository's root.

Knows names of folders and their permissions. Knows nothing of what is kept in them.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from runax_cli.core.errors import StoreError

APPLICATION = "runax"


def state_folder() -> Path:
    """`$XDG_STATE_HOME/runax`: the journal and the datasets."""
    return _xdg("XDG_STATE_HOME", ".local/state")


def config_folder() -> Path:
    """`$XDG_CONFIG_HOME/runax`: the user's own settings file."""
    return _xdg("XDG_CONFIG_HOME", ".config")


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/runax`: what can be made again at any time."""
    return _xdg("XDG_CACHE_HOME", ".cache")


def _xdg(variable: str, fallback: str) -> Path:
    value = os.environ.get(variable, "")
    root = Path(value) if value and Path(value).is_absolute() else Path.home() / fallback
    return root / APPLICATION


def ensure_private(folder: Path) -> Path:
    """Make `folder` (mode 0700) with its parents, and return it. Raises StoreError where it cannot be made."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise StoreError(
            f"the folder '{folder}' cannot be made ({error.strerror}). Free the place or set XDG_STATE_HOME to a "
            "folder that you may write.",
            path=str(folder),
        ) from error
    return folder


def upward(start: Path) -> Iterator[Path]:
    """`start` and its parents up to the repository's root; only `start` where no repository holds it."""
    chain = (start, *start.parents)
    root = next((index for index, folder in enumerate(chain) if (folder / ".git").exists()), 0)
    yield from chain[: root + 1]
