"""Signs that a server limits results."""

import pytest

from adapters.errors import SourceError
from runax_cli.executor.fetch.server_limits import (
    is_out_of_range,
    is_refusal,
    is_round_size,
    is_window_size,
    window_boundary_in,
)
from tests.fakes.paged_api import http_error, timed_out


@pytest.mark.parametrize(
    ("error", "is_refused", "is_beyond"),
    [
        (http_error(400), True, False),
        (http_error(422), True, False),
        (http_error(404), False, True),
        (http_error(416), False, True),
        (http_error(500), False, False),
        (timed_out(), False, False),
    ],
)
def test_refusals_and_positions_behind_the_data(error: SourceError, is_refused: bool, is_beyond: bool) -> None:
    assert (is_refusal(error), is_out_of_range(error)) == (is_refused, is_beyond)


@pytest.mark.parametrize(
    ("start", "size", "boundary"), [(994, 7, 1000), (900, 100, None), (1000, 100, None), (9_999, 2, 10_000)]
)
def test_a_window_boundary_lies_inside_a_page(start: int, size: int, boundary: int | None) -> None:
    assert window_boundary_in(start, size) == boundary


def test_sizes_at_which_servers_cut_results() -> None:
    assert [n for n in (50, 100, 300, 1000, 5000, 10_000, 12_000) if is_window_size(n)] == [1000, 5000, 10_000]
    assert [n for n in (20, 50, 100, 300, 1000) if is_round_size(n)] == [50, 100, 1000]
