"""Labelling: a value for each text, given by a model that reads the text.

Each distinct text is read once; missing labels are asked for again, invented ones rejected, unusable ones counted. A
sample is labelled a second time in another order, and the agreement is told. Knows requests and stored labels. Knows
nothing of tables.
"""

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError

from runax_cli.core.errors import BudgetExhausted, ModelError, ModelRefused
from runax_cli.core.untrusted_text import fenced
from runax_cli.executor.run_cache import RunCache
from runax_cli.memory.journal import EntryKind
from runax_cli.models.base import Message, Model, ModelRequest, OutputSchema, Prompt, Role, TokenCounter
from runax_cli.models.tokens import CalibratedCounter, measure

MAX_TEXTS = 100
OUTPUT_TOKENS_PER_TEXT = 24
SAMPLE_SHARE = 0.05
MAX_SAMPLE = 50

Label: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class LabelField:
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
class LabelTask:
    """What to decide about each text: the instruction, and one or more fields to fill."""

    instruction: str
    fields: tuple[LabelField, ...]

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


class _LabelReply(BaseModel):
    model_config = ConfigDict(extra="ignore")

    labels: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class CheckedLabels:
    """What of a reply can be used, by reference; and what is wrong with the rest, for asking again."""

    accepted: dict[int, dict[str, Label]]
    missing: tuple[int, ...]
    errors: tuple[str, ...]


def check_labels(reply: str, refs: Sequence[int], task: LabelTask) -> CheckedLabels:
    """Check a reply against the references sent: invented ones are rejected, unfit values count as missing."""
    try:
        entries = _LabelReply.model_validate_json(reply).labels
    except ValidationError as error:
        return CheckedLabels({}, tuple(refs), (f"the reply does not fit the schema: {error.errors()[0]['msg']}",))
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
    return CheckedLabels(accepted, missing, tuple(errors))


def _unfit(entry: Mapping[str, Any], task: LabelTask) -> str | None:
    for field in task.fields:
        if not field.accepts(entry.get(field.name)):
            allowed = f"one of {', '.join(field.values)}" if field.values else f"of type {field.type}"
            return f"'{field.name}' is {json.dumps(entry.get(field.name))[:60]}, and must be {allowed}"
    return None


def batches(sizes: Sequence[int], *, budget_tokens: int, most: int = MAX_TEXTS) -> list[range]:
    """Consecutive positions in batches of at most `most` texts whose sizes (tokens) sum up to at most the budget.

    A text that alone is above the budget gets a batch of its own; whoever sends it has to cut it.
    """
    found: list[range] = []
    start, used = 0, 0
    for at, size in enumerate(sizes):
        cost = size + OUTPUT_TOKENS_PER_TEXT
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


def sample_positions(keys: Sequence[str], *, share: float = SAMPLE_SHARE, most: int = MAX_SAMPLE) -> list[int]:
    """Positions of a sample (at least one of any), chosen by hash: random to the data, the same for the same texts."""
    n = min(most, len(keys), max(1, round(share * len(keys)))) if keys else 0
    by_hash = sorted(range(len(keys)), key=lambda at: hashlib.sha256(keys[at].encode()).digest())
    return by_hash[:n]


def agreement(first: Sequence[Labels | None], second: Sequence[Labels | None]) -> float | None:
    """The share of texts that got the same labels both times; None where no text got any."""
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    return sum(a == b for a, b in pairs) / len(pairs) if pairs else None


def label_fields(labels: Sequence[str] | None, schema: Mapping[str, Any] | None) -> tuple[LabelField, ...]:
    """The fields that a request asks for: a closed list of labels, or the properties of a JSON Schema.

    Raises ValueError where neither is given, or a property is no scalar.
    """
    if labels:
        return (LabelField("label", "string", tuple(dict.fromkeys(labels))),)
    properties = (schema or {}).get("properties") or {}
    if not properties:
        raise ValueError("give either 'labels' (a list of values) or 'schema' (a JSON Schema with properties)")
    return tuple(_field(name, told) for name, told in properties.items())


