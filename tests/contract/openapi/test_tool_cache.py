"""The disk cache of tools: used if nothing has changed, and never otherwise."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from adapters.openapi.tools import cache as kept
from adapters.openapi.tools.builder import OpenApiToolBuilder
from adapters.openapi.tools.cache import DiskCache

TEXT = {"type": "string"}


def _document(tools: Any, **query: Any) -> dict[str, Any]:
    paging = {"limit": {"type": "integer", "maximum": 50}, "offset": {"type": "integer"}}
    parameters = [{"name": name, "in": "query", "schema": schema} for name, schema in (paging | query).items()]
    listing = {"responses": {}, "parameters": parameters}
    one = {"responses": {}, "parameters": [{"name": "id", "in": "path", "required": True, "schema": TEXT}]}
    return tools.described({"/tickets": {"get": listing}, "/tickets/{id}": {"get": one}})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "documents"


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A line for each time all tools of a document were built."""
    found: list[str] = []
    build = OpenApiToolBuilder.build

    def counted(builder: OpenApiToolBuilder) -> None:
        found.append("built")
        build(builder)

    monkeypatch.setattr(OpenApiToolBuilder, "build", counted)
    return found


async def test_cached_tools_equal_built_tools_and_can_be_called(opened, server, tools, folder, builds):
    document = _document(tools, state={"enum": ["open", "shut"]}, odd={"type": "number", "maximum": 2**70})
    first = await (await opened(document, base_url=server.url, cache_folder=folder)).list_tools()
    source = await opened(document, base_url=server.url, cache_folder=folder)
    assert await source.list_tools() == first
    assert builds == ["built"]
    assert await source.list_tools() is await source.list_tools()
    name = next(tool.name for tool in first.tools if tool.locator == "GET /tickets/{id}")
    await source.call(name, {"id": "a?b"})
    assert server.received[-1].target == "/tickets/a%3Fb"


async def test_a_changed_document_is_rebuilt(opened, server, tools, folder, builds):
    await (await opened(_document(tools, state=TEXT), base_url=server.url, cache_folder=folder)).list_tools()
    source = await opened(_document(tools, stage=TEXT), base_url=server.url, cache_folder=folder)
    found = await source.list_tools()
    assert builds == ["built", "built"]
    assert "stage" in found.tools[0].parameters["properties"]


async def test_a_changed_referenced_file_is_rebuilt(opened, server, tools, folder, builds, tmp_path):
    other = tmp_path / "docs" / "state.json"
    other.parent.mkdir()
    document = _document(tools, state={"$ref": "state.json"})
    listed = []
    for kind in ("string", "string", "integer"):
        other.write_text(json.dumps({"type": kind}))
        source = await opened(document, base_url=server.url, cache_folder=folder)
        listed.append((await source.list_tools()).tools[0].parameters["properties"]["state"])
    assert listed == [{"type": "string"}, {"type": "string"}, {"type": "integer"}]
    assert builds.count("built") <= 4  # each build of a document of two files is begun twice


async def test_a_formerly_missing_file_is_rebuilt(opened, server, tools, folder, tmp_path):
    document = _document(tools, state={"$ref": "state.json"})
    before = await (await opened(document, base_url=server.url, cache_folder=folder)).list_tools()
    (tmp_path / "docs" / "state.json").write_text(json.dumps({"type": "boolean"}))
    after = await (await opened(document, base_url=server.url, cache_folder=folder)).list_tools()
    assert before.skipped
    assert after.tools[0].parameters["properties"]["state"] == {"type": "boolean"}


@pytest.mark.parametrize(
    "change", [{"read_operations": frozenset({"GET /tickets"})}, {"base_url": "http://127.0.0.1:9/b"}]
)
async def test_relevant_settings_are_part_of_the_key(opened, server, tools, folder, builds, change):
    document = _document(tools)
    await (await opened(document, base_url=server.url, cache_folder=folder)).list_tools()
    await (await opened(document, **{"base_url": server.url, "cache_folder": folder} | change)).list_tools()
    assert builds == ["built", "built"]


async def test_irrelevant_settings_and_secret_values_are_not_part_of_the_key(opened, server, tools, folder, builds):
    document = _document(tools)
    for secret, seconds in (("one", 5.0), ("two", 7.0)):
        given = {"credentials": {"*": SecretStr(secret)}, "timeout_s": seconds}
        await (await opened(document, base_url=server.url, cache_folder=folder, **given)).list_tools()
    assert builds == ["built"]
    assert not any(b"one" in path.read_bytes() for path in folder.iterdir())


@pytest.mark.parametrize("damage", [b"", b"runax", b"\0" * 400, "cut", "flipped", "no JSON"])
async def test_a_damaged_entry_is_ignored_and_rewritten(opened, server, tools, folder, builds, damage):
    document = _document(tools)
    first = await (await opened(document, base_url=server.url, cache_folder=folder)).list_tools()
    (path,) = folder.iterdir()
    sound = path.read_bytes()
    match damage:
        case "cut":
            path.write_bytes(sound[:-1])
        case "flipped":
            path.write_bytes(sound[:-9] + bytes([sound[-9] ^ 1]) + sound[-8:])
        case "no JSON":
            DiskCache(folder).put(path.stem, b"[1, 2")
        case bytes():
            path.write_bytes(damage)
    assert await (await opened(document, base_url=server.url, cache_folder=folder)).list_tools() == first
    assert builds == ["built", "built"]
    assert path.read_bytes() == sound


async def test_entries_of_another_program_version_are_ignored(opened, server, tools, folder, builds, monkeypatch):
    document = _document(tools)
    await (await opened(document, base_url=server.url, cache_folder=folder)).list_tools()
    monkeypatch.setattr(kept, "_program_version", lambda: "0.0.1")
    await (await opened(document, base_url=server.url, cache_folder=folder)).list_tools()
    assert builds == ["built", "built"]


async def test_an_entry_is_accessible_to_its_user_only(opened, server, tools, folder, builds):
    document = _document(tools)
    await (await opened(document, base_url=server.url, cache_folder=folder)).list_tools()
    (path,) = folder.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    path.chmod(0o666)
    await (await opened(document, base_url=server.url, cache_folder=folder)).list_tools()
    assert builds == ["built", "built"]


@pytest.mark.parametrize("place", ["/proc/nowhere", "file"])
async def test_an_unwritable_folder_is_no_error(opened, server, tools, tmp_path, place):
    (tmp_path / "file").write_text("")
    folder = tmp_path / place / "documents"
    source = await opened(_document(tools), base_url=server.url, cache_folder=folder)
    assert len((await source.list_tools()).tools) == 2


def test_the_least_recently_used_entries_are_evicted(tmp_path: Path):
    shelf = DiskCache(tmp_path / "shelf", max_bytes=800)
    for age, key in ((50, "a"), (40, "b"), (30, "c")):
        assert shelf.put(key, b"x" * 150)
        os.utime(shelf.folder / f"{key}.kept", (1_000_000 - age, 1_000_000 - age))
    assert shelf.get("a") == b"x" * 150
    assert shelf.put("d", b"y" * 150)
    assert [shelf.get(key) is not None for key in "abcd"] == [True, False, True, True]
    assert not shelf.put("e", b"x" * 1_000)
    assert sum(path.stat().st_size for path in shelf.folder.iterdir()) <= 800


def test_an_entry_with_another_key_is_ignored(tmp_path: Path):
    shelf = DiskCache(tmp_path)
    shelf.put("a", b"x")
    (tmp_path / "a.kept").rename(tmp_path / "b.kept")
    assert shelf.get("b") is None
