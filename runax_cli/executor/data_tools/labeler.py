"""Label texts with a model.

Each distinct text is read once. Missing labels are requested again, invented references are rejected, unusable labels
are counted. A sample is labeled a second time in another order to measure agreement. Labels are stored and reused.
"""

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError

from runax_cli.core.errors import BudgetExhausted, ModelError, ModelRefused
from runax_cli.core.untrusted_text import escape_for_prompt
from runax_cli.executor.run_cache import RunCache
from runax_cli.executor.token_fitting import pack, truncate_tokens
from runax_cli.memory.journal import EntryKind
from runax_cli.models.base import Message, Model, ModelRequest, OutputSchema, Prompt, Role
from runax_cli.models.tokens import CalibratedCounter, measure

MAX_TEXTS = 100
OUTPUT_TOKENS_PER_TEXT = 24
SAMPLE_SHARE = 0.05
MAX_SAMPLE = 50

Label: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class LabelField:
    """One value to assign to each text: its name, its JSON type, and the allowed values (empty: any)."""

    name: str
    type: str = "string"
    values: tuple[str, ...] = ()

    def accepts(self, value: object) -> bool:
        """Whether a value of a reply is allowed."""
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
        """The JSON Schema of the field."""
        return {"type": self.type, "enum": list(self.values)} if self.values else {"type": self.type}


@dataclass(frozen=True, slots=True)
class LabelTask:
    """What to decide about each text: an instruction, and one or more fields to fill."""

    instruction: str
    fields: tuple[LabelField, ...]

    @property
    def output(self) -> OutputSchema:
        """The strict schema of a reply: one object per text, with its reference."""
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
        """Return the key of a stored label. It depends on text, task, model and prompt only."""
        fields = [[f.name, f.type, list(f.values)] for f in self.fields]
        content = json.dumps([text, self.instruction, fields, model, prompt], ensure_ascii=False)
        return "label:" + hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


Labels: TypeAlias = Mapping[str, Label]


class _LabelReply(BaseModel):
    model_config = ConfigDict(extra="ignore")

    labels: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class CheckedLabels:
    """The usable labels of a reply by reference, the missing references, and the errors for the next request."""

    accepted: dict[int, dict[str, Label]]
    missing: tuple[int, ...]
    errors: tuple[str, ...]


def check_labels(reply: str, refs: Sequence[int], task: LabelTask) -> CheckedLabels:
    """Check a reply against the references that were sent. Texts with a value that is not allowed count as missing."""
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
        elif (problem := _value_error(entry, task)) is not None:
            errors.append(f"[{ref}] {problem}")
        elif ref not in accepted:
            accepted[ref] = {field.name: entry[field.name] for field in task.fields}
    missing = tuple(ref for ref in refs if ref not in accepted)
    errors += [f"[{ref}] has no label" for ref in missing[:5]]
    return CheckedLabels(accepted, missing, tuple(errors))


def _value_error(entry: Mapping[str, Any], task: LabelTask) -> str | None:
    for field in task.fields:
        if not field.accepts(entry.get(field.name)):
            allowed = f"one of {', '.join(field.values)}" if field.values else f"of type {field.type}"
            return f"'{field.name}' is {json.dumps(entry.get(field.name))[:60]} but must be {allowed}"
    return None


def sample_positions(keys: Sequence[str], *, share: float = SAMPLE_SHARE, max_sample: int = MAX_SAMPLE) -> list[int]:
    """Return the positions of a sample (at least one), chosen by hash: random, but the same for the same texts."""
    n = min(max_sample, len(keys), max(1, round(share * len(keys)))) if keys else 0
    by_hash = sorted(range(len(keys)), key=lambda at: hashlib.sha256(keys[at].encode()).digest())
    return by_hash[:n]


def agreement(first: Sequence[Labels | None], second: Sequence[Labels | None]) -> float | None:
    """Return the share of texts that got the same labels both times; None if no text was labeled twice."""
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    return sum(a == b for a, b in pairs) / len(pairs) if pairs else None


