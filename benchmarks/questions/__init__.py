"""Questions with exact answers: over one table and two, of several parts, and of meaning with known labels.

`python -m benchmarks.questions.check` proves that reference SQL and gold agree.
"""

from benchmarks.questions import (
    about_birdstrikes,
    about_customers,
    about_events,
    about_flights,
    about_logs,
    about_messages,
    about_payments,
    about_tickets,
    about_two,
)
from benchmarks.questions.answers import Answer, Cell, agrees, is_stated, rows_of
from benchmarks.questions.compounds import COMPOUNDS
from benchmarks.questions.labels import LABELS
from benchmarks.questions.question import Compound, Fetch, Kind, LabelQuestion, Question, questions_in
from benchmarks.questions.records import World

EXACT: tuple[Question, ...] = questions_in(
    about_customers,
    about_tickets,
    about_payments,
    about_messages,
    about_events,
    about_two,
    about_flights,
    about_birdstrikes,
    about_logs,
)

__all__ = [
    "COMPOUNDS",
    "EXACT",
    "LABELS",
    "Answer",
    "Cell",
    "Compound",
    "Fetch",
    "Kind",
    "LabelQuestion",
    "Question",
    "World",
    "agrees",
    "is_stated",
    "rows_of",
]
