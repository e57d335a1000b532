"""What `auth` of a source may say, and which of the values it names are secret."""

from pathlib import Path

import pytest

from runax_cli.core.errors import ConfigurationError
from runax_cli.runtime.sources import identities_of, openapi_settings
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


def test_keys_and_clients_stand_side_by_side(loaded: Configuration) -> None:
    part = loaded.sources()["support"]
    assert isinstance(part, OpenApiSourceSettings)
    settings = openapi_settings("support", part, loaded)
    assert {name: one.get_secret_value() for name, one in settings.credentials.items()} == {"key": "key-1"}
    client = settings.clients["sso"]
    assert (client.client_id.get_secret_value(), client.client_secret.get_secret_value()) == ("the-name", "hush-hush")
    assert (client.scope, client.audience) == ("read", "them")
    assert "hush" not in repr(settings)


def test_the_secret_of_a_client_is_masked_and_its_name_is_not(loaded: Configuration) -> None:
    secrets = loaded.secrets()
    assert {"key-1", "hush-hush", "pass-word"} <= secrets
    assert "the-name" not in secrets


def test_another_client_is_another_identity(loaded: Configuration, monkeypatch: pytest.MonkeyPatch) -> None:
    before = identities_of(loaded)
    assert identities_of(load()) == before
    for name in ("CLIENT_NAME", "CLIENT_SECRET"):
        monkeypatch.setenv(name, "another")
        after = identities_of(load())
        assert after != before
        before = after


def test_a_variable_that_is_not_set_is_named(loaded: Configuration, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLIENT_SECRET")
    changed = load()
    part = changed.sources()["support"]
    assert isinstance(part, OpenApiSourceSettings)
    with pytest.raises(ConfigurationError, match="'CLIENT_SECRET', which is not set"):
        openapi_settings("support", part, changed)
