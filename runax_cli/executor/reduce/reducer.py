"""Reducing: one chunk in, findings out, checked; and findings condensed where they are too many.

Knows requests to a reducer, their repair, splitting, and what is stored. A reducer has no tools and sees one chunk.
Failures of the model end up in the outcome of a chunk and never as an exception, cancellation aside.
"""

import asyncio
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from runax_cli.core.errors import BudgetExhausted, ContextTooLong, ModelError, ModelRefused, ModelReplyInvalid
from runax_cli.core.untrusted_text import fenced
from runax_cli.executor.outcome import Finding
from runax_cli.executor.reduce import replies
from runax_cli.executor.reduce.chunks import Chunk, ChunkUnit, TextWeight, format_chunk, split_chunk
from runax_cli.executor.run_cache import RunCache, key_of
from runax_cli.memory.journal import EntryKind
from runax_cli.models.base import Message, Model, ModelRequest, OutputSchema, Prompt, Role
from runax_cli.models.metering import RequestTooLarge
from runax_cli.models.tokens import CalibratedCounter, RequestSize, measure

MAX_MERGE_SHARE = 0.9
"""A round of condensing that leaves more than this share of the tokens is the last one."""


def deduplicate(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Equal statements become one, with the rows of all; ids (f1, f2, …) are given anew in order."""
    kept: dict[str, Finding] = {}
    for finding in findings:
        key = " ".join(finding.statement.casefold().split())
        kept[key] = _united(kept[key], finding) if key in kept else finding
    return renumber(kept.values())


def renumber(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The same findings with ids in order."""
    return tuple(replace(finding, id=f"f{number}") for number, finding in enumerate(findings, start=1))


def groups(weights: Sequence[int], *, budget: int) -> list[range]:
    """Consecutive positions whose weights sum up to at most `budget`; one that is heavier stands alone."""
    found: list[range] = []
    start, used = 0, 0
    for at, weight in enumerate(weights):
        if at > start and used + weight > budget:
            found.append(range(start, at))
            start, used = at, 0
        used += weight
    return [*found, range(start, len(weights))] if weights else []


def condense(statement: str, sources: Iterable[str], findings: Mapping[str, Finding]) -> Finding | None:
    """One statement over several findings: it rests on the union of their rows. None where no source is known.

    It keeps the quote of a source only where there is one source: a quote proves the statement it was made for.
    """
    behind = [findings[source] for source in dict.fromkeys(sources) if source in findings]
    if not behind or not statement.strip():
        return None
    rows = tuple(sorted({row for finding in behind for row in finding.records}))
    only = behind[0] if len(behind) == 1 else None
    return Finding(
        id=behind[0].id,
        statement=statement.strip(),
        records=rows,
        quote=only.quote if only else None,
        is_quote_verified=only.is_quote_verified if only else None,
    )


def apply_merge_reply(
    reply: Iterable[tuple[str, Sequence[str]]], findings: Sequence[Finding]
) -> tuple[Finding, ...] | None:
    """Findings after a condensing reply; None where it cites none of them. What it forgets stays as it is."""
    by_id = {finding.id: finding for finding in findings}
    made = [(condense(statement, sources, by_id), sources) for statement, sources in reply]
    kept = [(finding, sources) for finding, sources in made if finding is not None]
    if not kept:
        return None
    cited = {source for _, sources in kept for source in sources}
    return (*(finding for finding, _ in kept), *(finding for finding in findings if finding.id not in cited))


def fitting_prefix(weights: Sequence[int], *, budget: int) -> int:
    """How many of the first positions fit into `budget` together."""
    used = 0
    for at, weight in enumerate(weights):
        used += weight
        if used > budget:
            return at
    return len(weights)


def _united(first: Finding, other: Finding) -> Finding:
    rows = tuple(sorted({*first.records, *other.records}))
    proven = first if first.is_quote_verified or not other.is_quote_verified else other
    return replace(first, records=rows, quote=proven.quote, is_quote_verified=proven.is_quote_verified)


MAX_OUTPUT_TOKENS = 4096
MIN_OUTPUT_TOKENS = 256
MAX_SIZE_SPLITS = 12
"""How often a chunk is halved that is too long for the endpoint."""
MAX_INVALID_SPLITS = 2
"""How often a chunk is halved whose replies are of no use: a hopeless reducer costs at most 14 requests a chunk."""
MAX_ERRORS = 5
ERROR_CHARS = 200
MERGE_LEVELS = 6
FOCUS_SHARE = 8
"""A focus longer than this part of effective loses its middle: it may be a whole question with a file piped into it."""
MIN_CHUNK_TOKENS = 64
"""A chunk of fewer tokens is no chunk: prompt and reply fill the effective context, and nothing can be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReducerPrompts:
    """The templates of a reducer: `user` has `focus` and `records`, `repair` has `errors`, `merge_user` `findings`."""

    system: Prompt
    user: Prompt
    repair: Prompt
    merge_system: Prompt
    merge_user: Prompt


@dataclass(slots=True, kw_only=True)
class ChunkOutcome:
    """What came of a chunk: findings, the units that were read, those that could not be, and why.

    `stops` is set where no further chunk can fare better: a budget is used up, or the endpoint refused for good.
    """

    findings: list[Finding] = field(default_factory=list)
    read: list[ChunkUnit] = field(default_factory=list)
    failed: list[ChunkUnit] = field(default_factory=list)
    why: str = ""
    stops: BudgetExhausted | ModelRefused | None = None
    from_store: bool = False
    saved_chars: int = 0

    def absorb(self, other: "ChunkOutcome") -> None:
        """Add the outcome of another part."""
        self.findings += other.findings
        self.saved_chars += other.saved_chars
        self.read += other.read
        self.failed += other.failed
        self.why = self.why or other.why
        self.stops = self.stops or other.stops


class Reducer:
    """Reads chunks for one focus with one model, bound to a turn."""

    def __init__(
        self,
        model: Model,
        counter: CalibratedCounter,
        *,
        prompts: ReducerPrompts,
        focus: str,
        effective_tokens: int,
        ledger: RunCache,
    ) -> None:
        self._model, self._counter, self._prompts, self._ledger = model, counter, prompts, ledger
        self._focus = fenced(beginning_and_end(focus, counter, most_tokens=effective_tokens // FOCUS_SHARE))
        self._effective = effective_tokens
        self.output_tokens = max(MIN_OUTPUT_TOKENS, min(MAX_OUTPUT_TOKENS, effective_tokens // 8))
        self._overhead = self._measured_overhead()

    @property
    def chunk_tokens(self) -> int:
        """Tokens (bound) that one chunk may have: what prompt, focus, schema, repair and reply leave of effective."""
        overhead = self._overhead.bound(self._counter)
        return max(0, self._effective - self.output_tokens - overhead)

    @property
    def has_room(self) -> bool:
        """Whether prompt and reply leave room for records at all."""
        return self.chunk_tokens >= MIN_CHUNK_TOKENS

    def fits(self, load: TextWeight) -> bool:
        """Whether records of this load make a request that stays within effective, its repair included."""
        size = RequestSize(self._overhead.counted + load.counted, self._overhead.n_bytes + load.n_bytes)
        return size.bound(self._counter) <= self._effective - self.output_tokens

    def bound_of(self, load: TextWeight) -> int:
        """Tokens that a load is bound by, as chunks are packed."""
        return self._counter.bound_of_counted(load.counted, load.n_bytes)

    def measure(self, text: str) -> int:
        """Tokens of a text, uncorrected."""
        return self._counter.counted(text)

    async def reduce(self, chunk: Chunk, *, depth: int = 0) -> ChunkOutcome:
        """The findings of a chunk. Asked again once with the errors, then split in two, then named as failed."""
        key = self._key(chunk)
        stored = await self._ledger.found(key)
        if stored is not None and (kept := replies.check_reply(stored.decode(), chunk)).is_usable:
            return ChunkOutcome(findings=list(kept.findings), read=list(chunk.units), from_store=True)
        await self._ledger.started(key, EntryKind.REDUCTION, reserved_tokens=self.bound_of(chunk.load))
        outcome = await self._read(chunk, key, depth=depth)
        await self._ledger.failed(key)
        return outcome

    async def units_before(self, first: ChunkUnit) -> int | None:
        """How many units the chunk that begins with `first` had when it was read before; None where it was not."""
        stored = await self._ledger.found(self._boundary(first))
        return int(stored) if stored is not None and stored.isdigit() else None

    async def _read(self, chunk: Chunk, key: str, *, depth: int) -> ChunkOutcome:
        shown = await asyncio.to_thread(format_chunk, chunk)
        try:
            text, found, why = await self._asked(chunk, shown)
        except (RequestTooLarge, ContextTooLong) as error:
            return await self._split(chunk, str(error), depth=depth, deepest=MAX_SIZE_SPLITS)
        except (BudgetExhausted, ModelRefused) as error:
            return ChunkOutcome(failed=list(chunk.units), why=str(error), stops=error)
        except ModelReplyInvalid as error:
            return await self._split(chunk, str(error), depth=depth, deepest=MAX_INVALID_SPLITS)
        except ModelError as error:
            return ChunkOutcome(failed=list(chunk.units), why=str(error))
        if found is None:
            return await self._split(chunk, why, depth=depth, deepest=MAX_INVALID_SPLITS)
        await self._ledger.store(EntryKind.REDUCTION, {key: text.encode("utf-8", "replace")})
        if depth == 0:
            boundary = {self._boundary(chunk.units[0]): str(len(chunk.units)).encode()}
            await self._ledger.store(EntryKind.REDUCTION, boundary)
        return ChunkOutcome(findings=list(found), read=list(chunk.units), saved_chars=len(chunk.text()) - len(shown))

    async def _asked(self, chunk: Chunk, shown: str) -> tuple[str, tuple[Finding, ...] | None, str]:
        """The reply that is kept, and its findings; None for them where the repaired reply is no better."""
        request = self._request(fenced(shown))
        first = (await self._model.complete(request)).text
        checked = replies.check_reply(first, chunk)
        if not checked.errors:
            return first, checked.findings, ""
        try:
            second = (await self._model.complete(self._repair(request, first, checked.errors))).text
        except (ModelError, BudgetExhausted):
            if checked.is_usable:
                return first, checked.findings, ""
            raise
        mended = replies.check_reply(second, chunk)
        if mended.is_usable and len(mended.errors) <= len(checked.errors):
            return second, mended.findings, ""
        if checked.is_usable:
            return first, checked.findings, ""
        return second, None, "; ".join(mended.errors[:MAX_ERRORS])

    async def _split(self, chunk: Chunk, why: str, *, depth: int, deepest: int) -> ChunkOutcome:
        parts = split_chunk(chunk, self.measure) if depth < deepest and _is_worth_splitting(chunk) else None
        if parts is None:
            return ChunkOutcome(failed=list(chunk.units), why=why)
        outcome = ChunkOutcome()
        for part in parts:
            if outcome.stops is not None:
                outcome.failed += part.units
                continue
            outcome.absorb(await self.reduce(part, depth=depth + 1))
        outcome.why = outcome.why or (why if outcome.failed else "")
        return outcome

    async def merge(self, findings: Sequence[Finding], *, budget_tokens: int) -> tuple[Finding, ...]:
        """Condense findings, level by level, until they fit `budget_tokens` or condensing no longer helps."""
        current = tuple(findings)
        for _ in range(MERGE_LEVELS):
            before = self._weight(current)
            if before <= budget_tokens or len(current) < 2:
                break
            condensed_now = await self._level(current)
            if self._weight(condensed_now) > MAX_MERGE_SHARE * before:
                current = condensed_now if self._weight(condensed_now) < before else current
                break
            current = condensed_now
        return renumber(current)

    def _weight(self, findings: Sequence[Finding]) -> int:
        return self._counter.bound("\n".join(_line(finding) for finding in findings))

    async def _level(self, findings: Sequence[Finding]) -> tuple[Finding, ...]:
        room = self._merge_room()
        parts = groups([self._weight([finding]) + 2 for finding in findings], budget=room)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._condensed([findings[at] for at in part])) for part in parts]
        return renumber(finding for task in tasks for finding in task.result())

    async def _condensed(self, findings: Sequence[Finding]) -> Sequence[Finding]:
        """The findings of one node of the tree. Where the model gives nothing usable, they stay as they are."""
        if len(findings) < 2:
            return findings
        lines = fenced("\n".join(_line(finding) for finding in findings))
        key = self._key_of("merge", lines, self._prompts.merge_system, self._prompts.merge_user)
        stored = await self._ledger.found(key)
        text = "" if stored is None else stored.decode()
        if stored is None:
            await self._ledger.started(key, EntryKind.REDUCTION, reserved_tokens=self._counter.bound(lines))
            try:
                text = (await self._model.complete(self._merge_request(lines))).text
            except (ModelError, BudgetExhausted):
                await self._ledger.failed(key)
                return findings
        made = apply_merge_reply(replies.parse_merge_reply(text) or (), findings)
        if made is not None and stored is None:
            await self._ledger.store(EntryKind.REDUCTION, {key: text.encode("utf-8", "replace")})
        return findings if made is None else made

    def _request(self, records: str) -> ModelRequest:
        user = self._prompts.user.fill(focus=self._focus, records=records)
        return self._of(self._prompts.system, user, replies.FINDINGS)

    def _merge_request(self, findings: str) -> ModelRequest:
        user = self._prompts.merge_user.fill(focus=self._focus, findings=findings)
        return self._of(self._prompts.merge_system, user, replies.MERGED_FINDINGS)

    def _of(self, system: Prompt, user: str, output: OutputSchema) -> ModelRequest:
        messages = (Message("system", system.text), Message("user", user))
        return ModelRequest(
            role=Role.REDUCER,
            messages=messages,
            output=output,
            max_output_tokens=self.output_tokens,
            run_id=self._ledger.run_id,
        )

    def _repair(self, request: ModelRequest, reply: str, errors: Sequence[str]) -> ModelRequest:
        told = "\n".join(f"- {error[:ERROR_CHARS]}" for error in errors[:MAX_ERRORS])
        said = Message("user", self._prompts.repair.fill(errors=told))
        shown = beginning_and_end(reply, self._counter, most_tokens=self.output_tokens)
        messages = (*request.messages, Message("assistant", shown), said)
        return ModelRequest(
            role=request.role,
            messages=messages,
            output=request.output,
            max_output_tokens=request.max_output_tokens,
            run_id=request.run_id,
        )

    def _measured_overhead(self) -> RequestSize:
        """A request without records, together with what a repair adds beside the reply."""
        return measure(self._repair(self._request(""), "", ["x" * ERROR_CHARS] * MAX_ERRORS), self._counter)

    def _merge_room(self) -> int:
        overhead = measure(self._merge_request(""), self._counter).bound(self._counter)
        # A node's reply has the same reserve as any: of much more than four times of it, too much would be left out.
        return max(1, min(self._effective - self.output_tokens - overhead, 4 * self.output_tokens))

    def _key(self, chunk: Chunk) -> str:
        return self._key_of("reduction", chunk.text(), self._prompts.system, self._prompts.user)

    def _boundary(self, first: ChunkUnit) -> str:
        where = f"{first.part} {first.text}"
        return self._key_of("boundary", where, self._prompts.system, self._prompts.user)

    def _key_of(self, kind: str, text: str, *prompts: Prompt) -> str:
        """By content: the same text, focus, prompts and model need not be paid twice."""
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return key_of(kind, digest, self._focus, [prompt.id for prompt in prompts], self._model.name)


def _line(finding: Finding) -> str:
    return f"[{finding.id}] {' '.join(finding.statement.split())}"


def beginning_and_end(text: str, counter: CalibratedCounter, *, most_tokens: int) -> str:
    """`text`, or its first and last characters with a mark between where it is above `most_tokens` (bound)."""
    half = len(text)
    shown = text
    while counter.bound(shown) > most_tokens and half > 1:
        half = min(half // 2, most_tokens)
        shown = f"{text[:half]} … {text[-half:]}"
    return shown


def _is_worth_splitting(chunk: Chunk) -> bool:
    """A piece of a record that is small already failed for another reason than its size."""
    return len(chunk.units) > 1 or len(chunk.units[0].text) > MIN_OUTPUT_TOKENS * 8
