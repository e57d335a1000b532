"""Folders of the user, and the way up to the root of a repository."""

from pathlib import Path

import pytest

from runax_cli.core.paths import cache_folder, config_folder, parents_to_repo_root, state_folder


@pytest.mark.skipif("sys.platform == 'win32'")
def test_absolute_xdg_variables_are_used_and_relative_ones_ignored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folders = {"STATE": state_folder, "CONFIG": config_folder, "CACHE": cache_folder}
    for name, folder in folders.items():
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
        assert folder() == tmp_path / name / "runax"
        monkeypatch.setenv(f"XDG_{name}_HOME", "relative")
        assert folder().is_relative_to(Path.home())


def test_parents_end_at_the_root_of_the_repository(tmp_path: Path) -> None:
    inner = tmp_path / "repository" / "a" / "b"
    inner.mkdir(parents=True)
    assert list(parents_to_repo_root(inner)) == [inner]
    (tmp_path / "repository" / ".git").mkdir()
    assert list(parents_to_repo_root(inner)) == [inner, inner.parent, inner.parent.parent]
