"""Ranking of tools by words: what fits comes first, and nothing but the words decides."""

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
def test_the_tool_that_fits_comes_first(query: str, name: str) -> None:
    assert best(query) == name


def test_a_change_that_nobody_asks_for_comes_after_reading() -> None:
    names = [ranked.spec.name for ranked in ToolIndex(SHOP).search("order")]
    assert names.index("get_order") < names.index("create_order")


@pytest.mark.parametrize("query", ["", "the of and", "zebra", "?!", "\ud800", "čtvrtek"])
def test_words_that_no_tool_has_find_nothing(query: str) -> None:
    assert ToolIndex(SHOP).search(query) == ()


def test_no_tools_are_no_trouble() -> None:
    assert ToolIndex([]).search("orders") == ()
    assert count_areas([]) == {}


@pytest.mark.parametrize("spec", SHOP, ids=lambda spec: spec.name)
def test_its_own_name_finds_a_tool(spec: ToolSpec) -> None:
    assert best(spec.name) == spec.name


@given(st.permutations(SHOP), queries)
def test_the_order_of_the_tools_does_not_matter(tools: list[ToolSpec], query: str) -> None:
    assert ToolIndex(tools).search(query) == ToolIndex(SHOP).search(query)


@given(queries, st.sampled_from(["zebra", "the", "qqqq", "Xylophon"]))
def test_words_that_no_tool_has_change_no_score(query: str, other: str) -> None:
    scores = [
        {one.spec.name: one.score for one in ToolIndex(SHOP).search(said)} for said in (query, f"{other} {query}")
    ]
    assert scores[0] == scores[1]


@given(st.text(max_size=200))
def test_any_text_is_a_query(query: str) -> None:
    ranked = ToolIndex(SHOP).search(query)
    assert all(one.score > 0 for one in ranked)
    assert len({one.spec.name for one in ranked}) == len(ranked)


def test_areas_say_what_tools_are_about() -> None:
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
def test_areas_count_every_tool_that_has_a_path_once(paths: list[list[str]]) -> None:
    tools = [tool(f"t{at}", locator=f"GET /rest/{'/'.join(path)}") for at, path in enumerate(paths)]
    assert sum(count_areas(tools).values()) == len(tools)


def test_a_word_in_any_form_has_its_english_one() -> None:
    assert translate("fakturami") == ("invoice",)
    assert translate("zustatek") == ("balance",)
    assert translate("invoice") == ()
    assert translate("") == ()
