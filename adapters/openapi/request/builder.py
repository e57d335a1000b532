"""Builds the HTTP request of a tool call: path, query, headers, cookies and body from its arguments.

Does not validate schemas. It refuses unknown and missing arguments, path values that would lead to another path, and
control characters in headers.
"""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote

import httpx2

from adapters.base import Json, JsonObject, PageAddress
from adapters.json_text import compact_json
from adapters.openapi.auth.schemes import Credential, credential_headers
from adapters.openapi.operation.media_types import BodyFormat, bare_media_type, body_format
from adapters.openapi.operation.model import OperationParameter, ParameterLocation
from adapters.openapi.operation.serialization import (
    Pairs,
    encode_cookie,
    encode_header,
    encode_multipart,
    encode_path,
    encode_query,
    encode_urlencoded,
    is_undefined,
    join_pairs,
    to_text,
)
from adapters.openapi.request.path_values import allows_separators, has_dot_segment, path_value_fault
from adapters.openapi.tools.tool import OpenApiTool

_VARIABLE = re.compile(r"\{([^{}/]+)\}")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_PATH_SAFE = "-._~!$&'()*+,;=:@%/"


class InvalidArguments(Exception):
    """The request cannot be built; `violations` are `argument: problem`."""

    def __init__(self, violations: tuple[str, ...]) -> None:
        super().__init__("; ".join(violations))
        self.violations = violations


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BuiltRequest:
    """A built request; `values` are the parameters by location and name, `body_value` the value of the body.

    `path_texts` are the encoded values of the path variables.
    """

    method: str
    url: httpx2.URL
    headers: tuple[tuple[str, str], ...]
    body: bytes | None
    values: Mapping[tuple[ParameterLocation, str], Json]
    path_texts: Mapping[str, str]
    query: str
    cookies: Pairs
    body_value: Json = None
    has_body: bool = False


def build_request(
    tool: OpenApiTool, arguments: Mapping[str, Json], *, base: httpx2.URL, credentials: tuple[Credential, ...]
) -> BuiltRequest:
    """Build the request for some arguments. Raises InvalidArguments, which names every invalid argument."""
    given = dict(tool.binding.defaults) | dict(arguments)
    _check_names(tool, given)
    values = {
        (parameter.location, parameter.name): given[name]
        for name, parameter in tool.binding.parameters.items()
        if name in given and not (given[name] is None and parameter.encoding.media_type is None)
    }
    parameters = {(one.location, one.name): one for one in tool.binding.parameters.values()}
    path, texts = _build_path(tool, values, parameters)
    query = _build_query(tool, values, parameters, credentials)
    cookies = _build_cookies(values, parameters, credentials)
    headers = _build_headers(values, parameters, cookies, credentials)
    has_body, value = _body_value(tool, given)
    body, content_type = _encode_body(tool, value) if has_body else (None, None)
    return BuiltRequest(
        method=tool.operation.entry.method,
        url=with_query(_append_path(base, path), query),
        headers=(*headers, *((("content-type", content_type),) if content_type else ())),
        body=body,
        values=values,
        path_texts=texts,
        query=query,
        cookies=cookies,
        body_value=value,
        has_body=has_body,
    )


def _check_names(tool: OpenApiTool, given: JsonObject) -> None:
    names = tool.binding.arguments
    violations = [f"{name}: {_unknown_argument(name, names)}" for name in given if name not in names]
    missing = [
        f"{name}: missing required argument"
        for name, parameter in tool.binding.parameters.items()
        if parameter.is_required and given.get(name) is None
    ]
    if violations or missing:
        raise InvalidArguments((*violations, *missing))


