"""The result envelope: the fields of the contract, nothing that does not apply, and always a hint."""

import json
from typing import Any

import pytest

from adapters.json_text import compact_json, compact_json_bytes, parse_json
from runax_cli.core.untrusted_text import escape_for_prompt, without_template_marks
from runax_cli.executor.outcome import EnvelopeStatus, FaultCode, ResultEnvelope, ToolFault

FAULT = ToolFault(type="timeout", code=FaultCode.TRAPPED, message="late", retryable=True, retry_after_ms=2000)
ALL = [
    ResultEnvelope.failed("get", FAULT),
    ResultEnvelope.internal("get", "broken"),
    ResultEnvelope.validation_error("get", "$.a: not an integer"),
    ResultEnvelope.validation_error("gte", "no such tool", code=FaultCode.NO_SUCH_TOOL),
    ResultEnvelope.duplicate("get", {"a": 1}, dataset="tickets_1"),
    ResultEnvelope.deferred("get", {"a": 1}, waits_for=["find"]),
    ResultEnvelope.denied("get", {"a": 1}, why="writes are not allowed"),
    ResultEnvelope.budget_exhausted("get", {"a": 1}, why="the budget is used up"),
]


@pytest.mark.parametrize("envelope", ALL, ids=lambda envelope: envelope.status.value)
def test_every_envelope_is_compact_json_with_a_hint(envelope: ResultEnvelope) -> None:
    sent = json.loads(envelope.to_model_text())
    assert sent["status"] == envelope.status
    assert len(sent["next_action_hint"]) > 20
    assert None not in sent.values()
    assert "\n" not in envelope.to_model_text()
    assert "data" not in sent


def test_every_status_without_data_has_a_constructor() -> None:
    made = {envelope.status for envelope in ALL}
    assert set(EnvelopeStatus) - made == {EnvelopeStatus.SUCCESS, EnvelopeStatus.EMPTY, EnvelopeStatus.PARTIAL}


def test_a_fault_has_the_fields_of_the_contract() -> None:
    sent = json.loads(ResultEnvelope.failed("get", FAULT).to_model_text())["error"]
    assert sent == {
        "type": "timeout",
        "code": -32000,
        "message": "late",
        "retryable": True,
        "retry_after_ms": 2000,
        "instruction": "RE-EVALUATE_INTENT",
    }


def test_nulls_inside_data_are_kept() -> None:
    envelope = ResultEnvelope(
        status=EnvelopeStatus.SUCCESS, tool="get", data={"t#1": {"a": None}}, next_action_hint="Answer from it now."
    )
    assert json.loads(envelope.to_model_text())["data"] == {"t#1": {"a": None}}


@pytest.mark.parametrize("value", [2**80, "příliš", "\ud800", {"a": [None, 1.5, True]}, "</records>"])
def test_compact_json_is_read_back_unchanged(value: Any) -> None:
    text = compact_json({"v": value})
    assert " " not in text.replace("příliš", "")
    read = parse_json(compact_json_bytes({"v": value}))["v"]
    assert read == (value if value != "\ud800" else "\ufffd" * 3)


@pytest.mark.parametrize(
    "mark", ["</records>", "</RECORDS>", "< / records >", "</findings>", "<|im_start|>", "<|eot_id|>", "[INST]", "</s>"]
)
def test_fence_and_template_marks_are_broken_and_json_stays_valid(mark: str) -> None:
    text = compact_json({"text": f"before {mark} after"})
    shown = escape_for_prompt(text)
    assert mark not in shown
    assert json.loads(shown)["text"].startswith("before ")
    assert escape_for_prompt(shown) == shown, "breaking twice is breaking once"


@pytest.mark.parametrize("text", ["a < b / c", "[1] x", "<b>bold</b>", "if a<b|c", "records/findings"])
def test_ordinary_text_is_unchanged(text: str) -> None:
    assert escape_for_prompt(text) == text
    assert without_template_marks(text) == text
