"""A failed test is reported by its name, even if the garbage collector runs meanwhile."""

import shutil
import subprocess
import sys
from pathlib import Path

CONFTEST = Path(__file__).parents[1] / "conftest.py"
FAILING = """
import ast, gc

class ParsesWhenCollected:
    left = 2000

    def __init__(self):
        self.cycle = self

    def __del__(self):
        def parse_at_depth(n):
            return parse_at_depth(n - 1) if n else ast.parse("(a ** b)")

        parse_at_depth(10)
        if ParsesWhenCollected.left > 0:
            ParsesWhenCollected.left -= 1
            ParsesWhenCollected()

def test_that_fails():
    gc.set_threshold(50, 1, 1)
    ParsesWhenCollected()
    assert 1 == 2

FILLER = [
"""


def test_a_failure_is_reported_while_a_finalizer_parses(tmp_path: Path) -> None:
    shutil.copy(CONFTEST, tmp_path / "conftest.py")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_failing.py").write_text(FAILING + "    (1, 2, (3, 4)),\n" * 3000 + "]\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", "test_failing.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "INTERNALERROR" not in done.stdout + done.stderr
    assert "FAILED test_failing.py::test_that_fails" in done.stdout
