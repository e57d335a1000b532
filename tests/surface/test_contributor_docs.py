"""The pages for contributors name files that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_TOP_LEVEL = ("runax_cli/", "adapters/", "mock_api/", "mockdata/", "tests/", "docs/", "benchmarks/")


def paths_in(page: str) -> list[str]:
    """Repository paths in backticks; a path with a placeholder such as `<name>` is not one."""
    names = re.findall(r"`([\w./-]+)`", (ROOT / page).read_text(encoding="utf-8"))
    return [name for name in names if name.startswith(_TOP_LEVEL)]


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_every_path_that_a_page_names_exists(page: str) -> None:
    names = paths_in(page)
    assert len(names) > 20
    assert [name for name in names if not (ROOT / name).exists()] == []


def test_every_package_is_described_in_the_architecture() -> None:
    described = set(paths_in("docs/architecture.md"))
    packages = {f"{folder}/" for folder in ("adapters", "mock_api", "mockdata")}
    packages |= {f"runax_cli/{path.parent.name}/" for path in (ROOT / "runax_cli").glob("*/__init__.py")}
    packages |= {f"adapters/{path.parent.name}/" for path in (ROOT / "adapters").glob("*/__init__.py")}
    assert packages - described == set()
