"""Operations of OpenAPI documents as detection gets them, read independently of the adapter."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from adapters.pagination import ResponseSchema

SPECS = Path(__file__).parents[4] / "shared" / "specs"
METHODS = ("get", "post", "put", "delete", "patch", "head", "options", "trace", "query")
_DEPTH = 3
_TAG = re.compile(r"<[^<>]*>")


@lru_cache(maxsize=64)
def document(file: str) -> dict[str, Any]:
    """A parsed document; skips the test if it is absent."""
    path = SPECS / file
    if not path.exists():
        pytest.skip(f"the document '{file}' is not next to the repository (../shared/specs)")
    text = path.read_text(encoding="utf-8")
    loaded = json.loads(text) if path.suffix == ".json" else yaml.load(text, Loader=yaml.CSafeLoader)
    return dict(loaded)


def operations(root: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Method and path of every operation."""
    for path, entry in sorted(root.get("paths", {}).items()):
        item = resolved(root, entry)
        for method in METHODS:
            if isinstance(item.get(method), dict):
                yield method.upper(), path


def operation(root: dict[str, Any], method: str, path: str) -> dict[str, Any]:
    """One operation as in the document."""
    found: dict[str, Any] = resolved(root, root["paths"][path])[method.lower()]
    return found


def resolved(root: dict[str, Any], node: Any) -> dict[str, Any]:
    """A node with its references inside the document followed; {} if it is absent."""
    for _ in range(10):
        if not isinstance(node, dict) or not isinstance(node.get("$ref"), str):
            break
        pointer, found = node["$ref"], root
        for key in pointer[2:].split("/") if pointer.startswith("#/") else ["nowhere"]:
            name = key.replace("~1", "/").replace("~0", "~").replace("%7B", "{").replace("%7D", "}")
            found = found[int(name)] if isinstance(found, list) else found.get(name, {})
        node = found
    return node if isinstance(node, dict) else {}


def expanded(root: dict[str, Any], node: Any, depth: int = _DEPTH) -> dict[str, Any]:
    """A schema with references followed as deep as detection looks."""
    schema = dict(resolved(root, node))
    if not depth:
        schema.pop("properties", None)
    for key in ("allOf", "anyOf", "oneOf"):
        if isinstance(schema.get(key), list):
            schema[key] = [expanded(root, part, depth) for part in schema[key]] if depth else []
    if isinstance(schema.get("properties"), dict):
        schema["properties"] = {name: expanded(root, inner, depth - 1) for name, inner in schema["properties"].items()}
    if "items" in schema:
        schema["items"] = {}
    return schema


def parameters(root: dict[str, Any], method: str, path: str) -> dict[str, dict[str, Any]]:
    """The arguments of query and body, and the headers that request ranges."""
    found: dict[str, dict[str, Any]] = {}
    item, own = resolved(root, root["paths"][path]), operation(root, method, path)
    for one in [resolved(root, p) for p in [*(item.get("parameters") or []), *(own.get("parameters") or [])]]:
        schema = expanded(root, one.get("schema") or {k: v for k, v in one.items() if k not in {"name", "in"}})
        if one.get("in") == "body":
            found |= _members(schema)
        elif one.get("in") in {"query", "formData"} or str(one.get("name")).lower() in {
            "range",
            "range-unit",
            "prefer",
        }:
            words = {"description": _TAG.sub(" ", one["description"])} if one.get("description") else {}
            found[one["name"]] = schema | words
    for media in list(resolved(root, own.get("requestBody")).get("content", {}).values())[:1]:
        found |= _members(expanded(root, media.get("schema", {}), _DEPTH + 1))
    return found


def _members(schema: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for part in [*schema.get("allOf", ()), schema]:
        found |= part.get("properties") or {}
    return {name: value for name, value in found.items() if isinstance(value, dict)}


def response(root: dict[str, Any], method: str, path: str) -> ResponseSchema | None:
    """The first success response in the document."""
    answers = operation(root, method, path).get("responses") or {}
    for code in sorted(map(str, answers)):
        if code.startswith("2") or code == "default":
            answer = resolved(root, answers.get(code, answers.get(int(code)) if code.isdigit() else None))
            return _shape(root, answer)
    return None


def _shape(root: dict[str, Any], answer: dict[str, Any]) -> ResponseSchema:
    contents = answer.get("content", {})
    chosen = next((m for kind, m in contents.items() if re.search(r"json|\*|xml", kind)), {})
    schema = answer.get("schema") or chosen.get("schema") or {}
    members: dict[str, str] = {}
    _collect(root, schema, "", members)
    items = resolved(root, _flat(root, schema).get("items", {}))
    return ResponseSchema(
        members=members,
        headers=frozenset(name.lower() for name in answer.get("headers") or {}),
        is_list=_kind(_flat(root, schema)) == "array",
        item_members=frozenset(_properties(root, items)),
    )


def _collect(root: dict[str, Any], schema: Any, prefix: str, members: dict[str, str], depth: int = _DEPTH) -> None:
    for name, inner in _properties(root, schema).items() if depth else ():
        flat = _flat(root, inner)
        members[f"{prefix}{name}"] = _kind(flat)
        if _kind(flat) in {"object", ""}:
            _collect(root, flat, f"{prefix}{name}.", members, depth - 1)


def _flat(root: dict[str, Any], schema: Any) -> dict[str, Any]:
    """A schema with the type of its only non-null part."""
    own = resolved(root, schema)
    for key in ("allOf", "anyOf", "oneOf"):
        parts = [resolved(root, part) for part in own.get(key) or ()]
        real = [part for part in parts if part.get("type") != "null"]
        if "type" not in own and real:
            own = own | {"type": _kind(_flat(root, real[0]))}
    return own


def _kind(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "")
    if not isinstance(kind, str) or not kind:
        return "object" if "properties" in schema else "array" if "items" in schema else ""
    return kind


def _properties(root: dict[str, Any], schema: Any, depth: int = 4) -> dict[str, Any]:
    own = resolved(root, schema)
    found: dict[str, Any] = {}
    for part in [*(own.get("allOf") or ()), *(own.get("oneOf") or own.get("anyOf") or ())[:1]]:
        found |= _properties(root, part, depth - 1) if depth else {}
    inner = own.get("properties")
    return found | inner if isinstance(inner, dict) else found
