"""Secrets written literally into source entries are detected; ordinary values are not."""

from pathlib import Path

import pytest

from runax_cli.core.errors import ConfigurationError
from runax_cli.settings.file_schema import McpSourceSettings, OpenApiSourceSettings, structure_of
from runax_cli.settings.loader import literal_secrets
from runax_cli.settings.mcp_servers import mcp_servers, secret_variables


@pytest.mark.parametrize(
    ("command", "secrets"),
    [
        (("npx", "server", "--api-key", "Abc-12345"), ["Abc-12345"]),
        (("npx", "server", "--token=Abc-12345", "-y"), ["Abc-12345"]),
        (("docker", "run", "-e", "GITHUB_TOKEN=ghx12345", "image"), ["ghx12345"]),
        (("server", "--password", "S3cret!"), ["S3cret!"]),
        (("server", "--token", "${MY_TOKEN}"), []),
        (("server", "--token"), []),
        (("server", "--token", "--verbose"), []),
        (("server", "--token-limit", "100000x"), []),
        (("server", "--max-tokens", "1000000"), []),
        (("server", "--password", "required"), []),
        ((), []),
    ],
)
def test_values_of_credential_options_are_secrets(command: tuple[str, ...], secrets: list[str]) -> None:
    assert literal_secrets(McpSourceSettings(kind="mcp", command=command)) == secrets


def test_passwords_and_keys_in_urls_are_secrets() -> None:
    part = OpenApiSourceSettings(
        kind="openapi", base_url="http://u:pw-1234@h.x", document="http://h.x/doc?api_key=Abc123&page=abcdef7"
    )
    assert [secret for secret in literal_secrets(part) if secret] == ["pw-1234", "Abc123"]


def test_variables_in_commands_are_secrets_by_name() -> None:
    command = ("server", "--key", "${MY_API_KEY}", "${WORK_FOLDER}")
    part = McpSourceSettings(kind="mcp", command=command)
    assert secret_variables(part) == {"MY_API_KEY"}


def test_misplaced_secret_is_not_repeated_in_the_message(tmp_path: Path) -> None:
    wrong = {"mcpServers": {"a": {"url": "http://h.x", "headers": "Authorization: Bearer hush-hush"}}}
    (part,) = mcp_servers(wrong, path=tmp_path / "mcp.json").values()
    assert part.flaw is not None
    assert "'headers' is '***'" in part.flaw
    assert "hush-hush" not in part.flaw
    with pytest.raises(ConfigurationError) as caught:
        structure_of({"sources": {"a": {"kind": "mcp", "headers": "hush-hush"}}}, path=tmp_path / "runax.yaml")
    assert "hush-hush" not in str(caught.value)
