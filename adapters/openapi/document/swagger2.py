"""Converts Swagger 2.0 to OpenAPI 3, node by node. Nodes must be resolved; schemas need no conversion."""

from adapters.base import Json, JsonObject
from adapters.openapi.document.document import DocumentNode

_COLLECTION_FORMATS = {
    "multi": ("form", True),
    "csv": (None, False),
    "ssv": ("spaceDelimited", False),
    "pipes": ("pipeDelimited", False),
    "tsv": ("tabDelimited", False),
}
_NON_SCHEMA_FIELDS = frozenset({"name", "in", "required", "description", "collectionFormat", "allowEmptyValue", "$ref"})
_COPIED_FIELDS = frozenset({"name", "in", "required", "description"})
_FORM, _PARTS = "application/x-www-form-urlencoded", "multipart/form-data"
_FLOW_NAMES = {"accessCode": "authorizationCode", "application": "clientCredentials"}


def is_swagger2(root: DocumentNode) -> bool:
    """Whether a document is Swagger 2.0."""
    return str(root.fields.get("swagger", "")).startswith("2")


def is_swagger2_parameter(fields: JsonObject) -> bool:
    """Whether a parameter is written in Swagger 2.0, regardless of the version that the document declares."""
    return "type" in fields and "schema" not in fields and "content" not in fields


def convert_parameter(node: DocumentNode) -> DocumentNode:
    """Convert a non-body parameter: its schema moves to `schema`, its collection format to style and explode."""
    fields = node.fields
    schema = {key: value for key, value in fields.items() if key not in _NON_SCHEMA_FIELDS and not key.startswith("x-")}
    out: JsonObject = {key: fields[key] for key in fields if key in _COPIED_FIELDS or key.startswith("x-")}
    style, explode = _style_of(fields)
    if schema.get("type") == "array":
        out |= {"explode": explode} | ({"style": style} if style else {})
    return node.with_value(out | {"schema": schema})


def convert_body(operation: DocumentNode, found: list[DocumentNode], media_types: list[str]) -> DocumentNode:
    """Convert `in: body` and `in: formData` parameters to a request body; a node of None if there are none."""
    whole = next((node for node in found if _is_in(node, "body")), None)
    if whole is not None:
        kinds = media_types or ["application/json"]
        content = {kind: {"schema": whole.fields.get("schema", {})} for kind in kinds}
        is_required = {"required": whole.fields["required"] is True} if "required" in whole.fields else {}
        return whole.with_value(is_required | {"content": content})
    form = [node.fields for node in found if _is_in(node, "formdata")]
    if not form:
        return operation.with_value(None)
    has_file = any(fields.get("type") == "file" for fields in form)
    kind = _PARTS if has_file or (_PARTS in media_types and _FORM not in media_types) else _FORM
    required = [fields["name"] for fields in form if fields.get("required") is True]
    schema = {"type": "object", "properties": {f["name"]: _form_member(f) for f in form}, "required": required}
    content = {kind: {"schema": schema, "encoding": _encodings(form)}}
    return operation.with_value({"required": bool(required), "content": content})


def _is_in(node: DocumentNode, place: str) -> bool:
    return str(node.fields.get("in")).strip().lower() == place


def _form_member(fields: JsonObject) -> JsonObject:
    schema = {key: value for key, value in fields.items() if key not in _NON_SCHEMA_FIELDS}
    if fields.get("type") == "file":
        schema |= {"type": "string", "format": "binary"}
    return schema | ({"description": fields["description"]} if "description" in fields else {})


def _encodings(form: list[JsonObject]) -> JsonObject:
    arrays = [fields for fields in form if fields.get("type") == "array"]
    formats = {fields["name"]: _style_of(fields) for fields in arrays}
    return {name: {"style": style or "form", "explode": explode} for name, (style, explode) in formats.items()}


def _style_of(fields: JsonObject) -> tuple[str | None, bool]:
    return _COLLECTION_FORMATS.get(str(fields.get("collectionFormat", "csv")), (None, False))


def convert_response(node: DocumentNode, media_types: list[str]) -> DocumentNode:
    """Convert a response: its schema moves to `content`."""
    fields = node.fields
    if "schema" not in fields:
        return node
    content = {kind: {"schema": fields["schema"]} for kind in media_types or ["application/json"]}
    return node.with_value({key: value for key, value in fields.items() if key != "schema"} | {"content": content})


def convert_security_scheme(fields: JsonObject) -> JsonObject:
    """Convert a security scheme."""
    if fields.get("type") == "basic":
        return fields | {"type": "http", "scheme": "basic"}
    if fields.get("type") == "oauth2":
        flow = str(fields.get("flow", ""))
        return {"type": "oauth2", "flows": {_FLOW_NAMES.get(flow, flow): {"tokenUrl": fields.get("tokenUrl")}}}
    return fields


def convert_servers(root: DocumentNode) -> list[JsonObject]:
    """Convert host, basePath and schemes to servers; without a host, to one relative to the document."""
    fields = root.fields
    base = str(fields.get("basePath") or "/")
    host = fields.get("host")
    if not isinstance(host, str) or not host:
        return [{"url": base}]
    scheme, separator, rest = host.strip().partition("://")
    host = (rest if separator else scheme).strip("/")
    schemes = [kind for kind in strings_in(fields.get("schemes")) or [scheme] if kind in ("http", "https")]
    ordered = sorted(schemes, key=lambda kind: kind != "https") or [""]
    return [{"url": f"{kind + ':' if kind else ''}//{host}/{base.lstrip('/')}"} for kind in ordered]


def strings_in(value: Json) -> list[str]:
    """Return the strings of a value if it is a list."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
