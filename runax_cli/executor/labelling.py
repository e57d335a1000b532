"""Labels as values: what is asked of each text, how texts are batched, what of a reply is kept, how labels agree.

Pure. Knows texts, references and labels. Knows no model and no table.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError

from runax_cli.models.base import OutputSchema, TokenCounter

MOST_TEXTS = 100
OUTPUT_TOKENS_A_TEXT = 24
SAMPLE_SHARE = 0.05
SAMPLE_MOST = 50

Label: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Field:
    """One value to give to each text: its name, its JSON type, and the values that are allowed (empty: any)."""

    name: str
    type: str = "string"
    values: tuple[str, ...] = ()

    def accepts(self, value: object) -> bool:
        """Whether a reply's value fits."""
        if self.values:
            return value in self.values
        match self.type:
            case "boolean":
                return isinstance(value, bool)
            case "integer":
                return isinstance(value, int) and not isinstance(value, bool)
            case "number":
                return isinstance(value, int | float) and not isinstance(value, bool)
            case _:
                return isinstance(value, str)

    def __str__(self) -> str:
        return f"{self.name}: {' | '.join(self.values) if self.values else self.type}"

    @property
    def schema(self) -> dict[str, Any]:
        """The field in a strict JSON Schema."""
        return {"type": self.type, "enum": list(self.values)} if self.values else {"type": self.type}


@dataclass(frozen=True, slots=True)
class Task:
    """What to decide about each text: the instruction, and one or more fields to fill."""

    instruction: str
    fields: tuple[Field, ...]

    @property
    def output(self) -> OutputSchema:
        """The strict schema of a reply: one object a text, keyed by its reference."""
        properties = {"ref": {"type": "integer"}} | {field.name: field.schema for field in self.fields}
        item = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
        listed = {"type": "array", "items": item}
        whole = {
            "type": "object",
            "properties": {"labels": listed},
            "required": ["labels"],
            "additionalProperties": False,
        }
        return OutputSchema("labels", whole)

    def key(self, text: str, *, model: str, prompt: str) -> str:
        """What a label of `text` is stored under: it depends on text, task, model and prompt, and on nothing else."""
        fields = [[f.name, f.type, list(f.values)] for f in self.fields]
        said = json.dumps([text, self.instruction, fields, model, prompt], ensure_ascii=False)
        return "label:" + hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


Labels: TypeAlias = Mapping[str, Label]


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore")

    labels: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class CheckedReply:
    """What of a reply can be used, by reference; and what is wrong with the rest, for asking again."""

    accepted: dict[int, dict[str, Label]]
    missing: tuple[int, ...]
    errors: tuple[str, ...]


def checked(reply: str, refs: Sequence[int], task: Task) -> CheckedReply:
    """Check a reply against the references sent: invented ones are rejected, unfit values count as missing."""
    try:
        entries = _Reply.model_validate_json(reply).labels
    except ValidationError as error:
        return CheckedReply({}, tuple(refs), (f"the reply does not fit the schema: {error.errors()[0]['msg']}",))
    accepted: dict[int, dict[str, Label]] = {}
    errors: list[str] = []
    sent = set(refs)
    for entry in entries:
        ref = entry.get("ref")
        if not isinstance(ref, int) or ref not in sent:
            errors.append(f"there is no text [{ref}]")
        elif (wrong := _unfit(entry, task)) is not None:
            errors.append(f"[{ref}] {wrong}")
        elif ref not in accepted:
            accepted[ref] = {field.name: entry[field.name] for field in task.fields}
    missing = tuple(ref for ref in refs if ref not in accepted)
    errors += [f"[{ref}] has no label" for ref in missing[:5]]
    return CheckedReply(accepted, missing, tuple(errors))


def _unfit(entry: Mapping[str, Any], task: Task) -> str | None:
    for field in task.fields:
        if not field.accepts(entry.get(field.name)):
            allowed = f"one of {', '.join(field.values)}" if field.values else f"of type {field.type}"
            return f"'{field.name}' is {json.dumps(entry.get(field.name))[:60]}, and must be {allowed}"
    return None


def batches(sizes: Sequence[int], *, budget_tokens: int, most: int = MOST_TEXTS) -> list[range]:
    """Consecutive positions in batches of at most `most` texts whose sizes (tokens) sum up to at most the budget.

    A text that alone is above the budget gets a batch of its own; whoever sends it has to cut it.
    """
    found: list[range] = []
    start, used = 0, 0
    for at, size in enumerate(sizes):
        cost = size + OUTPUT_TOKENS_A_TEXT
        if at > start and (used + cost > budget_tokens or at - start == most):
            found.append(range(start, at))
            start, used = at, 0
        used += cost
    return [*found, range(start, len(sizes))] if sizes else []


def cut(text: str, counter: TokenCounter, *, most_tokens: int) -> str:
    """The beginning of a text, within `most_tokens`; by halves, as a cut at a token needs the tokens themselves."""
    while text and counter.count(text) > most_tokens:
        text = text[: max(0, len(text) * 4 // 5)]
    return text


def sample(keys: Sequence[str], *, share: float = SAMPLE_SHARE, most: int = SAMPLE_MOST) -> list[int]:
    """Positions of a sample (at least one of any), chosen by hash: random to the data, the same for the same texts."""
    n = min(most, len(keys), max(1, round(share * len(keys)))) if keys else 0
    by_hash = sorted(range(len(keys)), key=lambda at: hashlib.sha256(keys[at].encode()).digest())
    return by_hash[:n]


def agreement(first: Sequence[Labels | None], second: Sequence[Labels | None]) -> float | None:
    """The share of texts that got the same labels both times; None where no text got any."""
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    return sum(a == b for a, b in pairs) / len(pairs) if pairs else None


def fields_of(labels: Sequence[str] | None, schema: Mapping[str, Any] | None) -> tuple[Field, ...]:
    """The fields that a request asks for: a closed list of labels, or the properties of a JSON Schema.

    Raises ValueError where neither is given, or a property is no scalar.
    """
    if labels:
        return (Field("label", "string", tuple(dict.fromkeys(labels))),)
    properties = (schema or {}).get("properties") or {}
    if not properties:
        raise ValueError("give either 'labels' (a list of values) or 'schema' (a JSON Schema with properties)")
    return tuple(_field(name, told) for name, told in properties.items())


def _field(name: str, told: Any) -> Field:
    kind = told.get("type", "string") if isinstance(told, dict) else "string"
    values = tuple(map(str, told.get("enum", ()))) if isinstance(told, dict) else ()
    if name in {"ref", "row"}:
        raise ValueError(f"the property '{name}' of 'schema' is taken for references. Name it otherwise.")
    if kind not in {"string", "integer", "number", "boolean"}:
        raise ValueError(f"the property '{name}' of 'schema' has type '{kind}'; labels are string, number or boolean")
    return Field(name, "string" if values else kind, values)
