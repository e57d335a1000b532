"""Credentials of sources, their fingerprints, and closing them."""

from pathlib import Path
from typing import Any

import pytest

from adapters.memory_source import MemorySource
from runax_cli.core.errors import ConfigurationError
from runax_cli.runtime import sources
from runax_cli.runtime.sources import openapi_settings, source_fingerprints
from runax_cli.settings.file_schema import OpenApiSourceSettings
from runax_cli.settings.loader import Configuration, load

YAML = """
sources:
  support:
    kind: openapi
    document: http://127.0.0.1:9001/openapi.json
    auth:
      key: SUPPORT_KEY
      sso: {client_id: CLIENT_NAME, client_secret: CLIENT_SECRET, token_url: "http://u:pass-word@127.0.0.1:1/token",
            scope: read, audience: them}
"""


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> Configuration:
    (Path.cwd() / "runax.yaml").write_text(YAML, encoding="utf-8")
    for name, value in (("SUPPORT_KEY", "key-1"), ("CLIENT_NAME", "the-name"), ("CLIENT_SECRET", "hush-hush")):
        monkeypatch.setenv(name, value)
    return load()


def test_keys_and_oauth_clients_can_be_combined(loaded: Configuration) -> None:
    part = loaded.sources()["support"]
    assert isinstance(part, OpenApiSourceSettings)
    settings = openapi_settings("support", part, loaded)
    assert {name: one.get_secret_value() for name, one in settings.credentials.items()} == {"key": "key-1"}
    client = settings.clients["sso"]
    assert (client.client_id.get_secret_value(), client.client_secret.get_secret_value()) == ("the-name", "hush-hush")
    assert (client.scope, client.audience) == ("read", "them")
    assert "hush" not in repr(settings)


def test_client_secret_is_masked_but_client_id_is_not(loaded: Configuration) -> None:
    secrets = loaded.secrets()
    assert {"key-1", "hush-hush", "pass-word"} <= secrets
    assert "the-name" not in secrets


def test_another_client_has_another_fingerprint(loaded: Configuration, monkeypatch: pytest.MonkeyPatch) -> None:
    before = source_fingerprints(loaded)
    assert source_fingerprints(load()) == before
    for name in ("CLIENT_NAME", "CLIENT_SECRET"):
        monkeypatch.setenv(name, "another")
        after = source_fingerprints(load())
        assert after != before
        before = after


def test_unset_variable_is_named(loaded: Configuration, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLIENT_SECRET")
    changed = load()
    part = changed.sources()["support"]
    assert isinstance(part, OpenApiSourceSettings)
    with pytest.raises(ConfigurationError, match="'CLIENT_SECRET', which is not set"):
        openapi_settings("support", part, changed)


TWO_SOURCES = """
sources:
  first: {kind: mcp, command: serve-first}
  second: {kind: mcp, command: serve-second}
"""


async def test_open_sources_are_closed_if_a_later_one_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (settings := tmp_path / "runax.yaml").write_text(TWO_SOURCES)
    first = MemorySource("first", {})

    async def open_source(name: str, *_args: Any, **_kwargs: Any) -> MemorySource:
        if name == "first":
            return first
        raise ConfigurationError("the variable 'TOKEN' is not set", setting="second")

    monkeypatch.setattr(sources, "open_source", open_source)
    with pytest.raises(ConfigurationError):
        async with sources.open_catalog(load(config=settings)):
            raise AssertionError("the catalog must not open")
    assert first.is_closed
