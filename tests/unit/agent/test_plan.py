"""The wording of a question says whether it asks for meaning or for figures, in English and in Czech."""

import pytest

from runax_cli.agent.plan import plan_of


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
    assert plan_of(question).need == "compute"


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
    assert plan_of(question).need == "read"


def test_the_rule_that_decided_is_told() -> None:
    assert plan_of("Kolik je to?").rule == "one sub-question, need 'compute': 'kolik' asks for a figure"
    assert plan_of("Who is Jana?").rule == "one sub-question, need 'read': nothing in its wording asks for a figure"


def test_a_word_inside_another_word_decides_nothing() -> None:
    assert plan_of("What does the accountant say in the summit?").need == "read"
