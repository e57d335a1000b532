"""House rules for the shipped packages: size of modules, folders and functions, names, docstrings, imports."""

import ast
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("runax_cli", "adapters", "mock_api", "mockdata")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}
MODULE_LINES = 500
FOLDER_MODULES = 15
FUNCTION_LINES = 60
# Module and the reason why it imports by a name that is known at run time only.
DYNAMIC_IMPORTS = {"runax_cli/commands/bench.py": "the benchmarks are not part of the wheel"}


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def nodes(*kinds: type[ast.AST]) -> Iterator[tuple[Path, ast.AST]]:
    for path, tree in TREES.items():
        yield from ((path, node) for node in ast.walk(tree) if isinstance(node, kinds))


def test_there_are_modules_to_check() -> None:
    assert len(MODULES) > 200


def test_no_module_is_too_long() -> None:
    lengths = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {name: length for name, length in lengths.items() if length > MODULE_LINES} == {}


def test_no_folder_holds_too_many_modules() -> None:
    counts = Counter(name_of(path.parent) for path in MODULES if path.name != "__init__.py")
    assert {name: count for name, count in counts.items() if count > FOLDER_MODULES} == {}


def test_no_function_is_too_long() -> None:
    too_long = {}
    for path, node in nodes(ast.FunctionDef, ast.AsyncFunctionDef):
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        length = (node.end_lineno or 0) - node.lineno + 1
        if length > FUNCTION_LINES:
            too_long[f"{name_of(path)}:{node.name}"] = length
    assert too_long == {}


def test_class_names_are_unique() -> None:
    modules = defaultdict(list)
    for path, node in nodes(ast.ClassDef):
        assert isinstance(node, ast.ClassDef)
        modules[node.name].append(name_of(path))
    # The mock servers and their data are separate programs.
    modules = {name: [path for path in where if not path.startswith("mock")] for name, where in modules.items()}
    assert {name: where for name, where in modules.items() if len(where) > 1} == {}


def test_every_module_has_a_docstring() -> None:
    assert [name_of(path) for path, tree in TREES.items() if tree.body and not ast.get_docstring(tree)] == []


def test_no_import_is_for_type_checking_only() -> None:
    found = {
        name_of(path) for path, node in nodes(ast.Name) if isinstance(node, ast.Name) and node.id == "TYPE_CHECKING"
    }
    assert sorted(found) == []


def test_no_module_is_imported_by_name() -> None:
    """`importlib.import_module` hides an import from the import linter and from mypy."""
    found = {
        name_of(path)
        for path, node in nodes(ast.Attribute, ast.alias)
        if getattr(node, "attr", getattr(node, "name", None)) in {"import_module", "__import__"}
    }
    assert sorted(found - set(DYNAMIC_IMPORTS)) == []


def test_imports_go_down_only() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]


def test_the_package_exports_its_version_and_nothing_else() -> None:
    import runax_cli

    own = {name for name, value in vars(runax_cli).items() if not hasattr(value, "__path__") and type(value) is str}
    assert "__version__" in own
    assert runax_cli.__version__.count(".") == 2


def test_docstrings_do_not_list_what_a_module_knows() -> None:
    """Say what a module does; the import linter says which modules it may import."""
    formula = re.compile(r"\bKnows?\b[^.]*\.|\bKnows? (?:nothing|no)\b")
    found = []
    for path, node in nodes(ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef):
        assert isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if formula.search(ast.get_docstring(node) or ""):
            found.append(f"{name_of(path)}:{getattr(node, 'lineno', 1)}")
    assert found == []
