"""Splitting of a process's output into lines."""

from hypothesis import given
from hypothesis import strategies as st

from adapters.mcp.connection.stdio import LineBuffer, LineTooLong


def read(text: bytes, sizes: list[int], *, max_bytes: int = 1000) -> list[bytes | LineTooLong]:
    lines, found, at = LineBuffer(max_bytes), list[bytes | LineTooLong](), 0
    for size in [*sizes, len(text)]:
        found += lines.feed(text[at : at + size])
        at += size
    return [*found, *lines.finish()]


@given(st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b""))), st.lists(st.integers(0, 30)))
def test_lines_do_not_depend_on_chunk_sizes(lines: list[bytes], sizes: list[int]) -> None:
    assert read(b"\n".join(lines), sizes) == (lines or [b""])


@given(st.lists(st.integers(0, 30), max_size=10))
def test_a_line_that_is_too_long_is_reported_once(sizes: list[int]) -> None:
    first, reported, *others = read(b"one\n" + b"x" * 60 + b"\nthree\nfour", sizes, max_bytes=50)
    assert (first, others) == (b"one", [b"three", b"four"])
    assert isinstance(reported, LineTooLong)


def test_a_line_that_is_too_long_is_dropped_before_it_ends() -> None:
    lines = LineBuffer(50)
    reported = [found for _ in range(100) for found in lines.feed(b"x" * 20)]
    assert [str(found) for found in reported] == ["a line exceeds 50 bytes"]
    assert list(lines.finish()) == []