def _field(name: str, told: Any) -> LabelField:
    kind = told.get("type", "string") if isinstance(told, dict) else "string"
    values = tuple(map(str, told.get("enum", ()))) if isinstance(told, dict) else ()
    if name in {"ref", "row"}:
        raise ValueError(f"the property '{name}' of 'schema' is taken for references. Name it otherwise.")
    if kind not in {"string", "integer", "number", "boolean"}:
        raise ValueError(f"the property '{name}' of 'schema' has type '{kind}'; labels are string, number or boolean")
    return LabelField(name, "string" if values else kind, values)


MAX_ROUNDS = 3
LAST_ROUND_TEXTS = 10
"""So few texts share a request of the last round: one that spoils the reply of its batch must not cost the others."""
REF_TOKENS = 8
MIN_OUTPUT_TOKENS = 256
MAX_ERRORS = 5
ERROR_CHARS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelerPrompts:
    """The templates of a labeller: `user` has `instruction`, `fields` and `texts`, `repair` has `errors`."""

    system: Prompt
    user: Prompt
    repair: Prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelingOutcome:
    """Labels in the order of the texts (None: unusable), and how they came about.

    `agreement` is the share of the second sample that got the same labels, `n_sample` its size. `why` is
    what the last failed request failed of.
    """

    labels: tuple[Labels | None, ...]
    agreement: float | None
    n_sample: int
    n_cut: int
    requests: int
    from_store: int
    why: str | None = None

    @property
    def n_unusable(self) -> int:
        """Texts that have no label."""
        return sum(label is None for label in self.labels)


@dataclass(slots=True)
class _Progress:
    known: dict[str, dict[str, Label]]
    requests: int = 0
    from_store: int = 0
    stopped: str | None = None
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class _Item:
    key: str
    text: str


