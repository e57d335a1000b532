"""The calls for "find everything about X" are planned from the schemas of the tools alone."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import Effect, Pagination, ToolSpec
from runax_cli.agent.planning.entity_sweep import (
    ambiguous_plan,
    entity_kinds,
    listing_calls,
    lookup_calls,
    matching_entities,
    sweep_calls,
)
from runax_cli.agent.planning.everything import EntityRequest
from runax_cli.agent.planning.references import FoundEntity, bindings_of

INTEGER, TEXT = {"type": "integer"}, {"type": "string"}


def tool(name: str, locator: str, noun: str, *, required: tuple[str, ...] = (), **values: Any) -> ToolSpec:
    properties = {key: values.pop(key) for key in list(values) if key not in ToolSpec.__dataclass_fields__}
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    fields = {"description": "", "source": "crm", "returns_many": True} | values
    return ToolSpec(name=name, locator=locator, noun=noun, parameters=parameters, **fields)


LIST_USERS = tool("list_users", "GET /users", "users", q=TEXT, status=TEXT)
GET_USER = tool("get_user", "GET /users/{id}", "users", id=INTEGER, required=("id",), returns_many=False)
ORDERS = tool("list_orders", "GET /orders", "orders", userId=INTEGER, status=TEXT)
USER_NOTES = tool("user_notes", "GET /users/{id}/notes", "notes", id=TEXT, required=("id",))
DELETE_USER = tool(
    "delete_user",
    "DELETE /users/{id}",
    "users",
    id=INTEGER,
    required=("id",),
    returns_many=False,
    effect=Effect.DESTRUCTIVE,
)
PRODUCTS = tool("list_products", "GET /products", "products", category=TEXT)
GET_PRODUCT = tool("get_product", "GET /products/{id}", "products", id=INTEGER, required=("id",), returns_many=False)
TOOLS = (LIST_USERS, GET_USER, ORDERS, USER_NOTES, DELETE_USER, PRODUCTS, GET_PRODUCT)
BALAZ = {"id": 4, "name": "Tomáš Baláž", "email": "tomas@example.com", "number": "U-4"}
FOUND = FoundEntity(noun="user", id=4, source="crm", record=BALAZ)
ASKED = EntityRequest("Balaz", frozenset({"user"}))


def planned(*tools: ToolSpec, entity: FoundEntity = FOUND, **options: Any) -> list[tuple[str, dict[str, Any]]]:
    return [(call.tool.name, call.arguments) for call in sweep_calls(entity, tools, **options).calls]


def uncalled(*tools: ToolSpec, **options: Any) -> dict[str, str]:
    return {one.tool: one.why for one in sweep_calls(FOUND, tools, **options).uncalled}


def test_every_reading_tool_that_takes_the_id_is_called_once_the_record_itself_first() -> None:
    assert planned(*TOOLS) == [("get_user", {"id": 4}), ("list_orders", {"userId": 4}), ("user_notes", {"id": "4"})]


def test_a_tool_that_changes_data_is_listed_with_the_reason() -> None:
    assert uncalled(*TOOLS) == {"delete_user": "it changes data and needs approval"}


@pytest.mark.parametrize(
    ("name", "schema", "locator", "value"),
    [
        ("user_id", INTEGER, "GET /x", 4),
        ("userId", TEXT, "GET /x", "4"),
        ("userid", TEXT, "GET /x", "4"),
        ("assigned_user_id", INTEGER, "GET /x", 4),
        ("user", INTEGER, "GET /x", 4),
        ("user_ids", {"type": "array", "items": INTEGER}, "GET /x", [4]),
        ("filter[user_id]", INTEGER, "GET /x", 4),
        ("user_id", {"anyOf": [INTEGER, {"type": "null"}]}, "GET /x", 4),
        ("id", TEXT, "GET /v1/users/{id}/x", "4"),
        ("userNumber", TEXT, "GET /x", "U-4"),
        ("number", TEXT, "GET /users/{number}/x", "U-4"),
    ],
)
def test_a_parameter_is_recognized_by_its_name_and_its_path(name: str, schema: Any, locator: str, value: Any) -> None:
    (binding,) = bindings_of(tool("x", locator, "things", **{name: schema}), FOUND)
    assert (binding.arguments, binding.why_not) == ({name: value}, "")


def test_a_member_of_an_object_is_recognized() -> None:
    spec = tool("x", "POST /search", "things", filter={"type": "object", "properties": {"user_id": INTEGER}})
    assert planned(spec) == [("x", {"filter": {"user_id": 4}})]


@pytest.mark.parametrize("name", ["id", "order_id", "userful", "status", "user_agent", "valid", "superuser_count"])
def test_other_parameters_are_not_taken_for_the_id(name: str) -> None:
    assert bindings_of(tool("x", "GET /orders/{order_id}", "orders", **{name: INTEGER}), FOUND) == ()


def test_what_cannot_be_called_says_why() -> None:
    why = uncalled(
        tool("yearly", "GET /users/{id}/report", "reports", id=INTEGER, year=INTEGER, required=("id", "year")),
        tool("mail", "GET /mail", "mails", user_id=INTEGER, source="mailbox"),
        tool(
            "transfers",
            "GET /t",
            "transfers",
            from_user_id=INTEGER,
            to_user_id=INTEGER,
            required=("from_user_id", "to_user_id"),
        ),
        tool("by_slug", "GET /users/{slug}/posts", "posts", slug=TEXT, required=("slug",)),
    )
    assert why == {
        "yearly": "it also needs 'year'",
        "mail": "it belongs to the source 'mailbox', whose ids may differ",
        "transfers": "the id is ambiguous: it could be 'from_user_id' or 'to_user_id'",
        "by_slug": "the id is ambiguous: 'slug' takes the slug of a user, which its record does not have",
    }


def test_each_optional_role_of_the_id_is_a_call_of_its_own() -> None:
    spec = tool("messages", "GET /messages", "messages", sender_user_id=INTEGER, recipient_user_id=INTEGER)
    assert planned(spec) == [("messages", {"sender_user_id": 4}), ("messages", {"recipient_user_id": 4})]


def test_at_most_so_many_calls_are_planned_and_the_rest_is_named_as_a_limit() -> None:
    plan = sweep_calls(FOUND, TOOLS, max_calls=2)
    assert [call.tool.name for call in plan.calls] == ["get_user", "list_orders"]
    assert [(one.tool, one.is_limit) for one in plan.uncalled] == [("user_notes", True), ("delete_user", False)]


def test_an_operation_that_only_counts_for_another_is_not_called() -> None:
    count = tool("count_orders", "GET /orders/count", "orders", userId=INTEGER, returns_many=False)
    orders = tool(
        "list_orders", "GET /orders", "orders", userId=INTEGER, pagination=Pagination(count_operation="count_orders")
    )
    assert planned(count, orders) == [("list_orders", {"userId": 4})]


def test_a_tool_reads_one_record_by_its_path_even_if_the_document_does_not_say_so() -> None:
    vague = tool("get_user", "GET /users/{id}", "users", id=INTEGER, required=("id",))
    asked = EntityRequest("4", frozenset({"user"}))
    assert [(c.tool.name, c.arguments) for c in lookup_calls(asked, ("user",), (vague, LIST_USERS))] == [
        ("get_user", {"id": 4})
    ]
    assert planned(ORDERS, vague) == [("get_user", {"id": 4}), ("list_orders", {"userId": 4})]


def test_the_entity_is_looked_up_by_name_in_the_listing_of_its_kind() -> None:
    kinds = entity_kinds(ASKED, TOOLS)
    assert kinds == ("user",)
    assert [(c.tool.name, c.arguments, c.need) for c in lookup_calls(ASKED, kinds, TOOLS)] == [
        ("list_users", {"q": "Balaz"}, "read")
    ]
    assert [(c.tool.name, c.arguments, c.need) for c in listing_calls(kinds, TOOLS)] == [("list_users", {}, "compute")]


def test_without_a_known_kind_the_entities_that_other_tools_refer_to_are_searched() -> None:
    assert entity_kinds(EntityRequest("Balaz"), TOOLS) == ("user",)
    assert entity_kinds(EntityRequest("Balaz", frozenset({"person"})), TOOLS) == ("user",)
    assert entity_kinds(EntityRequest("Balaz"), (PRODUCTS,)) == ()


def test_an_id_is_looked_up_by_the_tool_that_reads_one_record() -> None:
    asked = EntityRequest("4", frozenset({"user"}))
    assert [(c.tool.name, c.arguments) for c in lookup_calls(asked, ("user",), TOOLS)] == [("get_user", {"id": 4})]
    assert [e.id for e in matching_entities(asked, [BALAZ, BALAZ | {"id": 14}], GET_USER)] == [4]


@pytest.mark.parametrize("name", ["Balaz", "baláž", "TOMÁŠ BALÁŽ", "Baláž Tomáš", "Balážovi"])
def test_a_name_matches_without_regard_to_case_accents_order_and_declension(name: str) -> None:
    others = [{"id": 5, "name": "Jan Novák"}, {"id": 6, "name": "Petr Balážik"}]
    assert [one.id for one in matching_entities(EntityRequest(name), [*others, BALAZ], LIST_USERS)] == [4]


def test_the_whole_name_is_preferred_to_a_part_and_a_part_to_a_declined_form() -> None:
    records = [{"id": 1, "name": "Novák"}, {"id": 2, "name": "Jan Novák"}, {"id": 3, "name": "Nováka"}]
    assert [one.id for one in matching_entities(EntityRequest("Novák"), records, LIST_USERS)] == [1]
    assert [one.id for one in matching_entities(EntityRequest("Novák"), records[1:], LIST_USERS)] == [2]
    assert [one.id for one in matching_entities(EntityRequest("Novák"), records[2:], LIST_USERS)] == [3]


def test_names_are_found_in_split_fields_and_the_same_record_counts_once() -> None:
    record = {"id": "u1", "first_name": "Tomáš", "last_name": "Baláž", "city": "Brno"}
    (found,) = matching_entities(EntityRequest("Tomas Balaz"), [record, dict(record)], LIST_USERS)
    assert found.id == "u1"
    assert matching_entities(EntityRequest("Brno"), [record], LIST_USERS) == ()


def test_if_several_have_the_name_nothing_is_called_and_every_tool_says_so() -> None:
    other = FoundEntity(noun="user", id=9, source="crm", record={})
    plan = ambiguous_plan((FOUND, other), TOOLS)
    assert plan.calls == ()
    assert {one.tool for one in plan.uncalled} == {"get_user", "list_orders", "user_notes"}
    assert {one.why for one in plan.uncalled} == {"the id is ambiguous: 2 records match (4, 9)"}


@given(
    names=st.lists(st.text(max_size=12), max_size=4),
    schema=st.sampled_from([{}, INTEGER, TEXT, {"type": "array"}, {"enum": [1]}, {"type": ["integer", "null"]}]),
    value=st.one_of(st.integers(0, 99), st.text(min_size=1, max_size=5)),
    most=st.integers(0, 3),
)
def test_any_tool_is_called_within_the_limit_or_left_out(names: list[str], schema: Any, value: Any, most: int) -> None:
    entity = FoundEntity(noun="user", id=value, source="crm", record={"id": value})
    parameters = {"type": "object", "properties": dict.fromkeys([*names, "user_id"], schema)}
    spec = ToolSpec(name="x", description="", parameters=parameters, source="crm", locator="GET /x", noun="things")
    plan = sweep_calls(entity, (spec,), max_calls=most)
    assert len(plan.calls) <= most
    assert bool(plan.calls) != bool(plan.uncalled)
