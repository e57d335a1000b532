"""Exit code and output of `runax query` for answers that may and may not be relied on.

The model is a script at a loopback endpoint, the data is the mock API; the command is a real process.
"""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from tests.fakes.scripted_endpoint import CallOf, ScriptedEndpoint, serve

QUESTION = "How many customers are there?"
SUM_QUESTION = "What is the sum of the ids of all customers?"
FETCH = ("list_customers", {"need": "compute", "focus": "the number of customers"})
SUM = ("query_dataset", {"sql": "SELECT sum(id) AS sum_of_ids FROM customers_1"})
LOOP = "There are no customers in Puerto Rico.\n" * 40


@pytest.fixture
def query(runax: Callable[..., Any], mock: Callable[..., AbstractContextManager[str]]) -> Callable[..., Any]:
    """Runs `runax query -q` with a script; also returns the endpoint."""

    def run(question: str, *script: str | CallOf, form: str = "text") -> tuple[Any, ScriptedEndpoint]:
        with mock() as api, serve(ScriptedEndpoint(script, is_by_request=True)) as endpoint:
            variables = {"BASE_API_URL": api, **endpoint.variables}
            return runax("query", "-q", "-o", form, question, variables=variables), endpoint

    return run


def sum_in(done: Any) -> int:
    """The result of the query that the first statement of a run cites."""
    (row,) = json.loads(done.out)["evidence"][0]["queries"][0]["rows"]
    return int(row[0])


def test_a_data_question_that_is_answered_without_data_is_asked_again_and_ends_in_7(query: Any) -> None:
    done, endpoint = query("Are there customers in Puerto Rico?", "No, there are none.", "No, none.")
    assert (done.code, done.out) == (7, "No, none.\n")
    assert "NO DATA USED: " in done.err
    assert len(endpoint.requests) == 2
    assert "Call a tool first" in endpoint.requests[1]["messages"][-1]["content"]


def test_a_model_that_calls_a_tool_when_told_so_is_complete(query: Any) -> None:
    done, endpoint = query(QUESTION, "No idea.", FETCH, "The customers are known [customers_1#1].")
    assert "NO DATA USED" not in done.err
    assert len(endpoint.requests) == 3


def test_a_figure_that_code_finds_gets_its_citation_and_is_complete(query: Any) -> None:
    first, _ = query(SUM_QUESTION, FETCH, SUM, "The sum is known [q1].", form="json")
    statement = f"The sum of all ids is {sum_in(first)}"
    done, _ = query(SUM_QUESTION, FETCH, SUM, f"{statement}.\n\nThat is all.")
    assert (done.code, done.out, done.err) == (0, f"{statement} [q1].\n\nThat is all.\n", "")
    as_json, _ = query(SUM_QUESTION, FETCH, SUM, f"{statement}.", form="json")
    result = json.loads(as_json.out)
    assert (result["answer"], result["coverage"]["is_complete"]) == (f"{statement} [q1].", True)
    (entry,) = result["evidence"]
    assert (entry["statement"], entry["kind"], entry["verified"]) == (f"{statement} [q1].", "sql", True)


def test_an_invented_figure_ends_in_7_and_is_on_stderr_though_quiet(query: Any) -> None:
    answer = "There are 987654 customers [q1]."
    done, _ = query(SUM_QUESTION, FETCH, SUM, answer)
    assert (done.code, done.out) == (7, f"{answer} [unsupported]\n")
    assert f"UNSUPPORTED: {answer} (" in done.err
    assert "1 statement FAILED" in done.err


def test_the_json_of_an_invented_figure_is_incomplete_and_marked(query: Any) -> None:
    answer = "There are 987654 customers [q1]."
    done, _ = query(SUM_QUESTION, FETCH, SUM, answer, form="json")
    result = json.loads(done.out)
    assert (done.code, result["status"], result["answer"]) == (7, "incomplete", f"{answer} [unsupported]")
    assert not result["coverage"]["is_complete"]
    assert "unsupported_statement" in [reason["code"] for reason in result["coverage"]["reasons"]]
    assert "UNSUPPORTED: " in done.err


def test_a_reply_that_repeats_itself_is_asked_for_again(query: Any) -> None:
    done, endpoint = query(QUESTION, FETCH, LOOP, "They are in the list [customers_1].")
    assert len(endpoint.requests) == 3
    assert "Puerto Rico" not in done.out
    assert "repeated the same text" in endpoint.requests[2]["messages"][-1]["content"]


def test_a_second_reply_that_repeats_itself_ends_in_7_and_says_so(query: Any) -> None:
    done, _ = query(QUESTION, FETCH, LOOP, LOOP)
    assert done.code == 7
    assert done.out.count("Puerto Rico") == 1
    assert "the reply repeats itself" in done.err


@pytest.mark.parametrize("question", ["Hello!", "What can you do?"])
def test_a_greeting_needs_no_data(query: Any, question: str) -> None:
    done, endpoint = query(question, "Hello! Ask me about the data.")
    assert (done.code, done.err) == (0, "")
    assert len(endpoint.requests) == 1
