"""Citations and marks are inserted where they belong, and evidence stays a part of the answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.agent.evidence.answer_verifier import CheckedStatement
from runax_cli.agent.evidence.citations import parse_statements
from runax_cli.agent.result.annotation import UNSUPPORTED_MARK, StreamedPart, annotate, insert, insertions_of
from runax_cli.core.results import Evidence, EvidenceKind, Fault


def checked(answer: str, *, added: str = "", failing: str = "\0") -> list[CheckedStatement]:
    """Every statement gets the citation `added`, those with `failing` fail."""
    return [
        CheckedStatement(
            one,
            Evidence(
                statement=answer[one.start : one.end],
                kind=EvidenceKind.SQL if added else EvidenceKind.INFERENCE,
                verified=bool(added) and failing not in one.text,
                fault=Fault.UNSUPPORTED if failing in one.text else None,
            ),
            added=added,
        )
        for one in parse_statements(answer)
    ]


@pytest.mark.parametrize(
    ("answer", "annotated"),
    [
        ("There are 12 tickets.", "There are 12 tickets [q1]."),
        ("There are 12 tickets", "There are 12 tickets [q1]"),
        ("**There are 12 tickets.**", "**There are 12 tickets [q1].**"),
        ("There are **12 tickets**", "There are **12 tickets [q1]**"),
        ("- There are 12!\n- Praha has 5", "- There are 12 [q1]!\n- Praha has 5 [q1]"),
        ("| city | n |\n|---|---|\n| Praha | 12 |", "| city | n |\n|---|---|\n| Praha | 12 [q1] |"),
        ("He said “slow line.” Then he left.", "He said “slow line.” [q1] Then he left [q1]."),
    ],
)
def test_a_citation_goes_before_the_final_punctuation(answer: str, annotated: str) -> None:
    result = annotate(answer, checked(answer, added="q1"))
    assert result.text == annotated
    assert all(entry.statement in annotated for entry in result.evidence)


@pytest.mark.parametrize(
    ("answer", "annotated"),
    [
        ("There are 12 tickets. All is well.", "There are 12 tickets. [unsupported] All is well."),
        ("**There are 12.** All is well.", "**There are 12.** [unsupported] All is well."),
        ("- There are 12 [q1]\n- Praha", "- There are 12 [q1] [unsupported]\n- Praha"),
        ("| city | n |\n|---|---|\n| Praha | 12 |", "| city | n |\n|---|---|\n| Praha | 12 [unsupported] |"),
    ],
)
def test_a_mark_goes_right_after_the_statement(answer: str, annotated: str) -> None:
    result = annotate(answer, checked(answer, failing="12"))
    assert result.text == annotated
    assert all(UNSUPPORTED_MARK not in entry.statement for entry in result.evidence)


def test_a_failing_statement_gets_no_citation() -> None:
    answer = "There are 12 tickets."
    assert annotate(answer, checked(answer, added="q1", failing="12")).text == "There are 12 tickets. [unsupported]"


def test_what_is_streamed_keeps_its_insertions() -> None:
    answer = "There are 12 tickets.\n\nPraha has 5."
    first = insertions_of(answer, checked(answer, added="q1"))[:1]
    result = annotate(answer, checked(answer, added="q2"), streamed=StreamedPart(21, first))
    assert result.text == "There are 12 tickets [q1].\n\nPraha has 5 [q2]."


def test_an_answer_without_findings_is_unchanged() -> None:
    answer = "There are 12 tickets [q1]. All is well.\n\n- an item"
    assert annotate(answer, checked(answer)).text == answer


ANSWERS = st.lists(
    st.sampled_from(["Twelve tickets. ", "It is wrong. ", "- an item here\n", "\n\n", "| a cell | 5 |\n", "Look:\n"]),
    max_size=12,
).map("".join)


@given(ANSWERS, st.sampled_from(["", "q1"]))
def test_without_its_insertions_the_text_is_the_answer_and_evidence_is_a_part_of_it(answer: str, added: str) -> None:
    entries = checked(answer, added=added, failing="wrong")
    result = annotate(answer, entries)
    assert result.text.replace(" [q1]", "").replace(UNSUPPORTED_MARK, "") == answer
    assert all(entry.statement in result.text for entry in result.evidence)
    assert result.text.count(UNSUPPORTED_MARK) == sum(entry.evidence.has_failed for entry in entries)


@given(ANSWERS, st.integers(0, 100))
def test_two_parts_of_an_answer_are_the_whole(answer: str, cut: int) -> None:
    insertions = insertions_of(answer, checked(answer, added="q1", failing="wrong"))
    end = min(cut, len(answer))
    first = insert(answer[:end], [one for one in insertions if one.position <= end])
    rest = insert(answer, [one for one in insertions if one.position > end], start=end)
    assert first + rest == insert(answer, insertions)
