"""Measures the verification of answers: how many false statements pass, and how many true ones are rejected.

Each statement is verified as a separate answer over a few records and query results. Prints both rates and every
wrong decision; exits with 1 if a false statement passes or more than 5 % of the true ones are rejected.
"""

import json
import sys
from collections.abc import Iterable

from benchmarks.statements.false_statements import false_statements
from benchmarks.statements.true_statements import true_statements
from benchmarks.statements.world import QUESTION, evidence_of, shown_data
from runax_cli.agent.evidence.citations import non_statements, parse_statements

MAX_FALSE_ALARM_RATE = 0.05


def is_accepted(statement: str) -> bool:
    """Whether a statement passes: verified if it cites something, else without a fault."""
    evidence = evidence_of(statement, shown_data(), question=QUESTION)
    parsed = (*parse_statements(statement), *non_statements(statement))
    if any(one.has_citations for one in parsed):
        return bool(evidence) and all(entry.verified for entry in evidence)
    return not any(entry.fault for entry in evidence)


def verified_statements(statements: Iterable[str]) -> list[str]:
    """The statements that pass."""
    return [statement for statement in statements if is_accepted(statement)]


def rejected_statements(statements: Iterable[str]) -> list[str]:
    """The statements that do not pass."""
    return [statement for statement in statements if not is_accepted(statement)]


def main() -> int:
    """Print the rates as JSON."""
    true, false = list(true_statements()), list(false_statements())
    wrongly_rejected, wrongly_verified = rejected_statements(true), verified_statements(false)
    rate = len(wrongly_rejected) / len(true)
    result = {
        "true": len(true),
        "rejected": len(wrongly_rejected),
        "false_alarm_rate": round(rate, 4),
        "false": len(false),
        "verified": len(wrongly_verified),
        "verified_rate": round(len(wrongly_verified) / len(false), 4),
        "rejected_statements": wrongly_rejected,
        "verified_statements": wrongly_verified,
    }
    sys.stdout.write(json.dumps(result, ensure_ascii=False, indent=2) + "\n")
    return int(bool(wrongly_verified) or rate > MAX_FALSE_ALARM_RATE)


if __name__ == "__main__":
    sys.exit(main())
