"""Stored results: the whole result of each SQL statement of a session as a Parquet file, named `q1`, `q2`.

The files lie beside the datasets and live as long as they do.
"""

import itertools
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from runax_cli.core.errors import StoreError
from runax_cli.telemetry.credential_mask import CREDENTIAL_MASK, CredentialMask

_FOLDER = "query-results"
"""No dataset has this name: names of datasets have no hyphen."""
_DRAFTS = "draft-*"


@dataclass(frozen=True, slots=True)
class ResultDraft:
    """Where a result is written; `path` is None if it cannot be stored, and `note` says why."""

    path: Path | None
    note: str = ""


class ResultStore:
    """The results of one session. A result is written as a draft, and gets its name once it is whole.

    `max_bytes` is the size of all results together. Names in `reserved` are not given, because a conversation already
    refers to other results by them; the collection may grow later. `mask` masks credentials in what is computed.
    """

    def __init__(
        self,
        folder: Path,
        *,
        max_bytes: int,
        reserved: Collection[str] = (),
        mask: CredentialMask = CREDENTIAL_MASK,
    ) -> None:
        self._root, self._reserved, self._left = folder, reserved, max_bytes
        self.mask = mask
        self._folder: Path | None = None
        self._numbers, self._draft_numbers = itertools.count(1), itertools.count(1)

    @property
    def bytes_left(self) -> int:
        """How many bytes the next result may take."""
        return max(0, self._left)

    def next_ref(self) -> str:
        """Return the reference of the next result, such as "q1"."""
        return next(ref for number in self._numbers if (ref := f"q{number}") not in self._reserved)

    @contextmanager
    def draft(self) -> Iterator[ResultDraft]:
        """A place to write a result to; the file is removed unless it was kept."""
        draft = self._draft()
        try:
            yield draft
        finally:
            with suppress(OSError):
                if draft.path is not None:
                    draft.path.unlink(missing_ok=True)

    def keep(self, draft: Path, ref: str) -> Path:
        """Give a whole draft its name and return its path. Raises StoreError."""
        path = draft.with_name(f"{ref}.parquet")
        try:
            self._left -= draft.stat().st_size
            draft.replace(path)
        except OSError as error:
            raise _not_written(path, error) from error
        return path

    def _draft(self) -> ResultDraft:
        if not self.bytes_left:
            return ResultDraft(None, "the results of this session take all the space of STATE_MAX_GB")
        try:
            return ResultDraft(self._created() / f"draft-{next(self._draft_numbers)}.parquet")
        except StoreError as error:
            return ResultDraft(None, str(error))

    def close(self) -> None:
        """Remove drafts that a cancelled statement left behind."""
        for path in [] if self._folder is None else self._folder.glob(_DRAFTS):
            with suppress(OSError):
                path.unlink()

    def _created(self) -> Path:
        """The folder; sessions that share the folder of the datasets get one each."""
        number = 1
        while self._folder is None:
            folder = self._root / f"{_FOLDER}-{number}"
            try:
                folder.mkdir(mode=0o700, parents=True)
                self._folder = folder
            except FileExistsError:
                number += 1
            except OSError as error:
                raise _not_written(folder, error) from error
        return self._folder


def _not_written(path: Path, error: OSError) -> StoreError:
    why = error.strerror or error
    text = f"'{path}' cannot be written: {why}. Free some space or point XDG_STATE_HOME to another disk."
    return StoreError(text, path=str(path))
