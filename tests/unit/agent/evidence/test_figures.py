"""Numbers and dates are read as people write them."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.agent.evidence.dates import CalendarDate, dates_in, times_in
from runax_cli.agent.evidence.figures import EvidencePool, figures_in
from runax_cli.agent.evidence.numbers import exact_values, numbers_in


def proves(evidence: Any, text: str) -> bool:
    """Whether every figure of a text is in the evidence."""
    pool = EvidencePool()
    pool.add(evidence)
    figures = figures_in(text)
    assert figures, text
    return all(pool.has(figure) for figure in figures)


@pytest.mark.parametrize(
    ("evidence", "text"),
    [
        (12.3456, "12.3"),
        (12.3456, "12,35 Kč"),
        (12.3456, "12"),
        (12034, "12,034"),
        (12034, "12 034"),
        (12034, "12\u00a0034 Kč"),
        (12034, "12.034"),
        (12034, "about 12 thousand"),
        (12034, "cca 12 tis. Kč"),
        (12034, "$12k"),
        (12034, "over 12,000"),
        (1_200_000, "1,2 milionu"),
        (3_000_000_000, "3 miliardy"),
        (0.4333, "43 %"),
        (43.33, "43.3 percent"),
        (-5, "5 less"),
        (Decimal("1234567.89"), "1 234 567,89 Kč"),
        ("cena 12 034,50 Kč", "12,034.5 CZK"),
        ("IBAN CZ65 0800 0000 1920 0014 5399", "1920 0014 5399"),
        ({"nested": [{"value": 7}]}, "7"),
        ("customer 12 345 tickets", "12345"),
    ],
)
def test_a_value_proves_what_it_would_be_written_as(evidence: Any, text: str) -> None:
    assert proves(evidence, text)


@pytest.mark.parametrize(
    ("evidence", "text"),
    [
        (12.3456, "12.4"),
        (12.3456, "13"),
        (12034, "12,035"),
        (12034, "12,000"),
        (12034, "about 13 thousand"),
        (12034, "over 13,000"),
        (12034, "12 million"),
        (12, "12 thousand"),
        (0.4333, "44 %"),
        (8120, "almost 9,000"),
        (True, "1"),
        ("since 3 March", "3 routers"),
        ("RUN", "17"),
    ],
)
def test_a_value_proves_nothing_else(evidence: Any, text: str) -> None:
    assert not proves(evidence, text)


@given(st.integers(0, 10**9 - 1))
def test_a_whole_number_is_proven_in_every_grouping(value: int) -> None:
    for separator in (",", " ", "\u00a0", "\u202f", "."):
        assert proves(value, f"{value:,}".replace(",", separator))


@given(st.decimals(min_value=0, max_value=10**9, places=4), st.integers(0, 4))
def test_a_rounded_number_is_proven_by_what_it_was_rounded_from(value: Decimal, places: int) -> None:
    assert proves(value, f"{value:,.{places}f}")
    assert proves(float(value), f"{value:.{places}f}".replace(".", ","))


@given(st.integers(0, 10**9), st.integers(1, 10**9))
def test_another_whole_number_is_never_proven(value: int, distance: int) -> None:
    assert not proves(value, str(value + distance))


@pytest.mark.parametrize(
    "text",
    [
        "RUN-17 on 5G with IPv6 and v1.2",
        "the 1st, the 22nd",
        "2. místo",
        "version 3.1 of 1.2.3",
        "step 2, option (1)",
        "https://example.com/47?x=12 and 10.0.0.1:8080",
        "24/7",
        "T-2041/a",
        "no digits at all",
    ],
)
def test_names_ordinals_and_versions_are_no_figures(text: str) -> None:
    assert figures_in(text) == ()


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2024-02-01", CalendarDate(2024, 2, 1)),
        ("2024-02-01T14:30:00Z", CalendarDate(2024, 2, 1)),
        ("1. 2. 2024", CalendarDate(2024, 2, 1)),
        ("1.2.2024", CalendarDate(2024, 2, 1)),
        ("February 1, 2024", CalendarDate(2024, 2, 1)),
        ("1st of February 2024", CalendarDate(2024, 2, 1)),
        ("1. února", CalendarDate(None, 2, 1)),
        ("v březnu 2024", CalendarDate(2024, 3)),
        ("2024-03", CalendarDate(2024, 3)),
    ],
)
def test_dates_are_read_in_every_notation(text: str, day: CalendarDate) -> None:
    (dated,) = dates_in(text)
    assert dated.readings[0] == day
    assert text[dated.start : dated.end] in text


def test_a_date_with_slashes_has_two_readings() -> None:
    (dated,) = dates_in("2/1/2024")
    assert set(dated.readings) == {CalendarDate(2024, 2, 1), CalendarDate(2024, 1, 2)}


def test_both_ends_of_a_range_have_to_be_proven() -> None:
    assert proves("2024-02-01 2024-02-03", "1.\N{EN DASH}3. 2. 2024")
    assert not proves("2024-02-03", "1.\N{EN DASH}3. 2. 2024")


def test_times_are_read_with_and_without_a_meridian() -> None:
    assert [(clock.hour, clock.minute) for clock in times_in("14:30, 2:30 pm and 2024-02-01T09:05:00Z")] == [
        (14, 30),
        (14, 30),
        (9, 5),
    ]


@given(st.text(max_size=200))
def test_no_text_is_too_odd_to_read(text: str) -> None:
    assert all(figure.text for figure in figures_in(text))
    assert all(number.end > number.start for number in numbers_in(text))
    assert all(value >= 0 for value in exact_values(text))
    pool = EvidencePool()
    pool.add(text)
