"""Lists keep within their terminal, lose nothing but the end of a last column, and are aligned where they can be."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from runax_cli.ui.table import lines

COLUMNS = ["name", "tokens", "description"]
ROWS = [["list_tickets", "140", "All tickets of all customers, with their status."], ["get", "60", "日本語"]]
cells = st.text(st.sampled_from("ab c日é_"), min_size=1, max_size=30).map(lambda text: " ".join(text.split()) or "x")


def test_with_room_a_list_is_aligned() -> None:
    shown = list(lines(COLUMNS, ROWS))
    assert shown[0] == "name          tokens  description"
    assert shown[1] == "list_tickets  140     All tickets of all customers, with their status."
    assert list(lines(COLUMNS, ROWS, width=200)) == shown


def test_with_less_room_the_last_column_is_cut() -> None:
    shown = list(lines(COLUMNS, ROWS, width=50))
    assert shown[1] == "list_tickets  140     All tickets of all…"


def test_with_little_room_each_thing_has_lines_of_its_own() -> None:
    assert list(lines(COLUMNS, ROWS, width=36)) == [
        "list_tickets",
        "  tokens       140",
        "  description  All tickets of all",
        "               customers, with their",
        "               status.",
        "get",
        "  tokens       60",
        "  description  日本語",
    ]


def test_nothing_is_no_list() -> None:
    assert list(lines(COLUMNS, [], width=40)) == []


@given(st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=4), st.integers(24, 120))
def test_no_line_is_wider_than_the_terminal_and_no_word_is_lost(rows: list[tuple[str, str, str]], width: int) -> None:
    shown = list(lines(COLUMNS, rows, width=width))
    assert all(cell_len(line) <= width for line in shown)
    packed = "".join("".join(shown).split())
    for row in rows:
        assert all("".join(cell.split()) in packed for cell in row[:-1])
