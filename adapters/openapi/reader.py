"""Reads one operation out of a document, as far as it is sound.

Knows which flaw costs a parameter, which the operation, and which nothing at all. What is left out is named by its
JSON pointer. Knows nothing of tools.
"""

import re
from collections.abc import Iterator, Mapping

from adapters.base import Json, JsonObject, LeftOut
from adapters.openapi import swagger
from adapters.openapi.document import BrokenReference, Document, Node
from adapters.openapi.operation import STYLES, Body, Encoding, Entry, Location, Operation, Parameter, Style, text_of

_IGNORED_HEADERS = frozenset({"accept", "content-type", "authorization", "host", "content-length", "connection"})
_TOKEN = re.compile(r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
_VARIABLE = re.compile(r"\{([^{}/]+)\}")
_JSON_KIND = re.compile(r"[a-z]+/(?:[\w.+-]*[+-])?json(?:-\d[\d.]*)?")
"""JSON by its suffix, or with a version as in `application/x-amz-json-1.1`."""
_STYLING = frozenset({"style", "explode", "allowReserved"})
_SAYING = _STYLING | {"contentType"}
"""What an encoding may say of a form's member; with the first three its content type does not count."""
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class Unusable(Exception):
    """The operation cannot be called at all; `path` is the part that is to blame."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(why)
        self.path, self.why = path, why


class OperationReader:
    """Reads operations of one document; what is left out is added to `left_out`."""

    def __init__(self, document: Document, left_out: list[LeftOut]) -> None:
        self._document, self._left_out = document, left_out
        self._is_swagger = swagger.is_swagger(document.root)

    def read(self, entry: Entry) -> Operation:
        """The operation. Raises Unusable, BrokenReference or NotLoaded."""
        fields = entry.operation.fields
        found = list(self._parameter_nodes(entry))
        parameters = self._parameters(entry, found)
        return Operation(
            entry=entry,
            description=_words(fields) or _words(entry.item.fields),
            parameters=parameters,
            body=self._body(entry, found),
            responses=entry.operation.child("responses"),
            security=self._stated(entry.operation, "security"),
            servers=self._stated(entry.operation, "servers") or self._stated(entry.item, "servers"),
            is_deprecated=fields.get("deprecated") is True,
        )

    def _stated(self, node: Node, key: str) -> Node | None:
        return node.child(key) if isinstance(node.fields.get(key), list) else None

    def _leave(self, node: Node, why: str) -> None:
        self._left_out.append(LeftOut(self._document.path_of(node), why))

    def _parameter_nodes(self, entry: Entry) -> Iterator[Node]:
        """Resolved parameters, the operation's before those of its path; the first of a name and place counts."""
        seen: set[tuple[Json, Json]] = set()
        for holder in (entry.operation, entry.item):
            for child in holder.child("parameters").children():
                try:
                    node = self._document.resolve(child)
                except BrokenReference as error:
                    self._left_out.append(LeftOut(error.path, error.why))
                    continue
                name, place = node.fields.get("name"), node.fields.get("in")
                if not isinstance(name, str) or not isinstance(place, str):
                    self._leave(child, "the parameter has no name or no place")
                elif (name, place) not in seen:
                    seen.add((name, place))
                    yield node

    def _parameters(self, entry: Entry, found: list[Node]) -> tuple[Parameter, ...]:
        variables = list(dict.fromkeys(_VARIABLE.findall(entry.path)))
        read = [parameter for node in found if (parameter := self._parameter(node, variables)) is not None]
        declared = {parameter.name for parameter in read if parameter.location is Location.PATH}
        for name in variables:
            if name not in declared:
                self._leave(entry.operation, f"the path variable '{name}' is not declared; it is taken as a string")
                read.append(_variable(name, entry.operation))
        return tuple(read)

    def _parameter(self, node: Node, variables: list[str]) -> Parameter | None:
        place = node.fields["in"]
        if place in ("body", "formData"):
            return None
        if self._is_swagger:
            node = swagger.parameter(node)
        name = node.fields["name"]
        if place not in set(Location):
            self._leave(node, f"the parameter '{name}' stands in '{place}', which is no place")
            return None
        location = Location(place)
        if location is Location.HEADER and name.lower() in _IGNORED_HEADERS:
            return None
        if location in (Location.HEADER, Location.COOKIE) and not _TOKEN.match(name):
            self._leave(node, f"'{name}' is no name for a {place}")
            return None
        if location is Location.PATH and name not in variables:
            self._leave(node, f"the path has no variable '{name}'")
            return None
        media_type, schema = self._schema(node)
        return Parameter(
            name=name,
            location=location,
            encoding=encoding_of(node.fields, location, media_type),
            schema=schema,
            is_required=location is Location.PATH or node.fields.get("required") is True,
            description=text_of(node.fields, "description"),
        )

    def _schema(self, node: Node) -> tuple[str | None, Node | None]:
        """The media type where the parameter has a content, and its schema."""
        content = node.child("content")
        for media_type, media in content.members():
            resolved = self._document.resolve(media)
            return media_type, resolved.child("schema") if "schema" in resolved.fields else None
        return None, node.child("schema") if isinstance(node.fields.get("schema"), dict | bool) else None

    def _body(self, entry: Entry, found: list[Node]) -> Body | None:
        node = entry.operation.child("requestBody")
        if self._is_swagger:
            node = swagger.body(entry.operation, found, self.media_types(entry, "consumes"))
        if node.value is None:
            return None
        resolved = self._document.resolve(node)
        media = dict(resolved.child("content").members())
        is_required = resolved.fields.get("required") is True
        ranked = sorted((rank, kind) for kind in media if (rank := _rank(kind)) is not None)
        chosen = ranked[0][1] if ranked else None
        if chosen is None:
            if is_required:
                raise Unusable(self._document.path_of(resolved), f"no body can be written as {_listed(media)}")
            self._leave(resolved, f"no body can be written as {_listed(media)}; it is sent without")
            return None
        return self._chosen_body(chosen, self._document.resolve(media[chosen]), is_required=is_required)

    def _chosen_body(self, media_type: str, media: Node, *, is_required: bool) -> Body:
        schema = media.child("schema") if isinstance(media.fields.get("schema"), dict | bool) else None
        encodings = {
            name: encoding_of(node.fields, Location.QUERY, _content_type(node.fields))
            for name, node in media.child("encoding").members()
            if isinstance(node.value, dict) and not _SAYING.isdisjoint(node.fields)
        }
        return Body(media_type=media_type, schema=schema, is_required=is_required, encodings=encodings)

    def media_types(self, entry: Entry, key: str) -> list[str]:
        """Swagger's `consumes` or `produces`: the operation's own, else the document's."""
        own = swagger.texts(entry.operation.fields.get(key))
        return own or swagger.texts(self._document.root.fields.get(key))

    def response(self, entry: Entry, node: Node) -> Node:
        """One response, resolved. Raises BrokenReference or NotLoaded."""
        resolved = self._document.resolve(node)
        return swagger.response(resolved, self.media_types(entry, "produces")) if self._is_swagger else resolved


def encoding_of(fields: JsonObject, location: Location, media_type: str | None = None) -> Encoding:
    """How a parameter or a form member is written: what the document says, where that is legal, else the default."""
    styles = STYLES[location]
    stated = fields.get("style")
    style = next((style for style in styles if style == stated), styles[0])
    explode = fields.get("explode")
    return Encoding(
        style=style,
        is_exploded=explode if isinstance(explode, bool) else style in (Style.FORM, Style.DEEP, Style.COOKIE),
        allows_reserved=fields.get("allowReserved") is True,
        media_type=media_type,
    )


def _words(fields: JsonObject) -> str:
    return text_of(fields, "summary", "description")


def _variable(name: str, node: Node) -> Parameter:
    return Parameter(
        name=name,
        location=Location.PATH,
        encoding=encoding_of({}, Location.PATH),
        schema=node.replaced({"type": "string"}),
        is_required=True,
    )


def _content_type(fields: Mapping[str, Json]) -> str | None:
    stated = fields.get("contentType")
    return stated.split(",")[0].strip() if isinstance(stated, str) and _STYLING.isdisjoint(fields) else None


def _rank(media_type: str) -> int | None:
    """The place of a media type in the order of preference; None for one that cannot be written."""
    kind = media_type.split(";")[0].strip().lower()
    if kind == "application/json":
        return 0
    if _JSON_KIND.fullmatch(kind) or kind in ("*/*", "application/*", "text/json"):
        return 1
    if kind in _FORMS:
        return 2 + _FORMS.index(kind)
    if kind.startswith("text/") and "xml" not in kind:
        return 4
    return 5 if kind in ("application/octet-stream", "application/x-ndjson") else None


def _listed(media: Mapping[str, Node]) -> str:
    return ", ".join(f"'{kind}'" for kind in media) or "anything: it has no content"
