"""Labelling: a value for each text, given by a model that reads the text.

Each distinct text is read once; missing labels are asked for again, invented ones rejected, unusable ones counted. A
sample is labelled a second time in another order, and the agreement is told. Knows requests and the journal. Knows
nothing of tables.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass

from runax_cli.errors import BudgetExhausted, ModelError
from runax_cli.executor.fence import fenced_records
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
from runax_cli.memory.journal import EntryKind, Journal
from runax_cli.models.base import Message, Model, ModelRequest, Prompt, Role
from runax_cli.models.tokens import CalibratedCounter

ROUNDS = 2
REF_TOKENS = 8
_OVERHEAD_TOKENS = 400


@dataclass(frozen=True, slots=True)
class LabellerPrompts:
    """The templates of a labeller: `user` has the fields `instruction` and `texts`, `repair` has `errors`."""

    system: Prompt
    user: Prompt
    repair: Prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """Labels in the order of the texts (None: unusable), and how they came about.

    `agreement` is the share of the second sample that got the same labels, `n_sample` its size. `stopped` says why
    labelling ended early.
    """

    labels: tuple[Labels | None, ...]
    agreement: float | None
    n_sample: int
    n_cut: int
    requests: int
    from_store: int
    stopped: str | None = None

    @property
    def n_unusable(self) -> int:
        """Texts that have no label."""
        return sum(label is None for label in self.labels)


@dataclass(slots=True)
class _Progress:
    requests: int = 0
    from_store: int = 0
    stopped: str | None = None


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
        journal: Journal,
        effective_tokens: int,
        concurrency: int,
        run_id: str = "",
    ) -> None:
        self._model, self._counter, self._prompts, self._journal = model, counter, prompts, journal
        self._effective_tokens, self._run_id = effective_tokens, run_id
        self._slots = asyncio.Semaphore(concurrency)

    async def label(self, texts: Sequence[str], task: Task) -> Labelled:
        """Label distinct texts. Failures of the model end up as unusable labels with a reason, never as an error."""
        shown = await asyncio.to_thread(self._shown, texts, task)
        items = [_Item(task.key(text, model=self._model.name, prompt=self._prompts.user.id), text) for text in shown]
        progress = _Progress()
        labels = await self._labelled(items, task, progress)
        chosen = sorted(sample([item.key for item in items]), reverse=True)
        again = await self._labelled([_Item(f"{items[at].key}:again", items[at].text) for at in chosen], task, progress)
        return Labelled(
            labels=tuple(labels),
            agreement=agreement([labels[at] for at in chosen], again),
            n_sample=len(chosen),
            n_cut=sum(a != b for a, b in zip(shown, texts, strict=True)),
            requests=progress.requests,
            from_store=progress.from_store,
            stopped=progress.stopped,
        )

    def _shown(self, texts: Sequence[str], task: Task) -> list[str]:
        most = max(1, self._budget(task) - OUTPUT_TOKENS_A_TEXT)
        return [cut(text, _Bound(self._counter), most_tokens=most) for text in texts]

    def _budget(self, task: Task) -> int:
        prompt = self._prompts.system.text + self._prompts.user.text + task.instruction + json.dumps(task.output.schema)
        return max(1, self._effective_tokens - self._counter.bound(prompt) - _OVERHEAD_TOKENS)

    async def _labelled(self, items: Sequence[_Item], task: Task, progress: _Progress) -> list[dict[str, Label] | None]:
        """Labels in the order of `items`; stored ones are taken from the journal, fresh ones go there by batch."""
        known = {key: json.loads(label) for key, label in self._journal.found_all([item.key for item in items]).items()}
        progress.from_store += len(known)
        fresh = [item for item in items if item.key not in known]
        sizes = await asyncio.to_thread(lambda: [self._counter.bound(item.text) + REF_TOKENS for item in fresh])
        parts = batches(sizes, budget_tokens=self._budget(task))
        async with asyncio.TaskGroup() as group:
            for part in parts:
                group.create_task(self._batch([fresh[at] for at in part], task, progress, known))
        return [known.get(item.key) for item in items]

    async def _batch(
        self, items: Sequence[_Item], task: Task, progress: _Progress, known: dict[str, dict[str, Label]]
    ) -> None:
        async with self._slots:
            found: dict[int, dict[str, Label]] = {}
            errors: tuple[str, ...] = ()
            for _ in range(ROUNDS):
                refs = [ref for ref in range(1, len(items) + 1) if ref not in found]
                if not refs or progress.stopped:
                    break
                reply = await self._asked(items, refs, task, errors, progress)
                told = checked(reply, refs, task)
                found |= told.accepted
                errors = told.errors
        labels = {items[ref - 1].key: label for ref, label in found.items()}
        known |= labels
        payloads = {key: json.dumps(label).encode() for key, label in labels.items()}
        self._journal.store(EntryKind.LABEL, self._run_id, payloads)

    async def _asked(
        self, items: Sequence[_Item], refs: Sequence[int], task: Task, errors: Sequence[str], progress: _Progress
    ) -> str:
        listed = fenced_records(
            [(str(ref), json.dumps(items[ref - 1].text, ensure_ascii=False)) for ref in refs], "texts"
        )
        said = self._prompts.user.fill(instruction=task.instruction, texts=listed)
        if errors:
            said += "\n\n" + self._prompts.repair.fill(errors="\n".join(errors[:10]))
        request = ModelRequest(
            role=Role.LABELLER,
            messages=(Message("system", self._prompts.system.text), Message("user", said)),
            output=task.output,
            max_output_tokens=max(256, OUTPUT_TOKENS_A_TEXT * len(refs)),
            run_id=self._run_id,
        )
        progress.requests += 1
        try:
            return (await self._model.complete(request)).text
        except BudgetExhausted as error:
            progress.stopped = str(error)
        except ModelError as error:
            if not error.retryable:
                progress.stopped = str(error)
        return ""


@dataclass(frozen=True, slots=True)
class _Bound:
    """The bound of a calibrated counter, where a counter is wanted."""

    counter: CalibratedCounter
    name: str = "bound"

    def count(self, text: str) -> int:
        """The bound."""
        return self.counter.bound(text)
