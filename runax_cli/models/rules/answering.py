"""Composes the final answer from the envelopes of tool results, and the plan of a question.

States only what is in an envelope, with its references.
"""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from runax_cli.models.base import Message, ModelRequest
from runax_cli.models.rules.reading import brief, relevant
from runax_cli.models.rules.words import Clues, read_clues, words

QUERY = "query_dataset"
MAX_LINES = 10
NO_TOOL = "No tool matches this question. Ask about what the tools offer, in their words."


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call as the model sees it: tool, arguments and envelope."""

    tool: str
    arguments: dict[str, Any]
    envelope: dict[str, Any]

    @property
    def records(self) -> list[tuple[str, Any]]:
        """References and records of a call whose records were passed on unchanged."""
        data = self.envelope.get("data")
        return [(ref, record) for ref, record in data.items() if "#" in ref] if isinstance(data, dict) else []


def compose_answer(clues: Clues, results: Sequence[ToolResult]) -> str:
    """The answer over all calls, each statement with its references."""
    parts = [part for call in results if (part := _part(clues, call))]
    return "\n\n".join(parts) if parts else NO_TOOL


def read_tool_result(tool: str, arguments: str, content: str) -> ToolResult:
    """Parse one tool message; anything but a JSON object counts as an error of that call."""
    try:
        envelope, parsed_arguments = json.loads(content), json.loads(arguments or "{}")
    except ValueError:
        envelope, parsed_arguments = {"status": "error", "error": {"message": "the result is not JSON"}}, {}
    if not isinstance(envelope, dict):
        envelope = {"status": "error", "error": {"message": "the result is not an envelope"}}
    return ToolResult(tool, parsed_arguments if isinstance(parsed_arguments, dict) else {}, envelope)


def _part(clues: Clues, call: ToolResult) -> str:
    status = call.envelope.get("status")
    match status:
        case "success" | "partial":
            return _figures(call) if call.tool == QUERY else _found(clues, call)
        case "empty":
            return f"No {_noun(call)} match ({_query_text(call)})."
        case "duplicate_call_blocked" | "deferred":
            return ""
        case _:
            message = (call.envelope.get("error") or {}).get("message", status)
            return f"{call.tool} gave no data: {message}"


def _figures(call: ToolResult) -> str:
    """A SQL result: each figure of a single row with its name, or a line for each row."""
    data = call.envelope.get("data") or {}
    header, *rows = csv.reader(str(data.get("result", "")).splitlines())
    ref = data.get("ref")
    if len(rows) == 1 and (len(header) == 1 or all(name == "n" or "_of_" in name for name in header)):
        figures = (f"{name.replace('_', ' ')}: {value}" for name, value in zip(header, rows[0], strict=True))
        return f"{', '.join(figures)} [{ref}]."
    return "\n".join(f"- {_on_one_line(': '.join(row))} [{ref}]" for row in rows[:MAX_LINES]) or "No rows."


def _found(clues: Clues, call: ToolResult) -> str:
    envelope = call.envelope
    total, read = envelope.get("total_matches"), envelope.get("records_read")
    query, dataset = _query_text(call), envelope.get("dataset")
    head = f"{total if total is not None else read} {_noun(call)} match ({query}){f' [{dataset}]' if dataset else ''}."
    if not envelope.get("is_complete", True):
        head += f" The data is incomplete: {read} of them were fetched."
    return "\n".join([head, *_lines(clues, call)])


def _lines(clues: Clues, call: ToolResult) -> list[str]:
    data = call.envelope.get("data")
    if isinstance(data, list):
        return [_finding(entry) for entry in _ranked(clues, data)[:MAX_LINES]]
    records = call.records
    by_words = relevant(clues.text, records)
    if by_words:
        return [f"- {_on_one_line(p.statement)} [{p.ref}]" for p in by_words[:MAX_LINES]]
    return [
        f"- {_on_one_line(brief(record))} [{ref}]" for ref, record in records[: MAX_LINES if len(records) <= 20 else 3]
    ]


def _ranked(clues: Clues, findings: list[Any]) -> list[dict[str, Any]]:
    usable = [f for f in findings if isinstance(f, dict) and f.get("statement")]
    scores = {p.ref: p.score for p in relevant(clues.text, [(str(i), f["statement"]) for i, f in enumerate(usable)])}
    order = sorted(range(len(usable)), key=lambda i: -scores.get(str(i), 0.0))
    return [usable[i] for i in order]


def _finding(entry: dict[str, Any]) -> str:
    refs = [str(ref) for ref in entry.get("records", ()) if "#" in str(ref)]
    line = f"- {_on_one_line(str(entry['statement']))}"
    return f"{line} [{', '.join(refs[:5])}]" if refs else line


def _on_one_line(text: str) -> str:
    return " ".join(text.replace("[", "(").replace("]", ")").split())


def _noun(call: ToolResult) -> str:
    dataset = call.envelope.get("dataset")
    if isinstance(dataset, str) and "_" in dataset:
        return dataset.rpartition("_")[0]
    return words(call.tool)[-1]


def _query_text(call: ToolResult) -> str:
    items: Iterable[tuple[str, Any]] = (call.envelope.get("query") or {}).items()
    return ", ".join(f"{name} = {value}" for name, value in items) or "no filter"


REVISION = "plan_revision"
_QUOTED = re.compile(r"[\"“„][^\"“”„]{1,200}[\"”“]|(?<!\w)'[^']{2,200}'(?!\w)")
_SEPARATOR = re.compile(
    r"\?\s+(?:and\s+(?:also\s+)?)?|\s*;\s+(?:and\s+(?:also\s+)?)?|,?\s+and\s+also\s+"
    r"|,?\s+and\s+(?=(?:how|what|which|who|whose|when|where|why|list|show|find)\b)",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"\b(they|them|their|he|him|his|she|her|it|its|this|that|those|these)\b", re.IGNORECASE)
_FIGURE = re.compile(
    r"\b(how (?:many|much|often)|numbers? of|counts?|average|mean|median|sum|total|percent\w*|share|most|least)\b",
    re.IGNORECASE,
)
_PLACEHOLDER = "\ufffc"
_MAX_ELLIPTIC_WORDS = 3


def compose_plan(request: ModelRequest) -> dict[str, Any]:
    """The parts of the question in a planner request; a plan is never revised."""
    if request.output is not None and request.output.name == REVISION:
        return {"parts": []}
    return {"parts": [_planned_part(question) for question in split_question(planned_question(request.messages))]}


def planned_question(messages: Sequence[Message]) -> str:
    """The text after `QUESTION:` in the last message."""
    return messages[-1].content.partition("QUESTION:")[2].strip() if messages else ""


def split_question(question: str) -> list[str]:
    """The parts in order; a part that only refers to a name gets that name."""
    parts: list[str] = []
    named = ""
    for piece in _pieces(question):
        clues = read_clues(piece)
        own = _name(clues)
        is_open = bool(named) and not own and (_PRONOUN.search(piece) or len(piece.split()) <= _MAX_ELLIPTIC_WORDS)
        parts.append(f"{piece.rstrip('?')} of {named}?" if is_open else piece)
        named = own or named
    return parts


def _pieces(question: str) -> Iterator[str]:
    """The text between separators; quoted text is not split."""
    quotations = _QUOTED.findall(question)
    rest = iter(quotations)
    for piece in _SEPARATOR.split(_QUOTED.sub(_PLACEHOLDER, question)):
        whole = re.sub(_PLACEHOLDER, lambda _placeholder: next(rest), piece).strip(" \n,.?")
        if whole:
            yield f"{whole[0].upper()}{whole[1:]}?"


def _name(clues: Clues) -> str:
    """The subject of a part, e.g. 'customer 4' or 'customer named "Baláž"'."""
    if clues.names:
        return f'{clues.names[0].before or "the one"} named "{clues.names[0].value}"'
    return f"{clues.numbers[0].before} {clues.numbers[0].value}".strip() if clues.numbers else ""


def _planned_part(question: str) -> dict[str, Any]:
    need = "compute" if _FIGURE.search(question) else "read"
    return {"question": question, "need": need, "after": [], "must_contain": "", "tools": []}
