"""Working memory: what was said and returned since the question of this turn was asked.

Knows messages, which of them are results of calls, the short form that stands for a result once it had to make room,
and what each result named, which outlives it. Knows no counter and no limit: somebody else decides when to fold.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runax_cli.memory.entities import Entity
from runax_cli.models.base import Message


@dataclass(slots=True)
class _Result:
    position: int
    call_id: str
    pointer: str
    named: tuple[Entity, ...]
    is_in_view: bool
    is_folded: bool = False


class WorkingMemory:
    """The messages of one turn after its question, in order."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._results: list[_Result] = []

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages, folded results in their short form."""
        return tuple(self._messages)

    @property
    def named(self) -> tuple[Entity, ...]:
        """What results named that cannot be read off the messages: they were reduced, or folded. The oldest first."""
        return tuple(entity for result in self._results if not result.is_in_view for entity in result.named)

    def add(self, message: Message) -> None:
        """A reply of the model, or a word of the runner to it."""
        self._messages.append(message)

    def add_result(
        self, call_id: str, text: str, *, pointer: str, named: Sequence[Entity] = (), is_in_view: bool = True
    ) -> None:
        """The result of a call; `pointer` takes its place once it is folded.

        `named` are the entities in its records, and `is_in_view` says whether `text` has them itself.
        """
        self._results.append(_Result(len(self._messages), call_id, pointer, tuple(named), is_in_view))
        self._messages.append(Message("tool", text, tool_call_id=call_id))

    def foldable(self) -> Iterator[str]:
        """Ids of the calls whose results would shrink by folding, oldest first."""
        for result in self._results:
            if not result.is_folded and len(result.pointer) < len(self._messages[result.position].content):
                yield result.call_id

    def fold(self, call_id: str) -> None:
        """Put the pointer in the place of a result."""
        for result in self._results:
            if result.call_id == call_id and not result.is_folded:
                self._messages[result.position] = Message("tool", result.pointer, tool_call_id=call_id)
                result.is_folded, result.is_in_view = True, False

    def drop_first(self, count: int) -> tuple[str, ...]:
        """Take the first messages out: something else stands for them now. The ids of the calls whose results went."""
        self._messages = self._messages[count:]
        dropped: list[str] = []
        for result in self._results:
            if 0 <= result.position < count:
                dropped.append(result.call_id)
                result.is_folded, result.is_in_view = True, False
            result.position -= count
        return tuple(dropped)
