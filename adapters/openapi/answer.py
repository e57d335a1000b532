"""What a document says of an operation's answers, flattened for whoever looks for paging in it.

Knows response schemas and headers. Knows no convention and no response. Schemas that many operations share are read
once.
"""

from dataclasses import replace

from adapters.base import Json
from adapters.openapi.document import BrokenReference, Document, Node
from adapters.openapi.operation import Entry
from adapters.openapi.reader import OperationReader
from adapters.pagination import ResponseShape

_DEPTH = 3
_MOST_MEMBERS = 120
_WIDEST = 20
_PARTS = ("allOf", "anyOf", "oneOf")


class Answers:
    """Reads the answers of the operations of one document."""

    def __init__(self, document: Document, reader: OperationReader) -> None:
        self._document, self._reader = document, reader
        self._known: dict[tuple[str, str], ResponseShape] = {}
        self._with_headers: dict[tuple[str, str, frozenset[str]], ResponseShape] = {}

    def shape(self, entry: Entry, schema: Node | None) -> ResponseShape:
        """The described answer: `schema` is that of the success. Raises NotLoaded where another file is needed."""
        headers = self._headers(entry)
        if schema is None:
            return ResponseShape({}, headers)
        place = (schema.uri, schema.pointer)
        if place not in self._known:
            self._known[place] = self._read(schema)
        known = self._known[place]
        if not headers:
            return known
        key = (*place, headers)
        if key not in self._with_headers:
            self._with_headers[key] = replace(known, headers=headers)
        return self._with_headers[key]

    def _headers(self, entry: Entry) -> frozenset[str]:
        found: set[str] = set()
        for code, node in entry.operation.child("responses").members():
            if not code.startswith("2") and code != "default":
                continue
            try:
                found.update(name.lower() for name in self._reader.response(entry, node).child("headers").fields)
            except BrokenReference:
                continue
        return frozenset(found)

    def _read(self, schema: Node) -> ResponseShape:
        target = self._followed(schema)
        if _kind(target) == "array":
            items = self._members(target.child("items"))
            return ResponseShape({}, is_list=True, item_members=frozenset(items))
        members: dict[str, str] = {}
        lists = self._open(self._members(target), "", members, depth=1)
        items = self._members(lists[0]) if len(lists) == 1 else {}
        return ResponseShape(members, item_members=frozenset(items))

    def _open(self, inside: dict[str, Node], path: str, members: dict[str, str], *, depth: int) -> list[Node]:
        """Add the members of an object under their paths; the items of the lists among them are returned."""
        lists = []
        for name, child in inside.items():
            if len(members) >= _MOST_MEMBERS or "." in name:
                continue
            target = self._followed(child)
            members[path + name] = kind = _kind(target)
            if kind == "array":
                lists.append(target.child("items"))
            elif kind == "object" and depth < _DEPTH and len(further := self._members(target)) <= _WIDEST:
                lists += self._open(further, f"{path}{name}.", members, depth=depth + 1)
        return lists

    def _members(self, node: Node, *, depth: int = 0) -> dict[str, Node]:
        target = self._followed(node)
        found: dict[str, Node] = {}
        if depth < _DEPTH:
            for key in _PARTS:
                for part in target.child(key).children() if key in target.fields else ():
                    found |= self._members(part, depth=depth + 1)
        return found | dict(target.child("properties").members())

    def _followed(self, node: Node) -> Node:
        try:
            return self._document.resolve(node)
        except BrokenReference:
            return node.replaced({})


def _kind(node: Node) -> str:
    """The JSON type of a schema, null aside; "" where it has none or several."""
    stated: Json = node.fields.get("type")
    kinds = [kind for kind in stated if kind != "null"] if isinstance(stated, list) else [stated]
    if len(kinds) == 1 and isinstance(kinds[0], str):
        return kinds[0]
    if "properties" in node.fields or "allOf" in node.fields:
        return "object"
    return "array" if "items" in node.fields else ""
