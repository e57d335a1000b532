"""A reply that repeats itself is recognized; honest lists and tables with similar rows are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.agent.loop.repetition import MIN_ROWS, MIN_SENTENCES, cut_repetition, find_repetition

LINE = "There are no stores in Puerto Rico."


@pytest.mark.parametrize(
    "reply",
    [
        f"{LINE}\n" * 40,
        f"{LINE} " * 40,
        f"{LINE}\n\n" * 40,
        f"- {LINE}\n" * 40,
        "1. There are no stores here.\n" * 40,
        "The first line is here.\nThe second line is there.\n\n" * 10,
        "very good " * 40,
        "No, no stores and " * 30,
        "没有数据" * 50,
    ],
)
def test_text_that_is_repeated_over_and_over_is_found(reply: str) -> None:
    assert find_repetition(reply) is not None
    assert find_repetition(f"Here is what I found in the data.\n\n{reply}") is not None


def test_the_cut_reply_has_one_copy() -> None:
    reply = f"I have looked at it.\n\n{LINE}\n" + f"{LINE}\n" * 39
    found = find_repetition(reply)
    assert found is not None
    assert found.text == LINE
    assert cut_repetition(reply, found) == f"I have looked at it.\n\n{LINE} …"


@pytest.mark.parametrize(
    "reply",
    [
        "",
        f"{LINE} " * (MIN_SENTENCES - 1),
        "- The order was delivered on time\n" * (MIN_ROWS - 1),
        "- delivered\n" * 100,
        "| no | no | no | no | no | no | no | no | no | no | no | no |\n" * 3,
        "| " + "0 | " * 60,
        "-" * 500,
        "\n\n".join(f"### Ticket {n}\n\nThe data does not say why." for n in range(30)),
    ],
)
def test_a_few_copies_and_short_values_are_no_repetition(reply: str) -> None:
    assert find_repetition(reply) is None


WORDS = st.sampled_from(["outage", "delivered", "Praha", "no refund was given", "2016-04-01", "12.50", ""])


@given(st.lists(st.tuples(WORDS, WORDS), max_size=60), st.booleans())
def test_rows_that_each_have_an_id_are_never_rejected(rows: list[tuple[str, str]], is_table: bool) -> None:
    table = "".join(f"| {n} | {a} | {b} |\n" for n, (a, b) in enumerate(rows, 500))
    items = "".join(f"- {a} {b} of the order [orders_1#{n}]\n" for n, (a, b) in enumerate(rows, 1))
    assert find_repetition(table if is_table else items) is None


@given(
    before=st.lists(st.sampled_from(["It broke today.", "It was mended later.", "Nothing else is known."]), max_size=2),
    piece=st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta"]), min_size=4, max_size=12),
    copies=st.integers(MIN_ROWS, 50),
    mark=st.sampled_from(["", "- ", "* "]),
)
def test_every_line_of_four_words_that_comes_often_enough_is_found(
    before: list[str], piece: list[str], copies: int, mark: str
) -> None:
    reply = " ".join(before) + "\n\n" + f"{mark}{' '.join(piece)}.\n\n" * copies
    found = find_repetition(reply)
    assert found is not None
    assert len(cut_repetition(reply, found)) < len(reply)


@given(st.text(max_size=400))
def test_any_text_can_be_searched(text: str) -> None:
    found = find_repetition(text)
    assert found is None or 0 < found.end <= len(text)
