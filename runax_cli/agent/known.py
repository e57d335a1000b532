"""What a part leaves for those that build on it: its answer, its datasets, and the few records that name something.

Knows parts that are over. Compact on purpose: a later part pays for every word in each of its requests. Pure.
"""

from collections.abc import Iterator, Sequence

from runax_cli.agent.part import Part
from runax_cli.agent.plan import SubQuestion
from runax_cli.agent.requested import RequestedCall
from runax_cli.agent.verdict import Stopped
from runax_cli.executor.compact import compact
from runax_cli.executor.fence import fenced

MOST_ANSWER_CHARS = 2000
MOST_RECORDS = 5
RECORD_CHARS = 400


def known_from(parts: Sequence[tuple[int, SubQuestion, Part]]) -> str:
    """The block for a part that waited for these, by number; "" where it waited for none."""
    return fenced("\n".join(line for number, sub, part in parts for line in _lines(number, sub, part)))


def _lines(number: int, sub: SubQuestion, part: Part) -> Iterator[str]:
    yield f"Part {number}: {sub.question}"
    if isinstance(part.end, Stopped) or not part.text.strip():
        yield "could not be answered"
    else:
        yield f"answer: {_cut(' '.join(part.text.split()), MOST_ANSWER_CHARS)}"
    for call in part.calls.made:
        yield from _call(call)


def _call(call: RequestedCall) -> Iterator[str]:
    report = call.report
    if report.dataset is None or call.outcome is None:
        return
    yield f"dataset {report.dataset}: {report.records_read} records of {report.tool} {compact(report.arguments)}"
    data = call.envelope.data
    if isinstance(data, dict) and len(data) <= MOST_RECORDS:
        for ref, record in data.items():
            if "#" in ref:
                yield f"[{ref}] {_cut(compact(record), RECORD_CHARS)}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
