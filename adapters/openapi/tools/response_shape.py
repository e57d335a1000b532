"""Expected shape of responses, from the document: many records or one, where they are, and their noun.

If the document does not say, a tool is assumed to return many records, which is the safe assumption.
"""

import re
from dataclasses import dataclass, replace

from adapters.base import Json, JsonObject
from adapters.openapi.document.document import BrokenReference, DocumentNode, OpenApiDocument
from adapters.openapi.operation.model import OperationEntry
from adapters.openapi.operation.reader import OperationReader
from adapters.openapi.tools.arguments import VERSION_SEGMENT
from adapters.pagination import ResponseSchema

_DEPTH = 3
_MAX_MEMBERS = 120
_MAX_NESTED_MEMBERS = 20
_PARTS = ("allOf", "anyOf", "oneOf")


class ResponseReader:
    """Reads the response schemas of the operations of one document."""

    def __init__(self, document: OpenApiDocument, reader: OperationReader) -> None:
        self._document, self._reader = document, reader
        self._shapes: dict[tuple[str, str], ResponseSchema] = {}
        self._shapes_with_headers: dict[tuple[str, str, frozenset[str]], ResponseSchema] = {}

    def shape(self, entry: OperationEntry, schema: DocumentNode | None) -> ResponseSchema:
        """Return members and headers of a success response with `schema`. Raises DocumentNotLoaded."""
        headers = self._headers(entry)
        if schema is None:
            return ResponseSchema({}, headers)
        place = (schema.uri, schema.pointer)
        if place not in self._shapes:
            self._shapes[place] = self._read(schema)
        shape = self._shapes[place]
        if not headers:
            return shape
        key = (*place, headers)
        if key not in self._shapes_with_headers:
            self._shapes_with_headers[key] = replace(shape, headers=headers)
        return self._shapes_with_headers[key]

    def _headers(self, entry: OperationEntry) -> frozenset[str]:
        found: set[str] = set()
        for code, node in entry.operation.child("responses").members():
            if not code.startswith("2") and code != "default":
                continue
            try:
                found.update(name.lower() for name in self._reader.response(entry, node).child("headers").fields)
            except BrokenReference:
                continue
        return frozenset(found)

    def _read(self, schema: DocumentNode) -> ResponseSchema:
        target = self._resolve(schema)
        if _json_type(target) == "array":
            items = self._members(target.child("items"))
            return ResponseSchema({}, is_list=True, item_members=frozenset(items))
        members: dict[str, str] = {}
        lists = self._collect_members(self._members(target), "", members, depth=1)
        items = self._members(lists[0]) if len(lists) == 1 else {}
        return ResponseSchema(members, item_members=frozenset(items))

    def _collect_members(
        self, inside: dict[str, DocumentNode], path: str, members: dict[str, str], *, depth: int
    ) -> list[DocumentNode]:
        """Add the members of an object to `members` by path, and return the items of its lists."""
        lists = []
        for name, child in inside.items():
            if len(members) >= _MAX_MEMBERS or "." in name:
                continue
            target = self._resolve(child)
            members[path + name] = kind = _json_type(target)
            if kind == "array":
                lists.append(target.child("items"))
            elif kind == "object" and depth < _DEPTH and len(further := self._members(target)) <= _MAX_NESTED_MEMBERS:
                lists += self._collect_members(further, f"{path}{name}.", members, depth=depth + 1)
        return lists

    def _members(self, node: DocumentNode, *, depth: int = 0) -> dict[str, DocumentNode]:
        target = self._resolve(node)
        found: dict[str, DocumentNode] = {}
        if depth < _DEPTH:
            for key in _PARTS:
                for part in target.child(key).children() if key in target.fields else ():
                    found |= self._members(part, depth=depth + 1)
        return found | dict(target.child("properties").members())

    def _resolve(self, node: DocumentNode) -> DocumentNode:
        try:
            return self._document.resolve(node)
        except BrokenReference:
            return node.with_value({})


def _json_type(node: DocumentNode) -> str:
    """Return the JSON type of a schema, ignoring null; "" if it has none or several."""
    stated: Json = node.fields.get("type")
    kinds = [kind for kind in stated if kind != "null"] if isinstance(stated, list) else [stated]
    if len(kinds) == 1 and isinstance(kinds[0], str):
        return kinds[0]
    if "properties" in node.fields or "allOf" in node.fields:
        return "object"
    return "array" if "items" in node.fields else ""


_VERBS = frozenset(
    "search list query find export all filter lookup browse get fetch read by self me current count".split()
)
_RECORD_LISTS = frozenset(
    "data items results records value values entries rows elements objects list content contents hits docs documents "
    "resources features members collection result response payload nodes edges".split()
)
_NEVER_RECORDS = frozenset(
    "schemas links errors warnings included facets aggregations sort sorts fields columns headers notices".split()
)
_NON_WORD = re.compile(r"[^a-z0-9]+")
_CAMEL_BREAK = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_IDENTIFIERS = frozenset({"id", "uuid", "guid", "key", "name", "slug"})
_MAX_NOUN = 32
_RECORDS_DEPTH = 2


@dataclass(frozen=True, slots=True)
class RecordShape:
    """The shape of a success response.

    `records_path` is dotted, "" for the payload itself, None if the document does not say. `response` holds the
    declared members and headers.
    """

    noun: str
    returns_many: bool
    records_path: str | None
    response: ResponseSchema | None = None


