"""Model of an operation, the same for every version of OpenAPI: path template, parameters, body, security."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType

from adapters.base import JsonObject, SkippedTool
from adapters.openapi.document.document import DocumentNode, OpenApiDocument

_VARIABLE = re.compile(r"\{([^{}/]+|[^{}=/]+=[^{}]*)\}")
_QUERY_EXPANSION = re.compile(r"\{[?&][^{}]*\}")
_COLON_VARIABLE = re.compile(r"(?<=/):([A-Za-z_]\w*)(?=/|$)")
_VARIABLE_SYNTAX = re.compile(r"^([+/]?)([^=:*/]+)(\*{0,2}|=.*|:.*)$", re.DOTALL)
_MULTI_SEGMENT = re.compile(r"[*/]|^:path$")
"""Suffixes of a variable that may span several path segments."""
_NO_VARIABLES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class PathTemplate:
    """A parsed path template.

    `path` has each variable as `{name}`; `multi_segment` are the variables that may span several segments.
    `query_variables` maps the variables in its query to their query names, `fixed_query` is the rest of that query.
    `fragment_variables` are those after a `#`.
    """

    path: str
    variables: tuple[str, ...]
    multi_segment: frozenset[str] = frozenset()
    query_variables: Mapping[str, str] = field(default_factory=lambda: _NO_VARIABLES)
    fixed_query: str = ""
    fragment_variables: tuple[str, ...] = ()

    def match_variable(self, name: str) -> str:
        """Return the variable of a parameter name, which may have decoration or another case."""
        variables = {**dict.fromkeys(self.variables), **dict.fromkeys(self.query_variables)}
        if name in variables:
            return name
        bare = bare_name(name)
        return next((one for one in variables if one.lower() == bare.lower()), name)


def bare_name(text: str) -> str:
    """Return the name of a variable without its modifiers."""
    found = _VARIABLE_SYNTAX.match(text.strip())
    return found[2].strip() if found else text


@lru_cache(maxsize=4096)
def parse_path_template(path: str) -> PathTemplate:
    """Parse a path template."""
    sent, _, unsent = _QUERY_EXPANSION.sub("", path).partition("#")
    sent, _, query = sent.partition("?")
    sent = _COLON_VARIABLE.sub(r"{\1}", sent)
    spelled = _VARIABLE.findall(sent)
    pairs = [pair.partition("=") for pair in query.split("&") if pair]
    query_variables = {bare_name(found[1]): name for name, _, value in pairs if (found := _VARIABLE.fullmatch(value))}
    return PathTemplate(
        path=_VARIABLE.sub(lambda found: "{" + bare_name(found[1]) + "}", sent),
        variables=tuple(dict.fromkeys(bare_name(text) for text in spelled)),
        multi_segment=frozenset(bare_name(text) for text in spelled if _spans_segments(text)),
        query_variables=query_variables,
        fixed_query="&".join("".join(pair) for pair in pairs if not _VARIABLE.fullmatch(pair[2])),
        fragment_variables=tuple(_VARIABLE.findall(unsent)),
    )


def _spans_segments(text: str) -> bool:
    found = _VARIABLE_SYNTAX.match(text.strip())
    return found is not None and (found[1] != "" or _MULTI_SEGMENT.search(found[3]) is not None)


METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_NO_ENCODINGS: Mapping[str, "ParameterEncoding"] = MappingProxyType({})


class ParameterLocation(StrEnum):
    """The part of a request that a parameter is in."""

    PATH = "path"
    QUERY = "query"
    HEADER = "header"
    COOKIE = "cookie"
    QUERYSTRING = "querystring"


class ParameterStyle(StrEnum):
    """Serialization style of a parameter; TAB is the `tsv` of Swagger 2.0."""

    FORM = "form"
    SIMPLE = "simple"
    LABEL = "label"
    MATRIX = "matrix"
    SPACE = "spaceDelimited"
    PIPE = "pipeDelimited"
    TAB = "tabDelimited"
    DEEP = "deepObject"
    COOKIE = "cookie"


_DELIMITED = (ParameterStyle.SPACE, ParameterStyle.PIPE, ParameterStyle.TAB)
STYLES: Mapping[ParameterLocation, tuple[ParameterStyle, ...]] = MappingProxyType(
    {
        ParameterLocation.PATH: (ParameterStyle.SIMPLE, ParameterStyle.LABEL, ParameterStyle.MATRIX, *_DELIMITED),
        ParameterLocation.QUERY: (ParameterStyle.FORM, *_DELIMITED, ParameterStyle.DEEP),
        ParameterLocation.HEADER: (ParameterStyle.SIMPLE, *_DELIMITED),
        ParameterLocation.COOKIE: (ParameterStyle.FORM, ParameterStyle.COOKIE),
        ParameterLocation.QUERYSTRING: (ParameterStyle.FORM,),
    }
)
"""The styles that each location allows, with those of Swagger 2.0; the first one is the default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterEncoding:
    """How a parameter is serialized: by its style, or as `media_type` if that is set.

    `keeps_slashes` if a value in a path may span several segments.
    """

    style: ParameterStyle
    is_exploded: bool
    allows_reserved: bool = False
    media_type: str | None = None
    keeps_slashes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationParameter:
    """One parameter; `schema` is None if the document has none."""

    name: str
    location: ParameterLocation
    encoding: ParameterEncoding
    schema: DocumentNode | None
    is_required: bool = False
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestBody:
    """The request body in the chosen media type; `encodings` are by member, for forms.

    `is_expected` if the document does not say whether it is required, and the method usually has a body.
    """

    media_type: str
    schema: DocumentNode | None
    is_required: bool
    is_expected: bool = False
    encodings: Mapping[str, ParameterEncoding] = field(default_factory=lambda: _NO_ENCODINGS)


