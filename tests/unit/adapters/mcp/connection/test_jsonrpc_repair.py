"""Recovery of JSON-RPC messages from rejected input."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.mcp.connection.jsonrpc_repair import recover_messages

CALL = {7: "tools/call"}
TWO = {7: "tools/call", 8: "tools/call"}


def reply(**members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "result": {"a": 1}, **members}


def test_a_reply_without_an_id_belongs_to_the_only_pending_request() -> None:
    nameless = reply(id=None)
    assert [message["id"] for message in recover_messages(nameless, CALL)] == [7]
    assert recover_messages(nameless, TWO) == []


def test_valid_ids_are_kept_and_integral_floats_converted() -> None:
    assert recover_messages(reply(id=8.0), TWO)[0]["id"] == 8
    assert recover_messages(reply(id="x"), TWO)[0]["id"] == "x"
    assert recover_messages(reply(id=True), TWO) == []


def test_an_empty_error_beside_a_result_is_ignored() -> None:
    assert "result" in recover_messages(reply(error=None), CALL)[0]
    assert "result" in recover_messages(reply(error={"code": 0, "message": ""}), CALL)[0]
    assert recover_messages(reply(error={"code": 5, "message": "no"}), CALL)[0]["error"]["message"] == "no"


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
def test_a_result_that_is_not_an_object_is_wrapped(method: str, result: Any, mended: Any) -> None:
    assert recover_messages(reply(result=result), {7: method})[0]["result"] == mended


def test_server_requests_are_found_and_noise_is_ignored() -> None:
    assert recover_messages('noise {"method": "ping", "id": "a", "params": []}', {}) == [
        {"jsonrpc": "2.0", "method": "ping", "id": "a"}
    ]
    for noise in ("", "plain words", "{not json", '{"level": "info"}', "[]", "null", "{" * 100):
        assert recover_messages(noise, CALL) == []


@given(st.text())
def test_any_line_is_searched_without_an_exception(line: str) -> None:
    assert isinstance(recover_messages(line, TWO), list)
