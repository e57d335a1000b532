"""The answer as text: streamed as Markdown on a terminal, printed once and plain anywhere else.

Knows the result and what stands under an answer: footnotes, statements without proof, evidence, reasons, certificate.
Verifies nothing: that is done before.
"""

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
    counted,
    lineage_words,
)
from runax_cli.ui.console import STYLES, Environment, SafeStream, StreamName, Tone, one_line, strip_control

# Raw HTML is off: Rich drops what it takes for a tag, and an answer may speak of `<anything>`.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")


@dataclass(frozen=True, slots=True)
class FinishedBlocks:
    """The blocks that are finished, and the rest that may still grow."""

    finished: tuple[str, ...]
    rest: str


def split_blocks(text: str) -> FinishedBlocks:
    """Cut `text` at its top-level blocks. The last one is never finished: what follows may belong to it."""
    starts = _block_starts(text)
    if len(starts) < 2:
        return FinishedBlocks((), text)
    # The parser counts "\n" only, `str.splitlines` knows ten more line ends.
    lines = list(io.StringIO(text, newline="\n"))
    borders = [0, *starts[1:]]
    blocks = ("".join(lines[first:after]) for first, after in itertools.pairwise(borders))
    return FinishedBlocks(tuple(blocks), "".join(lines[borders[-1] :]))


def _block_starts(text: str) -> Sequence[int]:
    tokens = _PARSER.parse(text)
    return sorted({token.map[0] for token in tokens if token.level == 0 and token.map is not None})


class BlockStream:
    """Collects a stream of text and hands out every block once, when it is finished."""

    def __init__(self) -> None:
        self._rest = ""

    def feed(self, piece: str) -> tuple[str, ...]:
        """Add a piece; the blocks that are finished by it."""
        # A block ends where a line begins: parsing at every piece would be quadratic in a long one.
        is_new_line = "\n" in piece or self._rest.endswith("\n")
        self._rest += piece
        if not is_new_line:
            return ()
        split = split_blocks(self._rest)
        self._rest = split.rest
        return split.finished

    def end(self) -> tuple[str, ...]:
        """What is left: nothing may follow, so every block is finished."""
        split, self._rest = split_blocks(self._rest), ""
        return (*split.finished, split.rest) if split.rest.strip() else split.finished


def rendered(text: str) -> Markdown:
    """`text` for a terminal. A link shows its address: what it says and where it leads may differ."""
    markdown = Markdown(text, hyperlinks=False)
    markdown.parsed = _PARSER.parse(text)
    return markdown


Certificate: TypeAlias = Callable[[RunResult], str]
Paused: TypeAlias = Callable[[], AbstractContextManager[None]]
_FOOTNOTES_SHOWN = 20
_RECORDS_SHOWN = 8
_ROWS_SHOWN = 5


class AnswerView(Protocol):
    """Puts the answer on stdout."""

    def emit(self, event: Event) -> None:
        """Take note of an event; never raises."""

    def finish(self, result: RunResult) -> None:
        """The run is over: print what is not printed yet."""


def notes_of(result: RunResult, *, certificate: Certificate, has_evidence: bool) -> Iterator[str]:
    """The lines under the answer, free of control characters; the certificate is the last."""
    yield from _footnotes(result.evidence)
    yield from _without_proof(result.evidence)
    if has_evidence:
        yield from evidence_lines(result.evidence)
    yield from _state(result)
    yield one_line(certificate(result))


def _footnotes(evidence: tuple[Evidence, ...]) -> Iterator[str]:
    known = [ref for item in evidence for ref in item.records if ref.id is not None]
    cited = list(dict.fromkeys(f"[{ref.dataset}#{ref.row}] id {one_line(ref.id or '')}" for ref in known))
    yield from cited[:_FOOTNOTES_SHOWN]
    if len(cited) > _FOOTNOTES_SHOWN:
        yield f"+{len(cited) - _FOOTNOTES_SHOWN} more records (all of them: -o json)"


def _without_proof(evidence: tuple[Evidence, ...]) -> Iterator[str]:
    bare = [item for item in evidence if item.kind is EvidenceKind.INFERENCE or not item.verified]
    if bare:
        yield "Without proof:"
    for item in bare:
        yield f"  - {one_line(item.statement)} ({_why(item)})"


def _why(item: Evidence) -> str:
    plain = "inference" if item.kind is EvidenceKind.INFERENCE else "not confirmed by what it cites"
    return f"{plain}: {one_line(item.note)}" if item.note else plain


