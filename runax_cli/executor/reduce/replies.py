"""Check the replies of reducers: their schema, references into their own chunk, quotes against the records. Pure."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from runax_cli.executor.outcome import Finding
from runax_cli.executor.reduce.chunks import Chunk, ChunkUnit
from runax_cli.models.base import OutputSchema

MAX_STATEMENT_CHARS = 2000
_MAX_SHOWN = 5


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Finding(_Strict):
    statement: str
    records: list[int]
    quote: str | None = None


class _ReducerReply(_Strict):
    findings: list[_Finding]
    nothing_relevant: bool


class _Merged(_Strict):
    statement: str
    sources: list[str]


class _MergeReply(_Strict):
    findings: list[_Merged]


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


FINDINGS = OutputSchema(
    "findings",
    _object(
        findings=_list(
            _object(
                statement={"type": "string"},
                records=_list({"type": "integer"}),
                quote={"anyOf": [{"type": "string"}, {"type": "null"}]},
            )
        ),
        nothing_relevant={"type": "boolean"},
    ),
)
MERGED_FINDINGS = OutputSchema(
    "merged_findings",
    _object(findings=_list(_object(statement={"type": "string"}, sources=_list({"type": "string"})))),
)


@dataclass(frozen=True, slots=True)
class CheckedFindings:
    """The checked findings of a reply. `errors` are sent with a repair request.

    `is_usable` is False if the reply does not fit the schema or cites records that are not in its chunk.
    """

    findings: tuple[Finding, ...]
    errors: tuple[str, ...]
    is_usable: bool


def check_reply(text: str, chunk: Chunk) -> CheckedFindings:
    """Check a reply against the chunk that was sent, and replace its references by row numbers."""
    try:
        reply = _ReducerReply.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the reply"
        return CheckedFindings((), (f"{where}: {first['msg']}",), is_usable=False)
    findings: list[Finding] = []
    errors: list[str] = []
    is_usable = True
    for number, found in enumerate(reply.findings, start=1):
        units = [chunk.units[ref - 1] for ref in dict.fromkeys(found.records) if 1 <= ref <= len(chunk.units)]
        invented = [ref for ref in found.records if not 1 <= ref <= len(chunk.units)]
        if invented or not units:
            is_usable = False
            named = ", ".join(f"[{ref}]" for ref in invented[:_MAX_SHOWN]) or "(none)"
            errors.append(f"finding {number}: invalid references {named}; the message has [1] to [{len(chunk.units)}]")
        if not units or not found.statement.strip():
            continue
        quote = (found.quote or "").strip() or None
        is_verified = None if quote is None else any(_is_quoted_from(quote, unit) for unit in units)
        if is_verified is False:
            errors.append(f"finding {number}: the quote '{(quote or '')[:80]}' is in none of its records")
        rows = tuple(sorted({unit.row for unit in units}))
        statement = found.statement.strip()[:MAX_STATEMENT_CHARS]
        findings.append(Finding(id="", statement=statement, records=rows, quote=quote, is_quote_verified=is_verified))
    if not reply.findings and not reply.nothing_relevant:
        errors.append("there are no findings, but nothing_relevant is false")
    return CheckedFindings(tuple(findings), tuple(errors), is_usable=is_usable)


def parse_merge_reply(text: str) -> list[tuple[str, list[str]]] | None:
    """Parse a reply to a merge request into statements and their sources; None if it does not fit the schema."""
    try:
        reply = _MergeReply.model_validate_json(text)
    except ValidationError:
        return None
    return [(found.statement, found.sources) for found in reply.findings]


def _is_quoted_from(quote: str, unit: ChunkUnit) -> bool:
    """Search the quote, ignoring white space; JSON escapes count as the characters they encode."""
    needle = _folded(quote)
    return needle in _folded(unit.text) or needle in _folded(_unescaped(unit))


def _unescaped(unit: ChunkUnit) -> str:
    if unit.part:
        return unit.text.replace("\\n", " ").replace("\\t", " ").replace('\\"', '"').replace("\\\\", "\\")
    try:
        return " \n ".join(_strings(json.loads(unit.text)))
    except ValueError:
        return unit.text


def _strings(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for inner in value.values():
                yield from _strings(inner)
        case list():
            for inner in value:
                yield from _strings(inner)
        case str():
            yield value
        case _:
            yield json.dumps(value)


def _folded(text: str) -> str:
    return " ".join(text.split())
