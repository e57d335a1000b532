"""What every test stands on: a clean environment, its own state folders, no network but loopback, no real model."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes, to make or to run, is the machine's; a test that hangs ends by pytest-timeout.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

_SETTINGS = ("BASE_API_", "OPENAPI_", "MCP_", "LLM_", "OPENAI_", "MAX_", "API_", "RUNAX_", "LOG_DIR", "TIMEOUT")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No setting of the developer's machine reaches a test, and no test writes outside its own folder."""
    import os

    for name in list(os.environ):
        if name.startswith(_SETTINGS) or name in {"NO_COLOR", "FORCE_COLOR", "GITHUB_ACTIONS", "CI"}:
            monkeypatch.delenv(name)
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        folder = tmp_path / name.lower()
        folder.mkdir()
        monkeypatch.setenv(name, str(folder))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)


@pytest.fixture
def often_switched() -> Iterator[None]:
    """Threads take turns after a few instructions each: what two of them share is met in every state that it has."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def hours_later() -> Callable[[], None]:
    """Whatever the event loop was to wait for is due: a limit of time is met at the moment that a test chooses."""

    def jump() -> None:
        loop = asyncio.get_running_loop()
        time = loop.time
        loop.time = lambda: time() + 3600.0  # type: ignore[method-assign]

    return jump
