"""Which sources the settings make: from the environment, from files, from flags."""

from pathlib import Path
from typing import get_args

import pytest

from adapters.base import Pagination, PaginationStyle
from runax_cli.core.errors import ConfigurationError
from runax_cli.runtime.sources import openapi_settings
from runax_cli.settings.file_schema import McpSourceSettings, OpenApiSourceSettings, PaginationSettings
from runax_cli.settings.loader import load

YAML = """
sources:
  support:
    kind: openapi
    document: docs/api.yaml
    base_url: http://127.0.0.1:9001
    auth: SUPPORT_TOKEN
    operations:
      search: {read: true, page_size: 50, pagination: {convention: offset, position: from, size: size}}
  files: {kind: mcp, command: "npx -y server-files 'my folder'"}
models:
  reducer: {name: small, key_variable: SMALL_KEY}
tools: ["get_*"]
"""


def write(name: str, text: str) -> Path:
    path = Path.cwd() / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_project_file_gives_sources_models_and_filters() -> None:
    write("runax.yaml", YAML)
    configuration = load()
    support, files = configuration.sources()["support"], configuration.sources()["files"]
    assert isinstance(support, OpenApiSourceSettings)
    assert support.document == str(Path.cwd() / "docs/api.yaml")
    assert support.operations["search"].read is True
    assert isinstance(files, McpSourceSettings)
    assert files.command == ("npx", "-y", "server-files", "my folder")
    assert configuration.structure.models["reducer"].name == "small"
    assert configuration.structure.tools == ("get_*",)


def test_the_environment_adds_a_source_to_those_of_files(monkeypatch: pytest.MonkeyPatch) -> None:
    write("runax.yaml", YAML)
    monkeypatch.setenv("BASE_API_URL", "http://127.0.0.1:9002")
    assert set(load().sources()) == {"support", "files", "api"}


def test_a_source_named_by_a_flag_is_the_only_one(monkeypatch: pytest.MonkeyPatch) -> None:
    write("runax.yaml", YAML)
    monkeypatch.setenv("BASE_API_URL", "http://127.0.0.1:9002")
    assert set(load({"mcp_url": "http://127.0.0.1:1/mcp"}).sources()) == {"mcp"}
    assert set(load({"openapi_spec": "api.yaml"}).sources()) == {"api"}


def test_an_entry_named_api_adds_to_the_source_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    write("runax.yaml", "sources: {api: {kind: openapi, operations: {find: {read: true}}}}\n")
    monkeypatch.setenv("BASE_API_URL", "http://127.0.0.1:9002")
    monkeypatch.setenv("BASE_API_TOKEN", "t")
    api = load().sources()["api"]
    assert isinstance(api, OpenApiSourceSettings)
    assert (api.base_url, api.auth) == ("http://127.0.0.1:9002", "BASE_API_TOKEN")
    assert api.operations["find"].read is True


def test_an_mcp_setting_is_a_url_or_a_command() -> None:
    url, command = load({"mcp_url": "https://h/mcp"}).sources()["mcp"], load({"mcp_url": "uvx s --x"}).sources()["mcp"]
    assert isinstance(url, McpSourceSettings)
    assert isinstance(command, McpSourceSettings)
    assert (url.url, url.command) == ("https://h/mcp", ())
    assert (command.url, command.command) == (None, ("uvx", "s", "--x"))


def test_an_mcp_servers_file_is_read_as_it_is() -> None:
    path = write(
        "claude.json", '{"mcpServers": {"fs": {"command": "npx", "args": ["-y", "x"]}, "web": {"url": "http://h/mcp"}}}'
    )
    sources = load(config=path).sources()
    assert isinstance(sources["fs"], McpSourceSettings)
    assert sources["fs"].command == ("npx", "-y", "x")
    write("runax.yaml", "mcp_servers: claude.json\n")
    assert set(load().sources()) == {"fs", "web"}


def test_a_credential_is_found_in_the_environment_and_in_dotenv(monkeypatch: pytest.MonkeyPatch) -> None:
    write(".env", "FROM_FILE=a\nBOTH=a\n")
    monkeypatch.setenv("BOTH", "b")
    configuration = load()
    assert configuration.credential("FROM_FILE", owner="s").get_secret_value() == "a"
    assert configuration.credential("BOTH", owner="s").get_secret_value() == "b"
    with pytest.raises(ConfigurationError, match=r"'s'.*'ABSENT'.*not set"):
        configuration.credential("ABSENT", owner="s")


@pytest.mark.parametrize(
    ("entry", "place"),
    [
        ("{kind: soap}", "sources.x"),
        ("{kind: openapi, base_url: nowhere}", "sources.x.base_url"),
        ("{kind: openapi, operations: {f: {page_size: 0}}}", "sources.x.operations.f.page_size"),
        ("{kind: mcp, uri: http://h}", "sources.x.uri"),
    ],
)
def test_a_bad_entry_names_its_place(entry: str, place: str) -> None:
    write("runax.yaml", f"sources:\n  x: {entry}\n")
    with pytest.raises(ConfigurationError) as caught:
        load()
    assert caught.value.setting.startswith(place)


PAGING = """
sources:
  s:
    kind: openapi
    document: d.json
    operations:
      search:
        pagination:
          convention: keyset
          position: page/after
          size: page/limit
          sizes: [50, 10]
          key: meta.id
          total_path: meta.n
          totals: {$count: true}
          count: countThings
          total_by_head: true
          hidden: [direction]
"""


def test_a_settings_file_can_say_everything_about_how_an_operation_pages() -> None:
    write("runax.yaml", PAGING)
    configuration = load()
    part = configuration.sources()["s"]
    assert isinstance(part, OpenApiSourceSettings)
    found = openapi_settings("s", part, configuration).overrides["search"].pagination
    assert found == Pagination(
        convention=PaginationStyle.KEYSET,
        position="page/after",
        size="page/limit",
        sizes=(10, 50),
        key="meta.id",
        total_path="meta.n",
        total_flags=(("$count", True),),
        count_operation="countThings",
        is_total_by_head=True,
        is_declared=True,
        other_hidden=("direction",),
    )


def test_every_convention_can_be_named_in_a_settings_file() -> None:
    named = PaginationSettings.model_fields["convention"].annotation
    assert set(get_args(named)) == {convention.value for convention in PaginationStyle}
