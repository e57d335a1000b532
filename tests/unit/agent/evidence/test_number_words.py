"""Numbers written as words are read in every language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from num2words import num2words

from runax_cli.agent.evidence.number_words import word_numbers_in


@given(st.integers(13, 999), st.sampled_from(["en", "cs", "de"]))
def test_every_number_that_is_written_out_is_read(number: int, language: str) -> None:
    (found,) = word_numbers_in(f"x {num2words(number, lang=language)} y")
    assert found.readings[0].low == number


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Thirty-eight flights, two of them late", [38, 2]),
        ("achtunddreißig Bestellungen", [38]),
        ("dvaadvacet letů a třicet osm lidí", [22, 38]),
        ("one hundred and five", [105]),
        ("four million crowns", [4_000_000]),
        ("Both are here, one is not, no more", []),
        ("the tents are tentative", []),
    ],
)
def test_words_are_numbers_only_where_they_mean_one(text: str, values: list[int]) -> None:
    middles = [(found.readings[0].low + found.readings[0].high) / 2 for found in word_numbers_in(text)]
    assert middles == values


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    for found in word_numbers_in(text):
        assert text[found.start : found.end] == found.text
