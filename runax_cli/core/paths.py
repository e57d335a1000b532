"""The user's folders for state, settings and caches, and the search from a folder up to its repository's root.

The folders are those of the platform (`platformdirs`). On Linux and macOS, `XDG_STATE_HOME`, `XDG_CONFIG_HOME` and
`XDG_CACHE_HOME` override them if they are absolute.
"""

from collections.abc import Iterator
from pathlib import Path

import platformdirs

from runax_cli.core.errors import StoreError

APPLICATION = "runax"


def state_folder() -> Path:
    """The journal and the datasets: `$XDG_STATE_HOME/runax`, by default `~/.local/state/runax` on Linux."""
    return platformdirs.user_state_path(APPLICATION, appauthor=False)


def config_folder() -> Path:
    """The user's settings file: `$XDG_CONFIG_HOME/runax`, by default `~/.config/runax` on Linux."""
    return platformdirs.user_config_path(APPLICATION, appauthor=False)


def cache_folder() -> Path:
    """Files that can be made again: `$XDG_CACHE_HOME/runax`, by default `~/.cache/runax` on Linux."""
    return platformdirs.user_cache_path(APPLICATION, appauthor=False)


def ensure_private(folder: Path) -> Path:
    """Create `folder` (mode 0700) with its parents and return it. Raises StoreError."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise StoreError(
            f"cannot create the folder '{folder}': {error.strerror}. Make room for it or set "
            "XDG_STATE_HOME to a writable folder.",
            path=str(folder),
        ) from error
    return folder


def parents_to_repo_root(start: Path) -> Iterator[Path]:
    """`start` and its parents up to the root of its git repository; only `start` outside a repository."""
    chain = (start, *start.parents)
    root = next((index for index, folder in enumerate(chain) if (folder / ".git").exists()), 0)
    yield from chain[: root + 1]
