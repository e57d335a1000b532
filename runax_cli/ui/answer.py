"""Prints the answer with its footnotes, evidence and certificate: streamed Markdown on a terminal, else plain text."""

import io
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from markdown_it import MarkdownIt
from rich.markdown import Markdown
from rich.text import Text

from runax_cli.core import event_types as ev
from runax_cli.core.events import Event
from runax_cli.core.results import (
    Evidence,
    EvidenceKind,
    Lineage,
    RecordRef,
    RunResult,
    RunStatus,
    SqlResult,
    SweepReport,
    counted,
    lineage_words,
)
from runax_cli.ui.answer_failures import REPORTED_AS_FAILURE
from runax_cli.ui.console import STYLES, Environment, SafeStream, StreamName, Tone, one_line, strip_control

# Raw HTML is off: Rich drops everything that looks like a tag, and an answer may contain `<anything>`.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")


@dataclass(frozen=True, slots=True)
class FinishedBlocks:
    """The finished Markdown blocks, and the rest that may still grow."""

    finished: tuple[str, ...]
    rest: str


def split_blocks(text: str) -> FinishedBlocks:
    """Split `text` into its top-level blocks. The last one is never finished, since further text may belong to it."""
    starts = _block_starts(text)
    if len(starts) < 2:
        return FinishedBlocks((), text)
    # The parser counts "\n" only; `str.splitlines` splits at ten more characters.
    lines = list(io.StringIO(text, newline="\n"))
    bounds = [0, *starts[1:]]
    blocks = ("".join(lines[first:after]) for first, after in itertools.pairwise(bounds))
    return FinishedBlocks(tuple(blocks), "".join(lines[bounds[-1] :]))


def _block_starts(text: str) -> Sequence[int]:
    tokens = _PARSER.parse(text)
    return sorted({token.map[0] for token in tokens if token.level == 0 and token.map is not None})


class BlockStream:
    """Collects a stream of text and returns each block once it is finished."""

    def __init__(self) -> None:
        self._rest = ""

    def feed(self, piece: str) -> tuple[str, ...]:
        """Add a piece of text; the blocks that it finishes."""
        # A block ends at a new line only; parsing at every piece would take quadratic time.
        is_new_line = "\n" in piece or self._rest.endswith("\n")
        self._rest += piece
        if not is_new_line:
            return ()
        split = split_blocks(self._rest)
        self._rest = split.rest
        return split.finished

    def end(self) -> tuple[str, ...]:
        """The remaining blocks, at the end of the stream."""
        split, self._rest = split_blocks(self._rest), ""
        return (*split.finished, split.rest) if split.rest.strip() else split.finished


def rendered(text: str) -> Markdown:
    """`text` rendered for a terminal. A link shows its URL, which may differ from its text."""
    markdown = Markdown(text, hyperlinks=False)
    markdown.parsed = _PARSER.parse(text)
    return markdown


Certificate: TypeAlias = Callable[[RunResult], str]
Paused: TypeAlias = Callable[[], AbstractContextManager[None]]
_FOOTNOTES_SHOWN = 20
_RECORDS_SHOWN = 8
_ROWS_SHOWN = 5
_RESULTS_SHOWN = 5


class AnswerView(Protocol):
    """Prints the answer to stdout."""

    def emit(self, event: Event) -> None:
        """Handle an event; never raises."""

    def finish(self, result: RunResult) -> None:
        """Print the rest of the answer at the end of a run."""


def notes_of(result: RunResult, *, certificate: Certificate, has_evidence: bool) -> Iterator[str]:
    """The lines below the answer, without control characters; the certificate is the last one."""
    yield from _footnotes(result.evidence)
    yield from _unverified(result.evidence)
    yield from _stored(result)
    if has_evidence:
        yield from evidence_lines(result.evidence)
    yield from _sweep_lines(result.sweeps)
    yield from _state(result)
    yield one_line(certificate(result))


def _sweep_lines(sweeps: tuple[SweepReport, ...]) -> Iterator[str]:
    """What was read for "everything about" an entity, and what was not and why."""
    for sweep in sweeps:
        if sweep.visited:
            yield one_line(f"Read about '{sweep.name}' ({sweep.kind} {sweep.id}): {', '.join(sweep.visited)}")
        if sweep.skipped:
            yield one_line(f"Not read about '{sweep.name}':")
        yield from (f"  - {one_line(f'{one.tool}: {one.why}')}" for one in sweep.skipped)


