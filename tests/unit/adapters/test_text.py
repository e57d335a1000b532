"""Text helpers: folding for comparison and truncation for display."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.text import fold, strip_diacritics, truncate


@pytest.mark.parametrize(
    ("one", "other"), [("Průměr", "prumer"), ("BALÁŽ", "balaz"), ("STRASSE", "straße"), ("ﬁ", "FI")]
)
def test_folding_ignores_case_and_diacritics(one: str, other: str) -> None:
    assert fold(one) == fold(other)


def test_stripping_diacritics_keeps_the_case() -> None:
    assert strip_diacritics("Čeština") == "Cestina"


@given(st.text(), st.integers(min_value=1, max_value=50))
def test_a_truncated_text_has_at_most_its_limit(text: str, limit: int) -> None:
    cut = truncate(text, limit)
    assert len(cut) <= limit
    assert cut == text if len(text) <= limit else cut == text[: limit - 1] + "…"
