"""The question set: gold and reference SQL agree, and the check reports it if they don't."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.questions import COMPOUNDS, EXACT, LABELS, World, agrees, is_stated
from benchmarks.questions import check as checking
from benchmarks.questions.plain import top

FEW = World(event_count=1000, shared=Path("nowhere"))
QUICK = ("customers", "payments", "messages", "events")


def test_the_set_is_as_large_as_the_bench_needs() -> None:
    assert len(EXACT) >= 66
    assert len(COMPOUNDS) == 37
    assert len(LABELS) >= 10
    assert {len(compound.parts) for compound in COMPOUNDS} == {2, 3}
    assert 0.15 < Counter(q.language for q in EXACT)["cs"] / len(EXACT) < 0.25


def test_ids_are_unique() -> None:
    ids = [q.id for q in (*EXACT, *COMPOUNDS, *LABELS)]
    assert len(ids) == len(set(ids))


def test_reference_sql_gives_gold_over_the_made_up_data() -> None:
    only = [q.id for q in EXACT if all(fetch.resource in QUICK for fetch in q.fetches)]
    checked = list(checking.check(FEW, only=[*only, "overdue-and-critical", "critical-messages"]))
    assert [each.difference for each in checked if not each.is_exact] == []
    assert len(checked) == len(only) + 3


def test_a_wrong_gold_answer_is_detected(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    right = next(q for q in EXACT if q.id == "customers-active")
    monkeypatch.setattr(checking, "EXACT", (replace(right, gold=lambda _: 442),))
    assert checking.main(["--events", "1", "--only", "customers-active"]) == checking.DIFFERS
    assert "0 of 1 exact" in capsys.readouterr().out


def test_questions_over_files_that_are_not_there_are_skipped_with_a_reason() -> None:
    (checked,) = checking.check(FEW, only=["ssh-processes"])
    assert "RUNAX_SHARED_DATA" in (checked.skipped or "")


def test_columns_that_reveal_labels_are_removed_from_the_data() -> None:
    with FEW.resources(is_hiding=True) as resources:
        tickets = next(resource for resource in resources if resource.name == "tickets")
        record = tickets.read([1])[0].decode()
        assert '"category"' not in record
        assert "category" not in {argument.name for argument in tickets.filters}
        assert "category" not in tickets.definitions["Ticket"]["properties"]


def test_a_ranking_with_a_tie_is_rejected() -> None:
    with pytest.raises(ValueError, match="not told apart"):
        top({"a": 3, "b": 2, "c": 2}, 2)


@given(st.integers(0, 10**15))
def test_whole_numbers_must_be_right_to_the_last_digit(number: int) -> None:
    assert agrees(number, [(float(number),)], is_ranked=False)
    assert not agrees(number, [(number + 1,)], is_ranked=False)


def test_the_order_of_rows_counts_in_rankings_only() -> None:
    rows = [("b", 1), ("a", 2)]
    assert agrees([("a", 2), ("b", 1)], rows, is_ranked=False)
    assert not agrees([("a", 2), ("b", 1)], rows, is_ranked=True)


@pytest.mark.parametrize("text", ["It is 1,234.5.", "Celkem 1 234,5 Kč", "**1234.50**", "1\u00a0234,5 %"])
def test_a_number_is_found_in_any_notation(text: str) -> None:
    assert is_stated(1234.5, text, is_ranked=False)
    assert not is_stated(1234.6, text, is_ranked=False)


def test_a_ranking_is_stated_only_in_its_order() -> None:
    assert is_stated([("Brno", 3), ("Zlín", 2)], "1. Brno (3), 2. Zlín (2)", is_ranked=True)
    assert not is_stated([("Brno", 3), ("Zlín", 2)], "Zlín has 2 and Brno 3", is_ranked=True)