def _footnotes(evidence: tuple[Evidence, ...]) -> Iterator[str]:
    refs = [ref for item in evidence for ref in item.records if ref.id is not None]
    cited = list(dict.fromkeys(f"[{ref.dataset}#{ref.row}] id {one_line(ref.id or '')}" for ref in refs))
    yield from cited[:_FOOTNOTES_SHOWN]
    if len(cited) > _FOOTNOTES_SHOWN:
        yield f"+{counted(len(cited) - _FOOTNOTES_SHOWN, 'more record')} (use -o json for all)"


def _stored(result: RunResult) -> Iterator[str]:
    """How to save the cited results that are longer than what is shown of them."""
    cited = {query.id: query for item in result.evidence for query in item.queries if query.stored}
    for query in list(cited.values())[:_RESULTS_SHOWN]:
        if query.n_rows > len(query.rows):
            command = f"runax runs export {result.run_id} --save {query.id}=FILE.csv"
            yield f"[{query.id}] {counted(query.n_rows, 'row')}; to save them: {one_line(command)}"


def _unverified(evidence: tuple[Evidence, ...]) -> Iterator[str]:
    """The conclusions of the model alone. Statements that failed are printed by themselves, to stderr."""
    unverified = [item for item in evidence if item.kind is EvidenceKind.INFERENCE and not item.has_failed]
    if unverified:
        yield "Unverified:"
    for item in unverified:
        yield f"  - {one_line(item.statement)} (inference{f': {one_line(item.note)}' if item.note else ''})"


def evidence_lines(evidence: tuple[Evidence, ...]) -> Iterator[str]:
    """The evidence of each statement: records with their ids, quotes, and SQL with its first rows."""
    yield f"Evidence: {counted(len(evidence), 'statement')}" if evidence else "Evidence: none"
    for number, item in enumerate(evidence, 1):
        mark = "verified" if item.verified else "NOT VERIFIED"
        yield f"  {number}. {one_line(item.statement)} ({item.kind}, {mark}{_exactness(item)})"
        if item.records:
            yield f"     records: {_references(item.records)}"
        if item.quote:
            yield f"     quote: “{one_line(item.quote)}”"
        if item.queries:
            yield from (line for query in item.queries for line in _query(query))
        elif item.sql:
            yield from (f"     sql: {line}" for line in strip_control(item.sql).splitlines() if line.strip())
        if item.note and not item.verified:
            yield f"     reason: {one_line(item.note)}"


def _query(query: SqlResult) -> Iterator[str]:
    """A query, the lineage of its figures, and its first rows."""
    yield f"     {query.id} ({lineage_words(query.lineage, query.agreement)}):"
    yield from (f"       sql: {line}" for line in strip_control(query.sql).splitlines() if line.strip())
    yield f"       {' | '.join(map(one_line, query.columns))}"
    for row in query.rows[:_ROWS_SHOWN]:
        yield f"       {' | '.join('' if cell is None else one_line(str(cell)) for cell in row)}"
    if more := query.n_rows - len(query.rows[:_ROWS_SHOWN]):
        yield f"       … {counted(more, 'more row')}"


def _exactness(item: Evidence) -> str:
    """The exactness of the figures: the weakest lineage of their queries."""
    if item.queries:
        weakest = max(item.queries, key=lambda query: list(Lineage).index(query.lineage))
        return f", {lineage_words(weakest.lineage, weakest.agreement)}"
    if item.exact is None or item.kind is EvidenceKind.INFERENCE:
        return ""
    return ", exact" if item.exact else ", not exact"


def _references(records: tuple[RecordRef, ...]) -> str:
    shown = [f"{ref.dataset}#{ref.row}" + ("" if ref.id is None else f" (id {ref.id})") for ref in records]
    rest = len(shown) - _RECORDS_SHOWN
    return one_line(", ".join(shown[:_RECORDS_SHOWN])) + (f", +{rest} more" if rest > 0 else "")


