"""The meaning of a refusal, regardless of its wording."""

from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.core.errors import ModelRefused
from runax_cli.models.endpoint_errors import HttpRefusal, model_error, refused_parameter, refuses_schema, retry_after_s

KEY = "sk-0123456789"


@given(st.integers(300, 599), st.text(max_size=200), st.text(max_size=20), st.integers(0, 3))
def test_no_error_message_contains_the_api_key(status: int, words: str, code: str, keys: int) -> None:
    refusal = HttpRefusal(status=status, message=words + KEY * keys + words, code=code)
    error = model_error(refusal, model="m", base_url="http://h/v1", api_key=KEY)
    assert KEY not in str(error)
    assert error.retryable is not isinstance(error, ModelRefused)
    assert "'m'" in str(error)
    assert "'http://h/v1'" in str(error)


def test_a_placeholder_key_does_not_mask_ordinary_words() -> None:
    refusal = HttpRefusal(status=400, message="none of the messages is valid")
    error = model_error(refusal, model="m", base_url="http://h/v1", api_key="none")
    assert "none of the messages is valid" in str(error)


@pytest.mark.parametrize(
    ("message", "param", "expected"),
    [
        ("'max_tokens' is not supported. Use 'max_completion_tokens' instead.", "", "max_tokens"),
        ("no", "temperature", "temperature"),
        ("temperature and top_p cannot both be set", "", "temperature"),
        ("the temperatures of winter", "", None),
        ("store is not in the body", "", None),
    ],
)
def test_the_rejected_parameter_is_one_that_was_sent(message: str, param: str, expected: str | None) -> None:
    body = {"max_tokens": 1, "temperature": 0, "top_p": 1}
    assert refused_parameter(HttpRefusal(status=400, message=message, param=param), body) == expected


def test_only_an_invalid_request_status_rejects_a_parameter() -> None:
    assert refused_parameter(HttpRefusal(status=500, message="temperature"), {"temperature": 0}) is None


def test_only_a_sent_schema_can_be_rejected() -> None:
    refusal = HttpRefusal(status=400, message="response_format is not supported")
    assert refuses_schema(refusal, {"response_format": {}})
    assert not refuses_schema(refusal, {"temperature": 0})


def test_retry_after_as_a_date_becomes_seconds() -> None:
    now = datetime(2026, 11, 21, tzinfo=UTC).timestamp()
    later = format_datetime(datetime.fromtimestamp(now + 30, UTC), usegmt=True)
    assert retry_after_s({"retry-after": later}, now=now) == 30
    assert retry_after_s({"retry-after": later}, now=now + 100) == 0


@given(st.text(max_size=20))
def test_retry_after_is_none_or_not_negative(value: str) -> None:
    seconds = retry_after_s({"retry-after": value}, now=0.0)
    assert seconds is None or seconds >= 0
