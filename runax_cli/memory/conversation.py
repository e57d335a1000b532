"""Working memory: what was said and returned since the question of this turn was asked.

Knows messages, which of them are results of calls, the short form that stands for a result once it had to make room,
and what each result named, which outlives it. Knows no counter and no limit: somebody else decides when to fold.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adapters.text import fold, truncate
from runax_cli.models.base import Message

MOST_CHARS = 1600
"""So much of a request may be taken by what earlier calls named: about 400 tokens."""
MOST_LINKS = 4
NAME_CHARS = 60
_OWN_IDS = ("id", "uuid", "guid", "key", "number", "code", "slug")
_NAMES = ("name", "fullname", "displayname", "title", "subject", "label", "username", "email", "surname", "lastname")
_LINK = re.compile(r"(?:_id|Id|ID)$")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class RecordEntity:
    """Something that a record names: its kind ("customers"), its own id, its name, its links to ids of other kinds.

    `ref` is the record it was read from, as it is cited.
    """

    kind: str
    id: str
    name: str | None = None
    links: tuple[tuple[str, str], ...] = ()
    ref: str | None = None

    @property
    def text(self) -> str:
        """`tickets 50117 "Výpadek" customer_id 4 [tickets_1#1]`."""
        named = f' "{self.name}"' if self.name else ""
        linked = "".join(f" {field} {value}" for field, value in self.links)
        return f"{self.kind} {self.id}{named}{linked}" + (f" [{self.ref}]" if self.ref else "")


def record_id(record: Mapping[str, Any], noun: str) -> str | None:
    """The record's own id, by the names that ids have: `id`, `ticket_id` for tickets, `key`, a single `…_id`."""
    singular = noun.removesuffix("s").replace("_", "").casefold()
    by_folded = {name.replace("_", "").casefold(): value for name, value in record.items() if _is_id(value)}
    names = [_OWN_IDS[0], f"{singular}id", f"{singular}key", *_OWN_IDS[1:]]
    for name in names:
        if (value := by_folded.get(name)) is not None:
            return str(value)
    others = [value for name, value in by_folded.items() if name.endswith("id")]
    return str(others[0]) if len(others) == 1 else None


def entities_in(record: Mapping[str, Any], noun: str, *, ref: str | None = None) -> Iterator[RecordEntity]:
    """The entity that a record is, and those nested right in it. One that has neither name nor links says nothing."""
    own = record_id(record, noun)
    if own is not None:
        entity = RecordEntity(noun, _short(own), _name(record), _links(record, own), ref)
        if entity.name or entity.links:
            yield entity
    for field, value in record.items():
        if isinstance(value, dict) and (inner := record_id(value, field)) is not None and (name := _name(value)):
            yield RecordEntity(field, _short(inner), name, ref=ref)


def rank_entities(
    entities: Iterable[RecordEntity], question: str, *, most_chars: int = MOST_CHARS
) -> tuple[RecordEntity, ...]:
    """Those that share most with the question first, the latest of equals first, as many as `most_chars` hold."""
    asked = frozenset(_words(question))
    latest_first = list(dict.fromkeys(reversed(list(entities))))
    by_relevance = sorted(latest_first, key=lambda entity: -len(asked & frozenset(_words(entity.text))))
    kept: list[RecordEntity] = []
    for entity in by_relevance:
        most_chars -= len(entity.text) + 1
        if most_chars < 0:
            break
        kept.append(entity)
    return tuple(kept)


def describe_entities(entities: Sequence[RecordEntity]) -> str:
    """One entity a line."""
    return "\n".join(entity.text for entity in entities)


def _name(record: Mapping[str, Any]) -> str | None:
    by_folded = {name.replace("_", "").casefold(): value for name, value in record.items() if isinstance(value, str)}
    if first := by_folded.get("firstname") or by_folded.get("givenname"):
        last = by_folded.get("lastname") or by_folded.get("surname") or by_folded.get("familyname") or ""
        return _short(f"{first} {last}".strip())
    found = (by_folded[name] for name in _NAMES if by_folded.get(name, "").strip())
    return next((_short(name) for name in found), None)


def _links(record: Mapping[str, Any], own: str) -> tuple[tuple[str, str], ...]:
    links = (
        (name, _short(str(value)))
        for name, value in record.items()
        if _LINK.search(name) and _is_id(value) and str(value) != own
    )
    return tuple(links)[:MOST_LINKS]


def _short(text: str) -> str:
    return truncate(" ".join(text.replace('"', "'").split()), NAME_CHARS)


def _words(text: str) -> Iterator[str]:
    yield from _WORD.findall(fold(text))


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


@dataclass(slots=True)
class _Result:
    position: int
    call_id: str
    pointer: str
    named: tuple[RecordEntity, ...]
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
    def named(self) -> tuple[RecordEntity, ...]:
        """What results named that cannot be read off the messages: they were reduced, or folded. The oldest first."""
        return tuple(entity for result in self._results if not result.is_in_view for entity in result.named)

    def add(self, message: Message) -> None:
        """A reply of the model, or a word of the runner to it."""
        self._messages.append(message)

    def add_result(
        self, call_id: str, text: str, *, pointer: str, named: Sequence[RecordEntity] = (), is_in_view: bool = True
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


@dataclass(frozen=True, slots=True)
class Exchange:
    """One question and its final answer."""

    question: str
    answer: str


class History:
    """The exchanges of one conversation, oldest first."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []

    def add(self, question: str, answer: str) -> None:
        """Remember a turn. One that ended without an answer leaves nothing that a later turn could build on."""
        if answer.strip():
            self.exchanges.append(Exchange(question, answer))

    def latest(self, budget_tokens: int, *, measure: Callable[[str], int]) -> tuple[Exchange, ...]:
        """The latest exchanges that `measure` puts under the budget, whole and without a gap; oldest first."""
        kept: list[Exchange] = []
        left = budget_tokens
        for exchange in reversed(self.exchanges):
            left -= measure(exchange.question) + measure(exchange.answer)
            if left < 0:
                break
            kept.append(exchange)
        return tuple(reversed(kept))
