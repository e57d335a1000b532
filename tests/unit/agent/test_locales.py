"""Every language is complete, and a further one is a module and an entry in LOCALES."""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from runax_cli.agent.locales import LOCALES, any_of, detect, fold
from runax_cli.agent.locales.locale import Locale, QuestionWords

OPTIONAL = {
    "letters",
    "question.common",
    "question.predicate",
    "question.quantity_stem",
    "date.after_day",
    "date.ambiguous_months",
    "date.ordinal_suffix",
    "number.inverted_by",
}

FRENCH = """
from dataclasses import replace
from runax_cli.agent import locales

en = locales.EN
fr = replace(
    en,
    code="fr",
    letters="çÇ",
    question=replace(en.question, figure=r"combien|somme", conjunction="et", asking="combien|qui|que"),
    number=replace(
        en.number, names=("zero", "un", "deux"), scales={"mille": 3}, scale_words="mille", about="environ"
    ),
    date=replace(en.date, months=tuple(
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split()
    ), ambiguous_months=()),
    statement=replace(en.statement, negation="aucun|pas", unanswered="Sans réponse"),
)
locales.LOCALES = (*locales.LOCALES, fr)

from runax_cli.agent.evidence.dates import CalendarDate, dates_in
from runax_cli.agent.evidence.figures import EvidencePool, figures_in
from runax_cli.agent.evidence.numbers import number_words_in
from runax_cli.agent.planning.question_analysis import decide_need, multi_part_reason

assert decide_need("Combien de tickets a le client 4 ?").need == "compute"
assert multi_part_reason("Qui a le ticket 4, et qui a le ticket 5 ?") is not None
assert dates_in("3 février 2024")[0].readings == (CalendarDate(2024, 2, 3),)
assert dates_in("3 March 2024")[0].readings == (CalendarDate(2024, 3, 3),)
assert number_words_in("deux routers, two routers, dva routery") == {2}
pool = EvidencePool()
pool.add(12_034)
assert all(pool.has(figure) for figure in figures_in("environ 12 mille"))
assert locales.detect("Ça va ?").statement.unanswered == "Sans réponse"
"""


def values(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """All fields of a locale, with their path."""
    for field in fields(value):
        inner = getattr(value, field.name)
        inner_path = f"{path}{field.name}"
        if is_dataclass(inner):
            yield from values(inner, f"{inner_path}.")
        else:
            yield inner_path, inner


@pytest.mark.parametrize("locale", LOCALES, ids=lambda locale: locale.code)
def test_a_locale_has_all_words(locale: Locale) -> None:
    empty = {path for path, value in values(locale) if not value}
    assert empty <= OPTIONAL
    assert len(locale.date.months) == 12
    assert len(locale.number.names) == 13


@pytest.mark.parametrize("locale", LOCALES, ids=lambda locale: locale.code)
def test_every_fragment_is_a_regular_expression_without_an_empty_alternative(locale: Locale) -> None:
    for path, value in values(locale):
        if isinstance(value, str) and path not in OPTIONAL | {"statement.unanswered", "statement.incomplete"}:
            assert re.compile(f"(?:{value})").fullmatch("") is None, path


@pytest.mark.parametrize("locale", LOCALES, ids=lambda locale: locale.code)
def test_question_words_have_no_diacritics(locale: Locale) -> None:
    for field in fields(QuestionWords):
        words = getattr(locale.question, field.name)
        assert fold(words) == words.lower(), field.name


def test_no_month_or_number_has_two_meanings() -> None:
    months = [(name, n) for locale in LOCALES for n, names in enumerate(locale.date.months) for name in names.split()]
    numbers = [(name, n) for locale in LOCALES for n, names in enumerate(locale.number.names) for name in names.split()]
    assert len(dict(months)) == len(set(months))
    assert len(dict(numbers)) == len(set(numbers))


def test_words_of_all_languages_match() -> None:
    pattern = re.compile(any_of(lambda locale: locale.statement.negation))
    assert pattern.fullmatch("never")
    assert pattern.fullmatch("nikdy")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Kolik je hodin", "cs"),
        ("Příšera", "cs"),
        ("How many?", "en"),
        ("How many orders did Müller place?", "en"),
        ("Wie viele Bestellungen wurden storniert?", "de"),
    ],
)
def test_a_language_is_detected_by_its_letters_or_words(text: str, code: str) -> None:
    assert detect(text).code == code


def test_a_further_language_needs_only_a_locale() -> None:
    done = subprocess.run([sys.executable, "-c", FRENCH], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
