"""Lists and texts are fitted into a budget."""

from hypothesis import given
from hypothesis import strategies as st

from runax_cli.executor.token_fitting import (
    largest_fitting,
    pack,
    prefix_within,
    truncate,
    truncate_middle,
    truncate_tokens,
)
from runax_cli.models.base import ByteCounter

count = ByteCounter().count


@given(st.lists(st.integers(0, 900), max_size=200), st.integers(50, 3000), st.none() | st.integers(1, 100))
def test_groups_are_consecutive_complete_and_within_both_limits(
    weights: list[int], budget: int, max_items: int | None
) -> None:
    groups = pack(weights, budget=budget, max_items=max_items)
    assert [at for group in groups for at in group] == list(range(len(weights)))
    for group in groups:
        assert 1 <= len(group) <= (max_items or len(weights))
        assert len(group) == 1 or sum(weights[at] for at in group) <= budget


@given(st.lists(st.integers(1, 100), max_size=50), st.integers(0, 500))
def test_the_prefix_fits_and_one_more_would_not(weights: list[int], budget: int) -> None:
    n = prefix_within(weights, budget=budget)
    assert sum(weights[:n]) <= budget
    assert n == len(weights) or sum(weights[: n + 1]) > budget


@given(st.integers(0, 100), st.integers(-1, 120))
def test_the_largest_fitting_number_is_found(upper: int, limit: int) -> None:
    assert largest_fitting(upper, lambda n: n <= limit) == max(0, min(upper, limit))


def test_a_truncated_text_ends_with_an_ellipsis() -> None:
    assert truncate("short", 5) == "short"
    assert truncate("longer", 5) == "long…"


@given(st.text(max_size=400), st.integers(1, 50))
def test_a_text_is_cut_to_its_beginning_within_the_tokens(text: str, max_tokens: int) -> None:
    kept = truncate_tokens(text, count, max_tokens=max_tokens)
    assert text.startswith(kept)
    assert count(kept) <= max_tokens


def test_the_middle_of_a_long_text_is_left_out() -> None:
    text = "a" * 100 + "b" * 100
    short = truncate_middle(text, count, max_tokens=40)
    assert count(short) <= 40
    assert (short[0], short[-1]) == ("a", "b")
    assert truncate_middle(text, count, max_tokens=200) == text
