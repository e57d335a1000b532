"""The table of strategies, row by row."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.executor.strategy import COUNTED_BY_EYE, PASSED_FOR_FIGURES, ResultSize, Strategy, choose


@pytest.mark.parametrize(
    ("records", "tokens", "need", "wanted"),
    [
        (0, 0, "read", "empty"),
        (0, None, "compute", "empty"),
        (5, 1000, "read", "direct_pass"),
        (500, 1000, "read", "direct_pass"),
        (20, 1000, "compute", "direct_pass"),
        (21, 1000, "compute", "table"),
        (500, 1001, "read", "single_reduction"),
        (5, 1001, "compute", "table"),
        (500, 4000, "read", "single_reduction"),
        (500, 4001, "read", "paginated_reduction"),
        (500, 4001, "compute", "table"),
        (None, None, "read", "paginated_reduction"),
        (None, None, "compute", "table"),
        (500, None, "read", "paginated_reduction"),
        (1, 4001, "read", "paginated_reduction"),
    ],
)
def test_the_table(records: int | None, tokens: int | None, need: str, wanted: str) -> None:
    size = ResultSize(records=records, tokens=tokens)
    choice = choose(size, need, direct_limit=1000, chunk_tokens=4000)  # type: ignore[arg-type]
    assert choice.strategy == wanted
    assert choice.why


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(0, 10**5), st.integers(1, 10**5))
def test_more_never_makes_a_direct_pass_possible(records: int, tokens: int, limit: int, chunk: int) -> None:
    for need in ("read", "compute"):
        small = choose(ResultSize(records=records, tokens=tokens), need, direct_limit=limit, chunk_tokens=chunk)
        large = choose(ResultSize(records=records + 1, tokens=tokens + 1), need, direct_limit=limit, chunk_tokens=chunk)
        if large.strategy is Strategy.DIRECT_PASS:
            assert small.strategy is Strategy.DIRECT_PASS


def test_why_names_the_figures_and_says_what_is_a_guess() -> None:
    size = ResultSize(records=261, tokens=355_000)
    why = choose(size, "read", direct_limit=1000, chunk_tokens=27_000).why
    assert "261 records" in why
    assert "about 355,000 tokens" in why
    assert "27,000" in why
    exact = ResultSize(records=261, tokens=355_000, is_estimate=False)
    assert "about" not in choose(exact, "read", direct_limit=1000, chunk_tokens=27_000).why
    assert COUNTED_BY_EYE == 20


@pytest.mark.parametrize(
    ("records", "tokens", "wanted"),
    [(12, PASSED_FOR_FIGURES, "direct_pass"), (12, PASSED_FOR_FIGURES + 1, "table"), (1, 5000, "direct_pass")],
)
def test_a_few_long_records_are_computed_over_and_one_alone_is_shown(records: int, tokens: int, wanted: str) -> None:
    size = ResultSize(records=records, tokens=tokens)
    assert choose(size, "compute", direct_limit=8000, chunk_tokens=27_000).strategy == wanted
