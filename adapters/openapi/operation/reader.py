"""Reads operations from a document. Invalid parts are skipped, with their JSON pointer and the reason."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from adapters.base import Json, JsonObject, SkippedTool
from adapters.json_text import compact_json
from adapters.openapi.document import swagger2 as swagger
from adapters.openapi.document.document import BrokenReference, DocumentNode, OpenApiDocument
from adapters.openapi.operation.media_types import BodyFormat, bare_media_type, body_format, normalize_media_type
from adapters.openapi.operation.model import (
    METHODS,
    STYLES,
    Operation,
    OperationEntry,
    OperationParameter,
    ParameterEncoding,
    ParameterLocation,
    ParameterStyle,
    PathTemplate,
    RequestBody,
    join_texts,
    parse_path_template,
)

_EXAMPLE_PATH = re.compile(r"(?<![/\w{}.:-])[A-Za-z][\w-]*/(?:[{<\[]\w|\*)")
"""A path of several segments in a description: `projects/{project}/topics/{topic}`."""
_MULTI_SEGMENT_EXTENSIONS = ("x-ms-skip-url-encoding", "x-multi-segment")


class PathVariables:
    """Finds the path variables of one document whose values may span several segments."""

    def __init__(self, document: OpenApiDocument) -> None:
        self._document = document
        self._cache: frozenset[str] | None = None

    def spans_segments(self, template: PathTemplate, name: str, fields: JsonObject) -> bool:
        """Whether a variable may span segments; `fields` are its parameter's. Raises DocumentNotLoaded."""
        if name in template.multi_segment or _declares_path_value(fields):
            return True
        if "encode" in join_texts(fields, "description").lower():
            return False
        if self._cache is None:
            self._cache = frozenset(self._prefixes())
        return _prefix_before(template, name) in self._cache

    def _prefixes(self) -> Iterator[str]:
        """Yield the path prefixes before variables that are declared to span several segments."""
        try:
            paths = list(self._document.at("paths").members())
        except BrokenReference:
            return
        for path, item in paths:
            template = parse_path_template(path)
            for fields in self._parameters(item) if template.variables else ():
                if fields.get("in") == "path" and isinstance(fields.get("name"), str) and _declares_path_value(fields):
                    yield _prefix_before(template, template.match_variable(fields["name"]))

    def _parameters(self, item: DocumentNode) -> Iterator[JsonObject]:
        try:
            target = self._document.resolve(item)
        except BrokenReference:
            return
        for holder in (target, *(target.child(method) for method in METHODS if method in target.fields)):
            for node in holder.child("parameters").children():
                try:
                    yield self._document.resolve(node).fields
                except BrokenReference:
                    continue


def _prefix_before(template: PathTemplate, name: str) -> str:
    return template.path.partition("{" + name + "}")[0]


def _declares_path_value(fields: JsonObject) -> bool:
    """Whether a parameter declares that its values are paths, by extension or description."""
    if any(fields.get(key) is True for key in _MULTI_SEGMENT_EXTENSIONS):
        return True
    words = join_texts(fields, "description")
    return "/" in words and _EXAMPLE_PATH.search(words) is not None and "encode" not in words.lower()