def evidence_lines(evidence: tuple[Evidence, ...]) -> Iterator[str]:
    """What stands behind each statement: records with their own ids, quotes, SQL with its first rows."""
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
            yield f"     why not: {one_line(item.note)}"


def _query(query: SqlResult) -> Iterator[str]:
    """A query, what its figures rest on, and its first rows."""
    yield f"     {query.id} ({lineage_words(query.lineage, query.agreement)}):"
    yield from (f"       sql: {line}" for line in strip_control(query.sql).splitlines() if line.strip())
    yield f"       {' | '.join(map(one_line, query.columns))}"
    for row in query.rows[:_ROWS_SHOWN]:
        yield f"       {' | '.join('' if cell is None else one_line(str(cell)) for cell in row)}"
    if more := query.n_rows - len(query.rows[:_ROWS_SHOWN]):
        yield f"       … {more:,} more rows"


def _exactness(item: Evidence) -> str:
    """How far the figures can be trusted: the weakest lineage of the queries behind them."""
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
        case RunStatus.INCOMPLETE if result.coverage.is_complete and result.error is None:
            yield "INCOMPLETE: the data was read, but not every statement is confirmed by what it cites"
        case RunStatus.INCOMPLETE | RunStatus.INTERRUPTED | RunStatus.FAILED:
            yield result.status.value.upper()
    for reason in result.coverage.reasons:
        yield f"  - {reason.code}: {one_line(reason.text)}"


class AnswerNotes:
    """What stands under the answer: on stdout where that is a terminal, else on stderr.

    With `is_quiet` only for a result that is not complete. An error always goes to stderr.
    """

    def __init__(self, env: Environment, *, certificate: Certificate, is_quiet: bool, has_evidence: bool) -> None:
        stream: StreamName = "stdout" if env.is_stdout_terminal else "stderr"
        self._outlet = SafeStream(env.stdout if env.is_stdout_terminal else env.stderr)
        self._console = env.console(self._outlet, stream) if env.has_color(stream) else None
        self._errors = SafeStream(env.stderr)
        self._certificate, self._is_quiet, self._has_evidence = certificate, is_quiet, has_evidence

    def print(self, result: RunResult) -> None:
        """Print the notes, and the error where there is one."""
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
    """Prints the answer once, when it is verified; plain, and not wrapped."""

    def __init__(self, env: Environment, notes: AnswerNotes) -> None:
        self._outlet = SafeStream(env.stdout)
        self._notes = notes

    def emit(self, event: Event) -> None:
        """The answer is printed when it is verified, and not before."""

    def finish(self, result: RunResult) -> None:
        """Print the answer, then the notes."""
        answer = strip_control(result.answer).strip("\n")
        if answer:
            self._outlet.line(answer)
        self._notes.print(result)


class StreamedAnswer:
    """Prints each block of the answer as soon as it is finished, rendered; stdout is a terminal."""

    def __init__(self, env: Environment, notes: AnswerNotes, *, paused: Paused) -> None:
        self._outlet = SafeStream(env.stdout)
        self._console = env.console(self._outlet, "stdout")
        self._notes, self._paused = notes, paused
        self._stream = BlockStream()
        self._text = ""
        self._has_printed = False

    def emit(self, event: Event) -> None:
        """Print the blocks that are finished by this event."""
        match event.body:
            case ev.AnswerDelta(text=text):
                self._text += text
                self._print(self._stream.feed(text))
            case ev.RunStarted():
                self._begin_again()
                self._has_printed = False
            case ev.ModelRequested() | ev.RetryScheduled() if event.stamp.role in (None, "agent"):
                # What came before was said on the way to a call, or was cut off: it is not the answer.
                self._begin_again()
            case _:
                return

    def finish(self, result: RunResult) -> None:
        """Print what the stream did not bring, then the notes."""
        streamed, answer = self._text.strip(), result.answer.strip()
        if self._has_printed and streamed and answer.startswith(streamed):
            self._print((*self._stream.end(), answer.removeprefix(streamed)))
        elif answer:
            if self._has_printed:
                self._print(("---\n",))
            self._print((answer,))
        self._begin_again()
        self._has_printed = False
        with self._paused():
            if answer:
                self._outlet.line("")
            self._notes.print(result)

    def _begin_again(self) -> None:
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
        """The block as lines without the padding that Rich puts around and behind them."""
        with self._console.capture() as captured:
            self._console.print(rendered(block))
        return "\n".join(line.rstrip() for line in captured.get().split("\n")).strip("\n")
