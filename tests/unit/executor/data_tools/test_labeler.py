"""Labels: which values of a reply are accepted, samples and agreement."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.executor.data_tools.labeler import (
    LabelField,
    LabelTask,
    agreement,
    check_labels,
    label_fields,
    sample_positions,
)

MOOD = LabelTask("What is the mood?", label_fields(["good", "bad"], None))


def reply(*labels: object) -> str:
    return json.dumps({"labels": labels})


def test_labels_of_sent_references_are_accepted_and_missing_ones_are_listed() -> None:
    checked = check_labels(reply({"ref": 1, "label": "good"}), [1, 2], MOOD)
    assert (checked.accepted, checked.missing) == ({1: {"label": "good"}}, (2,))


def test_an_invented_reference_is_rejected() -> None:
    checked = check_labels(reply({"ref": 1, "label": "good"}, {"ref": 7, "label": "bad"}), [1], MOOD)
    assert checked.accepted == {1: {"label": "good"}}
    assert checked.errors == ("there is no text [7]",)


@pytest.mark.parametrize("value", ["angry", None, 3, "GOOD", ""])
def test_a_label_outside_the_closed_list_counts_as_missing(value: object) -> None:
    assert check_labels(reply({"ref": 1, "label": value}), [1], MOOD).missing == (1,)


@pytest.mark.parametrize("text", ["", "not json", "[]", '{"labels": 3}', '{"labels": [1]}'])
def test_a_reply_that_does_not_fit_the_schema_leaves_all_missing(text: str) -> None:
    assert check_labels(text, [1, 2], MOOD).missing == (1, 2)


def test_the_first_of_two_labels_for_one_text_counts() -> None:
    assert (
        check_labels(reply({"ref": 1, "label": "good"}, {"ref": 1, "label": "bad"}), [1], MOOD).accepted[1]["label"]
        == "good"
    )


def test_a_schema_gives_one_field_for_each_property() -> None:
    fields = label_fields(None, {"properties": {"stars": {"type": "integer"}, "tone": {"enum": ["calm", "cross"]}}})
    assert fields == (LabelField("stars", "integer"), LabelField("tone", "string", ("calm", "cross")))


@pytest.mark.parametrize("schema", [None, {}, {"properties": {"x": {"type": "object"}}}, {"properties": {"ref": {}}}])
def test_a_task_without_usable_fields_is_rejected(schema: dict[str, object] | None) -> None:
    with pytest.raises(ValueError, match=r"labels|schema"):
        label_fields(None, schema)


def test_the_key_of_a_label_depends_on_text_task_model_and_prompt() -> None:
    key = MOOD.key("hello", model="m", prompt="p@1")
    others = [
        MOOD.key("hallo", model="m", prompt="p@1"),
        MOOD.key("hello", model="n", prompt="p@1"),
        MOOD.key("hello", model="m", prompt="p@2"),
        LabelTask("Other?", MOOD.fields).key("hello", model="m", prompt="p@1"),
    ]
    assert key == MOOD.key("hello", model="m", prompt="p@1")
    assert key not in others


@given(st.lists(st.text(max_size=8), max_size=300, unique=True))
def test_a_sample_is_small_stable_and_without_repetition(keys: list[str]) -> None:
    chosen = sample_positions(keys)
    assert chosen == sample_positions(keys)
    assert len(set(chosen)) == len(chosen) <= min(50, len(keys))
    assert bool(chosen) == bool(keys)


def test_agreement_counts_only_texts_that_were_labeled_both_times() -> None:
    good, bad = {"label": "good"}, {"label": "bad"}
    assert agreement([good, good, None, bad], [good, bad, bad, None]) == 0.5
    assert agreement([None], [good]) is None
