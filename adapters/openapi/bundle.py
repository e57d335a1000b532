"""Schemas for a validator: whole, recursive, and with nothing outside of one small document.

Knows how references are renamed into `#/components/schemas/…` of the document to be, and that a part of `allOf` which
allows no other members would shut out those of its neighbours: it is bundled open, and the whole is closed instead.
Knows no operation.
"""

from adapters.base import JsonObject
from adapters.openapi.document import BrokenReference, Document, Node
from adapters.openapi.schema import Direction, allows_null, nullable, plain

_MAX_NODES, _MAX_DEPTH = 50_000, 60


class Bundle:
    """Schemas of one direction, and what they refer to. A reference that leads nowhere allows anything.

    Beyond 50,000 nodes everything further is allowed: a document that multiplies itself is not worth checking.
    """

    def __init__(self, document: Document, direction: Direction) -> None:
        self._document, self._direction = document, direction
        self._names: dict[tuple[str, str, bool], str] = {}
        self._nodes = 0
        self._waiting: list[tuple[str, Node, bool]] = []

    def schema(self, node: Node, *, depth: int = 0, is_part: bool = False) -> JsonObject:
        """The schema at a node, open where it is a part of `allOf`. Raises NotLoaded where another file is needed."""
        self._nodes += 1
        if self._nodes > _MAX_NODES or depth > _MAX_DEPTH:
            return {}
        if isinstance(node.fields.get("$ref"), str):
            return self._reference(node, is_part=is_part)
        out = plain(node, self._direction, lambda inner: self.schema(inner, depth=depth + 1, is_part=_is_part(inner)))
        if out.get("additionalProperties") is False and (is_part or "allOf" in out):
            del out["additionalProperties"]
            out |= {} if is_part else {"unevaluatedProperties": False}
        if self._direction is Direction.RESPONSE:
            out.pop("pattern", None)  # a hostile pattern could run away over a response, and hangs no request here
        return out

    def components(self) -> JsonObject:
        """Everything that the schemas refer to, by the names that their references use."""
        done: JsonObject = {}
        while self._waiting:
            name, node, is_part = self._waiting.pop()
            done[name] = self.schema(node, is_part=is_part)
        return done

    def _reference(self, node: Node, *, is_part: bool) -> JsonObject:
        try:
            target = self._document.resolve(node)
        except BrokenReference:
            return {}
        place = (target.uri, target.pointer, is_part)
        if place not in self._names:
            self._names[place] = f"{self._direction}{len(self._names) + 1}"
            self._waiting.append((self._names[place], target, is_part))
        out: JsonObject = {"$ref": f"#/components/schemas/{self._names[place]}"}
        return nullable(out) if allows_null(node.fields) else out


def _is_part(node: Node) -> bool:
    return node.pointer.rpartition("/")[0].endswith("/allOf")
