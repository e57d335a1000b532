"""One operation as every version of OpenAPI means it: method, path, parameters, body, responses, security.

Knows where a document keeps these and what it may leave out. Knows no tool, no argument and no request.
"""

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
"""What stands behind a name where several segments may stand for it."""
_NO_VARIABLES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class PathTemplate:
    """The template of one path.

    `path` has each variable as `{name}`. `multi_segment` are those variables that several segments may stand for. `query_variables` are
    the names in the query of the variables that stand there, `fixed_query` is the rest of that query. `fragment_variables` are the
    variables behind a `#`.
    """

    path: str
    variables: tuple[str, ...]
    multi_segment: frozenset[str] = frozenset()
    query_variables: Mapping[str, str] = field(default_factory=lambda: _NO_VARIABLES)
    fixed_query: str = ""
    fragment_variables: tuple[str, ...] = ()

    def match_variable(self, name: str) -> str:
        """The variable that a parameter means: its own name, that name without decoration, or in another case."""
        known = {**dict.fromkeys(self.variables), **dict.fromkeys(self.query_variables)}
        if name in known:
            return name
        bare = bare_name(name)
        return next((one for one in known if one.lower() == bare.lower()), name)


def bare_name(text: str) -> str:
    """The name inside a variable, without what says how it is written."""
    found = _VARIABLE_SYNTAX.match(text.strip())
    return found[2].strip() if found else text


@lru_cache(maxsize=4096)
def parse_path_template(path: str) -> PathTemplate:
    """A path taken apart."""
    sent, _, unsent = _QUERY_EXPANSION.sub("", path).partition("#")
    sent, _, query = sent.partition("?")
    sent = _COLON_VARIABLE.sub(r"{\1}", sent)
    spelled = _VARIABLE.findall(sent)
    pairs = [pair.partition("=") for pair in query.split("&") if pair]
    asked = {bare_name(found[1]): name for name, _, value in pairs if (found := _VARIABLE.fullmatch(value))}
    return PathTemplate(
        path=_VARIABLE.sub(lambda found: "{" + bare_name(found[1]) + "}", sent),
        variables=tuple(dict.fromkeys(bare_name(text) for text in spelled)),
        multi_segment=frozenset(bare_name(text) for text in spelled if _spans_segments(text)),
        query_variables=asked,
        fixed_query="&".join("".join(pair) for pair in pairs if not _VARIABLE.fullmatch(pair[2])),
        fragment_variables=tuple(_VARIABLE.findall(unsent)),
    )


def _spans_segments(text: str) -> bool:
    found = _VARIABLE_SYNTAX.match(text.strip())
    return found is not None and (found[1] != "" or _MULTI_SEGMENT.search(found[3]) is not None)


_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_NO_ENCODINGS: Mapping[str, "ParameterEncoding"] = MappingProxyType({})


class ParameterLocation(StrEnum):
    """Where in a request a value stands."""

    PATH = "path"
    QUERY = "query"
    HEADER = "header"
    COOKIE = "cookie"
    QUERYSTRING = "querystring"


class ParameterStyle(StrEnum):
    """How a value is written; TAB is Swagger 2.0's `tsv`."""

    FORM = "form"
    SIMPLE = "simple"
    LABEL = "label"
    MATRIX = "matrix"
    SPACE = "spaceDelimited"
    PIPE = "pipeDelimited"
    TAB = "tabDelimited"
    DEEP = "deepObject"
    COOKIE = "cookie"


STYLES: Mapping[ParameterLocation, tuple[ParameterStyle, ...]] = MappingProxyType(
    {
        ParameterLocation.PATH: (
            ParameterStyle.SIMPLE,
            ParameterStyle.LABEL,
            ParameterStyle.MATRIX,
            ParameterStyle.SPACE,
            ParameterStyle.PIPE,
            ParameterStyle.TAB,
        ),
        ParameterLocation.QUERY: (
            ParameterStyle.FORM,
            ParameterStyle.SPACE,
            ParameterStyle.PIPE,
            ParameterStyle.TAB,
            ParameterStyle.DEEP,
        ),
        ParameterLocation.HEADER: (
            ParameterStyle.SIMPLE,
            ParameterStyle.SPACE,
            ParameterStyle.PIPE,
            ParameterStyle.TAB,
        ),
        ParameterLocation.COOKIE: (ParameterStyle.FORM, ParameterStyle.COOKIE),
        ParameterLocation.QUERYSTRING: (ParameterStyle.FORM,),
    }
)
"""The styles that each location allows, Swagger 2.0's collection formats included; the first one is the default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterEncoding:
    """How a value is written where a style applies; with `media_type` it is written as that instead.

    `keeps_slashes` says that a value in a path may be several segments of it.
    """

    style: ParameterStyle
    is_exploded: bool
    allows_reserved: bool = False
    media_type: str | None = None
    keeps_slashes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationParameter:
    """One parameter; `schema` is None where the document has none."""

    name: str
    location: ParameterLocation
    encoding: ParameterEncoding
    schema: DocumentNode | None
    is_required: bool = False
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestBody:
    """The request body in the media type that was chosen; `encodings` are by member, for forms.

    `is_expected` where the document does not say whether it is required and the method is one that sends a body.
    """

    media_type: str
    schema: DocumentNode | None
    is_required: bool
    is_expected: bool = False
    encodings: Mapping[str, ParameterEncoding] = field(default_factory=lambda: _NO_ENCODINGS)


@dataclass(frozen=True, slots=True)
class OperationEntry:
    """An operation that has been found and not been read."""

    method: str
    path: str
    item: DocumentNode
    operation: DocumentNode

    @property
    def locator(self) -> str:
        """`GET /tickets`."""
        return f"{self.method} {self.path}"

    @property
    def template(self) -> PathTemplate:
        """The path taken apart."""
        return parse_path_template(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation. `security` and `servers` are None where neither it nor its path says anything about them."""

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
    """The operations of one path item. Raises BrokenReference or NotLoaded where the item is kept elsewhere."""
    target = document.resolve(item)
    if target is not item:
        target = target.with_value(target.fields | {key: value for key, value in item.fields.items() if key != "$ref"})
    for method in _METHODS:
        if method in target.fields:
            yield from _usable_entry(
                document, OperationEntry(method.upper(), path, target, target.child(method)), skipped
            )
    for method, operation in target.child("additionalOperations").members():
        if method.isascii() and method.isalpha():
            yield from _usable_entry(document, OperationEntry(method, path, target, operation), skipped)
        else:
            skipped.append(SkippedTool(document.display_path(operation), f"'{method}' is no method"))


def _usable_entry(
    document: OpenApiDocument, entry: OperationEntry, skipped: list[SkippedTool]
) -> Iterator[OperationEntry]:
    if isinstance(entry.operation.value, dict):
        yield entry
    else:
        skipped.append(SkippedTool(document.display_path(entry.operation), "the operation is no object"))


def join_texts(fields: JsonObject, *keys: str) -> str:
    """The texts under some keys as sentences, in order, without repetition."""
    texts = [fields[key].strip() for key in keys if isinstance(fields.get(key), str)]
    distinct = [text for index, text in enumerate(texts) if text and text not in texts[:index]]
    ended = [text if text.endswith((".", "!", "?", ":", ">")) else f"{text}." for text in distinct[:-1]]
    return "\n".join([*ended, *distinct[-1:]])
