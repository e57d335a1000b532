"""The error of a source as the model sees it."""

import pytest

from adapters.errors import ConnectionFailed, HttpStatusError, InvalidRequest
from runax_cli.executor.responses import tool_fault


def refusal(body: str, *, status: int = 422) -> HttpStatusError:
    return HttpStatusError("the server answered 422 Nope", source="api", location="GET /t", status=status, body=body)


def test_a_client_error_includes_the_response_body() -> None:
    fault = tool_fault(refusal('{"Message": "\'count\' is\n  required"}'), retries_left=0)
    assert fault.message == 'the server answered 422 Nope. Response: {"Message": "\'count\' is required"}'
    assert fault.instruction == "CORRECT_ARGUMENTS"


@pytest.mark.parametrize("body", ["", "  ", "<html><body>Bad gateway</body></html>", " <!doctype html>"])
def test_a_blank_or_html_body_is_left_out(body: str) -> None:
    assert tool_fault(refusal(body), retries_left=0).message == "the server answered 422 Nope"


def test_a_long_body_is_cut() -> None:
    message = tool_fault(refusal("x" * 5_000), retries_left=0).message
    assert len(message) < 500
    assert message.endswith("…")


def test_a_connection_error_is_shown_as_it_is() -> None:
    error = ConnectionFailed("the connection to 'http://h' failed: refused", source="api")
    assert tool_fault(error, retries_left=0).message == "the connection to 'http://h' failed: refused"


def test_a_violation_in_the_message_is_not_repeated() -> None:
    error = InvalidRequest("it does not fit: a: no", source="api", violations=("a: no", "b: too long"))
    assert tool_fault(error, retries_left=0).message == "it does not fit: a: no b: too long"
