"""Duplicate calls are found by fingerprints that ignore spelling."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.guard.duplicates import data_fingerprint, fingerprint, near_fingerprint
from runax_cli.guard.visible_tool import SplitArguments

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=5))
def test_the_order_of_arguments_is_ignored(api: dict[str, Any]) -> None:
    turned = dict(reversed(api.items()))
    assert fingerprint("t", SplitArguments(api=api)) == fingerprint("t", SplitArguments(api=turned))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (SplitArguments(api={"n": 1}), SplitArguments(api={"n": 1.0})),
        (SplitArguments(api={"s": " Praha\n"}), SplitArguments(api={"s": "Praha"})),
        (SplitArguments(api={"n": -0.0}), SplitArguments(api={"n": 0})),
        (SplitArguments(api={"s": "é"}), SplitArguments(api={"s": "e\u0301"})),
        (SplitArguments(api={}, focus="Kde to  vázne?"), SplitArguments(api={}, focus=" kde to vázne? ")),
    ],
)
def test_different_spellings_of_one_call_are_equal(one: SplitArguments, other: SplitArguments) -> None:
    assert fingerprint("t", one) == fingerprint("t", other)


@pytest.mark.parametrize(
    "other",
    [
        SplitArguments(api={"n": 2}, focus="f"),
        SplitArguments(api={"n": "1"}, focus="f"),
        SplitArguments(api={"n": True}, focus="f"),
        SplitArguments(api={"n": 1, "m": None}, focus="f"),
        SplitArguments(api={"n": 1}, focus="g"),
        SplitArguments(api={"n": 1}, focus="f", need="compute"),
        SplitArguments(api={"n": 1}, focus="f", at_most=5),
    ],
)
def test_calls_that_differ_have_different_fingerprints(other: SplitArguments) -> None:
    assert fingerprint("t", SplitArguments(api={"n": 1}, focus="f")) != fingerprint("t", other)


def test_the_tool_is_part_of_the_fingerprint() -> None:
    assert fingerprint("a", SplitArguments(api={})) != fingerprint("b", SplitArguments(api={}))


def test_the_data_fingerprint_ignores_focus_and_need() -> None:
    one, other = SplitArguments(api={"n": 1}, focus="f"), SplitArguments(api={"n": 1}, focus="g", need="compute")
    assert data_fingerprint("t", one) == data_fingerprint("t", other)
    assert data_fingerprint("t", one) != data_fingerprint("t", SplitArguments(api={"n": 1}, at_most=5))


WORDS = st.lists(st.sampled_from(["velká", "Praha", "4", "BRNO", "e-mail"]), min_size=1, max_size=4)


@given(WORDS, st.randoms())
def test_the_near_fingerprint_ignores_case_and_order_of_words(words: list[str], random: Any) -> None:
    other = [word.upper() for word in words]
    random.shuffle(other)
    one, turned = SplitArguments(api={"q": " ".join(words)}), SplitArguments(api={"q": "  ".join(other)}, focus="f")
    assert near_fingerprint("t", one) == near_fingerprint("t", turned)


def test_other_words_and_numbers_have_other_near_fingerprints() -> None:
    near = {near_fingerprint("t", SplitArguments(api=api)) for api in ({"q": "a b"}, {"q": "a c"}, {"q": 4}, {"n": 4})}
    assert len(near) == 4
