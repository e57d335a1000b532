"""Validates requests and responses of one operation with openapi-core.

openapi-core gets a small self-contained document per operation: OpenAPI 3.1 with one path. Parameters in simple styles
are read back from the built request; those in styles that openapi-core reads incorrectly are passed as JSON values. The
library takes seconds to import: import this module late.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote

from jsonschema_path import SchemaPath
from openapi_core import V31RequestValidator, V31ResponseValidator
from openapi_core.deserializing.styles.exceptions import EmptyQueryParameterValue
from openapi_core.exceptions import OpenAPIError
from openapi_core.testing import MockRequest, MockResponse
from openapi_core.validation.request.exceptions import ParameterValidationError
from openapi_core.validation.schemas.exceptions import InvalidSchemaValue

from adapters.base import Json, JsonObject
from adapters.errors import ValidationUnavailable
from adapters.json_text import compact_json
from adapters.openapi.document.document import BrokenReference, DocumentNode, OpenApiDocument
from adapters.openapi.operation.model import Operation, OperationParameter, ParameterLocation, ParameterStyle
from adapters.openapi.operation.reader import OperationReader
from adapters.openapi.request.builder import BuiltRequest
from adapters.openapi.schema.normalize import Direction, allows_null, make_nullable, normalize_schema

_MAX_NODES, _MAX_DEPTH = 50_000, 60


class SchemaBundle:
    """Schemas of one direction with everything that they refer to. A broken reference allows any value.

    Beyond 50,000 nodes any value is allowed, so that documents that expand exponentially do no harm.
    """

    def __init__(self, document: OpenApiDocument, direction: Direction) -> None:
        self._document, self._direction = document, direction
        self._names: dict[tuple[str, str, bool], str] = {}
        self._nodes = 0
        self._pending: list[tuple[str, DocumentNode, bool]] = []

    def schema(self, node: DocumentNode, *, depth: int = 0, is_part: bool = False) -> JsonObject:
        """Convert the schema at a node; a part of `allOf` is left open. Raises DocumentNotLoaded."""
        self._nodes += 1
        if self._nodes > _MAX_NODES or depth > _MAX_DEPTH:
            return {}
        if isinstance(node.fields.get("$ref"), str):
            return self._reference(node, is_part=is_part)
        out = normalize_schema(
            node, self._direction, lambda inner: self.schema(inner, depth=depth + 1, is_part=_is_all_of_part(inner))
        )
        if out.get("additionalProperties") is False and (is_part or "allOf" in out):
            del out["additionalProperties"]
            out |= {} if is_part else {"unevaluatedProperties": False}
        if self._direction is Direction.RESPONSE:
            out.pop("pattern", None)  # a hostile pattern could take forever on a response
        return out

    def components(self) -> JsonObject:
        """Return the schemas that are referred to, by name."""
        done: JsonObject = {}
        while self._pending:
            name, node, is_part = self._pending.pop()
            done[name] = self.schema(node, is_part=is_part)
        return done

    def _reference(self, node: DocumentNode, *, is_part: bool) -> JsonObject:
        try:
            target = self._document.resolve(node)
        except BrokenReference:
            return {}
        key = (target.uri, target.pointer, is_part)
        if key not in self._names:
            self._names[key] = f"{self._direction}{len(self._names) + 1}"
            self._pending.append((self._names[key], target, is_part))
        out: JsonObject = {"$ref": f"#/components/schemas/{self._names[key]}"}
        return make_nullable(out) if allows_null(node.fields) else out


def _is_all_of_part(node: DocumentNode) -> bool:
    return node.pointer.rpartition("/")[0].endswith("/allOf")


_PATH, _HOST = "/operation", "http://check.invalid"
_SCALAR_TYPES = frozenset({"string", "integer", "number", "boolean"})
_MAX_FAULT_CHARS = 240
_MAX_FAULTS = 8


@dataclass(frozen=True, slots=True)
class OperationCheck:
    """Validates one operation. `from_request` are the parameters that are read back from the built request."""

    spec: SchemaPath
    from_request: frozenset[tuple[ParameterLocation, str]]
    names: dict[tuple[str, str], str]
    has_responses: bool

    def request_faults(self, built: BuiltRequest) -> tuple[str, ...]:
        """Return `argument: problem` for each fault. Raises ValidationUnavailable."""
        try:
            errors = list(V31RequestValidator(self.spec).iter_errors(self._request(built)))
            faults = [fault for error in errors for fault in self._request_fault(error)]
        except Exception as error:
            raise ValidationUnavailable(f"{type(error).__name__}: {error}"[:_MAX_FAULT_CHARS]) from error
        return tuple(faults[:_MAX_FAULTS])

    def response_faults(self, status: int, payload: Json) -> tuple[str, ...]:
        """Return `member: problem` for each fault of a JSON payload. Raises ValidationUnavailable."""
        if not self.has_responses:
            return ()
        request = MockRequest(_HOST, "post", _PATH, path_pattern=_PATH)
        response = MockResponse(compact_json(payload).encode("utf-8", "replace"), status_code=status)
        try:
            errors = list(V31ResponseValidator(self.spec).iter_errors(request, response))
            faults = [fault for error in errors for fault in _faults_in(error, "response")]
        except Exception as error:
            raise ValidationUnavailable(f"{type(error).__name__}: {error}"[:_MAX_FAULT_CHARS]) from error
        return tuple(faults[:_MAX_FAULTS])

    def _request(self, built: BuiltRequest) -> MockRequest:
        query, path = dict(_query_values(built)), {name: unquote(text) for name, text in built.path_texts.items()}
        headers = {name: value for name, value in built.headers if name != "cookie"}
        cookies: dict[str, Json] = {}
        for (location, name), value in built.values.items():
            if (location, name) not in self.from_request:
                place = {
                    ParameterLocation.PATH: path,
                    ParameterLocation.HEADER: headers,
                    ParameterLocation.COOKIE: cookies,
                }.get(location, query)
                place[name] = compact_json(value)
        return MockRequest(
            _HOST, "post", _PATH, path_pattern=_PATH, args=query, view_args=path, headers=headers, cookies=cookies,
            data=compact_json(built.body_value).encode("utf-8", "replace") if built.has_body else None,
        )  # fmt: skip

    def _request_fault(self, error: Exception) -> Iterator[str]:
        if isinstance(error.__cause__, EmptyQueryParameterValue):
            return
        if isinstance(error, ParameterValidationError):
            whole_query = self.names.get((ParameterLocation.QUERYSTRING.value, error.name))
            name = self.names.get((error.location, error.name), whole_query)
            if name is not None:  # else a credential fills it, which no argument can fix
                yield from _faults_in(error, name)
        else:
            yield from _faults_in(error, "body")


def _query_values(built: BuiltRequest) -> dict[str, list[str]]:
    pairs: dict[str, list[str]] = {}
    for name, value in parse_qsl(built.query, keep_blank_values=True):
        pairs.setdefault(name, []).append(value)
    return pairs


def _faults_in(error: Exception, where: str) -> Iterator[str]:
    """Yield the faults in an error: each of its schema errors, else its message. Other errors are raised."""
    cause = error.__cause__ if error.__cause__ is not None else error
    if isinstance(cause, InvalidSchemaValue):
        for inner in cause.schema_errors:
            path = ".".join(str(part) for part in getattr(inner, "absolute_path", ()))
            yield _fault(f"{where}.{path}" if path else where, str(getattr(inner, "message", inner)))
    elif isinstance(cause, OpenAPIError):
        yield _fault(where, str(cause))
    else:
        raise cause


def _fault(where: str, text: str) -> str:
    text = " ".join(text.split())
    return f"{where}: {text if len(text) <= _MAX_FAULT_CHARS else text[:_MAX_FAULT_CHARS] + '…'}"


def build_operation_check(
    document: OpenApiDocument, reader: OperationReader, operation: Operation, names: dict[tuple[str, str], str]
) -> OperationCheck:
    """Build the check of one operation. Raises DocumentNotLoaded if another file is needed."""
    request, response = SchemaBundle(document, Direction.REQUEST), SchemaBundle(document, Direction.RESPONSE)
    from_request: set[tuple[ParameterLocation, str]] = set()
    described: JsonObject = {
        "parameters": [_describe_parameter(one, request, from_request) for one in operation.parameters]
    }
    if operation.body is not None:
        schema = request.schema(operation.body.schema) if operation.body.schema else {}
        content = {"application/json": {"schema": schema}}
        described["requestBody"] = {"required": operation.body.is_required, "content": content}
    responses = _describe_responses(document, reader, operation, response)
    described["responses"] = responses or {"default": {"description": ""}}
    spec = {
        "openapi": "3.1.0",
        "info": {"title": operation.entry.locator, "version": "1"},
        "servers": [{"url": _HOST}],
        "paths": {_PATH: {"post": described}},
        "components": {"schemas": request.components() | response.components()},
    }
    return OperationCheck(SchemaPath.from_dict(spec), frozenset(from_request), names, bool(responses))


def _describe_parameter(
    parameter: OperationParameter, bundle: SchemaBundle, from_request: set[tuple[ParameterLocation, str]]
) -> JsonObject:
    schema = bundle.schema(parameter.schema) if parameter.schema is not None else {}
    location = ParameterLocation.QUERY if parameter.location is ParameterLocation.QUERYSTRING else parameter.location
    described: JsonObject = {"name": parameter.name, "in": location.value, "required": parameter.is_required}
    kinds = [kind for kind in _as_list(schema.get("type")) if kind != "null"]
    if _is_simple(parameter) and len(kinds) == 1 and kinds[0] in _SCALAR_TYPES:
        from_request.add((parameter.location, parameter.name))
        return described | {"schema": schema | {"type": kinds[0]}}
    return described | {"content": {"application/json": {"schema": schema}}}


def _is_simple(parameter: OperationParameter) -> bool:
    is_simple = (
        parameter.encoding.style in (ParameterStyle.FORM, ParameterStyle.SIMPLE)
        and parameter.encoding.media_type is None
    )
    return is_simple and parameter.location in (
        ParameterLocation.PATH,
        ParameterLocation.QUERY,
        ParameterLocation.HEADER,
    )


def _as_list(kind: Json) -> list[Json]:
    return kind if isinstance(kind, list) else [kind]


def _describe_responses(
    document: OpenApiDocument, reader: OperationReader, operation: Operation, bundle: SchemaBundle
) -> JsonObject:
    """Describe the success and default responses that have a JSON schema."""
    found: JsonObject = {}
    for code, node in operation.responses.members():
        if code[:1] != "2" and code != "default":
            continue
        try:
            content = reader.response(operation.entry, node).child("content")
            for media_type, media in content.members():
                schema = document.resolve(media).child("schema")
                if "json" in media_type.lower() and schema.value is not None:
                    described = {"application/json": {"schema": bundle.schema(schema)}}
                    found[code.upper() if code != "default" else code] = {"description": "", "content": described}
                    break
        except BrokenReference:
            continue
    return found