_IGNORED_HEADERS = frozenset({"accept", "content-type", "authorization", "host", "content-length", "connection"})
_KNOWN_LOCATIONS = frozenset(ParameterLocation)
_HTTP_TOKEN = re.compile(r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
_STYLE_FIELDS = frozenset({"style", "explode", "allowReserved"})
_ENCODING_FIELDS = _STYLE_FIELDS | {"contentType"}
"""Fields of an encoding of a form member; with any of the first three its content type is ignored."""
_BODY_METHODS = frozenset({"POST", "PUT", "PATCH"})
_MAX_NAMED_MEMBERS = 12


class UnusableOperation(Exception):
    """The operation cannot be called; `path` is the location of the reason."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(reason)
        self.path, self.reason = path, reason


class OperationReader:
    """Reads operations of one document and adds skipped parts to `skipped`."""

    def __init__(self, document: OpenApiDocument, skipped: list[SkippedTool]) -> None:
        self._document, self._skipped = document, skipped
        self._is_swagger = swagger.is_swagger2(document.root)
        self._path_variables = PathVariables(document)
        self._cache: dict[tuple[str, ParameterLocation, str, bool], OperationParameter] = {}

    def read(self, entry: OperationEntry) -> Operation:
        """Read one operation. Raises UnusableOperation, BrokenReference or DocumentNotLoaded."""
        fields = entry.operation.fields
        found = list(self._parameter_nodes(entry))
        parameters = self._parameters(entry, found)
        return Operation(
            entry=entry,
            description=_description_of(fields) or _description_of(entry.item.fields),
            parameters=parameters,
            body=self._body(entry, found),
            responses=entry.operation.child("responses"),
            security=self._list_at(entry.operation, "security"),
            servers=self._list_at(entry.operation, "servers") or self._list_at(entry.item, "servers"),
            is_deprecated=fields.get("deprecated") is True,
        )

    def _list_at(self, node: DocumentNode, key: str) -> DocumentNode | None:
        return node.child(key) if isinstance(node.fields.get(key), list) else None

    def _skip(self, node: DocumentNode, reason: str) -> None:
        self._skipped.append(SkippedTool(self._document.display_path(node), reason))

    def _parameter_nodes(self, entry: OperationEntry) -> Iterator[DocumentNode]:
        """Yield resolved parameters, the operation's before those of its path; duplicates are dropped."""
        seen: set[tuple[Json, Json]] = set()
        for holder in (entry.operation, entry.item):
            for child in self._list_items(holder.child("parameters")):
                node = self._try_resolve(child)
                if node is None:
                    continue
                name, place = node.fields.get("name"), node.fields.get("in")
                if not isinstance(name, str) or not isinstance(place, str):
                    self._skip(child, "the parameter has no 'name' or no 'in'")
                elif (name, place) not in seen:
                    seen.add((name, place))
                    yield node

    def _list_items(self, node: DocumentNode) -> list[DocumentNode]:
        """Return the items of a list, which may be a reference, or an object with named items."""
        resolved = self._try_resolve(node) if "$ref" in node.fields else node
        if resolved is None:
            return []
        return [child for _, child in resolved.members()] or list(resolved.children())

    def _try_resolve(self, node: DocumentNode) -> DocumentNode | None:
        """Resolve a node; a broken reference is skipped."""
        try:
            return self._document.resolve(node)
        except BrokenReference as error:
            self._skipped.append(SkippedTool(error.path, error.reason))
            return None

    def _parameters(self, entry: OperationEntry, found: list[DocumentNode]) -> tuple[OperationParameter, ...]:
        template = entry.template
        if template.fragment_variables:
            name = template.fragment_variables[0]
            reason = f"the path variable '{name}' is after '#', in the fragment, which is never sent"
            raise UnusableOperation(self._document.display_path(entry.operation), reason)
        read: dict[tuple[ParameterLocation, str], OperationParameter] = {}
        for node in found:
            parameter = self._parameter(node, template)
            if parameter is not None:
                read.setdefault((parameter.location, parameter.name), parameter)
        wanted = [(ParameterLocation.PATH, name) for name in template.variables]
        wanted += [(ParameterLocation.QUERY, name) for name in template.query_variables.values()]
        for location, name in wanted:
            if (location, name) not in read:
                self._skip(entry.operation, f"the path variable '{name}' is not declared; a string is assumed")
                read[location, name] = _undeclared_variable(name, location, entry)
        return tuple(read.values())

    def _parameter(self, node: DocumentNode, template: PathTemplate) -> OperationParameter | None:
        place = node.fields["in"].strip().lower()
        if place in ("body", "formdata"):
            return None
        if place not in _KNOWN_LOCATIONS:
            where = node.fields["in"]
            self._skip(node, f"the parameter '{node.fields['name']}' has the invalid location '{where}'")
            return None
        location, name = _effective_location(ParameterLocation(place), node.fields["name"], template)
        if location is ParameterLocation.HEADER and name.lower() in _IGNORED_HEADERS:
            return None
        if location in (ParameterLocation.HEADER, ParameterLocation.COOKIE) and not _HTTP_TOKEN.match(name):
            self._skip(node, f"invalid {place} name '{name}'")
            return None
        if location is ParameterLocation.PATH and name not in template.variables:
            self._skip(node, f"the path has no variable '{name}'")
            return None
        spans_segments = location is ParameterLocation.PATH and self._path_variables.spans_segments(
            template, name, node.fields
        )
        return self._cached_parameter(node, location, name, spans_segments=spans_segments)

    def _cached_parameter(
        self, node: DocumentNode, location: ParameterLocation, name: str, *, spans_segments: bool
    ) -> OperationParameter:
        """Read a parameter, or return the one read from an identical declaration."""
        text = compact_json(node.value)
        key = (f"{node.uri}#{node.pointer}" if '"$ref"' in text else text, location, name, spans_segments)
        parameter = self._cache.get(key)
        if parameter is None:
            parameter = self._cache[key] = self._read_parameter(node, location, name, spans_segments=spans_segments)
        return parameter

    def _read_parameter(
        self, node: DocumentNode, location: ParameterLocation, name: str, *, spans_segments: bool
    ) -> OperationParameter:
        if self._is_swagger or swagger.is_swagger2_parameter(node.fields):
            node = swagger.convert_parameter(node)
        media_type, schema = self._schema(node)
        is_in_path = node.fields["in"].strip().lower() == ParameterLocation.PATH
        return OperationParameter(
            name=name,
            location=location,
            encoding=replace(read_encoding(node.fields, location, media_type), keeps_slashes=spans_segments),
            schema=schema,
            is_required=is_in_path or node.fields.get("required") is True,
            description=join_texts(node.fields, "description"),
        )

    def _schema(self, node: DocumentNode) -> tuple[str | None, DocumentNode | None]:
        """Return the media type if the parameter has a `content`, and its schema."""
        content = node.child("content")
        for media_type, media in content.members():
            resolved = self._document.resolve(media)
            return media_type, resolved.child("schema") if "schema" in resolved.fields else None
        return None, node.child("schema") if isinstance(node.fields.get("schema"), dict | bool) else None

    def _body(self, entry: OperationEntry, found: list[DocumentNode]) -> RequestBody | None:
        node = entry.operation.child("requestBody")
        if self._is_swagger or node.value is None:
            node = swagger.convert_body(entry.operation, found, self.media_types(entry, "consumes"))
        if node.value is None:
            return None
        resolved = self._document.resolve(node)
        media = dict(resolved.child("content").members()) or {"application/json": resolved.with_value({})}
        ranked = sorted((rank, kind) for kind in media if (rank := body_format(kind)) is not None)
        if ranked:
            return self._read_body(ranked[0][1], self._document.resolve(media[ranked[0][1]]), entry, resolved)
        reason, path = f"unsupported body media type: {_quote_all(media)}", self._document.display_path(node)
        if resolved.fields.get("required") is True:
            raise UnusableOperation(path, reason)
        self._skipped.append(SkippedTool(path, f"{reason}; requests are sent without a body"))
        return None

    def _read_body(
        self, media_type: str, media: DocumentNode, entry: OperationEntry, holder: DocumentNode
    ) -> RequestBody:
        schema = media.child("schema") if isinstance(media.fields.get("schema"), dict | bool) else None
        if body_format(media_type) is BodyFormat.MARKUP:
            schema = media.with_value({"type": "string", "description": self._describe_markup(media_type, schema)})
        encodings = {
            name: read_encoding(node.fields, ParameterLocation.QUERY, _content_type(node.fields))
            for name, node in media.child("encoding").members()
            if isinstance(node.value, dict) and not _ENCODING_FIELDS.isdisjoint(node.fields)
        }
        stated = holder.fields.get("required")
        return RequestBody(
            media_type=normalize_media_type(media_type),
            schema=schema,
            is_required=stated is True,
            is_expected=stated is None and entry.method in _BODY_METHODS,
            encodings=encodings,
        )

    def _schema_fields(self, schema: DocumentNode | None) -> JsonObject:
        """Return the fields of a resolved schema; none if its reference is broken."""
        try:
            return self._document.resolve(schema).fields if schema is not None else {}
        except BrokenReference:
            return {}

    def _describe_markup(self, media_type: str, schema: DocumentNode | None) -> str:
        """Describe a body that the caller writes as text."""
        fields = self._schema_fields(schema)
        words = join_texts(fields, "title", "description")
        members = fields.get("properties")
        names = ", ".join(list(members)[:_MAX_NAMED_MEMBERS]) if isinstance(members, dict) else ""
        parts = [
            f"The request body as text, {bare_media_type(media_type)}.",
            words,
            f"It contains {names}." if names else "",
        ]
        return " ".join(part for part in parts if part)

    def media_types(self, entry: OperationEntry, key: str) -> list[str]:
        """Return Swagger's `consumes` or `produces`: the operation's own, else the document's."""
        own = swagger.strings_in(entry.operation.fields.get(key))
        return own or swagger.strings_in(self._document.root.fields.get(key))

    def response(self, entry: OperationEntry, node: DocumentNode) -> DocumentNode:
        """Resolve one response. Raises BrokenReference or DocumentNotLoaded."""
        resolved = self._document.resolve(node)
        return swagger.convert_response(resolved, self.media_types(entry, "produces")) if self._is_swagger else resolved


def read_encoding(fields: JsonObject, location: ParameterLocation, media_type: str | None = None) -> ParameterEncoding:
    """Read the encoding of a parameter or form member; illegal styles become the default."""
    styles = STYLES[location]
    stated = fields.get("style")
    style = next((style for style in styles if style == stated), styles[0])
    explode = fields.get("explode")
    return ParameterEncoding(
        style=style,
        is_exploded=explode
        if isinstance(explode, bool)
        else style in (ParameterStyle.FORM, ParameterStyle.DEEP, ParameterStyle.COOKIE),
        allows_reserved=fields.get("allowReserved") is True,
        media_type=media_type,
    )


def _description_of(fields: JsonObject) -> str:
    return join_texts(fields, "summary", "description")


def _effective_location(
    location: ParameterLocation, name: str, template: PathTemplate
) -> tuple[ParameterLocation, str]:
    """Return location and name of a parameter; a path variable in the query of the template is a query parameter."""
    if location is ParameterLocation.QUERY:
        return location, template.query_variables.get(name, name)
    if location is not ParameterLocation.PATH:
        return location, name
    spelled = template.match_variable(name)
    return (
        (ParameterLocation.QUERY, template.query_variables[spelled])
        if spelled in template.query_variables
        else (location, spelled)
    )


def _undeclared_variable(name: str, location: ParameterLocation, entry: OperationEntry) -> OperationParameter:
    keeps_slashes = location is ParameterLocation.PATH and name in entry.template.multi_segment
    return OperationParameter(
        name=name,
        location=location,
        encoding=replace(read_encoding({}, location), keeps_slashes=keeps_slashes),
        schema=entry.operation.with_value({"type": "string"}),
        is_required=True,
    )


def _content_type(fields: Mapping[str, Json]) -> str | None:
    stated = fields.get("contentType")
    return stated.split(",")[0].strip() if isinstance(stated, str) and _STYLE_FIELDS.isdisjoint(fields) else None


def _quote_all(media: Mapping[str, DocumentNode]) -> str:
    return ", ".join(f"'{kind}'" for kind in media) or "none: it has no content"
