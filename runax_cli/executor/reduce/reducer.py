"""Reduce one chunk to checked findings with a model, and condense findings if there are too many.

A reducer has no tools and sees one chunk. A reply that fails its check is repaired once, then the chunk is split.
Failures of the model end up in the outcome of the chunk; only cancellation is raised.
"""

import asyncio
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from runax_cli.core.errors import BudgetExhausted, ContextTooLong, ModelError, ModelRefused, ModelReplyInvalid
from runax_cli.core.untrusted_text import escape_for_prompt
from runax_cli.executor.outcome import Finding
from runax_cli.executor.reduce import replies
from runax_cli.executor.reduce.chunks import Chunk, ChunkUnit, TextWeight, format_chunk, split_chunk
from runax_cli.executor.run_cache import RunCache, key_of
from runax_cli.executor.token_fitting import pack, truncate_middle
from runax_cli.memory.journal import EntryKind
from runax_cli.models.base import Message, Model, ModelRequest, OutputSchema, Prompt, Role
from runax_cli.models.metering import RequestTooLarge
from runax_cli.models.tokens import CalibratedCounter, RequestSize, measure

MAX_MERGE_SHARE = 0.9
"""A merge round that leaves more than this share of the tokens is the last one."""


def deduplicate(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Unite findings with equal statements, with the rows of all, and number them (f1, f2, …) in order."""
    kept: dict[str, Finding] = {}
    for finding in findings:
        key = " ".join(finding.statement.casefold().split())
        kept[key] = _unite(kept[key], finding) if key in kept else finding
    return renumber(kept.values())


def renumber(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings with ids in order."""
    return tuple(replace(finding, id=f"f{number}") for number, finding in enumerate(findings, start=1))


def condense(statement: str, sources: Iterable[str], findings: Mapping[str, Finding]) -> Finding | None:
    """Build one statement over several findings, with the union of their rows. None if no source is known.

    It keeps the quote only of a single source: a quote proves the statement that it was made for.
    """
    known = [findings[source] for source in dict.fromkeys(sources) if source in findings]
    if not known or not statement.strip():
        return None
    rows = tuple(sorted({row for finding in known for row in finding.records}))
    only = known[0] if len(known) == 1 else None
    return Finding(
        id=known[0].id,
        statement=statement.strip(),
        records=rows,
        quote=only.quote if only else None,
        is_quote_verified=only.is_quote_verified if only else None,
    )


def apply_merge_reply(
    reply: Iterable[tuple[str, Sequence[str]]], findings: Sequence[Finding]
) -> tuple[Finding, ...] | None:
    """Apply a merge reply. None if it cites no finding; findings that it does not cite are kept."""
    by_id = {finding.id: finding for finding in findings}
    made = [(condense(statement, sources, by_id), sources) for statement, sources in reply]
    kept = [(finding, sources) for finding, sources in made if finding is not None]
    if not kept:
        return None
    cited = {source for _, sources in kept for source in sources}
    return (*(finding for finding, _ in kept), *(finding for finding in findings if finding.id not in cited))


def _unite(first: Finding, other: Finding) -> Finding:
    rows = tuple(sorted({*first.records, *other.records}))
    proven = first if first.is_quote_verified or not other.is_quote_verified else other
    return replace(first, records=rows, quote=proven.quote, is_quote_verified=proven.is_quote_verified)


MAX_OUTPUT_TOKENS = 4096
MIN_OUTPUT_TOKENS = 256
MAX_SIZE_SPLITS = 12
"""How often a chunk is halved that is too long for the endpoint."""
MAX_INVALID_SPLITS = 2
"""How often a chunk is halved whose replies are unusable: at most 14 requests per chunk."""
MAX_ERRORS = 5
ERROR_CHARS = 200
MERGE_LEVELS = 6
FOCUS_SHARE = 8
"""A focus that is longer than this part of the effective context loses its middle: the question may contain a file."""
MIN_CHUNK_TOKENS = 64
"""With fewer tokens left for records, prompt and reply fill the effective context, and nothing can be read."""


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
    """The outcome of a chunk: its findings, the units that were read, those that were not, and why.

    `stops` is set if no further chunk can succeed: a budget is exhausted, or the endpoint refused for good.
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


def reply_tokens(effective_tokens: int) -> int:
    """Return how many tokens of the effective context are reserved for a reducer's reply."""
    return max(MIN_OUTPUT_TOKENS, min(MAX_OUTPUT_TOKENS, effective_tokens // 8))


class Reducer:
    """Reads chunks for one focus with one model, which is bound to a turn."""

    def __init__(
        self,
        model: Model,
        counter: CalibratedCounter,
        *,
        prompts: ReducerPrompts,
        focus: str,
        effective_tokens: int,
        cache: RunCache,
    ) -> None:
        self._model, self._counter, self._prompts, self._cache = model, counter, prompts, cache
        short_focus = truncate_middle(focus, counter.bound, max_tokens=effective_tokens // FOCUS_SHARE)
        self._focus = escape_for_prompt(short_focus)
        self._effective = effective_tokens
        self.output_tokens = reply_tokens(effective_tokens)
        self._overhead = self._measure_overhead()

    @property
    def chunk_tokens(self) -> int:
        """Tokens (bound) of one chunk: what prompt, focus, schema, repair and reply leave of the effective context."""
        overhead = self._overhead.bound(self._counter)
        return max(0, self._effective - self.output_tokens - overhead)

    @property
    def has_room(self) -> bool:
        """Whether prompt and reply leave room for records at all."""
        return self.chunk_tokens >= MIN_CHUNK_TOKENS

    def fits(self, weight: TextWeight) -> bool:
        """Whether a request with records of this weight stays within the effective context, its repair included."""
        size = RequestSize(self._overhead.counted + weight.counted, self._overhead.n_bytes + weight.n_bytes)
        return size.bound(self._counter) <= self._effective - self.output_tokens

    def bound_of(self, weight: TextWeight) -> int:
        """Return the upper bound of a weight in tokens, by which chunks are packed."""
        return self._counter.bound_of_counted(weight.counted, weight.n_bytes)

    def measure(self, text: str) -> int:
        """Count the tokens of a text, uncalibrated."""
        return self._counter.counted(text)

    async def reduce(self, chunk: Chunk, *, depth: int = 0) -> ChunkOutcome:
        """Reduce a chunk. A bad reply is repaired once, then the chunk is split in two, then it fails."""
        key = self._key(chunk)
        stored = await self._cache.get(key)
        if stored is not None and (checked := replies.check_reply(stored.decode(), chunk)).is_usable:
            return ChunkOutcome(findings=list(checked.findings), read=list(chunk.units), from_store=True)
        await self._cache.mark_started(key, EntryKind.REDUCTION, reserved_tokens=self.bound_of(chunk.weight))
        outcome = await self._read(chunk, key, depth=depth)
        await self._cache.mark_failed(key)
        return outcome

    async def stored_chunk_size(self, first: ChunkUnit) -> int | None:
        """Return how many units the chunk that starts with `first` had in an earlier run; None if it was not read."""
        stored = await self._cache.get(self._size_key(first))
        return int(stored) if stored is not None and stored.isdigit() else None

    async def _read(self, chunk: Chunk, key: str, *, depth: int) -> ChunkOutcome:
        records = await asyncio.to_thread(format_chunk, chunk)
        try:
            text, findings, why = await self._complete(chunk, records)
        except (RequestTooLarge, ContextTooLong) as error:
            return await self._split(chunk, str(error), depth=depth, max_depth=MAX_SIZE_SPLITS)
        except (BudgetExhausted, ModelRefused) as error:
            return ChunkOutcome(failed=list(chunk.units), why=str(error), stops=error)
        except ModelReplyInvalid as error:
            return await self._split(chunk, str(error), depth=depth, max_depth=MAX_INVALID_SPLITS)
        except ModelError as error:
            return ChunkOutcome(failed=list(chunk.units), why=str(error))
        if findings is None:
            return await self._split(chunk, why, depth=depth, max_depth=MAX_INVALID_SPLITS)
        await self._store(key, text)
        if depth == 0:
            await self._store(self._size_key(chunk.units[0]), str(len(chunk.units)))
        saved_chars = len(chunk.text()) - len(records)
        return ChunkOutcome(findings=list(findings), read=list(chunk.units), saved_chars=saved_chars)

    async def _complete(self, chunk: Chunk, records: str) -> tuple[str, tuple[Finding, ...] | None, str]:
        """Return the reply to keep, its findings and its errors; no findings (None) if the repair did not help."""
        request = self._request(escape_for_prompt(records))
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
        repaired = replies.check_reply(second, chunk)
        if repaired.is_usable and len(repaired.errors) <= len(checked.errors):
            return second, repaired.findings, ""
        if checked.is_usable:
            return first, checked.findings, ""
        return second, None, "; ".join(repaired.errors[:MAX_ERRORS])

    async def _split(self, chunk: Chunk, why: str, *, depth: int, max_depth: int) -> ChunkOutcome:
        parts = split_chunk(chunk, self.measure) if depth < max_depth and _is_worth_splitting(chunk) else None
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
        """Condense findings in rounds until they fit `budget_tokens`, or until condensing no longer helps."""
        current = tuple(findings)
        for _ in range(MERGE_LEVELS):
            before = self._tokens_of(current)
            if before <= budget_tokens or len(current) < 2:
                break
            condensed = await self._merge_level(current)
            after = self._tokens_of(condensed)
            if after > MAX_MERGE_SHARE * before:
                current = condensed if after < before else current
                break
            current = condensed
        return renumber(current)

    def _tokens_of(self, findings: Sequence[Finding]) -> int:
        return self._counter.bound("\n".join(_line(finding) for finding in findings))

    async def _merge_level(self, findings: Sequence[Finding]) -> tuple[Finding, ...]:
        parts = pack([self._tokens_of([finding]) + 2 for finding in findings], budget=self._merge_room())
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._merge_group([findings[at] for at in part])) for part in parts]
        return renumber(finding for task in tasks for finding in task.result())

    async def _merge_group(self, findings: Sequence[Finding]) -> Sequence[Finding]:
        """Condense findings with one request. Without a usable reply they stay as they are."""
        if len(findings) < 2:
            return findings
        lines = escape_for_prompt("\n".join(_line(finding) for finding in findings))
        key = self._key_of("merge", lines, self._prompts.merge_system, self._prompts.merge_user)
        stored = await self._cache.get(key)
        text = "" if stored is None else stored.decode()
        if stored is None:
            await self._cache.mark_started(key, EntryKind.REDUCTION, reserved_tokens=self._counter.bound(lines))
            try:
                text = (await self._model.complete(self._merge_request(lines))).text
            except (ModelError, BudgetExhausted):
                await self._cache.mark_failed(key)
                return findings
        condensed = apply_merge_reply(replies.parse_merge_reply(text) or (), findings)
        if condensed is not None and stored is None:
            await self._store(key, text)
        return findings if condensed is None else condensed

    def _request(self, records: str) -> ModelRequest:
        user = self._prompts.user.fill(focus=self._focus, records=records)
        return self._model_request(self._prompts.system, user, replies.FINDINGS)

    def _merge_request(self, findings: str) -> ModelRequest:
        user = self._prompts.merge_user.fill(focus=self._focus, findings=findings)
        return self._model_request(self._prompts.merge_system, user, replies.MERGED_FINDINGS)

    def _model_request(self, system: Prompt, user: str, output: OutputSchema) -> ModelRequest:
        return ModelRequest(
            role=Role.REDUCER,
            messages=(Message("system", system.text), Message("user", user)),
            output=output,
            max_output_tokens=self.output_tokens,
            run_id=self._cache.run_id,
        )

    def _repair(self, request: ModelRequest, reply: str, errors: Sequence[str]) -> ModelRequest:
        listed = "\n".join(f"- {error[:ERROR_CHARS]}" for error in errors[:MAX_ERRORS])
        short_reply = truncate_middle(reply, self._counter.bound, max_tokens=self.output_tokens)
        repair = Message("user", self._prompts.repair.fill(errors=listed))
        return replace(request, messages=(*request.messages, Message("assistant", short_reply), repair))

    def _measure_overhead(self) -> RequestSize:
        """Measure a request without records, together with what a repair adds to the reply."""
        return measure(self._repair(self._request(""), "", ["x" * ERROR_CHARS] * MAX_ERRORS), self._counter)

    def _merge_room(self) -> int:
        overhead = measure(self._merge_request(""), self._counter).bound(self._counter)
        # The reply has a fixed reserve: a merge of much more than four times of it would leave too much out.
        return max(1, min(self._effective - self.output_tokens - overhead, 4 * self.output_tokens))

    async def _store(self, key: str, text: str) -> None:
        await self._cache.store(EntryKind.REDUCTION, {key: text.encode("utf-8", "replace")})

    def _key(self, chunk: Chunk) -> str:
        return self._key_of("reduction", chunk.text(), self._prompts.system, self._prompts.user)

    def _size_key(self, first: ChunkUnit) -> str:
        text = f"{first.part} {first.text}"
        return self._key_of("boundary", text, self._prompts.system, self._prompts.user)

    def _key_of(self, kind: str, text: str, *prompts: Prompt) -> str:
        """Build a key of the content: the same text, focus, prompts and model are not paid for twice."""
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return key_of(kind, digest, self._focus, [prompt.id for prompt in prompts], self._model.name)


def _line(finding: Finding) -> str:
    return f"[{finding.id}] {' '.join(finding.statement.split())}"


def _is_worth_splitting(chunk: Chunk) -> bool:
    """Whether size can be the cause of a failure: a small piece of a record failed for another reason."""
    return len(chunk.units) > 1 or len(chunk.units[0].text) > MIN_OUTPUT_TOKENS * 8
