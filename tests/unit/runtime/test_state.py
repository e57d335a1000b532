"""Pruning of stored sessions, and sessions in use."""

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from runax_cli.runtime.state import (
    SessionFolder,
    journal_path,
    remove,
    session_folder,
    sessions_to_remove,
    stored_sessions,
)

SESSIONS = st.lists(
    st.builds(SessionFolder, st.just(Path("x")), st.integers(0, 1000), st.floats(0, 100, allow_nan=False)), max_size=20
)


@given(SESSIONS, st.integers(0, 5000), st.floats(0, 100))
def test_kept_sessions_are_within_age_and_size_limits(
    sessions: list[SessionFolder], cap: int, max_age_s: float
) -> None:
    removed = list(sessions_to_remove(sessions, max_bytes=cap, max_age_s=max_age_s))
    kept = list(sessions)
    for session in removed:
        kept.remove(session)
    assert sum(session.n_bytes for session in kept) <= cap
    assert all(session.age_s <= max_age_s for session in kept)


@given(SESSIONS)
def test_sessions_within_the_limits_are_kept(sessions: list[SessionFolder]) -> None:
    assert sessions_to_remove(sessions, max_bytes=20_000, max_age_s=100) == ()


def test_oldest_sessions_are_removed_first() -> None:
    old, young = SessionFolder(Path("old"), 10, 50.0), SessionFolder(Path("young"), 10, 1.0)
    assert sessions_to_remove([old, young], max_bytes=10, max_age_s=100) == (old,)


def test_session_in_use_is_not_listed(tmp_path: Path) -> None:
    with session_folder(tmp_path, "a") as folder:
        (folder / "page").write_bytes(b"12345")
        assert stored_sessions(tmp_path) == ()
    [stored] = stored_sessions(tmp_path)
    assert (stored.folder.name, stored.n_bytes) == ("a", 5)
    remove([stored])
    assert stored_sessions(tmp_path) == ()


def test_folders_are_private(tmp_path: Path) -> None:
    os.umask(0o022)
    path = journal_path(tmp_path / "state")
    with session_folder(tmp_path / "state", "a") as folder:
        modes = [
            folder.stat().st_mode & 0o777,
            folder.parent.stat().st_mode & 0o777,
            path.parent.stat().st_mode & 0o777,
        ]
    assert modes == [0o700, 0o700, 0o700]