@dataclass(frozen=True, slots=True)
class OperationEntry:
    """An operation in a document that has not been read yet."""

    method: str
    path: str
    item: DocumentNode
    operation: DocumentNode

    @property
    def locator(self) -> str:
        """Method and path: `GET /tickets`."""
        return f"{self.method} {self.path}"

    @property
    def template(self) -> PathTemplate:
        """The parsed path."""
        return parse_path_template(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation. `security` and `servers` are None if neither it nor its path declares them."""

    entry: OperationEntry
    description: str
    parameters: tuple[OperationParameter, ...]
    body: RequestBody | None
    responses: DocumentNode
    security: DocumentNode | None
    servers: DocumentNode | None
    is_deprecated: bool = False


def find_operations(
    document: OpenApiDocument, item: DocumentNode, path: str, skipped: list[SkippedTool]
) -> Iterator[OperationEntry]:
    """Yield the operations of one path item. Raises BrokenReference or DocumentNotLoaded if it is a reference."""
    target = document.resolve(item)
    if target is not item:
        target = target.with_value(target.fields | {key: value for key, value in item.fields.items() if key != "$ref"})
    for method in METHODS:
        if method in target.fields:
            yield from _usable_entry(
                document, OperationEntry(method.upper(), path, target, target.child(method)), skipped
            )
    for method, operation in target.child("additionalOperations").members():
        if method.isascii() and method.isalpha():
            yield from _usable_entry(document, OperationEntry(method, path, target, operation), skipped)
        else:
            skipped.append(SkippedTool(document.display_path(operation), f"invalid HTTP method '{method}'"))


def _usable_entry(
    document: OpenApiDocument, entry: OperationEntry, skipped: list[SkippedTool]
) -> Iterator[OperationEntry]:
    if isinstance(entry.operation.value, dict):
        yield entry
    else:
        skipped.append(SkippedTool(document.display_path(entry.operation), "the operation must be an object"))


def join_texts(fields: JsonObject, *keys: str) -> str:
    """Join the texts under some keys as sentences, without duplicates."""
    texts = [fields[key].strip() for key in keys if isinstance(fields.get(key), str)]
    distinct = [text for index, text in enumerate(texts) if text and text not in texts[:index]]
    ended = [text if text.endswith((".", "!", "?", ":", ">")) else f"{text}." for text in distinct[:-1]]
    return "\n".join([*ended, *distinct[-1:]])
