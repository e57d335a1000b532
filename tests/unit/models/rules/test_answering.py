"""The rules model splits English questions, and replaces a pronoun of a part by the name."""

import json

import pytest

from runax_cli.models.base import Message, ModelRequest, OutputSchema, Role
from runax_cli.models.rules import RulesModel
from runax_cli.models.rules.answering import split_question


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        (
            "How many tickets does customer 4 have and also what is the email of customer 17?",
            ["How many tickets does customer 4 have?", "What is the email of customer 17?"],
        ),
        (
            "How many tickets does customer 4 have and how many payments?",
            ["How many tickets does customer 4 have?", "How many payments of customer 4?"],
        ),
        (
            'What is the email of the customer named "Baláž"? How many tickets do they have?',
            [
                'What is the email of the customer named "Baláž"?',
                'How many tickets do they have of customer named "Baláž"?',
            ],
        ),
        ("Emails of customer 4; tickets of customer 5", ["Emails of customer 4?", "Tickets of customer 5?"]),
        ('Who wrote "Why? And how; why"?', ['Who wrote "Why? And how; why"?']),
        ("List open and closed tickets", ["List open and closed tickets?"]),
        ("", []),
    ],
)
def test_questions_are_split_at_separators(question: str, parts: list[str]) -> None:
    assert split_question(question) == parts


def test_a_planner_request_gets_a_plan_and_a_revision_gets_none() -> None:
    messages = (Message("system", "s"), Message("user", "QUESTION:\nHow many tickets? Who is Baláž?"))
    request = ModelRequest(role=Role.PLANNER, messages=messages, output=OutputSchema("plan", {}))
    parts = json.loads(RulesModel().reply(request).text)["parts"]
    assert [(part["question"], part["need"]) for part in parts] == [
        ("How many tickets?", "compute"),
        ("Who is Baláž?", "read"),
    ]
    again = ModelRequest(role=Role.PLANNER, messages=messages, output=OutputSchema("plan_revision", {}))
    assert json.loads(RulesModel().reply(again).text) == {"parts": []}
