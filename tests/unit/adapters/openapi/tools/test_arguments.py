"""Names of tools and arguments: legal, unique and stable."""

import re

from hypothesis import given
from hypothesis import strategies as st

from adapters.openapi.document.document import DocumentNode
from adapters.openapi.operation.model import OperationEntry, ParameterLocation
from adapters.openapi.tools.arguments import WireName, argument_names, tool_names

LEGAL = re.compile(r"^[A-Za-z0-9_-]{1,64}$")
identifiers = st.one_of(
    st.none(), st.text(max_size=100), st.sampled_from(["get", "Get", "get pets", "get_pets", "a" * 70, 7])
)
paths = st.lists(st.sampled_from(["pets", "{id}", "v1", "owners", "x" * 40, "žluť"]), max_size=5).map("/".join)
places = st.tuples(st.sampled_from(["GET", "POST", "DELETE"]), paths)


def entry(method: str, path: str, operation_id: object) -> OperationEntry:
    node = DocumentNode({} if operation_id is None else {"operationId": operation_id}, "file:///d.json")
    return OperationEntry(method, f"/{path}", node, node)


@given(st.dictionaries(places, identifiers, max_size=12), st.randoms())
def test_tool_names_are_legal_unique_and_stable_under_reordering(operations, random):
    entries = [entry(method, path, name) for (method, path), name in operations.items()]
    names = tool_names(entries)
    assert all(LEGAL.match(name) for name in names.values())
    assert len({name.lower() for name in names.values()}) == len(entries)
    random.shuffle(entries)
    assert tool_names(entries) == names


def test_a_name_is_the_operation_id_or_method_and_path():
    names = tool_names([entry("GET", "tickets", "list tickets!"), entry("GET", "api/v2/tickets/{id}", None)])
    assert set(names.values()) == {"list_tickets", "get_tickets_by_id"}


def test_a_long_name_keeps_its_head_and_tail():
    [name] = tool_names([entry("GET", "x", "Organizations_" + "Repository" * 8 + "_listBranches")]).values()
    assert len(name) <= 64
    assert name.startswith("Organizations_")
    assert "listBranches_" in name


@given(
    st.sets(
        st.builds(WireName, st.sampled_from([*ParameterLocation, "body"]), st.text(min_size=1, max_size=80)),
        max_size=12,
    )
)
def test_argument_names_are_legal_and_unique(wires):
    names = argument_names(list(wires))
    assert all(re.match(r"^[A-Za-z0-9_.-]{1,64}$", name) for name in names.values())
    assert len(set(names.values())) == len(wires)


def test_only_a_name_in_two_locations_is_suffixed():
    wires = [
        WireName(ParameterLocation.PATH, "id"),
        WireName("body", "id"),
        WireName(ParameterLocation.QUERY, "page[size]"),
        WireName("body", "name"),
    ]
    assert list(argument_names(wires).values()) == ["id__path", "id__body", "page_size", "name"]
