"""What endpoints send is read as text that can be written again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.models.wire import arguments_text, text_or_empty


@given(st.text(alphabet=st.characters(), max_size=30))
def test_every_text_can_be_encoded(text: str) -> None:
    for written in (text_or_empty(text), arguments_text({"q": text})):
        assert written.encode("utf-8").decode("utf-8") == written


@given(st.text(max_size=30))
def test_text_without_lone_surrogates_is_unchanged(text: str) -> None:
    assert text_or_empty(text) == text


@pytest.mark.parametrize("value", [None, 4, ["a"], {"a": 1}])
def test_a_value_that_is_not_text_is_empty(value: object) -> None:
    assert text_or_empty(value) == ""
