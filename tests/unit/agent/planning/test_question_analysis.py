"""The wording of a question decides what it needs and whether it needs a planner, in English and in Czech."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.agent.locales import fold
from runax_cli.agent.planning.question_analysis import (
    decide_need,
    mentioned_nouns,
    missing_names,
    multi_part_reason,
    required_names,
)


@pytest.mark.parametrize(
    "question",
    [
        "How many tickets does customer 4 have?",
        "What is the average delay per airline?",
        "Which airport has the most bird strikes?",
        "Kolik tiketů má zákazník 4?",
        "Jaký je PRŮMĚR zpoždění?",
        "Jaký je součet plateb za rok 2026?",
        "Který zákazník má nejvíc výpadků?",
        "Jaké procento tiketů je otevřených?",
        "Find the total of all payments",
    ],
)
def test_questions_for_figures_need_computing(question: str) -> None:
    assert decide_need(question).need == "compute"


@pytest.mark.parametrize(
    "question",
    [
        "Zjisti vše o uživateli Baláž.",
        "Why do customers call most?",
        "List the complaints of customer 4",
        "What did customer 4 complain about?",
        "Proč zákazníci nejčastěji volají?",
        "Shrň tikety zákazníka 4",
        "Who is Jana?",
        "",
    ],
)
def test_questions_for_meaning_need_reading(question: str) -> None:
    assert decide_need(question).need == "read"


def test_a_word_inside_another_word_decides_nothing() -> None:
    assert decide_need("What does the accountant say in the summit?").need == "read"


PLAINLY_SINGLE = [
    "What broke at customer 4?",
    "How many tickets does customer 4 have?",
    "Kolik tiketů má zákazník 4?",
    "Zjisti vše o uživateli Baláž.",
    "List open and closed tickets of customer 4",
    "How many payments were made between 2024-01-01 and 2024-03-31?",
    "Kolik plateb bylo mezi 1. 1. 2024 a 31. 3. 2024?",
    "Which tickets of customer Baláž mention an invoice?",
    "Which customers reported an outage and slow internet?",
    "Find the customer named balaz and tell me the email.",
    "Jaký je průměr a medián zpoždění?",
    'How many customers in "Brno and Praha" are there?',
    'Who wrote "What is this? And why?" in a ticket?',
    "Jaké výpadky měl zákazník 4? (jen letos)",
    "Hi",
    "",
]
SEVERAL = [
    "How many tickets does customer 4 have and how many payments does customer 17 have?",
    "How many tickets does customer 4 have? What is the email of customer 17?",
    "Kolik tiketů má zákazník 4 a jaký e-mail má zákazník 17?",
    "What is the email of customer 4 and also the number of tickets of customer 17?",
    "Compare the tickets of customer 4 with those of customer 17.",
    "Porovnej tikety zákazníka 4 a 17.",
    "How many tickets do customers 4 and 17 have?",
    "What is the email of Baláž and Novák?",
    'What is the email of "Baláž" and "Novák"?',
    "Kolik plateb má Baláž, kolik Novák a kolik Dvořák?",
    "How many tickets has customer 4; what is the phone of customer 5",
    "1. emails of customer 4\n2. tickets of customer 5",
    "Find the customer Baláž. How many tickets do they have?",
    "Najdi zákazníka Baláž. Kolik má tiketů?",
    "Which customer has the most tickets and what do they complain about?",
    "What is the total of payments, and then list the largest of them.",
    "What broke at customer 4? " * 40,
]


@pytest.mark.parametrize("question", PLAINLY_SINGLE)
def test_a_plainly_single_question_is_known_by_its_words(question: str) -> None:
    assert multi_part_reason(question) is None


@pytest.mark.parametrize("question", SEVERAL)
def test_what_may_be_several_questions_is_told_with_the_words_that_say_so(question: str) -> None:
    assert multi_part_reason(question)


def test_the_words_that_decided_are_told_as_they_read() -> None:
    assert multi_part_reason("Who is Jana? Who is Petr?") == "there is more than one question mark"
    assert multi_part_reason("Emails of Baláž and of Novák") == "'and of …' adds a second name"
    assert decide_need("Kolik je to?").why == "'kolik' asks for a figure"
    assert decide_need("Who is Jana?").why == "no word in the question asks for a figure"


@given(st.text(max_size=300))
def test_any_text_has_a_reading(text: str) -> None:
    assert decide_need(text).need in ("read", "compute")
    assert multi_part_reason(text) is None or multi_part_reason(text)
    assert fold(fold(text)) == fold(text) or not text.isascii()


def test_names_and_numbers_must_not_get_lost() -> None:
    named = required_names('Kolik tiketů má "Baláž" od 05. 3. 2024?')
    assert named == {"balaz", "5", "3", "2024"}
    assert missing_names(named, "Kolik tiketů má zákazník Baláž od 2024-03-05?") == ()
    assert missing_names(named, "Kolik tiketů má zákazník od roku 2024?") == ("3", "5", "balaz")
    assert missing_names(frozenset({"4"}), "customer 14") == ("4",)


@pytest.mark.parametrize(
    "question",
    [
        "What percentage of the outbound messages has been read? Two decimals.",
        "For each tariff code, how many customers are there?",
        "In the SSH log, how many lines mention root?",
        "Which metric has the most critical events, and how many?",
        "Kterým třem pracovníkům je přiděleno nejvíc požadavků a kolik jich každý má?",
        "What was the last event of the device olt-brno-03? Give its id.",
        "How many events come from equipment in the rack R7 and are errors or critical?",
    ],
)
def test_a_wish_for_a_form_a_lead_in_and_a_detail_are_no_second_question(question: str) -> None:
    assert multi_part_reason(question) is None


@pytest.mark.parametrize(
    "question",
    [
        "Which tariff does Tomáš Baláž have, and how many messages were exchanged with him?",
        "How many tickets has customer 4 and are the invoices paid?",
        "Which metric has the most critical events? List the devices of rack R7.",
    ],
)
def test_a_detail_about_something_else_is_a_second_question(question: str) -> None:
    assert multi_part_reason(question) is not None


NOUNS = frozenset({"customer", "order", "ticket"})


@pytest.mark.parametrize(
    "question",
    [
        "How many orders were cancelled, and what was their average amount?",
        "How many tickets are there and how many are open?",
        "How many tickets are there, and how many of them are open?",
        "Kolik objednávek bylo zrušeno a jaká byla jejich průměrná částka?",
        "Kolik je požadavků a kolik z nich je otevřených?",
        "Wie viele Bestellungen wurden storniert, und wie hoch war ihr durchschnittlicher Betrag?",
        "Wie viele Bestellungen gibt es und wie viele davon sind offen?",
    ],
)
def test_one_more_figure_of_the_same_records_is_no_second_question(question: str) -> None:
    assert multi_part_reason(question, nouns=NOUNS) is None


@pytest.mark.parametrize(
    "question",
    [
        "How many customers are there, and what is their total number of orders?",
        "Kolik je zákazníků a jaký je jejich celkový počet objednávek?",
        "How many orders were cancelled, and what was their average amount and who is Novak?",
        "What do customers complain about, and what is their average age?",
        "How many customers are active, and how many tickets are open?",
    ],
)
def test_a_figure_of_other_records_or_beside_a_reading_is_a_second_question(question: str) -> None:
    assert multi_part_reason(question, nouns=NOUNS) is not None


def test_nouns_are_mentioned_in_any_form_and_language() -> None:
    assert mentioned_nouns("Kolik objednávek má zákazník 4?", NOUNS) == {"order", "customer"}
    assert mentioned_nouns("All Tickets of Brno", NOUNS) == {"ticket"}
    assert mentioned_nouns("ticketing", NOUNS) == frozenset()
