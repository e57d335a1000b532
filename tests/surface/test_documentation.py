"""The generated pages match the code."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from runax_cli.core.exit_codes import ExitCode

ROOT = Path(__file__).parents[2]


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_docs", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["docs/commands.md", "docs/exit-codes.md", "docs/configuration.md", ".env.example"])
def test_the_generated_page_is_the_committed_one(page: str) -> None:
    assert (ROOT / page).read_text(encoding="utf-8") == generator().pages()[page], "run `python docs/generate.py`"


def test_the_exit_codes_are_the_closed_list() -> None:
    assert sorted(ExitCode) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 124, 130]
    assert all(code.meaning for code in ExitCode)
