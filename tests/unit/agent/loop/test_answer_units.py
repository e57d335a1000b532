"""A part of an answer is finished once no further text can change what it cites."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.agent.evidence.citations import parse_statements
from runax_cli.agent.loop.answer_units import finished_end


@pytest.mark.parametrize(
    ("text", "finished"),
    [
        ("It broke", ""),
        ("It broke.\n", ""),
        ("It broke.\n\n", "It broke.\n\n"),
        ("It broke.\n\nThen", "It broke.\n\n"),
        ("Tickets by city [q1]:\n\n- Praha: 12\n\n", ""),
        ("**Tickets by city:** [q1]\n\n", ""),
        ("- Praha: 12\n\nSource [q1]", ""),
        ("- Praha: 12\n\nSource [q1]\n\nMore", "- Praha: 12\n\nSource [q1]\n\n"),
        ("| city | n |\n|---|---|\n| Praha | 12 |\n\n[q1]\n\n", "| city | n |\n|---|---|\n| Praha | 12 |\n\n[q1]\n\n"),
        ("# Head\n\n", ""),
        ("# Head\n\nIt broke.\n\n", "# Head\n\nIt broke.\n\n"),
        ("```\nSELECT 1\n\nFROM t\n", ""),
        ("```\nSELECT 1\n\nFROM t\n```\n\n", "```\nSELECT 1\n\nFROM t\n```\n\n"),
    ],
)
def test_a_unit_ends_where_nothing_can_be_added_to_it(text: str, finished: str) -> None:
    assert text[: finished_end(text)] == finished


BLOCKS = st.lists(
    st.sampled_from(
        [
            "It broke today.",
            "- one item",
            "- other item [q2]",
            "Found [q1]:",
            "Source [q1]",
            "# A head [q1]",
            "| a | b |",
        ]
    ),
    max_size=8,
)


@given(BLOCKS, st.integers(0, 120), st.sampled_from(["\n", "\n\n"]))
def test_further_text_changes_no_statement_of_a_finished_unit(blocks: list[str], cut: int, gap: str) -> None:
    text = "\n\n".join(blocks) + gap + "- more\n\nSource [q9]"
    end = finished_end(text[:cut])
    before = parse_statements(text[:end])
    assert parse_statements(text)[: len(before)] == before


@given(BLOCKS, st.integers(0, 120))
def test_units_found_one_after_the_other_are_those_found_at_once(blocks: list[str], cut: int) -> None:
    text = "\n\n".join(blocks)
    first = finished_end(text[:cut])
    assert finished_end(text, start=first) == finished_end(text)
