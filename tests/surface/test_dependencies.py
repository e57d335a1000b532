"""Every distribution that the shipped packages import is declared, and every declared one is imported."""

import ast
import importlib.metadata
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("runax_cli", "adapters", "mock_api", "mockdata")


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def imported_modules() -> set[str]:
    names: set[str] = set()
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.partition(".")[0])
    return names - sys.stdlib_module_names - set(PACKAGES)


def imported_distributions() -> set[str]:
    by_module = importlib.metadata.packages_distributions()
    return {normalized(name) for module in imported_modules() for name in by_module.get(module, [module])}


def declared_distributions() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {normalized(re.split(r"[\s\[<>=!~;]", text, maxsplit=1)[0]) for text in project["dependencies"]}


def test_every_imported_distribution_is_declared() -> None:
    assert sorted(imported_distributions() - declared_distributions()) == []


def test_every_declared_distribution_is_imported() -> None:
    assert sorted(declared_distributions() - imported_distributions()) == []