class Labeler:
    """Labels texts with one model, bound to a turn."""

    def __init__(
        self,
        model: Model,
        counter: CalibratedCounter,
        *,
        prompts: LabelerPrompts,
        ledger: RunCache,
        effective_tokens: int,
        concurrency: int,
    ) -> None:
        self._model, self._counter, self._prompts, self._ledger = model, counter, prompts, ledger
        self._effective_tokens = effective_tokens
        self._slots = asyncio.Semaphore(concurrency)

    async def label(self, texts: Sequence[str], task: LabelTask) -> LabelingOutcome:
        """Label distinct texts. Failures of the model end up as unusable labels with a reason, never as an error."""
        budget = await asyncio.to_thread(self._budget, task)
        shown = await asyncio.to_thread(self._shown, texts, budget)
        prompt = f"{self._prompts.system.id} {self._prompts.user.id}"
        items = [_Item(task.key(text, model=self._model.name, prompt=prompt), text) for text in shown]
        progress = _Progress({})
        labels = await self._labelled(items, task, budget, progress)
        chosen = sorted(sample_positions([item.key for item in items]), reverse=True)
        second = [_Item(f"{items[at].key}:again", items[at].text) for at in chosen]
        again = await self._labelled(second, task, budget, progress)
        return LabelingOutcome(
            labels=tuple(labels),
            agreement=agreement([labels[at] for at in chosen], again),
            n_sample=len(chosen),
            n_cut=sum(a != b for a, b in zip(shown, texts, strict=True)),
            requests=progress.requests,
            from_store=progress.from_store,
            why=progress.stopped or progress.failure,
        )

    def _shown(self, texts: Sequence[str], budget: int) -> list[str]:
        most = max(1, budget - OUTPUT_TOKENS_PER_TEXT - REF_TOKENS)
        return [cut(text, _Bound(self._counter), most_tokens=most) for text in texts]

    def _budget(self, task: LabelTask) -> int:
        """Tokens that the texts of one request and their labels may have together."""
        empty = self._request([], task, ["x" * ERROR_CHARS] * MAX_ERRORS)
        return max(1, self._effective_tokens - measure(empty, self._counter).bound(self._counter))

    async def _labelled(
        self, items: Sequence[_Item], task: LabelTask, budget: int, progress: _Progress
    ) -> list[dict[str, Label] | None]:
        """Labels in the order of `items`; stored ones are taken over, fresh ones are stored by batch."""
        stored = await self._ledger.found_all([item.key for item in items])
        progress.known |= {key: json.loads(label) for key, label in stored.items()}
        progress.from_store += len(stored)
        fresh = [item for item in items if item.key not in progress.known]
        sizes = await asyncio.to_thread(lambda: [self._counter.bound(_line(0, item)) + REF_TOKENS for item in fresh])
        async with asyncio.TaskGroup() as group:
            for part in batches(sizes, budget_tokens=budget):
                group.create_task(self._batch([fresh[at] for at in part], task, progress))
        return [progress.known.get(item.key) for item in items]

    async def _batch(self, items: Sequence[_Item], task: LabelTask, progress: _Progress) -> None:
        async with self._slots:
            found: dict[int, dict[str, Label]] = {}
            errors: tuple[str, ...] = ()
            for number in range(1, MAX_ROUNDS + 1):
                missing = [ref for ref in range(1, len(items) + 1) if ref not in found]
                at_once = LAST_ROUND_TEXTS if number == MAX_ROUNDS else len(items)
                for start in range(0, len(missing), at_once):
                    refs = missing[start : start + at_once]
                    told = check_labels(await self._asked(items, refs, task, errors, progress), refs, task)
                    found |= told.accepted
                    errors = told.errors
        labels = {items[ref - 1].key: label for ref, label in found.items()}
        progress.known |= labels
        await self._ledger.store(EntryKind.LABEL, {key: json.dumps(label).encode() for key, label in labels.items()})

    async def _asked(
        self, items: Sequence[_Item], refs: Sequence[int], task: LabelTask, errors: Sequence[str], progress: _Progress
    ) -> str:
        if progress.stopped:
            return ""
        progress.requests += 1
        try:
            return (await self._model.complete(self._request([(r, items[r - 1]) for r in refs], task, errors))).text
        except (BudgetExhausted, ModelRefused) as error:
            progress.stopped = str(error)
        except ModelError as error:
            progress.failure = str(error)
        return ""

    def _request(self, listed: Sequence[tuple[int, _Item]], task: LabelTask, errors: Sequence[str]) -> ModelRequest:
        texts = "\n".join(_line(ref, item) for ref, item in listed)
        said = self._prompts.user.fill(
            instruction=fenced(task.instruction), fields="\n".join(map(str, task.fields)), texts=texts
        )
        if errors:
            told = "\n".join(f"- {error[:ERROR_CHARS]}" for error in errors[:MAX_ERRORS])
            said += "\n\n" + self._prompts.repair.fill(errors=told)
        return ModelRequest(
            role=Role.LABELLER,
            messages=(Message("system", self._prompts.system.text), Message("user", said)),
            output=task.output,
            max_output_tokens=max(MIN_OUTPUT_TOKENS, OUTPUT_TOKENS_PER_TEXT * len(listed) * len(task.fields)),
            run_id=self._ledger.run_id,
        )


def _line(ref: int, item: _Item) -> str:
    """A text on one line: as it is, and as a JSON string where it has line ends or begins like one."""
    is_plain = "\n" not in item.text and "\r" not in item.text and not item.text.startswith('"')
    return f"[{ref}] {fenced(item.text if is_plain else json.dumps(item.text, ensure_ascii=False))}"


@dataclass(frozen=True, slots=True)
class _Bound:
    """The bound of a calibrated counter, where a counter is wanted."""

    counter: CalibratedCounter
    name: str = "bound"

    def count(self, text: str) -> int:
        """The bound."""
        return self.counter.bound(text)
