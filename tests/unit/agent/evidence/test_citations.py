"""An answer is split into statements, and each keeps its references."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.agent.evidence.citations import (
    Citation,
    Statement,
    non_statements,
    parse_statements,
    record_citations,
    strip_citations,
)

T17, T18, P3 = Citation("tickets_1", 17), Citation("tickets_1", 18), Citation("payments_1", 3)


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("x [tickets_1#17]", (T17,)),
        ("x [tickets_1#17, tickets_1#18]", (T17, T18)),
        ("x [tickets_1#17,18]", (T17, T18)),
        ("x [tickets_1#17, #18]", (T17, T18)),
        ("x [tickets_1#17; payments_1#3]", (T17, P3)),
        ("x [tickets_1#17 and payments_1#3]", (T17, P3)),
        ("x [tickets_1#17-18]", (T17, T18)),
        ("x [tickets_1#17\N{EN DASH}tickets_1#18]", (T17, T18)),
        ("x [tickets_1#17][tickets_1#18]", (T17, T18)),
        ("x 【tickets_1#17】", (T17,)),
        ("x [tickets_1#17] y [tickets_1#17]", (T17,)),
        ("x [tickets_1 #17]", (T17,)),
        ("nothing [here] and [issue #5 is open] and [#5]", ()),
        ("x [tickets_1#17, see below]", ()),
        ("tickets_1#17 without brackets", ()),
    ],
)
def test_references_are_found_in_every_form_and_nowhere_else(text: str, cited: tuple[Citation, ...]) -> None:
    assert record_citations(text) == cited


def test_a_range_that_is_turned_or_endless_is_taken_as_its_two_ends() -> None:
    assert record_citations("[t_1#5-3]") == (Citation("t_1", 5), Citation("t_1", 3))
    assert record_citations("[t_1#1-999999999]") == (Citation("t_1", 1), Citation("t_1", 999_999_999))


def test_a_statement_is_the_sentence_that_carries_the_reference() -> None:
    answer = "Customer 4 reported outages [tickets_1#17]. The invoice was **paid** [payments_1#3]. All is well now."
    assert parse_statements(answer) == (
        Statement("Customer 4 reported outages.", (T17,)),
        Statement("The invoice was paid.", (P3,)),
        Statement("All is well now."),
    )


def test_references_after_the_full_stop_belong_to_the_sentence_before() -> None:
    answer = "It rained. [tickets_1#17] Then it stopped! [tickets_1#18], [payments_1#3]\nEnd of story."
    assert [(s.text, s.citations) for s in parse_statements(answer)] == [
        ("It rained.", (T17,)),
        ("Then it stopped!", (T18, P3)),
        ("End of story.", ()),
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "Zákazník č. 4 volal 21. 11. 2026 kvůli výpadku [tickets_1#17].",
        "Výpadek trval do 21. listopadu, tj. dva dny, viz Ing. Novák [tickets_1#17].",
        "It costs 3.5 USD, e.g. for Mr. Smith [tickets_1#17].",
    ],
)
def test_abbreviations_and_dates_end_no_sentence(sentence: str) -> None:
    assert len(parse_statements(sentence)) == 1


def test_a_number_ends_a_sentence_where_a_new_one_begins() -> None:
    assert [s.text for s in parse_statements("There were 12. They were closed [tickets_1#17]. 3 remain open.")] == [
        "There were 12.",
        "They were closed.",
        "3 remain open.",
    ]


def test_a_list_item_is_one_statement_with_its_continuation() -> None:
    answer = "Problems:\n\n- Outage. It lasted two days\n  and came back. [tickets_1#17]\n2. Slow line [tickets_1#18]\n"
    assert parse_statements(answer) == (
        Statement("Outage. It lasted two days and came back.", (T17,)),
        Statement("Slow line", (T18,)),
    )


def test_a_table_row_is_one_statement_and_its_head_is_none() -> None:
    answer = (
        "| Date | Problem |\n|---|:--|\n| 2026-01-02 | Outage [tickets_1#17] |\n| 2026-01-03 | Slow [tickets_1#18] |"
    )
    assert parse_statements(answer) == (
        Statement("2026-01-02 | Outage", (T17,)),
        Statement("2026-01-03 | Slow", (T18,)),
    )


def test_headings_lead_ins_questions_code_and_single_words_state_nothing() -> None:
    answer = (
        "# All about it\n\nThis is what was found:\n\nShall I go on?\n\n```\nSELECT 1 FROM x. Yes it is.\n```\n\nHello."
    )
    assert parse_statements(answer) == ()


def test_a_lead_in_that_carries_a_reference_is_a_statement() -> None:
    assert parse_statements("The customer [tickets_1#17] said:") == (Statement("The customer said:", (T17,)),)


def test_a_dataset_alone_cites_its_number_of_records() -> None:
    answer = "There are 261 tickets [tickets_1]. Two broke. [payments_2] See [tickets_1](http://x) and [1]."
    assert parse_statements(answer) == (
        Statement("There are 261 tickets.", (), ("tickets_1",)),
        Statement("Two broke.", (), ("payments_2",)),
        Statement("See [tickets_1](http://x) and [1]."),
    )


def test_other_brackets_stay() -> None:
    assert strip_citations("see [1] and [issue #5 is open] [tickets_1#17].") == "see [1] and [issue #5 is open]."


@given(st.text(alphabet="ab1.! #[]【】-\n_,", max_size=60))
def test_no_reference_of_a_line_is_lost(answer: str) -> None:
    lines = [line for line in answer.splitlines() if not line.lstrip("> ").startswith("#")]
    cited = {c for line in lines for c in record_citations(line)}
    assert cited <= {c for s in parse_statements("\n".join(lines)) for c in s.citations}


@given(st.lists(st.sampled_from(["It broke", "It was paid", "Nothing came of it"]), min_size=1, max_size=6))
def test_sentences_come_back_whole_and_in_order(parts: list[str]) -> None:
    answer = " ".join(f"{part} [tickets_1#{n}]." for n, part in enumerate(parts, 1))
    assert parse_statements(answer) == tuple(
        Statement(f"{part}.", (Citation("tickets_1", n),)) for n, part in enumerate(parts, 1)
    )


@pytest.mark.parametrize(
    ("answer", "cited"),
    [
        ("Tickets by city [q1]:\n\n- Praha: 12\n- Brno: 8 [q2]\n\nThat is all there is.", [("q1",), ("q2",), ()]),
        ("| City | Tickets [q1] |\n|---|---|\n| Praha | 12 |\n| Brno | 8 |", [("q1",), ("q1",)]),
        ("| City | n |\n|---|---|\n| Praha | 12 |\n| Brno | 8 |\n\nSource: [q1]", [("q1",), ("q1",)]),
        ("- Praha: 12\n- Brno: 8\n\n[q1]", [("q1",), ("q1",)]),
        ("## Cities [q1]\n\n1. Praha: 12\n2. Brno: 8", [("q1",), ("q1",)]),
        ("Tickets by city [tickets_1#1]:\n\n- Praha: 12", [(), ()]),
        ("There are 3 cities [q1].\n\n- Praha: 12", [("q1",), ()]),
    ],
)
def test_a_query_that_is_cited_once_for_a_list_is_cited_by_every_item(
    answer: str, cited: list[tuple[str, ...]]
) -> None:
    assert [statement.queries for statement in parse_statements(answer)] == cited


def test_what_leads_to_a_list_is_no_statement_of_its_own() -> None:
    answer = "Tickets by city [q1]:\n\n- Praha: 12"
    assert [aside.text for aside in non_statements(answer)] == ["Tickets by city:"]


def test_a_cell_that_counts_the_rows_is_left_out() -> None:
    answer = "| # | City | n |\n|---|---|---|\n| 1 | Praha | 12 |\n| 2. | Brno | 8 |\n| 7 | Ostrava | 3 |"
    assert [statement.text for statement in parse_statements(answer)] == ["Praha | 12", "Brno | 8", "7 | Ostrava | 3"]


def test_queries_are_cited_alone_together_and_with_records() -> None:
    assert parse_statements("It is so [q1, tickets_1#17; tickets_1].") == (
        Statement("It is so.", (T17,), ("tickets_1",), ("q1",)),
    )
    assert parse_statements("It is so [q1-3] [Q7].")[0].queries == ("q1", "q2", "q3", "q7")
    assert parse_statements("It is so [quarter 1] [q].")[0].queries == ()


def test_a_quotation_of_several_sentences_is_not_taken_apart() -> None:
    answer = "He wrote “It broke. Nobody came.” [tickets_1#17]. Then “Enough.” he said."
    assert [statement.text for statement in parse_statements(answer)] == [
        "He wrote “It broke. Nobody came.”.",
        "Then “Enough.” he said.",
    ]


def test_a_reply_of_a_megabyte_that_never_ends_a_sentence_is_one_statement() -> None:
    assert len(parse_statements("word word. " * 100_000)) == 1
