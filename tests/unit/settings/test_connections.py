"""Sources that are opened one after another: whatever happens in between, those that are open are closed."""

from pathlib import Path
from typing import Any

import pytest

from adapters.memory_source import MemorySource
from runax_cli.core.errors import ConfigurationError
from runax_cli.runtime import sources as connections
from runax_cli.settings.loader import load

TWO = """
sources:
  first: {kind: mcp, command: serve-first}
  second: {kind: mcp, command: serve-second}
"""


async def test_sources_that_are_open_are_closed_where_a_further_one_cannot_be_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (settings := tmp_path / "runax.yaml").write_text(TWO)
    first = MemorySource("first", {})

    async def opened(name: str, *_given: Any, **_more: Any) -> MemorySource:
        if name == "first":
            return first
        raise ConfigurationError("the variable 'TOKEN' is not set", setting="second")

    monkeypatch.setattr(connections, "open_source", opened)
    with pytest.raises(ConfigurationError):
        async with connections.open_catalog(load(config=settings)):
            raise AssertionError("nothing is loaded")
    assert first.is_closed
