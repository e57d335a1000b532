"""Files of MCP servers as other clients write them: variables, defaults, flawed and disabled entries."""

import json
from pathlib import Path
from typing import Any

import pytest

from adapters.errors import DocumentError
from runax_cli.core.errors import ConfigurationError
from runax_cli.runtime.sources import mcp_settings, open_source
from runax_cli.settings.loader import Configuration, load
from runax_cli.settings.mcp_servers import expanded, mcp_servers


def configured(**servers: Any) -> Configuration:
    path = Path.cwd() / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return load(config=path)


def settings(configuration: Configuration, name: str) -> Any:
    part = configuration.sources()[name]
    assert part.kind == "mcp"
    return mcp_settings(name, part, configuration)


def test_variables_of_an_entry_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_HOST", "127.0.0.1:9")
    monkeypatch.setenv("MY_TOKEN", "s3cr3t-value")
    monkeypatch.setenv("EMPTY", "")
    configuration = configured(
        web={"type": "http", "url": "http://${MY_HOST}/${PATH_PART:-mcp}", "headers": {"X-Key": "Key ${MY_TOKEN}"}},
        files={
            "command": "${EMPTY:-npx}",
            "args": ["-y", "x", "${env:MY_HOST}", 5],
            "env": {"TOKEN": "${MY_TOKEN}", "DEBUG": True},
            "cwd": "/tmp/${MY_HOST}",
        },
    )
    web, files = settings(configuration, "web"), settings(configuration, "files")
    assert (web.url, dict(web.headers)) == ("http://127.0.0.1:9/mcp", {"X-Key": "Key s3cr3t-value"})
    assert files.command == ("npx", "-y", "x", "127.0.0.1:9", "5")
    assert dict(files.env) == {"TOKEN": "s3cr3t-value", "DEBUG": "true"}
    assert files.cwd == "/tmp/127.0.0.1:9"
    assert files.log_folder == configuration.settings.log_dir
    assert "s3cr3t-value" in configuration.secrets()
    assert "127.0.0.1:9" not in configuration.secrets()


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        (7, "must be a mapping"),
        ({}, "either a 'command' or a 'url'"),
        ({"command": "x", "url": "http://h"}, "either a 'command' or a 'url'"),
        ({"command": ["x"]}, "'command' must be a string"),
        ({"command": "x", "args": "-y"}, "'args' a list"),
        ({"url": "ftp://h"}, "ftp://h"),
        ({"command": "x", "env": []}, "'env'"),
        ({"command": "x", "env": {"A": "${ABSENT}"}}, "variable 'ABSENT' is not set"),
    ],
)
async def test_invalid_entry_disables_only_its_server(entry: Any, why: str) -> None:
    configuration = configured(bad=entry, good={"command": "npx"})
    assert settings(configuration, "good").command == ("npx",)
    bad = await open_source("bad", configuration.sources()["bad"], configuration)
    with pytest.raises(DocumentError, match=why):
        await bad.list_tools()


def test_disabled_servers_are_ignored_and_other_spellings_accepted() -> None:
    configuration = configured(
        off={"command": "x", "disabled": True}, web={"serverUrl": "http://h/mcp", "autoApprove": ["a"], "timeout": 5}
    )
    assert set(configuration.sources()) == {"web"}
    assert settings(configuration, "web").url == "http://h/mcp"
    assert set(mcp_servers({"servers": {"a": {"command": "x"}}}, path=Path("mcp.json"))) == {"a"}


def test_file_without_servers_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="'mcpServers' must be a mapping"):
        mcp_servers({"mcpServers": []}, path=Path("mcp.json"))


def test_only_names_in_braces_are_variables() -> None:
    assert expanded("$HOME ${A} ${B:-} ${C:-x:-y}", {"A": "1"}.get) == "$HOME 1  x:-y"
    with pytest.raises(KeyError):
        expanded("${B}", {}.get)


ENTRY = {"command": "npx", "args": ["-y", "x"]}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"servers": {"a": ENTRY}, "inputs": [{"id": "k", "type": "promptString"}]}),
        json.dumps({"mcp": {"servers": {"a": ENTRY}}}),
        json.dumps({"context_servers": {"a": {"command": {"path": "npx", "args": ["-y", "x"]}}}}),
        json.dumps({"mcpServers": {"a": ENTRY}}, indent="\t"),
        "\ufeff" + json.dumps({"mcpServers": {"a": ENTRY}}),
        '// of an editor\n{\n/* all */ "servers": {"a": {"command": "npx", "args": ["-y", "x",], // why\n},},}\n// end',
        json.dumps({"mcpServers": {"a": {"command": "npx -y x"}}}),
        json.dumps({"mcpServers": {"a": {"command": "cmd", "args": ["/c", "npx", "-y", "x"], "env": {"A": None}}}}),
        "mcpServers:\n  - name: a\n    command: npx\n    args: [-y, x]\n",
    ],
)
def test_files_of_other_clients_are_read(text: str) -> None:
    path = Path.cwd() / "servers.json"
    path.write_text(text, encoding="utf-8")
    configuration = load(config=path)
    assert settings(configuration, "a").command == ("npx", "-y", "x")


def test_comment_after_a_value_is_ignored() -> None:
    path = Path.cwd() / "servers.json"
    path.write_text('{"servers": {"a": {"command": "x", "disabled": true // for now\n}, "b": {"command": "y"}}}')
    assert set(load(config=path).sources()) == {"b"}


def test_editor_variables_are_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = Path.cwd() / ".vscode"
    folder.mkdir()
    path = folder / "mcp.json"
    entry = {"command": "~/x", "args": ["${workspaceFolder}/src", "${userHome}"], "cwd": "${workspaceFolder}"}
    path.write_text(json.dumps({"servers": {"a": entry}}))
    found = settings(load(config=path), "a")
    home = str(tmp_path / "home")
    assert found.command == (f"{home}/x", f"{Path.cwd()}/src", home)
    assert found.cwd == str(Path.cwd())


def test_env_file_is_read_and_its_secrets_are_masked() -> None:
    (Path.cwd() / "x.env").write_text("MY_TOKEN=s3cr3t-value\nMODE=file\n")
    configuration = configured(a={**ENTRY, "envFile": "${workspaceFolder}/x.env", "env": {"MODE": "entry"}})
    assert dict(settings(configuration, "a").env) == {"MY_TOKEN": "s3cr3t-value", "MODE": "entry"}
    assert "s3cr3t-value" in configuration.secrets()


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"env": {"K": "${input:api-key}"}}, r"needs '\$\{input:api-key\}'.*'\$\{API_KEY\}'"),
        ({"cwd": "${config:some.place}"}, r"needs '\$\{config:some.place\}'"),
        ({"envFile": "absent.env"}, "'absent.env' in 'envFile', which does not exist"),
    ],
)
def test_values_of_other_clients_are_an_error(more: Any, why: str) -> None:
    configuration = configured(a={**ENTRY, **more}, b=ENTRY)
    assert settings(configuration, "b").command
    with pytest.raises(DocumentError, match=why):
        settings(configuration, "a")
