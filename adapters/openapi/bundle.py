"""Schemas for a validator: whole, recursive, and with nothing outside of one small document.

Knows how references are renamed into `#/components/schemas/…` of the document to be. Knows no operation.
"""

from adapters.base import JsonObject
from adapters.openapi.document import BrokenReference, Document, Node
from adapters.openapi.schema import Direction, nullable, plain

_MAX_NODES, _MAX_DEPTH = 50_000, 60


class Bundle:
    """Schemas of one direction, and what they refer to. A reference that leads nowhere allows anything.

    Beyond 50,000 nodes everything further is allowed: a document that multiplies itself is not worth checking.
    """

    def __init__(self, document: Document, direction: Direction) -> None:
        self._document, self._direction = document, direction
        self._names: dict[tuple[str, str], str] = {}
        self._nodes = 0
        self._waiting: list[tuple[str, Node]] = []

    def schema(self, node: Node, *, depth: int = 0) -> JsonObject:
        """The schema at a node. Raises NotLoaded where another file is needed."""
        self._nodes += 1
        if self._nodes > _MAX_NODES or depth > _MAX_DEPTH:
            return {}
        if isinstance(node.fields.get("$ref"), str):
            return self._reference(node)
        out = plain(node, self._direction, lambda inner: self.schema(inner, depth=depth + 1))
        if self._direction is Direction.RESPONSE:
            out.pop("pattern", None)  # a hostile pattern could run away over a response, and hangs no request here
        return out

    def components(self) -> JsonObject:
        """Everything that the schemas refer to, by the names that their references use."""
        done: JsonObject = {}
        while self._waiting:
            name, node = self._waiting.pop()
            done[name] = self.schema(node)
        return done

    def _reference(self, node: Node) -> JsonObject:
        try:
            target = self._document.resolve(node)
        except BrokenReference:
            return {}
        place = (target.uri, target.pointer)
        if place not in self._names:
            self._names[place] = f"{self._direction}{len(self._names) + 1}"
            self._waiting.append((self._names[place], target))
        out: JsonObject = {"$ref": f"#/components/schemas/{self._names[place]}"}
        return nullable(out) if node.fields.get("nullable") is True else out
