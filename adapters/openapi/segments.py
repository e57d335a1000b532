"""Variables of paths whose values are paths themselves, so that their slashes are sent as they are.

Knows the extensions, the words and the places that say so: what one operation says of the variable at a place holds
for that place in all of them, since a server finds its operations by the segments of a path. Knows no value.
"""

import re
from collections.abc import Iterator

from adapters.base import JsonObject
from adapters.openapi.document import BrokenReference, Document, Node
from adapters.openapi.operation import text_of
from adapters.openapi.template import Template, template_of

_SHOWN = re.compile(r"(?<![/\w{}.:-])[A-Za-z][\w-]*/(?:[{<\[]\w|\*)")
"""A path of several segments as words describe it: `projects/{project}/topics/{topic}`."""
_SAYING = ("x-ms-skip-url-encoding", "x-multi-segment")
_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")


class Segments:
    """What one document says of the variables in its paths."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._known: frozenset[str] | None = None

    def may_hold(self, template: Template, name: str, fields: JsonObject) -> bool:
        """Whether a variable's value may be several segments; `fields` are its parameter's. Raises NotLoaded."""
        if name in template.open or _says(fields):
            return True
        if "encode" in text_of(fields, "description").lower():
            return False
        if self._known is None:
            self._known = frozenset(self._places())
        return _before(template, name) in self._known

    def _places(self) -> Iterator[str]:
        """The beginnings of paths behind which several segments stand, by the parameters that say so."""
        try:
            paths = list(self._document.at("paths").members())
        except BrokenReference:
            return
        for path, item in paths:
            template = template_of(path)
            for fields in self._parameters(item) if template.variables else ():
                if fields.get("in") == "path" and isinstance(fields.get("name"), str) and _says(fields):
                    yield _before(template, template.spelled(fields["name"]))

    def _parameters(self, item: Node) -> Iterator[JsonObject]:
        try:
            target = self._document.resolve(item)
        except BrokenReference:
            return
        for holder in (target, *(target.child(method) for method in _METHODS if method in target.fields)):
            for node in holder.child("parameters").children():
                try:
                    yield self._document.resolve(node).fields
                except BrokenReference:
                    continue


def _before(template: Template, name: str) -> str:
    return template.path.partition("{" + name + "}")[0]


def _says(fields: JsonObject) -> bool:
    """Whether a parameter itself says that its values are paths."""
    if any(fields.get(key) is True for key in _SAYING):
        return True
    words = text_of(fields, "description")
    return "/" in words and _SHOWN.search(words) is not None and "encode" not in words.lower()
