"""How often a lie is certified, and how often the truth is doubted: planted lies and true statements, judged by code.

Each statement is judged as an answer of its own over a small world of records and query results. Prints both rates and
every statement that was judged wrongly; leaves with 1 where a lie was certified or more than 5 % of the truths doubted.
"""

import json
import sys
from collections.abc import Iterable

from benchmarks.statements.truths import truths
from benchmarks.statements.untruths import lies
from benchmarks.statements.world import QUESTION, shown
from runax_cli.agent.evidence.citations import non_statements, parse_statements
from runax_cli.agent.evidence.verify import verify_answer

MOST_FALSE_ALARMS = 0.05


def is_accepted(statement: str) -> bool:
    """Whether a statement passes: proven where it cites something, and else without a figure that stands nowhere."""
    evidence = verify_answer(statement, shown(), question=QUESTION)
    made = (*parse_statements(statement), *non_statements(statement))
    if any(one.has_citations for one in made):
        return bool(evidence) and all(entry.verified for entry in evidence)
    return not any(entry.verified or entry.unproven for entry in evidence)


def certified(told: Iterable[str]) -> list[str]:
    """The lies among these that pass."""
    return [statement for statement in told if is_accepted(statement)]


def doubted(told: Iterable[str]) -> list[str]:
    """The truths among these that do not pass."""
    return [statement for statement in told if not is_accepted(statement)]


def main() -> int:
    """Print the rates as JSON."""
    true, false = list(truths()), list(lies())
    wrongly_doubted, wrongly_certified = doubted(true), certified(false)
    rate = len(wrongly_doubted) / len(true)
    result = {
        "truths": len(true),
        "doubted": len(wrongly_doubted),
        "false_alarm_rate": round(rate, 4),
        "lies": len(false),
        "certified": len(wrongly_certified),
        "certified_rate": round(len(wrongly_certified) / len(false), 4),
        "doubted_statements": wrongly_doubted,
        "certified_statements": wrongly_certified,
    }
    sys.stdout.write(json.dumps(result, ensure_ascii=False, indent=2) + "\n")
    return int(bool(wrongly_certified) or rate > MOST_FALSE_ALARMS)


if __name__ == "__main__":
    sys.exit(main())