def _state(result: RunResult) -> Iterator[str]:
    match result.status:
        case RunStatus.COMPLETE:
            return
        case RunStatus.LIMIT:
            yield "PARTIAL: a budget stopped the run"
        case RunStatus.INCOMPLETE | RunStatus.INTERRUPTED | RunStatus.FAILED:
            yield result.status.value.upper()
    for reason in result.coverage.reasons:
        if reason.code not in REPORTED_AS_FAILURE:
            yield f"  - {reason.code}: {one_line(reason.text)}"


class AnswerNotes:
    """Prints the lines below the answer, to stdout if it is a terminal and else to stderr.

    With `is_quiet`, only those of an incomplete result. An error is always printed to stderr.
    """

    def __init__(self, env: Environment, *, certificate: Certificate, is_quiet: bool, has_evidence: bool) -> None:
        stream: StreamName = "stdout" if env.is_stdout_terminal else "stderr"
        self._outlet = SafeStream(env.stdout if env.is_stdout_terminal else env.stderr)
        self._console = env.console(self._outlet, stream) if env.has_color(stream) else None
        self._errors = SafeStream(env.stderr)
        self._certificate, self._is_quiet, self._has_evidence = certificate, is_quiet, has_evidence

    def print(self, result: RunResult) -> None:
        """Print the notes, and the error if there is one."""
        if not self._is_quiet or self._has_evidence or result.status is not RunStatus.COMPLETE:
            for line in notes_of(result, certificate=self._certificate, has_evidence=self._has_evidence):
                self._line(line)
        if result.error is not None:
            self._errors.line(f"runax: {one_line(result.error.message)}")

    def _line(self, line: str) -> None:
        if self._console is None:
            self._outlet.line(line)
        else:
            self._console.print(Text(line, STYLES[Tone.ASIDE]), soft_wrap=True)
            self._outlet.flush()


class WholeAnswer:
    """Prints the answer as plain text, not wrapped, when it is verified."""

    def __init__(self, env: Environment, notes: AnswerNotes) -> None:
        self._outlet = SafeStream(env.stdout)
        self._notes = notes

    def emit(self, event: Event) -> None:
        """Nothing is printed before the answer is verified."""

    def finish(self, result: RunResult) -> None:
        """Print the answer, then the notes."""
        answer = strip_control(result.answer).strip("\n")
        if answer:
            self._outlet.line(answer)
        self._notes.print(result)


class StreamedAnswer:
    """Renders each Markdown block of the answer as soon as it is finished; stdout is a terminal."""

    def __init__(self, env: Environment, notes: AnswerNotes, *, paused: Paused) -> None:
        self._outlet = SafeStream(env.stdout)
        self._console = env.console(self._outlet, "stdout")
        self._notes, self._paused = notes, paused
        self._stream = BlockStream()
        self._text = ""
        self._has_printed = False

    def emit(self, event: Event) -> None:
        """Print the blocks that this event finishes."""
        match event.body:
            case ev.AnswerDelta(text=text):
                self._text += text
                self._print(self._stream.feed(text))
            case ev.RunStarted():
                self._reset()
                self._has_printed = False
            case ev.ModelRequested() | ev.RetryScheduled() if event.stamp.role in (None, "agent"):
                # The earlier text belonged to a tool call or was cut off: it is not the answer.
                self._reset()
            case _:
                return

    def finish(self, result: RunResult) -> None:
        """Print the part of the answer that was not streamed, then the notes."""
        streamed, answer = self._text.strip(), result.answer.strip()
        if self._has_printed and streamed and answer.startswith(streamed):
            self._print((*self._stream.end(), answer.removeprefix(streamed)))
        elif answer:
            if self._has_printed:
                self._print(("---\n",))
            self._print((answer,))
        self._reset()
        self._has_printed = False
        with self._paused():
            if answer:
                self._outlet.line("")
            self._notes.print(result)

    def _reset(self) -> None:
        self._stream, self._text = BlockStream(), ""

    def _print(self, blocks: tuple[str, ...]) -> None:
        shown = [block for block in map(strip_control, blocks) if block.strip()]
        if not shown:
            return
        with self._paused():
            for block in shown:
                if self._has_printed:
                    self._outlet.line("")
                self._has_printed = True
                self._outlet.line(self._rendered(block))

    def _rendered(self, block: str) -> str:
        """The rendered block, without the padding that Rich adds."""
        with self._console.capture() as captured:
            self._console.print(rendered(block))
        return "\n".join(line.rstrip() for line in captured.get().split("\n")).strip("\n")