def read_record_shape(
    document: OpenApiDocument, reader: OperationReader, entry: OperationEntry, *, responses: ResponseReader
) -> RecordShape:
    """Return the shape of an operation's success response. Raises DocumentNotLoaded."""
    schema = success_schema(document, reader, entry)
    noun = record_noun(entry.path)
    response = responses.shape(entry, schema)
    if schema is None:
        return RecordShape(noun, returns_many=True, records_path=None, response=response)
    path = _records_path(document, schema, entry.path)
    is_single = path is None and bool(_members(document, schema)) and not _is_open(schema.fields)
    return RecordShape(noun, returns_many=not is_single, records_path=path, response=response)


def success_schema(document: OpenApiDocument, reader: OperationReader, entry: OperationEntry) -> DocumentNode | None:
    """Return the resolved JSON schema of the first success response that has one."""
    declared = entry.operation.child("responses")
    wanted = [code for code in declared.fields if code.upper().startswith("2")] + ["default"]
    for code in sorted(wanted, key=lambda code: (code == "default", code)):
        try:
            for media_type, media in reader.response(entry, declared.child(code)).child("content").members():
                if "json" in media_type.lower() or "*/*" in media_type:
                    schema = _resolve(document, document.resolve(media).child("schema"))
                    if schema.fields:
                        return schema
        except BrokenReference:
            continue
    return None


def declares_html(reader: OperationReader, entry: OperationEntry) -> bool:
    """Whether any response of an operation is declared as HTML."""
    for _, node in entry.operation.child("responses").members():
        try:
            content = reader.response(entry, node).child("content")
        except BrokenReference:
            continue
        if any("html" in media_type.lower() for media_type in content.fields):
            return True
    return False


def _resolve(document: OpenApiDocument, node: DocumentNode) -> DocumentNode:
    """Resolve a schema, and an `allOf` of a single part."""
    for _ in range(_RECORDS_DEPTH + 1):
        node = document.resolve(node)
        if "allOf" not in node.fields or "properties" in node.fields:
            return node
        parts = list(node.child("allOf").children())
        if len(parts) != 1:
            return node
        node = parts[0]
    return node


def _members(document: OpenApiDocument, schema: DocumentNode) -> dict[str, DocumentNode]:
    """Return the members of an object schema and its `allOf` parts."""
    found: dict[str, DocumentNode] = {}
    seen: dict[int, DocumentNode] = {}
    parts = [schema]
    while parts:
        part = parts.pop()
        if id(part.fields) in seen:
            continue
        seen[id(part.fields)] = part
        found = dict(part.child("properties").members()) | found
        if "allOf" in part.fields:
            parts += [_resolve_or_empty(document, inner) for inner in part.child("allOf").children()]
    return found


def _resolve_or_empty(document: OpenApiDocument, node: DocumentNode) -> DocumentNode:
    try:
        return _resolve(document, node)
    except BrokenReference:
        return node.with_value({})


def _records_path(
    document: OpenApiDocument, schema: DocumentNode, path: str, *, depth: int = _RECORDS_DEPTH
) -> str | None:
    if _is_array(schema):
        return ""
    lists = {}
    for name, node in _members(document, schema).items():
        member = _resolve_or_empty(document, node)
        if _is_array(member) and "." not in name and _bare_name(name) not in _NEVER_RECORDS:
            lists[name] = _resolve_or_empty(document, member.child("items"))
    preferred = [name for name in lists if _bare_name(name) in _RECORD_LISTS]
    if preferred:
        return min(preferred, key=lambda name: name not in ("data", "items", "results"))
    of_objects = [name for name, items in lists.items() if _members(document, items)]
    if len(of_objects) == 1 and not _is_one_record(document, schema, path):
        return of_objects[0]
    return _nested_path(document, schema, path, depth) if depth and not lists else None


def _nested_path(document: OpenApiDocument, schema: DocumentNode, path: str, depth: int) -> str | None:
    for name, node in _members(document, schema).items():
        if _bare_name(name) in _RECORD_LISTS or name in ("_embedded", "response", "result"):
            inner = _records_path(document, _resolve_or_empty(document, node), path, depth=depth - 1)
            if inner:
                return f"{name}.{inner}"
    return None


def _is_one_record(document: OpenApiDocument, schema: DocumentNode, path: str) -> bool:
    """Whether an object is a record itself: its path ends in a variable and it has an identifier."""
    is_addressed = path.split("#")[0].rstrip("/").endswith("}")
    return is_addressed and any(_bare_name(name) in _IDENTIFIERS for name in _members(document, schema))


def _bare_name(name: str) -> str:
    return name.lower().strip("_")


def _is_array(node: DocumentNode) -> bool:
    kind = node.fields.get("type")
    return kind == "array" or (isinstance(kind, list) and "array" in kind) or "items" in node.fields


def _is_open(fields: JsonObject) -> bool:
    return bool(fields.get("additionalProperties")) or "anyOf" in fields or "oneOf" in fields


def record_noun(path: str) -> str:
    """Return the plural noun of the records: the last path segment that is neither a variable nor a verb."""
    segments = [segment for segment in path.split("#")[0].split("?")[0].split("/") if segment]
    for segment in reversed(segments):
        bare = re.sub(r"\{[^}]*\}|\.json$", "", segment).rpartition(":")[0] or re.sub(r"\{[^}]*\}|\.json$", "", segment)
        noun = _NON_WORD.sub("_", _CAMEL_BREAK.sub("_", bare).lower()).strip("_")[:_MAX_NOUN].strip("_")
        if noun and noun not in _VERBS and not VERSION_SEGMENT.match(bare) and noun[0].isalpha():
            return noun
    return "records"
