"""Labeled operations of some 400 public descriptions, reduced to what is relevant for pagination, in one document.

Each line of `excerpts.jsonl` has an operation (its parameters, and its response without the members of records), its
pagination as labeled by a person before detection was run on it, and the reason. They were drawn at random by document,
from providers that no rule was written for. `half` says which errors were examined while the rules were improved.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from adapters.base import PaginationStyle, ToolSpec
from adapters.openapi.adapter import OpenApiSettings, OpenApiSource

FILE = Path(__file__).parent / "excerpts.jsonl"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """One labeled operation; `paged` is None if it is not paged. `path` is its path in the common document."""

    number: int
    name: str
    half: str
    path: str
    method: str
    reason: str
    fields: Mapping[str, Any]
    paged: Mapping[str, Any] | None

    def differences(self, tool: ToolSpec) -> list[str]:
        """How a paged tool differs from its label; anything is accepted if the label is silent."""
        found, truth = tool.pagination, dict(self.paged or {})
        said = []
        if found.convention not in truth["conventions"]:
            said.append(f"convention '{found.convention}'")
        if found.position is not None and _bare(found.position) not in map(_bare, truth["positions"]):
            said.append(f"position '{found.position}'")
        if _bare(found.size) != _bare(truth["size"]):
            said.append(f"size '{found.size}'")
        if "records" in truth and tool.records_path not in (None, truth["records"]):
            said.append(f"records at '{tool.records_path}'")
        if "first" in truth and found.is_addressable and found.first != truth["first"]:
            said.append(f"first {found.first}")
        if "max" in truth and found.max_size != truth["max"]:
            said.append(f"largest size {found.max_size}")
        return [f"{self.name}: {', '.join(said)}"] if said else []


def _bare(name: str | None) -> str:
    """A name normalized for comparison with tool arguments, which have no brackets and similar characters."""
    return "".join(letter for letter in (name or "").lower() if letter.isalnum())


@lru_cache(maxsize=1)
def excerpts() -> tuple[Excerpt, ...]:
    """All of them."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return tuple(_excerpt(number, json.loads(line)) for number, line in enumerate(lines))


def _excerpt(number: int, line: dict[str, Any]) -> Excerpt:
    method, _, path = line["operation"].partition(" ")
    return Excerpt(
        number=number,
        name=f"{line['document']} {line['operation']}",
        half=line["half"],
        path=f"/{number}{path.replace('#', '_')}",
        method=method,
        reason=line["reason"],
        fields=line["fields"],
        paged=line.get("paged"),
    )


async def tools(folder: Path) -> dict[str, ToolSpec]:
    """The tools of the document with all operations, by their locators."""
    paths = {one.path: {one.method.lower(): dict(one.fields)} for one in excerpts()}
    document = {"openapi": "3.0.0", "info": {"title": "Excerpts", "version": "1"}, "paths": paths}
    file = folder / "excerpts.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    settings = OpenApiSettings(name="excerpts", document=str(file), base_url="http://127.0.0.1:9")
    source = await OpenApiSource.open(settings)
    try:
        return {tool.locator: tool for tool in (await source.list_tools()).tools}
    finally:
        await source.aclose()


@dataclass(frozen=True, slots=True)
class Judged:
    """Score the detection over one half."""

    right: list[str]
    missed: list[str]
    invented: list[str]
    wrong: list[str]


def judged(half: str, found: Mapping[str, ToolSpec]) -> Judged:
    """Every operation of a half against its label."""
    out = Judged([], [], [], [])
    for one in excerpts():
        if one.half != half:
            continue
        tool = found[f"{one.method} {one.path}"]
        is_found = tool.pagination.convention is not PaginationStyle.SINGLE
        if one.paged is not None and is_found:
            out.right.append(one.name)
            out.wrong.extend(one.differences(tool))
        elif one.paged is not None:
            out.missed.append(one.name)
        elif is_found:
            out.invented.append(f"{one.name}: {tool.pagination.convention} {tool.pagination.position}")
    return out
