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


_USER_FOLDERS = ("xdg_state_home", "xdg_config_home", "xdg_cache_home", "xdg_data_home")
_FOLDERS = (*_USER_FOLDERS, "work")


@pytest.fixture(scope="session")
def blank_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """A function that returns a folder whose folders are empty: the same one until something is written to it."""
    made: list[Path] = []

    def blank() -> Path:
        if not made or not _is_blank(made[-1]):
            made.append(tmp_path_factory.mktemp("blank"))
            _make_folders(made[-1])
        return made[-1]

    return blank


def _make_folders(parent: Path) -> None:
    for name in _FOLDERS:
        (parent / name).mkdir()


def _is_blank(parent: Path) -> bool:
    names = {folder.name for folder in parent.iterdir()}
    return names == set(_FOLDERS) and not any(any((parent / name).iterdir()) for name in _FOLDERS)


@pytest.fixture(autouse=True)
def clean_environment(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, blank_folder: Callable[[], Path]
) -> None:
    """No setting of the developer's machine reaches a test, and no test writes outside its folder.

    The folder is `tmp_path` if the test uses it. Making a `tmp_path` costs more than most unit tests run, so the others
    share a folder for as long as none of them writes to it.
    """
    for name in list(os.environ):
        if name.startswith(_SETTINGS) or name in {"NO_COLOR", "FORCE_COLOR", "GITHUB_ACTIONS", "CI"}:
            monkeypatch.delenv(name)
    # Without bytecode files every process of a test compiles a thousand modules first.
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    if "tmp_path" in request.fixturenames:
        folder = request.getfixturevalue("tmp_path")
        _make_folders(folder)
    else:
        folder = blank_folder()
    for name in _USER_FOLDERS:
        monkeypatch.setenv(name.upper(), str(folder / name))
    monkeypatch.chdir(folder / "work")


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
