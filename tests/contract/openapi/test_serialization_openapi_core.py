"""Sent requests are read back by openapi-core, which must find the original values, whatever characters they have.

If openapi-core itself is wrong, the case has the reason; then only the examples of the specifications apply.
"""

from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema_path import SchemaPath
from openapi_core import V31RequestUnmarshaller
from openapi_core.testing import MockRequest
from werkzeug.datastructures import ImmutableMultiDict
from werkzeug.test import create_environ
from werkzeug.wrappers import Request

from adapters.openapi.request.path_values import path_value_fault


def one_parameter(place: str, **fields: Any) -> dict[str, Any]:
    path = "/x/v{v}" if place == "path" else "/x"
    parameter = {"name": "v", "in": place, "required": place == "path"} | fields
    return {path: {"post": {"operationId": "op", "parameters": [parameter], "responses": {}}}}


@dataclass(frozen=True)
class Case:
    """The place of a value of some shape; `syntax` are the characters that are read as delimiters once decoded.

    `why_wrong` says what openapi-core gets wrong if it cannot be the reference.
    """

    place: str
    style: str
    explode: bool
    shape: str
    syntax: str = ""
    why_wrong: str = ""

    def __str__(self) -> str:
        return f"{self.place}-{self.style}-{'exploded' if self.explode else 'joined'}-{self.shape}"

    @property
    def key(self) -> str:
        """The key of openapi-core for a path variable."""
        sign = {"label": ".", "matrix": ";"}.get(self.style, "")
        return f"{sign}v{'*' if self.explode else ''}" if sign else "v"

    @property
    def schema(self) -> dict[str, Any]:
        """The schema of the parameter."""
        if self.shape == "object":
            return {"type": "object", "properties": {name: {"type": kind} for name, kind in MEMBERS.items()}}
        kind, _, inner = self.shape.partition(" of ")
        return {"type": kind, "items": {"type": inner}} if inner else {"type": kind}


MEMBERS = {"R": "string", "G": "integer", "B": "boolean", "N": "number"}
ASKS_FOR_ENCODED = "it splits at `%20` what has been decoded"
SEEKS_OWN_NAME = "it looks for the members of an exploded object under the parameter's own name"
PRIMITIVES = ("string", "integer", "number", "boolean")
ARRAYS = ("array of string", "array of integer", "array of boolean")
CASES = [
    *(Case("path", "simple", explode, shape) for explode in (False, True) for shape in PRIMITIVES),
    *(Case("path", "simple", explode, shape, ",") for explode in (False, True) for shape in ARRAYS),
    Case("path", "simple", False, "object", ","),
    Case("path", "simple", True, "object", ",="),
    *(Case("path", "label", explode, shape) for explode in (False, True) for shape in PRIMITIVES),
    *(Case("path", "label", False, shape, ",") for shape in ARRAYS),
    *(Case("path", "label", True, shape, ".") for shape in ARRAYS),
    Case("path", "label", False, "object", ","),
    Case("path", "label", True, "object", ".="),
    *(Case("path", "matrix", explode, shape, "\n") for explode in (False, True) for shape in PRIMITIVES),
    *(Case("path", "matrix", False, shape, ",\n") for shape in ARRAYS),
    *(Case("path", "matrix", True, shape, ";\n") for shape in ARRAYS),
    Case("path", "matrix", False, "object", ",\n"),
    Case("path", "matrix", True, "object", ";=\n"),
    *(Case("query", "form", explode, shape) for explode in (False, True) for shape in PRIMITIVES),
    *(Case("query", "form", True, shape) for shape in ARRAYS),
    *(Case("query", "form", False, shape, ",") for shape in ARRAYS),
    Case("query", "form", False, "object", ","),
    Case("query", "form", True, "object", "", SEEKS_OWN_NAME),
    *(Case("query", "pipeDelimited", False, shape, "|") for shape in ARRAYS),
    Case("query", "pipeDelimited", False, "object", "|"),
    *(Case("query", "spaceDelimited", False, shape, " ", ASKS_FOR_ENCODED) for shape in ("array of string", "object")),
    Case("query", "deepObject", True, "object"),
    *(Case("header", "simple", explode, shape) for explode in (False, True) for shape in PRIMITIVES),
    *(Case("header", "simple", explode, shape, ",") for explode in (False, True) for shape in ARRAYS),
    Case("header", "simple", False, "object", ","),
    Case("header", "simple", True, "object", ",="),
    *(Case("cookie", "form", explode, shape) for explode in (False, True) for shape in PRIMITIVES),
    *(Case("cookie", "form", True, shape) for shape in ARRAYS),
    *(Case("cookie", "form", False, shape, ",") for shape in ARRAYS),
    Case("cookie", "form", False, "object", ","),
    Case("cookie", "form", True, "object", "", SEEKS_OWN_NAME),
]


