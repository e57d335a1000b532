"""Memory of a conversation: messages of the current turn, earlier exchanges, and entities named in results.

The caller decides when results are collapsed to save tokens.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adapters.text import fold, truncate
from runax_cli.models.base import Message

MAX_ENTITIES_CHARS = 1600
"""Limit of the entities of earlier calls in a request: about 400 tokens."""
MAX_LINKS = 4
NAME_CHARS = 60
_OWN_IDS = ("id", "uuid", "guid", "key", "number", "code", "slug")
_NAMES = ("name", "fullname", "displayname", "title", "subject", "label", "username", "email", "surname", "lastname")
_LINK = re.compile(r"(?:_id|Id|ID)$")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class RecordEntity:
    """An entity in a record: its kind ("customers"), its own id, its name, and links to ids of other kinds.

    `ref` is the reference of the record.
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
    """The record's own id by common names of ids: `id`, `ticket_id` for tickets, `key`, or a single `…_id`."""
    singular = noun.removesuffix("s").replace("_", "").casefold()
    by_folded = {name.replace("_", "").casefold(): value for name, value in record.items() if _is_id(value)}
    names = [_OWN_IDS[0], f"{singular}id", f"{singular}key", *_OWN_IDS[1:]]
    for name in names:
        if (value := by_folded.get(name)) is not None:
            return str(value)
    others = [value for name, value in by_folded.items() if name.endswith("id")]
    return str(others[0]) if len(others) == 1 else None


def entities_in(record: Mapping[str, Any], noun: str, *, ref: str | None = None) -> Iterator[RecordEntity]:
    """The entity of a record and those directly nested in it; one without a name and links is left out."""
    own = record_id(record, noun)
    if own is not None:
        entity = RecordEntity(noun, _short(own), _name(record), _links(record, own), ref)
        if entity.name or entity.links:
            yield entity
    for field, value in record.items():
        if isinstance(value, dict) and (inner := record_id(value, field)) is not None and (name := _name(value)):
            yield RecordEntity(field, _short(inner), name, ref=ref)


def rank_entities(
    entities: Iterable[RecordEntity], question: str, *, max_chars: int = MAX_ENTITIES_CHARS
) -> tuple[RecordEntity, ...]:
    """Entities by words shared with the question, then by recency, up to `max_chars` characters."""
    asked = frozenset(_words(question))
    latest_first = list(dict.fromkeys(reversed(list(entities))))
    by_relevance = sorted(latest_first, key=lambda entity: -len(asked & frozenset(_words(entity.text))))
    kept: list[RecordEntity] = []
    for entity in by_relevance:
        max_chars -= len(entity.text) + 1
        if max_chars < 0:
            break
        kept.append(entity)
    return tuple(kept)


def describe_entities(entities: Sequence[RecordEntity]) -> str:
    """The entities as text, one per line."""
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
    return tuple(links)[:MAX_LINKS]


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
    is_visible: bool
    is_collapsed: bool = False


class WorkingMemory:
    """The messages of one turn after its question, in order."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._results: list[_Result] = []

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages; collapsed results in their short form."""
        return tuple(self._messages)

    @property
    def named(self) -> tuple[RecordEntity, ...]:
        """Entities of results that are not visible in the messages (reduced or collapsed), oldest first."""
        return tuple(entity for result in self._results if not result.is_visible for entity in result.named)

    def add(self, message: Message) -> None:
        """Add a reply of the model or an instruction of the runner."""
        self._messages.append(message)

    def add_result(
        self, call_id: str, text: str, *, pointer: str, named: Sequence[RecordEntity] = (), is_visible: bool = True
    ) -> None:
        """Add the result of a call; `pointer` replaces it when it is collapsed.

        `named` are the entities in its records; `is_visible` says whether `text` contains them.
        """
        self._results.append(_Result(len(self._messages), call_id, pointer, tuple(named), is_visible))
        self._messages.append(Message("tool", text, tool_call_id=call_id))

    def collapsible(self) -> Iterator[str]:
        """Ids of the calls whose results would get shorter by collapsing, oldest first."""
        for result in self._results:
            if not result.is_collapsed and len(result.pointer) < len(self._messages[result.position].content):
                yield result.call_id

    def collapse(self, call_id: str) -> None:
        """Replace a result by its pointer."""
        for result in self._results:
            if result.call_id == call_id and not result.is_collapsed:
                self._messages[result.position] = Message("tool", result.pointer, tool_call_id=call_id)
                result.is_collapsed, result.is_visible = True, False

    def drop_first(self, count: int) -> tuple[str, ...]:
        """Remove the first messages, e.g. after they were summarized. Returns the ids of calls whose results went."""
        self._messages = self._messages[count:]
        dropped: list[str] = []
        for result in self._results:
            if 0 <= result.position < count:
                dropped.append(result.call_id)
                result.is_collapsed, result.is_visible = True, False
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
        """Add a turn; one without an answer is ignored."""
        if answer.strip():
            self.exchanges.append(Exchange(question, answer))

    def latest(self, budget_tokens: int, *, measure: Callable[[str], int]) -> tuple[Exchange, ...]:
        """The latest complete exchanges that fit into `budget_tokens` by `measure`, without gaps, oldest first."""
        kept: list[Exchange] = []
        left = budget_tokens
        for exchange in reversed(self.exchanges):
            left -= measure(exchange.question) + measure(exchange.answer)
            if left < 0:
                break
            kept.append(exchange)
        return tuple(reversed(kept))
