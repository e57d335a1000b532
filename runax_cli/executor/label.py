"""Labelling: a value for each text, given by a model that reads the text.

Each distinct text is read once; missing labels are asked for again, invented ones rejected, unusable ones counted. A
sample is labelled a second time in another order, and the agreement is told. Knows requests and stored labels. Knows
nothing of tables.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass

from runax_cli.errors import BudgetExhausted, ModelError, ModelRefused
from runax_cli.executor.fence import fenced
from runax_cli.executor.labelling import (
    OUTPUT_TOKENS_A_TEXT,
    Label,
    Labels,
    Task,
    agreement,
    batches,
    checked,
    cut,
    sample,
)
from runax_cli.executor.ledger import Ledger
from runax_cli.memory.journal import EntryKind
from runax_cli.models.base import Message, Model, ModelRequest, Prompt, Role
from runax_cli.models.tokens import CalibratedCounter, measure

ROUNDS = 3
LAST_ROUND_TEXTS = 10
"""So few texts share a request of the last round: one that spoils the reply of its batch must not cost the others."""
REF_TOKENS = 8
LEAST_OUTPUT_TOKENS = 256
MOST_ERRORS = 5
ERROR_CHARS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class LabellerPrompts:
    """The templates of a labeller: `user` has `instruction`, `fields` and `texts`, `repair` has `errors`."""

    system: Prompt
    user: Prompt
    repair: Prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
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


class Labeller:
    """Labels texts with one model, bound to a turn."""

    def __init__(
        self,
        model: Model,
        counter: CalibratedCounter,
        *,
        prompts: LabellerPrompts,
        ledger: Ledger,
        effective_tokens: int,
        concurrency: int,
    ) -> None:
        self._model, self._counter, self._prompts, self._ledger = model, counter, prompts, ledger
        self._effective_tokens = effective_tokens
        self._slots = asyncio.Semaphore(concurrency)

    async def label(self, texts: Sequence[str], task: Task) -> Labelled:
        """Label distinct texts. Failures of the model end up as unusable labels with a reason, never as an error."""
        budget = await asyncio.to_thread(self._budget, task)
        shown = await asyncio.to_thread(self._shown, texts, budget)
        prompt = f"{self._prompts.system.id} {self._prompts.user.id}"
        items = [_Item(task.key(text, model=self._model.name, prompt=prompt), text) for text in shown]
        progress = _Progress({})
        labels = await self._labelled(items, task, budget, progress)
        chosen = sorted(sample([item.key for item in items]), reverse=True)
        second = [_Item(f"{items[at].key}:again", items[at].text) for at in chosen]
        again = await self._labelled(second, task, budget, progress)
        return Labelled(
            labels=tuple(labels),
            agreement=agreement([labels[at] for at in chosen], again),
            n_sample=len(chosen),
            n_cut=sum(a != b for a, b in zip(shown, texts, strict=True)),
            requests=progress.requests,
            from_store=progress.from_store,
            why=progress.stopped or progress.failure,
        )

    def _shown(self, texts: Sequence[str], budget: int) -> list[str]:
        most = max(1, budget - OUTPUT_TOKENS_A_TEXT - REF_TOKENS)
        return [cut(text, _Bound(self._counter), most_tokens=most) for text in texts]

    def _budget(self, task: Task) -> int:
        """Tokens that the texts of one request and their labels may have together."""
        empty = self._request([], task, ["x" * ERROR_CHARS] * MOST_ERRORS)
        return max(1, self._effective_tokens - measure(empty, self._counter).bound(self._counter))

    async def _labelled(
        self, items: Sequence[_Item], task: Task, budget: int, progress: _Progress
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

    async def _batch(self, items: Sequence[_Item], task: Task, progress: _Progress) -> None:
        async with self._slots:
            found: dict[int, dict[str, Label]] = {}
            errors: tuple[str, ...] = ()
            for number in range(1, ROUNDS + 1):
                missing = [ref for ref in range(1, len(items) + 1) if ref not in found]
                at_once = LAST_ROUND_TEXTS if number == ROUNDS else len(items)
                for start in range(0, len(missing), at_once):
                    refs = missing[start : start + at_once]
                    told = checked(await self._asked(items, refs, task, errors, progress), refs, task)
                    found |= told.accepted
                    errors = told.errors
        labels = {items[ref - 1].key: label for ref, label in found.items()}
        progress.known |= labels
        await self._ledger.store(EntryKind.LABEL, {key: json.dumps(label).encode() for key, label in labels.items()})

    async def _asked(
        self, items: Sequence[_Item], refs: Sequence[int], task: Task, errors: Sequence[str], progress: _Progress
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

    def _request(self, listed: Sequence[tuple[int, _Item]], task: Task, errors: Sequence[str]) -> ModelRequest:
        texts = "\n".join(_line(ref, item) for ref, item in listed)
        said = self._prompts.user.fill(
            instruction=fenced(task.instruction), fields="\n".join(map(str, task.fields)), texts=texts
        )
        if errors:
            told = "\n".join(f"- {error[:ERROR_CHARS]}" for error in errors[:MOST_ERRORS])
            said += "\n\n" + self._prompts.repair.fill(errors=told)
        return ModelRequest(
            role=Role.LABELLER,
            messages=(Message("system", self._prompts.system.text), Message("user", said)),
            output=task.output,
            max_output_tokens=max(LEAST_OUTPUT_TOKENS, OUTPUT_TOKENS_A_TEXT * len(listed) * len(task.fields)),
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
