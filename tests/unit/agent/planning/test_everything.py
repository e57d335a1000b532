"""A request for everything about one entity is recognized by its words, in three languages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.agent.planning.everything import MAX_NAME_CHARS, entity_request

NOUNS = frozenset({"customer", "order", "ticket"})


@pytest.mark.parametrize(
    ("question", "name", "kind"),
    [
        ("Zjisti vše o uživateli Baláž.", "Baláž", "user"),
        ("Vypiš všechny informace o zákazníkovi s id 17", "17", "customer"),
        ("zjisti vše, co víme o zákazníkovi Nováková", "Nováková", "customer"),
        ("Find everything about customer Novak", "Novak", "customer"),
        ("What do we know about customer #4?", "4", "customer"),
        ("Tell me everything about the customer novak", "novak", "customer"),
        ("Everything about customer Novak. Be brief.", "Novak", "customer"),
        ("Find all information about the customer named Anna van der Berg from Brno", "Anna van der Berg", "customer"),
        ('Find everything about "Acme, Inc."', "Acme, Inc.", None),
        ("Find everything about Tomáš Baláž, please.", "Tomáš Baláž", None),
        ("alles über Kunde Müller", "Müller", "customer"),
        ("Finde alles ueber den Kunden Müller!", "Müller", "customer"),
        ("Was wissen wir über Firma Müller GmbH?", "Müller GmbH", "company"),
    ],
)
def test_the_entity_is_read_from_the_words(question: str, name: str, kind: str | None) -> None:
    request = entity_request(question, nouns=NOUNS)
    assert request is not None
    assert request.name == name
    assert (kind in request.kinds) if kind else not request.kinds


@pytest.mark.parametrize(
    "question",
    [
        "How many tickets does customer 4 have?",
        "Summarize everything about complaints",
        "Tell me everything about the weather in Prague",
        "Zjisti, kolik má zákazník Baláž tiketů",
        "What is it all about?",
        "everything about",
        "",
    ],
)
def test_other_questions_ask_for_no_entity(question: str) -> None:
    assert entity_request(question, nouns=NOUNS) is None


def test_only_a_single_word_with_a_digit_is_an_id() -> None:
    ids = [entity_request(f"everything about customer {name}") for name in ("4", "A-17", "Novak", "Novak 2")]
    assert [one is not None and one.is_id for one in ids] == [True, True, False, False]


@given(st.text(max_size=200))
def test_any_text_has_an_entity_with_a_short_name_or_none(text: str) -> None:
    for question in (text, f"everything about {text}", f"vše o {text}"):
        request = entity_request(question, nouns=NOUNS)
        assert request is None or 0 < len(request.name) <= MAX_NAME_CHARS
