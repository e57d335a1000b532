"""Tables fit the width of the terminal and lose no text."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from runax_cli.commands.printing import table_lines

COLUMNS = ["name", "tokens", "description"]
ROWS = [["list_tickets", "140", "All tickets of all customers, with their status."], ["get", "60", "日本語"]]
cells = st.text(st.sampled_from("ab c日é_"), min_size=1, max_size=30).map(lambda text: " ".join(text.split()) or "x")


def test_columns_are_aligned() -> None:
    lines = list(table_lines(COLUMNS, ROWS))
    assert lines[0] == "name          tokens  description"
    assert lines[1] == "list_tickets  140     All tickets of all customers, with their status."
    assert list(table_lines(COLUMNS, ROWS, width=200)) == lines


def test_last_column_wraps_in_a_narrow_terminal() -> None:
    assert list(table_lines(COLUMNS, ROWS, width=50)) == [
        "name          tokens  description",
        "list_tickets  140     All tickets of all",
        "                      customers, with their",
        "                      status.",
        "get           60      日本語",
    ]


def test_empty_list_prints_nothing() -> None:
    assert list(table_lines(COLUMNS, [], width=40)) == []


@given(st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=4), st.integers(24, 120))
def test_no_line_exceeds_the_width_and_no_character_is_lost(rows: list[tuple[str, str, str]], width: int) -> None:
    lines = list(table_lines(COLUMNS, rows, width=width))
    assert all(cell_len(line) <= width for line in lines)
    printed = sorted("".join("".join(lines).split()))
    assert printed == sorted("".join("".join(cell.split()) for row in (COLUMNS, *rows) for cell in row))
