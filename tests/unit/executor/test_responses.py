"""The error of a source as the model sees it."""

from typing import Any

import pytest

from adapters.base import ToolSpec
from adapters.errors import ConnectionFailed, HttpStatusError, InvalidRequest
from runax_cli.core.results import Coverage
from runax_cli.executor.outcome import DecidedCall
from runax_cli.executor.responses import ReadResult, build_hint, tool_fault
from runax_cli.executor.strategy import Strategy


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


FINDING: dict[str, Any] = {"statement": "s", "records": ["tickets_1#3", "+4 more"]}


@pytest.mark.parametrize(
    ("strategy", "data", "cited"),
    [
        (Strategy.DIRECT_PASS, {"tickets_1#5": {"id": 1}}, "tickets_1#5"),
        (Strategy.SINGLE_REDUCTION, [FINDING], "tickets_1#3"),
        (Strategy.PAGINATED_REDUCTION, [], None),
        (Strategy.TABLE, {"table": "Table tickets_1", "tickets_1#1": {}}, "tickets_1#1"),
        (Strategy.TABLE, {"table": "Table tickets_1"}, None),
    ],
)
def test_a_hint_cites_only_a_record_that_is_in_the_result(strategy: Strategy, data: Any, cited: str | None) -> None:
    tool = ToolSpec(name="t", description="", parameters={}, source="s", locator="GET /t", noun="tickets")
    call = DecidedCall(call_id="1", tool=tool, arguments={}, focus="")
    hint = build_hint(call, ReadResult(strategy=strategy, coverage=Coverage(records_read=9), data=data), can_query=True)
    assert (f"[{cited}]" in hint) if cited else ("[" not in hint)
