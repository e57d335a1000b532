"""Streams an answer as its statements pass their checks.

A paragraph, or a list with its lead-in and its source, is held back until it is complete and checked. From the first
statement that fails, everything is held back until the whole answer is there.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeAlias

from runax_cli.agent.evidence.answer_verifier import CheckedStatement
from runax_cli.agent.evidence.verify import strip_certificates
from runax_cli.agent.loop.answer_units import finished_end
from runax_cli.agent.result.annotation import NOTHING_STREAMED, Insertion, StreamedPart, insert, insertions_of
from runax_cli.core.event_types import AnswerDelta
from runax_cli.core.events import Emitter
from runax_cli.models.base import OnText

AnswerCheck: TypeAlias = Callable[[str], Sequence[CheckedStatement]]
"""Checks the statements of a text, which may be the start of an answer. Blocking."""
_BLANK_LINE = re.compile(r"\n[ \t]*\n")


class AnswerStream:
    """Streams the answer to the events, and to `on_text` if given, with the citations that the check found.

    `may_stream` is called with the first part of a reply: while it returns False, nothing is emitted, since the reply
    may be rejected. The first paragraph is held back until it is complete, since text before tool calls is not an
    answer. A silent stream only collects the text: the answers of several sub-questions are emitted together.
    """

    def __init__(
        self,
        emitter: Emitter,
        *,
        check: AnswerCheck,
        on_text: OnText | None,
        may_stream: Callable[[str], bool] = lambda _text: True,
        is_silent: bool = False,
    ) -> None:
        self._emitter = emitter
        self._check = check
        self._on_text = on_text
        self._may_stream = may_stream
        self._is_silent = is_silent
        self._has_more = asyncio.Event()
        self._printed = ""
        self.text = ""
        self.streamed = NOTHING_STREAMED

    @asynccontextmanager
    async def reply(self) -> AsyncIterator[OnText]:
        """Start a new reply. Yields what receives its pieces; while they arrive, finished parts are checked."""
        self.discard()
        if self._is_silent:
            yield self._collect
            return
        checking = asyncio.create_task(self._stream_finished_units())
        try:
            yield self._collect
        finally:
            checking.cancel()
            await asyncio.gather(checking, return_exceptions=True)

    async def finish(self, answer: str) -> None:
        """The reply is the answer: emit the part of `answer`, its text without certificates, that is held back."""
        if self._is_silent:
            return
        checked = await asyncio.to_thread(self._check, answer)
        if not answer.startswith(self._printed):
            # A repeated request has replaced the text that was streamed.
            self._emit("\n\n")
            self._printed, self.streamed = "", NOTHING_STREAMED
        self._emit_until(len(answer), answer, insertions_of(answer, checked))

    def discard(self) -> None:
        """The reply is not the answer: drop its text."""
        self.text, self._printed, self.streamed = "", "", NOTHING_STREAMED
        self._has_more.clear()

    def _collect(self, piece: str) -> None:
        # A blank line may be split between two pieces.
        recent = self.text[-_LOOK_BEHIND:] + piece
        self.text += piece
        if _BLANK_LINE.search(recent):
            self._has_more.set()

    async def _stream_finished_units(self) -> None:
        end = 0
        while True:
            await self._has_more.wait()
            self._has_more.clear()
            before, text = end, self.text
            end = await asyncio.to_thread(finished_end, text, start=before)
            if end > before and not await self._stream_checked(strip_certificates(text[:end])):
                return

    async def _stream_checked(self, answer: str) -> bool:
        """Emit the start of the answer up to the first statement that fails. Returns whether none does."""
        if not answer or not self._may_stream(answer):
            return True
        checked = await asyncio.to_thread(self._check, answer)
        failed = [_start_of(one, answer) for one in checked if one.evidence.has_failed]
        end = min(failed, default=len(answer))
        if end > self.streamed.end:
            self._emit_until(end, answer, insertions_of(answer, checked))
        return not failed

    def _emit_until(self, end: int, answer: str, insertions: Sequence[Insertion]) -> None:
        """Emit the answer up to `end`, with the insertions after what is already emitted."""
        start = self.streamed.end
        added = tuple(one for one in insertions if start < one.position <= end)
        text = insert(answer[:end], added, start=start)
        self.streamed = StreamedPart(end, (*self.streamed.insertions, *added))
        self._printed = answer[:end]
        if text:
            self._emit(text)

    def _emit(self, text: str) -> None:
        self._emitter.emit(AnswerDelta(text=text))
        if self._on_text is not None:
            self._on_text(text)


_LOOK_BEHIND = 80


def _start_of(one: CheckedStatement, answer: str) -> int:
    """Where a statement starts, with the mark of its list item or heading."""
    start = one.statement.start
    return start if one.statement.kind == "sentence" else answer.rfind("\n", 0, start) + 1