def _unknown_argument(name: str, names: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    return "unknown argument" + (f"; did you mean '{near[0]}'?" if near else "")


def _build_path(
    tool: OpenApiTool,
    values: Mapping[tuple[ParameterLocation, str], Json],
    parameters: Mapping[tuple[ParameterLocation, str], OperationParameter],
) -> tuple[str, dict[str, str]]:
    """Return the encoded path and variables. A value cannot add or remove segments or change the directory."""
    texts, faults = {}, []
    template = tool.operation.entry.template
    for name in template.variables:
        place = (ParameterLocation.PATH, name)
        texts[name] = encode_path(name, values[place], parameters[place].encoding) if place in values else ""
        if not texts[name]:
            faults.append(f"{name}: a path value must not be empty")
        elif fault := _path_fault(tool, values[place], parameters[place]):
            faults.append(f"{name}: {fault}")
    segments = []
    for segment in template.path.split("/"):
        filled = _VARIABLE.sub(lambda match: texts[match.group(1)], segment)
        if filled != segment and not faults and has_dot_segment(filled):
            faults.append(f"{segment}: '{unquote(filled)}' would change the path")
        segments.append(filled if filled != segment else quote(filled, safe=_PATH_SAFE))
    if faults:
        raise InvalidArguments(tuple(faults))
    return "/".join(segments), texts


def _path_fault(tool: OpenApiTool, value: Json, parameter: OperationParameter) -> str | None:
    is_allowed = tool.binding.allows_slashes or allows_separators(parameter)
    return path_value_fault(value, may_have_separators=is_allowed)


def _build_query(
    tool: OpenApiTool,
    values: Mapping[tuple[ParameterLocation, str], Json],
    parameters: Mapping[tuple[ParameterLocation, str], OperationParameter],
    credentials: tuple[Credential, ...],
) -> str:
    fixed = tool.operation.entry.template.fixed_query
    parts = [quote(fixed, safe=_PATH_SAFE + "?")] if fixed else []
    for (location, name), value in values.items():
        if location is ParameterLocation.QUERY:
            parts.append(join_pairs(encode_query(name, value, parameters[location, name].encoding)))
        elif location is ParameterLocation.QUERYSTRING:
            parts.append(_encode_whole_query(value, parameters[location, name]))
    parts += _query_credentials(credentials)
    return "&".join(part for part in parts if part)


def _query_credentials(credentials: tuple[Credential, ...], names: frozenset[str] = frozenset()) -> list[str]:
    """Encode the credentials of the query, except those with some names."""
    shown = (one for one in credentials if one.location is ParameterLocation.QUERY and one.field not in names)
    return [f"{quote(one.field, safe='')}={quote(one.value, safe='')}" for one in shown]


def _encode_whole_query(value: Json, parameter: OperationParameter) -> str:
    """Encode `in: querystring` of OpenAPI 3.2, where the whole query is one value."""
    if isinstance(value, dict) and "json" not in (parameter.encoding.media_type or ""):
        return encode_urlencoded(value, {})
    return quote(to_text(value), safe="=&" if isinstance(value, str) else "")


def _build_cookies(
    values: Mapping[tuple[ParameterLocation, str], Json],
    parameters: Mapping[tuple[ParameterLocation, str], OperationParameter],
    credentials: tuple[Credential, ...],
) -> Pairs:
    pairs = [
        pair
        for (location, name), value in values.items()
        if location is ParameterLocation.COOKIE
        for pair in encode_cookie(name, value, parameters[location, name].encoding)
    ]
    return pairs + [
        (one.field, quote(one.value, safe="")) for one in credentials if one.location is ParameterLocation.COOKIE
    ]


def _build_headers(
    values: Mapping[tuple[ParameterLocation, str], Json],
    parameters: Mapping[tuple[ParameterLocation, str], OperationParameter],
    cookies: Pairs,
    credentials: tuple[Credential, ...],
) -> tuple[tuple[str, str], ...]:
    own = [
        (name, encode_header(value, parameters[location, name].encoding))
        for (location, name), value in values.items()
        if location is ParameterLocation.HEADER
        and (parameters[location, name].encoding.media_type is not None or not is_undefined(value))
    ]
    if cookies:
        own.append(("cookie", "; ".join(f"{name}={value}" for name, value in cookies)))
    faults = [f"{name}: a header must not contain control characters" for name, value in own if _CONTROL.search(value)]
    faults += [f"{name}: a cookie must not contain a semicolon" for name, value in cookies if ";" in value]
    if faults:
        raise InvalidArguments(tuple(faults))
    taken = {name.lower() for name, _ in credential_headers(credentials)}
    return (
        ("accept", "application/json, */*;q=0.5"),
        *(h for h in own if h[0].lower() not in taken),
        *credential_headers(credentials),
    )


def _body_value(tool: OpenApiTool, given: JsonObject) -> tuple[bool, Json]:
    """Return whether a body is sent, and its value."""
    binding, body = tool.binding, tool.operation.body
    if body is None:
        return False, None
    if binding.whole_body is not None:
        if binding.whole_body in given:
            return True, given[binding.whole_body]
        if body.is_required:
            raise InvalidArguments((f"{binding.whole_body}: missing required argument",))
        return False, None
    members = {wire: given[name] for name, wire in binding.members.items() if name in given}
    return bool(members) or body.is_required, members


def _encode_body(tool: OpenApiTool, value: Json) -> tuple[bytes, str]:
    """Encode a body and return it with its content type."""
    body = tool.operation.body
    assert body is not None  # noqa: S101  only called with a body
    kind = bare_media_type(body.media_type)
    match body_format(body.media_type):
        case BodyFormat.FORM if isinstance(value, dict):
            return encode_urlencoded(value, body.encodings).encode(), kind
        case BodyFormat.PARTS if isinstance(value, dict):
            return encode_multipart(value, tool.binding.files, body.encodings)
        case BodyFormat.TEXT:
            return _to_bytes(to_text(value)), f"{kind}; charset=utf-8"
        case BodyFormat.BYTES:
            return _to_bytes(to_text(value)), kind
        case BodyFormat.MARKUP:
            return _to_bytes(to_text(value)), body.media_type
        case BodyFormat.LINES if isinstance(value, list):
            return _to_bytes("".join(f"{compact_json(item)}\n" for item in value)), kind
        case _:
            return _to_bytes(compact_json(value)), "application/json" if "*" in kind else body.media_type


def _to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _append_path(base: httpx2.URL, path: str) -> httpx2.URL:
    """Append a path to that of the base URL. It begins with a single slash, so it cannot name another host."""
    own = base.raw_path.split(b"?")[0].decode("ascii").rstrip("/")
    return base.copy_with(raw_path=f"{own}/{path.lstrip('/')}".encode("ascii"))


def with_query(url: httpx2.URL, query: str) -> httpx2.URL:
    """Replace the query of a URL with an encoded one."""
    path = url.raw_path.split(b"?")[0]
    return url.copy_with(raw_path=path + (b"?" + query.encode("ascii") if query else b""))


def undeclared_page_arguments(tool: OpenApiTool, page: PageAddress) -> dict[str, Json]:
    """Return page arguments that the document does not declare; only GET requests may have them."""
    if tool.operation.entry.method != "GET" or page.operation is not None:
        return {}
    return {
        name: value for name, value in page.arguments.items() if name not in tool.binding.arguments and "/" not in name
    }


def with_page_query(url: httpx2.URL, page: Mapping[str, Json]) -> httpx2.URL:
    """Append undeclared page arguments to the query of a URL."""
    own = url.query.decode("ascii")
    added = [f"{quote(name, safe='')}={quote(to_text(value), safe='')}" for name, value in page.items()]
    return with_query(url, "&".join(part for part in (own, *added) if part)) if added else url


def with_credentials(url: httpx2.URL, credentials: tuple[Credential, ...]) -> httpx2.URL:
    """Add the query credentials to a URL from a response, unless it has them."""
    query = url.query.decode("ascii")
    names = frozenset(unquote(pair.partition("=")[0]) for pair in query.split("&"))
    added = _query_credentials(credentials, names)
    return with_query(url, "&".join(part for part in (query, *added) if part)) if added else url
