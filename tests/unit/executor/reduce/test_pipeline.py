"""The reduction pipeline: rows are read in ranges."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from runax_cli.executor.reduce.pipeline import row_ranges


@given(st.sets(st.integers(1, 200)))
def test_row_ranges_cover_the_rows_and_do_not_touch(rows: set[int]) -> None:
    found = list(row_ranges(sorted(rows)))
    assert [row for start, stop in found for row in range(start, stop)] == sorted(rows)
    assert all(before[1] < after[0] for before, after in pairwise(found))
