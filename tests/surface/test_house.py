"""The house rules that a machine can check: size of modules and functions, imports, layers, exports."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("runax_cli", "adapters", "mock_api", "mockdata")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
MODULE_LINES = 500
FUNCTION_LINES = 60


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_there_are_modules_to_check() -> None:
    assert len(MODULES) > 30


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_module_is_longer_than_the_wall(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MODULE_LINES


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_function_is_longer_than_the_wall(path: Path) -> None:
    lengths = {node.name: (node.end_lineno or 0) - node.lineno + 1 for node in functions(tree_of(path))}
    assert {name: length for name, length in lengths.items() if length > FUNCTION_LINES} == {}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_says_what_it_is(path: Path) -> None:
    tree = tree_of(path)
    assert not tree.body or ast.get_docstring(tree)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_import_is_for_type_checking_only(path: Path) -> None:
    names = {node.id for node in ast.walk(tree_of(path)) if isinstance(node, ast.Name)}
    assert "TYPE_CHECKING" not in names


def test_imports_go_down_only() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]


def test_the_package_exports_its_version_and_nothing_else() -> None:
    import runax_cli

    own = {name for name, value in vars(runax_cli).items() if not hasattr(value, "__path__") and type(value) is str}
    assert "__version__" in own
    assert runax_cli.__version__.count(".") == 2
