"""Servers of both registries over stdio: their tools, their results, and 5,000 rows."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.base import Effect
from adapters.errors import ToolFailed
from adapters.pagination.probe.probe import probe
from adapters.source_events import ProgressReported
from tests.real.mcp.conftest import N_ROWS, opened, program


async def test_five_thousand_rows_are_read(database: Path) -> None:
    async with opened("rows", program("mcp-server-sqlite"), "--db-path", str(database)) as source:
        tools = {tool.name: tool for tool in (await source.list_tools()).tools}
        arguments = {"query": "SELECT * FROM tickets ORDER BY id"}
        result = await source.call("read_query", arguments)
        looked = await probe(tools["read_query"], lambda page: source.call("read_query", arguments, page))
    assert tools["read_query"].effect is Effect.READ
    assert tools["write_query"].effect is not Effect.READ
    assert result.n_bytes > 2_000_000
    assert [row["id"] for row in result.payload] == list(range(N_ROWS))
    assert result.payload[3]["subject"].startswith('It\'s "č. 3" {a: [1]} \\ ,x')
    assert (result.payload[3]["price"], result.payload[3]["note"]) == (0.375, None)
    assert looked.total == N_ROWS


def test_five_thousand_rows_reach_the_command_line(database: Path) -> None:
    server = shlex.join([program("mcp-server-sqlite"), "--db-path", str(database)])
    call = ("tools", "call", "--mcp", server, "read_query", "query=SELECT id, subject FROM tickets", "-o", "jsonl")
    done = subprocess.run(
        [sys.executable, "-m", "runax_cli", *call],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == list(range(N_ROWS))
    assert "5000/5000" in done.stderr.replace(",", "")


async def test_a_failing_query_is_a_tool_error_with_the_servers_message(database: Path) -> None:
    async with opened("rows", program("mcp-server-sqlite"), "--db-path", str(database)) as source:
        result = await _answer_or_failure(source.call("read_query", {"query": "SELECT * FROM nothing"}))
    assert "nothing" in result


async def _answer_or_failure(call: object) -> str:
    try:
        return str((await call).payload)  # type: ignore[misc]
    except ToolFailed as error:
        return str(error)


async def test_the_log_of_a_repository_is_read(repository: Path) -> None:
    async with opened("git", program("mcp-server-git"), "--repository", str(repository)) as source:
        tools = {tool.name: tool for tool in (await source.list_tools()).tools}
        result = await source.call("git_log", {"repo_path": str(repository), "max_count": 25})
        with pytest.raises(ToolFailed):
            await source.call("git_log", {"repo_path": str(repository.parent / "elsewhere")})
    assert (tools["git_log"].effect, tools["git_reset"].effect) == (Effect.READ, Effect.DESTRUCTIVE)
    assert sum(f"Change {n}" in str(result.payload) for n in range(25)) == 25


async def test_the_current_time_is_one_record() -> None:
    async with opened("time", program("mcp-server-time")) as source:
        result = await source.call("get_current_time", {"timezone": "Europe/Prague"})
        connection = await source._connect()
        assert connection._client is not None
        assert connection._client.protocol_version >= "2026"
    assert result.payload["timezone"] == "Europe/Prague"


async def test_every_content_type_of_the_reference_server_is_parsed() -> None:
    notices: list[object] = []
    async with opened("all", program("mcp-server-everything")) as source:
        tools = {tool.name for tool in (await source.list_tools()).tools}
        structured = await source.call("get-structured-content", {"location": "Chicago"})
        links = await source.call("get-resource-links", {"count": 3})
        image = await source.call("get-tiny-image", {})
        uri = next(item["uri"] for item in links.payload["items"] if "/text/" in item["uri"])
        linked = await source.call("read_resource", {"uri": uri})
        await source.call("trigger-long-running-operation", {"duration": 1, "steps": 4}, observer=notices.append)
    assert {"echo", "get-sum", "list_resources", "read_resource"} <= tools
    assert set(structured.payload) == {"temperature", "conditions", "humidity"}
    assert len(links.payload["items"]) == 3
    assert image.payload["items"][0]["mimeType"] == "image/png"
    assert image.payload["items"][0]["n_bytes"] > 1000
    assert "plaintext resource" in str(linked.payload)
    assert any(isinstance(notice, ProgressReported) and notice.done == notice.total == 4 for notice in notices)


async def test_json_files_are_parsed_to_records(tmp_path: Path) -> None:
    rows = [{"id": n, "text": "ě" * 1000} for n in range(3_000)]
    (tmp_path / "rows.json").write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    (tmp_path / "note.txt").write_text("Just a note.", encoding="utf-8")
    async with opened("files", program("mcp-server-filesystem"), str(tmp_path)) as source:
        tools = {tool.name: tool for tool in (await source.list_tools()).tools}
        result = await source.call("read_text_file", {"path": str(tmp_path / "rows.json")})
        note = await source.call("read_text_file", {"path": str(tmp_path / "note.txt")})
        listing = await source.call("list_directory", {"path": str(tmp_path)})
        with pytest.raises(ToolFailed, match="outside allowed directories"):
            await source.call("read_text_file", {"path": "/etc/hostname"})
    assert result.payload == rows
    assert note.payload == "Just a note."
    assert "[FILE] rows.json" in listing.payload
    assert tools["read_text_file"].effect is Effect.READ
    assert tools["write_file"].effect is Effect.DESTRUCTIVE


async def test_a_graph_in_memory_is_written_and_read(tmp_path: Path) -> None:
    entities = [{"name": f"n{n}", "entityType": "thing", "observations": ["seen"]} for n in range(50)]
    async with opened("memory", program("mcp-server-memory")) as source:
        tools = {tool.name: tool for tool in (await source.list_tools()).tools}
        await source.call("create_entities", {"entities": entities})
        graph = await source.call("read_graph", {})
        await source.call("delete_entities", {"entityNames": [entity["name"] for entity in entities]})
    assert tools["create_entities"].effect is Effect.WRITE
    assert len(graph.payload["entities"]) == 50
