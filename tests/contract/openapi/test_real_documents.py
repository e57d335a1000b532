"""Real documents load, skip nothing silently, and become tools that every provider accepts."""

import json
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from adapters.base import ToolList, ToolSpec
from adapters.openapi.adapter import OpenApiSettings, OpenApiSource
from adapters.openapi.document.loader import parse_document
from adapters.pagination import detect
from benchmarks.documents import PAGE, SPECS, documents, paginated
from runax_cli.agent.loop.toolbox import schema_text
from runax_cli.guard.visible_tool import visible_tool

METHODS = ("get", "post", "put", "delete", "patch", "head", "options", "trace", "query")
NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
MAX_CHARACTERS = 8_000
EXPECTED = {
    "github_api.json": 1222,
    "kubernetes.json": 845,
    "netbox.json": 844,
    "elasticsearch_serverless.json": 452,
    "spotify_oas.json": 40,
    "tmdb_oas.json": 54,
}
PAGING_WORDS = frozenset(
    """page pagesize perpage pagenumber pagetoken nextpagetoken nexttoken cursor limit offset skip startat startindex
    maxresults maxkeys maxitems startingafter endingbefore continuationtoken continue marker""".split()
)
NO_PAGING = {("osisoft_piwebapi.json", "marker"): "a list of streams, each with the place that was read last"}


def files() -> list[Any]:
    if (SPECS / "manifest.csv").exists():
        return [pytest.param(file, id=file.removesuffix("/spec/swagger.json")) for file in documents()]
    why = "the collection of real documents is not next to the repository (../shared/specs)"
    return [pytest.param("", id="none", marks=pytest.mark.skip(reason=why))]


async def loaded(path: Path) -> ToolList:
    source = await OpenApiSource.open(OpenApiSettings(name="api", document=str(path)))
    try:
        return await source.list_tools()
    finally:
        await source.aclose()


