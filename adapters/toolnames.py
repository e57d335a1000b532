"""Names of tools that every model accepts: at most 64 characters of `[A-Za-z0-9_-]`, unique, stable.

Knows names only. What has to be cut ends in a digest of the whole, so that a name does not depend on its neighbours.
"""

import hashlib
import itertools
import re
from collections.abc import Collection

MAX_NAME = 64
_FORBIDDEN = re.compile(r"[^A-Za-z0-9_-]+")


def tool_name(text: str, *, taken: Collection[str] = ()) -> str:
    """A legal name for `text`; one that is too long or taken already is told apart by a digest of `text`."""
    name = _FORBIDDEN.sub("_", text).strip("_") or "tool"
    if len(name) <= MAX_NAME and name not in taken:
        return name
    for salt in itertools.count():
        digest = hashlib.sha256(f"{text}{salt or ''}".encode()).hexdigest()[:8]
        told_apart = f"{name[: MAX_NAME - len(digest) - 1]}_{digest}"
        if told_apart not in taken:
            break
    return told_apart
