"""The rules model: which tools it asks for, what it keeps of records, what it answers."""

import json
from typing import Any

import pytest

from runax_cli.models.base import Message, ModelRequest, OutputSchema, Role, ToolCall, ToolSchema
from runax_cli.models.rules import RulesModel
from runax_cli.models.rules.words import read_clues


def tool(tool_name: str, description: str, required: tuple[str, ...] = (), /, **properties: Any) -> ToolSchema:
    properties |= {"focus": {"type": "string"}, "need": {"enum": ["read", "compute"]}, "at_most": {"type": "integer"}}
    return ToolSchema(tool_name, description, {"type": "object", "properties": properties, "required": list(required)})


INT, TEXT = {"type": "integer"}, {"type": "string"}
TOOLS = (
    tool("list_customers", "Customers of the provider.", name=TEXT, city=TEXT),
    tool("get_customer", "One customer.", ("customer_id",), customer_id=INT),
    tool("list_tickets", "Support tickets.", customer_id=INT, status={"type": "string", "enum": ["open", "closed"]}),
    tool("get_ticket", "One support ticket.", ("ticket_id",), ticket_id=INT),
    tool("list_payments", "Payments for invoices.", customer_id=INT, since={"type": "string", "format": "date"}),
)


def asked(question: str, *turn: Message, tools: tuple[ToolSchema, ...] = TOOLS) -> list[tuple[str, dict[str, Any]]]:
    messages = (Message("system", "…"), Message("user", question), *turn)
    reply = RulesModel().reply(ModelRequest(role=Role.AGENT, messages=messages, tools=tools))
    virtual = {"focus", "need", "at_most"}
    return [(c.name, {k: v for k, v in json.loads(c.arguments).items() if k not in virtual}) for c in reply.tool_calls]


def result_of(call: str, arguments: dict[str, Any], **envelope: Any) -> tuple[Message, Message]:
    wish = ToolCall("c1", call, json.dumps(arguments))
    content = {"status": "success", "tool": call, "query": arguments, "is_complete": True} | envelope
    return Message("assistant", "", (wish,)), Message("tool", json.dumps(content), tool_call_id="c1")


@pytest.mark.parametrize(
    ("question", "call"),
    [
        ("How many tickets does customer 4 have?", ("list_tickets", {"customer_id": 4})),
        (
            "Which open tickets of customer 17 mention a router?",
            ("list_tickets", {"customer_id": 17, "status": "open"}),
        ),
        ("Show customer 4", ("get_customer", {"customer_id": 4})),
        ("What does ticket 12 say?", ("get_ticket", {"ticket_id": 12})),
        ("Which customers live in Brno?", ("list_customers", {"city": "Brno"})),
        (
            "List the payments of customer 9 since 2026-01-01",
            ("list_payments", {"customer_id": 9, "since": "2026-01-01"}),
        ),
    ],
)
def test_the_tool_and_its_arguments_come_from_the_words_of_the_question(question: str, call: object) -> None:
    assert asked(question) == [call]


def test_a_name_is_looked_up_before_the_call_that_needs_its_id() -> None:
    question = "Which tickets of customer Baláž mention an outage?"
    assert asked(question) == [("list_customers", {"name": "Baláž"})]
    found = result_of("list_customers", {"name": "Baláž"}, data={"customers_1#1": {"id": 4, "name": "Jan Baláž"}})
    assert asked(question, *found) == [("list_tickets", {"customer_id": 4})]


def test_a_question_about_everything_looks_up_the_id_and_calls_every_tool_that_takes_it() -> None:
    question = "Find out everything about the customer Baláž."
    found = result_of("list_customers", {"name": "Baláž"}, data={"customers_1#1": {"id": 4, "name": "Jan Baláž"}})
    names = {name for name, _ in asked(question, *found)}
    assert {"list_tickets", "list_payments"} <= names


def test_the_same_call_is_never_requested_twice() -> None:
    done = result_of("list_tickets", {"customer_id": 4}, data=[], total_matches=261, records_read=261)
    assert asked("How many tickets does customer 4 have?", *done) == []


def test_without_tools_there_is_an_answer_and_no_call() -> None:
    request = ModelRequest(role=Role.AGENT, messages=(Message("user", "How many tickets are there?"),))
    assert not RulesModel().reply(request).tool_calls


def test_an_error_is_answered_as_an_error_and_never_as_an_empty_result() -> None:
    failed = result_of("list_tickets", {"customer_id": 4}, status="error", error={"message": "timed out"})
    messages = (Message("user", "How many tickets does customer 4 have?"), *failed)
    assert "timed out" in RulesModel().reply(ModelRequest(role=Role.AGENT, messages=messages)).text


def reduced(focus: str, *records: object) -> dict[str, Any]:
    lines = "\n".join(f"[{i}] {json.dumps(record, ensure_ascii=False)}" for i, record in enumerate(records, 1))
    message = Message("user", f"FOCUS:\n{focus}\n\n<records>\n{lines}\n</records>")
    request = ModelRequest(role=Role.REDUCER, messages=(message,), output=OutputSchema("findings", {}))
    found: dict[str, Any] = json.loads(RulesModel().reply(request).text)
    return found


def test_a_reducer_reply_names_the_record_with_the_words_of_the_focus_and_quotes_it() -> None:
    records = [{"id": n, "description": f"Faktura {n} nesedí. Prosím o opravu."} for n in range(9)]
    records[6] = {"id": 6, "description": "Ahoj. A squirrel chewed through the cable. Děkuji."}
    found = reduced("Which ticket mentions a squirrel?", *records)
    assert [f["records"] for f in found["findings"]] == [[7]]
    assert found["findings"][0]["quote"] == "A squirrel chewed through the cable. Děkuji."


def test_a_chunk_without_the_words_of_the_focus_has_nothing_relevant() -> None:
    found = reduced("Which ticket mentions a squirrel?", *({"id": n, "text": "invoice"} for n in range(5)))
    assert found == {"findings": [], "nothing_relevant": True}


def test_clues_keep_the_word_before_a_number_and_ignore_dates() -> None:
    clues = read_clues("Payments of customer 4 since 2026-01-02, first 10")
    assert [(c.before, c.value) for c in clues.numbers] == [("customer", "4"), ("first", "10")]
    assert [(c.before, c.value) for c in clues.dates] == [("since", "2026-01-02")]
    assert clues.first_n == 10
