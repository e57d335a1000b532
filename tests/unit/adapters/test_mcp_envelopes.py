"""Messages in what no reader of messages takes: whose reply it is, and what it says."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.mcp.connection.jsonrpc_repair import messages_in

CALL = {7: "tools/call"}
TWO = {7: "tools/call", 8: "tools/call"}


def reply(**members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "result": {"a": 1}, **members}


def test_a_reply_without_an_id_is_for_the_only_request_that_waits() -> None:
    nameless = reply(id=None)
    assert [message["id"] for message in messages_in(nameless, CALL)] == [7]
    assert messages_in(nameless, TWO) == []


def test_an_id_is_kept_where_it_is_one_and_a_whole_float_is_its_number() -> None:
    assert messages_in(reply(id=8.0), TWO)[0]["id"] == 8
    assert messages_in(reply(id="x"), TWO)[0]["id"] == "x"
    assert messages_in(reply(id=True), TWO) == []


def test_of_a_result_beside_an_error_the_one_that_says_something_counts() -> None:
    assert "result" in messages_in(reply(error=None), CALL)[0]
    assert "result" in messages_in(reply(error={"code": 0, "message": ""}), CALL)[0]
    assert messages_in(reply(error={"code": 5, "message": "no"}), CALL)[0]["error"]["message"] == "no"


@pytest.mark.parametrize(
    ("method", "result", "mended"),
    [
        ("tools/list", [{"name": "a"}], {"tools": [{"name": "a"}]}),
        ("tools/call", "text", {"content": [{"type": "text", "text": "text"}]}),
        ("tools/call", [{"type": "text", "text": "a"}], {"content": [{"type": "text", "text": "a"}]}),
        ("tools/call", [{"id": 1}], {"content": [], "structuredContent": [{"id": 1}]}),
        ("resources/list", [], {"resources": []}),
    ],
)
def test_a_result_that_is_no_object_is_put_into_the_one_it_belongs_to(method: str, result: Any, mended: Any) -> None:
    assert messages_in(reply(result=result), {7: method})[0]["result"] == mended


def test_a_request_of_the_server_is_found_and_what_is_no_message_is_none() -> None:
    assert messages_in('noise {"method": "ping", "id": "a", "params": []}', {}) == [
        {"jsonrpc": "2.0", "method": "ping", "id": "a"}
    ]
    for noise in ("", "plain words", "{not json", '{"level": "info"}', "[]", "null", "{" * 100):
        assert messages_in(noise, CALL) == []


@given(st.text())
def test_any_line_is_looked_through_without_a_failure(line: str) -> None:
    assert isinstance(messages_in(line, TWO), list)
