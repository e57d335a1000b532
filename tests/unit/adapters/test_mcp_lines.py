"""Lines of a process: the same however they come, and none longer than what is read."""

from hypothesis import given
from hypothesis import strategies as st

from adapters.mcp.connection.stdio import LineBuffer, LineTooLong


def read(text: bytes, sizes: list[int], *, max_bytes: int = 1000) -> list[bytes | LineTooLong]:
    lines, found, at = LineBuffer(max_bytes), list[bytes | LineTooLong](), 0
    for size in [*sizes, len(text)]:
        found += lines.fed(text[at : at + size])
        at += size
    return [*found, *lines.ended()]


@given(st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b""))), st.lists(st.integers(0, 30)))
def test_lines_are_the_same_however_they_are_cut_into_pieces(lines: list[bytes], sizes: list[int]) -> None:
    assert read(b"\n".join(lines), sizes) == (lines or [b""])


@given(st.lists(st.integers(0, 30), max_size=10))
def test_a_line_that_is_too_long_is_told_once_and_costs_no_other(sizes: list[int]) -> None:
    first, told, *others = read(b"one\n" + b"x" * 60 + b"\nthree\nfour", sizes, max_bytes=50)
    assert (first, others) == (b"one", [b"three", b"four"])
    assert isinstance(told, LineTooLong)


def test_a_line_without_an_end_is_told_before_it_ends_and_kept_no_longer() -> None:
    lines = LineBuffer(50)
    told = [found for _ in range(100) for found in lines.fed(b"x" * 20)]
    assert [str(found) for found in told] == ["a line of more than 50 bytes"]
    assert list(lines.ended()) == []