def operations(root: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Locator and pointer of every operation, found without the adapter."""
    for path, entry in root.get("paths", {}).items():
        item = entry
        while isinstance(item, dict) and "$ref" in item:
            item = root["paths"][item["$ref"].rpartition("/")[2]]
        if path.startswith("/") and isinstance(item, dict):
            at = path.replace("~", "~0").replace("/", "~1")
            yield from ((f"{method.upper()} {path}", f"#/paths/{at}/{method}") for method in METHODS if method in item)


def lost(root: dict[str, Any], found: ToolList) -> list[str]:
    """Operations that are neither a tool nor skipped with a reason."""
    tools = {tool.locator for tool in found.tools}
    told = [part.path for part in found.skipped if part.reason]
    return [
        locator
        for locator, pointer in operations(root)
        if locator not in tools and not any(path.startswith(pointer) for path in told)
    ]


@cache
def faults_of_argument(text: str) -> str:
    """What is wrong with the schema of one argument; cached, since many tools share theirs and the check is slow."""
    try:
        jsonschema.Draft202012Validator.check_schema(json.loads(text))
    except jsonschema.SchemaError as error:
        return f"it is not a JSON Schema: {error.message}"
    return next(odd(json.loads(text)), "")


def odd(value: Any) -> Iterator[str]:
    """References, enumerations without a value and arrays of unknown items, anywhere in the schema.

    A member may be called `$ref`.
    """
    if isinstance(value, list):
        for inner in value:
            yield from odd(inner)
    elif isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield f"it refers to '{value['$ref']}'"
        if value.get("enum", None) == []:
            yield "it has an enumeration without a value"
        if value.get("type") == "array" and "items" not in value:
            yield "it has an array without items"
        for inner in value.values():
            yield from odd(inner)


def faults(tool: ToolSpec) -> Iterator[str]:
    """What a provider would reject in a tool."""
    schema = tool.parameters
    if not NAME.match(tool.name):
        yield f"the name '{tool.name}'"
    if schema["type"] != "object" or set(schema) - {"type", "properties", "required", "additionalProperties"}:
        yield f"the members {sorted(schema)} at the top"
    if not set(schema.get("required", ())) <= set(schema["properties"]):
        yield "an argument is required that is not there"
    for name, argument in schema["properties"].items():
        why = faults_of_argument(json.dumps(argument, sort_keys=True))
        if why:
            yield f"'{name}': {why}"
    whole = {"name": tool.name, "description": tool.description, "parameters": schema}
    size = len(json.dumps(whole, separators=(",", ":"), ensure_ascii=False))
    if max(size, len(schema_text(visible_tool(tool).schema))) > MAX_CHARACTERS:
        yield f"{size} characters"


def shown_paging(file: str, tool: ToolSpec) -> Iterator[str]:
    """Parameters of pagination that are visible in the schema of a paged tool.

    By the tool's settings, by their names, and by detecting pagination in the visible schema, as if nothing was hidden.
    """
    shown = tool.parameters["properties"]
    for path in tool.pagination.hidden:
        name, _, member = path.partition("/")
        if path in shown or (member and member in shown.get(name, {}).get("properties", {})):
            yield path
    if paginated(ToolList((tool,))):
        for name in shown:
            if re.sub("[^a-z]", "", name.lower()) in PAGING_WORDS and (file, name) not in NO_PAGING:
                yield name
        required = tool.parameters.get("required", ())
        again = detect(shown, description=tool.description, required=required)
        yield from (name for name in (again.position, again.size) if name is not None)


async def reordered(path: Path, root: dict[str, Any], folder: Path) -> ToolList:
    """The same document with its paths, and the members of each, in the opposite order."""
    shutil.copytree(path.parent, folder, ignore=None if path.parent != SPECS else lambda _, names: names)
    copy = folder / "reordered.json"
    paths = {key: _backward(item) for key, item in reversed(root.get("paths", {}).items())}
    copy.write_text(json.dumps(root | {"paths": paths}), encoding="utf-8")
    return await loaded(copy)


def _backward(item: Any) -> Any:
    return dict(reversed(item.items())) if isinstance(item, dict) else item


def table() -> dict[str, tuple[int, int, int]]:
    """Operations, tools and paginated tools by document, as on the page."""
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines()]
    figures = {row[0]: row[2:5] for row in rows if len(row) == 8 and row[0].endswith((".json", ".yaml"))}
    return {file: tuple(int(cell.replace(",", "")) for cell in cells) for file, cells in figures.items()}  # type: ignore[misc]


@pytest.mark.parametrize("file", files())
async def test_real_documents_become_tools_that_every_provider_accepts(file, tmp_path):
    path = SPECS / file
    root = parse_document(path.read_bytes())
    found = await loaded(path)
    names = [tool.name for tool in found.tools]
    assert lost(root, found) == []
    assert all(one.path.startswith(("#", "..", "common")) and one.reason for one in found.skipped)
    assert not [one for one in found.skipped if "cannot be read" in one.reason]
    assert len({name.lower() for name in names}) == len(names)
    assert [(tool.name, fault) for tool in found.tools for fault in faults(tool)] == []
    assert [(tool.name, name) for tool in found.tools for name in shown_paging(file, tool)] == []
    assert table()[file] == (len(list(operations(root))), len(names), paginated(found))
    assert len(names) == EXPECTED.get(file, len(names))
    again = await reordered(path, root, tmp_path / "copy")
    assert {tool.locator: tool.name for tool in again.tools} == {tool.locator: tool.name for tool in found.tools}


def test_the_documents_page_is_complete_and_adds_up():
    if not SPECS.exists():
        pytest.skip("the collection of real documents is not next to the repository (../shared/specs)")
    figures = table()
    assert sorted(figures) == documents()
    operations, tools, paged = (sum(row[index] for row in figures.values()) for index in range(3))
    told = f"{len(figures)} documents: {operations:,} operations, {tools:,} tools, {paged:,} of them paginated"
    assert told in PAGE.read_text(encoding="utf-8")
