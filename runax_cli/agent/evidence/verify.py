"""Verifies an answer against the data: figures, quotes and citations of each statement.

A cited record is verified if it exists, was shown to the model, and contains every figure and quote of the statement.
Figures from the question, from arguments of calls and totals of results need no citation. A cited query is verified if
its rows contain the figures, or the figure is the number of rows; a figure over incomplete data must be presented as a
lower bound. A cited dataset is verified if the statement has its number of records. Figures that appear nowhere in the
data are reported, also in headings and lead-ins.
"""

import re
from dataclasses import replace

from runax_cli.agent.evidence.answer_verifier import AnswerVerifier, CheckedStatement
from runax_cli.agent.evidence.citations import (
    Statement,
    non_statements,
    parse_statements,
)
from runax_cli.agent.evidence.shown import ShownData

_CERTIFICATE_LIKE = re.compile(
    r"^\W*(?:\d[\d\s,.]*/\s*\d[\d\s,.]*\s+\S+\s+(?:\(.*\)\s+)?fetched\b.*|no data was used\b.*"
    r"|.*\s·\s.*\brun [0-9a-f]{4,}\W*)$",
    re.IGNORECASE,
)


def check_statements(answer: str, shown: ShownData, *, question: str = "", asked: str = "") -> list[CheckedStatement]:
    """Verify each statement in order, then headings and lead-ins: of these, only those with unsupported figures.

    `question` is all text from the user, and the date of the run; `asked` is the question that this answer is for.
    Blocking: reads cited records from disk.
    """
    statements = parse_statements(answer)
    verifier = AnswerVerifier.for_statements(statements, shown, question, asked=asked)
    checked = [verifier.verify(one) for one in statements]
    others = ((passage, verifier.verify_non_statement(passage)) for passage in non_statements(answer))
    checked += [CheckedStatement(passage, entry) for passage, entry in others if entry is not None]
    return [
        replace(one, evidence=one.evidence.model_copy(update={"statement": _as_written(one.statement, answer)}))
        for one in checked
    ]


def _as_written(statement: Statement, answer: str) -> str:
    return answer[statement.start : statement.end]


def strip_certificates(answer: str) -> str:
    """Remove lines in which a model imitates the certificate: only code may claim what was verified."""
    lines = [line for line in answer.splitlines() if not _CERTIFICATE_LIKE.match(line)]
    return "\n".join(lines).strip()
