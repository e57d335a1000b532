"""The answer as it streams, without what turns out to be no answer.

A reply may begin with words and end in tool calls. The first paragraph is therefore held back until it is over, which
costs nothing on a terminal that prints whole paragraphs; where calls follow, it is dropped. Knows text and a listener.
"""

from runax_cli.events import AnswerDelta, Emitter
from runax_cli.models.base import OnText

_PARAGRAPH_END = "\n\n"


class AnswerStream:
    """Hands pieces of the answer to the event stream, and to `on_text` where somebody listens.

    A stream that is silent keeps the text to itself: a part is heard when the answer of all parts is put together.
    """

    def __init__(self, emitter: Emitter, *, on_text: OnText | None, is_silent: bool = False) -> None:
        self._emitter = emitter
        self._on_text = on_text
        self._is_silent = is_silent
        self._held = ""
        self.text = ""

    def begin(self) -> None:
        """A reply is about to come."""
        self._held, self.text = "", ""

    def take(self, piece: str) -> None:
        """A piece of the reply."""
        was_held = _PARAGRAPH_END not in self.text
        self.text += piece
        if not was_held:
            self._hand_over(piece)
        elif _PARAGRAPH_END in self.text:
            self._held = ""
            self._hand_over(self.text)
        else:
            self._held = self.text

    def finish(self) -> None:
        """The reply is the answer: hand over what was held back."""
        held, self._held = self._held, ""
        if held:
            self._hand_over(held)

    def discard(self) -> None:
        """The reply was none."""
        self._held, self.text = "", ""

    def _hand_over(self, piece: str) -> None:
        if self._is_silent:
            return
        self._emitter.emit(AnswerDelta(text=piece))
        if self._on_text is not None:
            self._on_text(piece)