def texts(case: Case) -> st.SearchStrategy[str]:
    """Any text that the place can hold; a header has no control characters and no space at its ends."""
    categories = ("Cs", "Cc") if case.place == "header" else ("Cs",)
    anything = st.text(st.characters(exclude_categories=categories, exclude_characters=case.syntax), max_size=8)
    special = st.sampled_from(
        ["a b", "a/b", "100%", "%2F", "a&b=c", "?#", "žluť", "日本", "a+b", "..", "true", "'\"<>"]
    )
    found = anything | special.filter(lambda text: not set(text) & set(case.syntax))
    if case.place == "header":
        return found.map(lambda text: f"<{text}>")
    if case.place == "path":
        return found.filter(lambda text: bool(text) and path_value_fault(text, may_have_separators=True) is None)
    return found.filter(bool) if case.place == "query" and case.style != "deepObject" else found


def values(case: Case) -> st.SearchStrategy[Any]:
    """Values of the case's shape that its style can distinguish from others."""
    numbers = st.floats(allow_nan=False, allow_infinity=False)
    if "." in case.syntax:
        numbers = st.integers(-(2**53), 2**53)  # beyond, openapi-core reads a number as the nearest float
    plain = {"string": texts(case), "integer": st.integers(), "number": numbers, "boolean": st.booleans()}
    if case.shape == "object":
        members = {name: plain[kind] for name, kind in MEMBERS.items()}
        return st.fixed_dictionaries({"R": members.pop("R")}, optional=members)
    kind, _, inner = case.shape.partition(" of ")
    return st.lists(plain[inner], min_size=1, max_size=4).filter(lambda items: items != [""]) if inner else plain[kind]


def as_read(got: Any, case: Case) -> MockRequest:
    """The request as parsed by a framework: every place decoded, cookies too."""
    request = Request(create_environ(path="/x", query_string=got.target.partition("?")[2]))
    headers = {name: text.encode("latin-1").decode() for name, text in got.headers.items()}
    cookies = [pair.partition("=") for pair in headers.get("cookie", "").split("; ")]
    pattern = "/x/v{v}" if case.place == "path" else "/x"
    read = MockRequest("http://x", "post", pattern, path_pattern=pattern, headers=headers)
    read.parameters.query = request.args
    read.parameters.cookie = ImmutableMultiDict((name, unquote(text)) for name, _, text in cookies)
    read.parameters.path = {case.key: unquote(got.target.removeprefix("/x/v"))} if case.place == "path" else {}
    return read


@pytest.fixture
async def judged(request, opened, server, tools):
    """Calls the operation of the case, and returns how openapi-core reads the request."""
    case = request.param
    parameters = one_parameter(
        case.place, style=case.style, explode=case.explode, schema=case.schema, description="URL-encoded."
    )
    document = tools.described(parameters, openapi="3.1.0", servers=[{"url": "http://x"}])
    source = await opened(document, base_url=server.url)
    oracle = V31RequestUnmarshaller(SchemaPath.from_dict(document))

    async def judged_(value: Any) -> Any:
        await source.call("op", {"v": value})
        result = oracle.unmarshal(as_read(server.received[-1], case))
        assert result.errors == [] or case.why_wrong
        return getattr(result.parameters, case.place).get("v")

    return case, judged_


@pytest.mark.parametrize("judged", [case for case in CASES if not case.why_wrong], indirect=True, ids=str)
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(data=st.data())
async def test_openapi_core_reads_back_the_values(judged, data):
    case, judge = judged
    value = data.draw(values(case))
    assert await judge(value) == value


@pytest.mark.parametrize("judged", [case for case in CASES if case.why_wrong], indirect=True, ids=str)
async def test_openapi_core_still_misreads_some_styles(judged):
    case, judge = judged
    value = ["a", "b"] if case.shape.startswith("array") else {"R": "a", "G": 1}
    assert await judge(value) != value, case.why_wrong