def label_fields(labels: Sequence[str] | None, schema: Mapping[str, Any] | None) -> tuple[LabelField, ...]:
    """Return the fields of a task: a closed list of labels, or the properties of a JSON Schema.

    Raises ValueError if neither is given, or if a property is not a scalar.
    """
    if labels:
        return (LabelField("label", "string", tuple(dict.fromkeys(labels))),)
    properties = (schema or {}).get("properties") or {}
    if not properties:
        raise ValueError("give either 'labels' (a list of values) or 'schema' (a JSON Schema with properties)")
    return tuple(_field(name, declared) for name, declared in properties.items())


def _field(name: str, declared: Any) -> LabelField:
    kind = declared.get("type", "string") if isinstance(declared, dict) else "string"
    values = tuple(map(str, declared.get("enum", ()))) if isinstance(declared, dict) else ()
    if name in {"ref", "row"}:
        raise ValueError(f"the property name '{name}' in 'schema' is reserved for references. Use another name.")
    if kind not in {"string", "integer", "number", "boolean"}:
        raise ValueError(
            f"the property '{name}' of 'schema' has type '{kind}'; must be string, integer, number or boolean"
        )
    return LabelField(name, "string" if values else kind, values)


MAX_ROUNDS = 3
LAST_ROUND_TEXTS = 10
"""The last round sends at most this many texts per request: one that breaks a reply must not cost the others."""
REF_TOKENS = 8
MIN_OUTPUT_TOKENS = 256
MAX_ERRORS = 5
ERROR_CHARS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelerPrompts:
    """The prompt templates of a labeler: `user` has `instruction`, `fields` and `texts`, `repair` has `errors`."""

    system: Prompt
    user: Prompt
    repair: Prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelingOutcome:
    """Labels in the order of the texts (None: unusable), and how they were made.

    `agreement` is the share of the sample that got the same labels again, `n_sample` its size. `n_cut` texts were
    longer than a request. `why` is the error of the last failed request.
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
    """`stopped` is the error after which no further request is sent, `failure` the last other error."""

    labels: dict[str, dict[str, Label]]
    requests: int = 0
    from_store: int = 0
    stopped: str | None = None
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class _Item:
    key: str
    text: str


class Labeler:
    """Labels texts with one model, which is bound to a turn."""

    def __init__(
        self,
        model: Model,
        counter: CalibratedCounter,
        *,
        prompts: LabelerPrompts,
        cache: RunCache,
        effective_tokens: int,
        concurrency: int,
    ) -> None:
        self._model, self._counter, self._prompts, self._cache = model, counter, prompts, cache
        self._effective_tokens = effective_tokens
        self._slots = asyncio.Semaphore(concurrency)

    async def label(self, texts: Sequence[str], task: LabelTask) -> LabelingOutcome:
        """Label distinct texts. Failures of the model become unusable labels with a reason, never an error."""
        budget = await asyncio.to_thread(self._budget, task)
        cut_texts = await asyncio.to_thread(self._cut, texts, budget)
        prompt = f"{self._prompts.system.id} {self._prompts.user.id}"
        items = [_Item(task.key(text, model=self._model.name, prompt=prompt), text) for text in cut_texts]
        progress = _Progress({})
        labels = await self._label_items(items, task, budget, progress)
        positions = sorted(sample_positions([item.key for item in items]), reverse=True)
        sample = [_Item(f"{items[at].key}:again", items[at].text) for at in positions]
        sample_labels = await self._label_items(sample, task, budget, progress)
        return LabelingOutcome(
            labels=tuple(labels),
            agreement=agreement([labels[at] for at in positions], sample_labels),
            n_sample=len(positions),
            n_cut=sum(a != b for a, b in zip(cut_texts, texts, strict=True)),
            requests=progress.requests,
            from_store=progress.from_store,
            why=progress.stopped or progress.failure,
        )

    def _cut(self, texts: Sequence[str], budget: int) -> list[str]:
        max_tokens = max(1, budget - OUTPUT_TOKENS_PER_TEXT - REF_TOKENS)
        return [truncate_tokens(text, self._counter.bound, max_tokens=max_tokens) for text in texts]

    def _budget(self, task: LabelTask) -> int:
        """Return the tokens that the texts of one request and their labels may have together."""
        empty = self._request([], task, ["x" * ERROR_CHARS] * MAX_ERRORS)
        return max(1, self._effective_tokens - measure(empty, self._counter).bound(self._counter))

    async def _label_items(
        self, items: Sequence[_Item], task: LabelTask, budget: int, progress: _Progress
    ) -> list[dict[str, Label] | None]:
        """Return labels in the order of `items`. Stored ones are reused, new ones are stored by batch."""
        stored = await self._cache.get_many([item.key for item in items])
        progress.labels |= {key: json.loads(label) for key, label in stored.items()}
        progress.from_store += len(stored)
        new = [item for item in items if item.key not in progress.labels]
        weights = await asyncio.to_thread(lambda: [self._weight(item) for item in new])
        async with asyncio.TaskGroup() as group:
            for part in pack(weights, budget=budget, max_items=MAX_TEXTS):
                group.create_task(self._label_batch([new[at] for at in part], task, progress))
        return [progress.labels.get(item.key) for item in items]

    def _weight(self, item: _Item) -> int:
        """Return the tokens of a text and of its label in one request."""
        return self._counter.bound(_line(0, item)) + REF_TOKENS + OUTPUT_TOKENS_PER_TEXT

    async def _label_batch(self, items: Sequence[_Item], task: LabelTask, progress: _Progress) -> None:
        """Label one batch. Texts without a usable label are requested again, in smaller requests at last."""
        async with self._slots:
            accepted: dict[int, dict[str, Label]] = {}
            errors: tuple[str, ...] = ()
            for number in range(1, MAX_ROUNDS + 1):
                missing = [ref for ref in range(1, len(items) + 1) if ref not in accepted]
                per_request = LAST_ROUND_TEXTS if number == MAX_ROUNDS else len(items)
                for start in range(0, len(missing), per_request):
                    refs = missing[start : start + per_request]
                    checked = check_labels(await self._complete(items, refs, task, errors, progress), refs, task)
                    accepted |= checked.accepted
                    errors = checked.errors
        labels = {items[ref - 1].key: label for ref, label in accepted.items()}
        progress.labels |= labels
        await self._cache.store(EntryKind.LABEL, {key: json.dumps(label).encode() for key, label in labels.items()})

    async def _complete(
        self, items: Sequence[_Item], refs: Sequence[int], task: LabelTask, errors: Sequence[str], progress: _Progress
    ) -> str:
        """Return the reply for some texts of a batch; "" if the request failed or is no longer possible."""
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

    def _request(self, items: Sequence[tuple[int, _Item]], task: LabelTask, errors: Sequence[str]) -> ModelRequest:
        texts = "\n".join(_line(ref, item) for ref, item in items)
        user = self._prompts.user.fill(
            instruction=escape_for_prompt(task.instruction), fields="\n".join(map(str, task.fields)), texts=texts
        )
        if errors:
            listed = "\n".join(f"- {error[:ERROR_CHARS]}" for error in errors[:MAX_ERRORS])
            user += "\n\n" + self._prompts.repair.fill(errors=listed)
        return ModelRequest(
            role=Role.LABELLER,
            messages=(Message("system", self._prompts.system.text), Message("user", user)),
            output=task.output,
            max_output_tokens=max(MIN_OUTPUT_TOKENS, OUTPUT_TOKENS_PER_TEXT * len(items) * len(task.fields)),
            run_id=self._cache.run_id,
        )


def _line(ref: int, item: _Item) -> str:
    """Format a text on one line, as a JSON string if it has line ends or starts with a quote."""
    is_plain = "\n" not in item.text and "\r" not in item.text and not item.text.startswith('"')
    return f"[{ref}] {escape_for_prompt(item.text if is_plain else json.dumps(item.text, ensure_ascii=False))}"
