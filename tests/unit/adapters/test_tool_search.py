"""Tool search: ranking by words, and areas."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import Effect, ToolSpec
from adapters.locales import translate
from adapters.tool_search import ToolIndex, count_areas


def tool(
    name: str, description: str = "", *, locator: str = "", effect: Effect = Effect.READ, **names: str
) -> ToolSpec:
    properties = {name: {"type": kind} for name, kind in names.items()}
    return ToolSpec(
        name=name,
        description=description,
        parameters={"type": "object", "properties": properties},
        source="api",
        locator=locator or f"GET /{name}",
        effect=effect,
    )


SHOP = (
    tool("list_orders", "All orders of the shop.", locator="GET /shop/orders", customer_id="integer"),
    tool("get_order", "One order.", locator="GET /shop/orders/{id}", order_id="integer"),
    tool("create_order", "Place an order.", locator="POST /shop/orders", effect=Effect.WRITE),
    tool("list_customers", "Customers. Each has a name and a city.", locator="GET /shop/customers"),
    tool("listInvoices", "Invoices, paid and unpaid.", locator="GET /shop/invoices"),
    tool("repositories", "Code repositories.", locator="GET /code/repositories"),
    tool("branches", "Branches of a repository.", locator="GET /code/branches"),
    tool("watchers", "Who watches a thing.", locator="GET /code/watchers"),
)
WORDS = sorted({word for spec in SHOP for word in f"{spec.name} {spec.description}".replace("_", " ").split()})
queries = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)


def best(query: str) -> str:
    return ToolIndex(SHOP).search(query)[0].spec.name


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("Which orders did customer 4 place?", "list_orders"),
        ("unpaid invoice", "listInvoices"),
        ("in which city do customers live", "list_customers"),
        ("create a new order", "create_order"),
        ("branch names", "branches"),
        ("who is watching it", "watchers"),
        ("Kolik máme zákazníků?", "list_customers"),
        ("nezaplacené faktury", "listInvoices"),
        ("repozitáře", "repositories"),
        ("větve repozitáře", "branches"),
    ],
)
def test_the_best_matching_tool_comes_first(query: str, name: str) -> None:
    assert best(query) == name


def test_unrequested_writes_rank_after_reads() -> None:
    names = [ranked.spec.name for ranked in ToolIndex(SHOP).search("order")]
    assert names.index("get_order") < names.index("create_order")


@pytest.mark.parametrize("query", ["", "the of and", "zebra", "?!", "\ud800", "čtvrtek"])
def test_unknown_words_find_nothing(query: str) -> None:
    assert ToolIndex(SHOP).search(query) == ()


def test_an_empty_index_finds_nothing() -> None:
    assert ToolIndex([]).search("orders") == ()
    assert count_areas([]) == {}


@pytest.mark.parametrize("spec", SHOP, ids=lambda spec: spec.name)
def test_a_tool_is_found_by_its_name(spec: ToolSpec) -> None:
    assert best(spec.name) == spec.name


@given(st.permutations(SHOP), queries)
def test_the_order_of_tools_does_not_matter(tools: list[ToolSpec], query: str) -> None:
    assert ToolIndex(tools).search(query) == ToolIndex(SHOP).search(query)


@given(queries, st.sampled_from(["zebra", "the", "qqqq", "Xylophon"]))
def test_unknown_words_change_no_score(query: str, other: str) -> None:
    scores = [
        {one.spec.name: one.score for one in ToolIndex(SHOP).search(said)} for said in (query, f"{other} {query}")
    ]
    assert scores[0] == scores[1]


@given(st.text(max_size=200))
def test_any_text_is_a_valid_query(query: str) -> None:
    ranked = ToolIndex(SHOP).search(query)
    assert all(one.score > 0 for one in ranked)
    assert len({one.spec.name for one in ranked}) == len(ranked)


def test_areas_are_path_segments() -> None:
    many = [tool(f"t{at}", locator=f"GET /shop/{at % 5}/x") for at in range(20)]
    assert count_areas([*many, tool("t", locator="GET /status")]) == {
        "0": 4,
        "1": 4,
        "2": 4,
        "3": 4,
        "4": 4,
        "status": 1,
    }


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=4), max_size=40))
def test_every_tool_with_a_path_counts_in_one_area(paths: list[list[str]]) -> None:
    tools = [tool(f"t{at}", locator=f"GET /rest/{'/'.join(path)}") for at, path in enumerate(paths)]
    assert sum(count_areas(tools).values()) == len(tools)


def test_czech_word_forms_are_translated() -> None:
    assert translate("fakturami") == ("invoice",)
    assert translate("zustatek") == ("balance",)
    assert translate("invoice") == ()
    assert translate("") == ()
