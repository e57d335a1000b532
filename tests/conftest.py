"""Fixtures of all tests: a clean environment, temporary state folders, no network but loopback, no real model."""

import ast
import asyncio
import functools
import gc
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# No deadline per example: how long one takes depends on the machine, and pytest-timeout ends a test that hangs.
for _name, _examples in (("default", 100), ("ci", 25), ("thorough", 1000)):
    settings.register_profile(
        f"runax-{_name}",
        max_examples=_examples,
        derandomize=_name == "ci",
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile(f"runax-{os.environ.get('RUNAX_HYPOTHESIS') or ('ci' if os.environ.get('CI') else 'default')}")


def _without_gc(parse: Callable[..., Any]) -> Callable[..., Any]:
    """`ast.parse` with garbage collection off while it runs.

    A finalizer that parses in the middle of another parse (formatting a traceback does, since 3.11) makes CPython
    before 3.11.8 raise "SystemError: AST constructor recursion depth mismatch" (gh-106905). In pytest's report of a
    failed test that is an INTERNALERROR, which ends the run and hides the name of the test.
    """

    @functools.wraps(parse)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return parse(*args, **kwargs)
        finally:
            if was_enabled:
                gc.enable()

    return guarded


if sys.version_info < (3, 11, 8):
    ast.parse = _without_gc(ast.parse)

_SETTINGS = ("BASE_API_", "OPENAPI_", "MCP_", "LLM_", "OPENAI_", "MAX_", "API_", "RUNAX_", "LOG_DIR", "TIMEOUT")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No setting of the developer's machine reaches a test, and no test writes outside its folder."""
    for name in list(os.environ):
        if name.startswith(_SETTINGS) or name in {"NO_COLOR", "FORCE_COLOR", "GITHUB_ACTIONS", "CI"}:
            monkeypatch.delenv(name)
    # Without bytecode files every process of a test compiles a thousand modules first.
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        folder = tmp_path / name.lower()
        folder.mkdir()
        monkeypatch.setenv(name, str(folder))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)


@pytest.fixture
def switch_threads_often() -> Iterator[None]:
    """Threads switch after a few instructions, so that races on shared state show."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def jump_one_hour() -> Callable[[], None]:
    """A function that moves the clock of the event loop one hour ahead, so that every pending timeout is due."""

    def jump() -> None:
        loop = asyncio.get_running_loop()
        time = loop.time
        loop.time = lambda: time() + 3600.0  # type: ignore[method-assign]

    return jump
