"""A trial of arguments that no name explains: whether a list that may have been cut goes on by one of them.

Knows the first answer of a tool without known pages, and when it looks cut: it says so itself, or its length is one at
which servers cut. Sends few requests, each one legal by the document, and believes only what records bear out. A trial
that finds nothing leaves everything as it was.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from adapters.base import CallResult, Effect, Json, PageAddress, Pagination, PaginationStyle, ToolSpec
from adapters.pagination import Certainty, address, read_page
from adapters.pagination.probe.result import FirstPage, ProbeMethod, ProbeResult
from adapters.pagination.probe.undeclared import (
    TRIED,
    ArgumentValue,
    TrialOutcome,
    echoed,
    leads_on,
    numbers,
    pairs,
    repeated,
    shown,
)
from adapters.pagination.vocabulary.members import plain

Attempt: TypeAlias = Callable[[PageAddress], Awaitable[CallResult | None]]

MOST_TRIALS = 3
"""So often a tool's lists are tried in vain. One is too few: a list that is whole shows nothing of one that is cut."""
_FEWEST = 5
_ROUND = 5
_POWERS = frozenset(2**n for n in range(3, 15)) | {12, 24, 36, 48}


@dataclass
class SizeTrial:
    """One trial. `attempt` sends one request, None where it is refused; `given` are the call's own arguments.

    `is_wanted` is False where several were in vain: then nothing is sent. `was_made` tells whether anything could be.
    """

    tool: ToolSpec
    attempt: Attempt
    given: Mapping[str, Json]
    is_wanted: bool = True
    was_made: bool = False
    _repeated: Mapping[str, int] = field(default_factory=dict)

    async def of(self, found: ProbeResult) -> ProbeResult:
        """The probe as the trial leaves it. Raises SourceError."""
        first = found.first
        if first is None or found.pagination.convention is not PaginationStyle.SINGLE or not first.reading.is_list:
            return found
        self._repeated = repeated(self.tool.parameters, self.given, first.result)
        is_placed = any(value in (0, 1) for value in self._repeated.values())
        if not self.is_wanted or not may_be_cut(self.tool, found, is_placed=is_placed):
            return self._judged(found, first)
        self.was_made = True
        pagination = await self._handed_back(first) or await self._counted(first, self._own(first))
        pagination = pagination or await self._counted(first, self._undeclared(first))
        return self._judged(found, first) if pagination is None else _as_tried(found, first, pagination, self.tool)

    def _judged(self, found: ProbeResult, first: FirstPage) -> ProbeResult:
        """A list of no known way on, as long as the answer says that an argument was: it may have been cut there."""
        reading, count = first.reading, len(first.reading.records)
        is_told = reading.has_more is not None or reading.total is not None or found.certainty is not Certainty.EXACT
        name = next((name for name, value in self._repeated.items() if value == count), None)
        if is_told or name is None or count < _FEWEST:
            return found
        note = f"the answer says that '{name}' was {count:,}, and as many records came: others may be behind them"
        return replace(found, certainty=Certainty.AT_LEAST, notes=(*found.notes, note))

    async def _handed_back(self, first: FirstPage) -> Pagination | None:
        """A value of the answer brings other records, as it stands beside them or in the last of them."""
        records = first.reading.records
        for pair in pairs(self.tool.parameters, self.given, first.result, records):
            result = await self._answer(first, {pair.argument: pair.value})
            page = None if result is None else _records(result, first)
            if result is not None and page is not None and leads_on(pair, records, page, result):
                return _by_pair(self.tool.pagination, pair)
        return None

    def _own(self, first: FirstPage) -> tuple[str, ...]:
        return numbers(self.tool.parameters, self.given, is_surely_cut=_is_surely_cut(first))

    def _undeclared(self, first: FirstPage) -> tuple[str, ...]:
        """What an answer that is surely cut calls its page by, and the document does not; a GET does no harm."""
        if not self.tool.locator.startswith("GET ") or not _is_surely_cut(first):
            return ()
        known = {
            plain(name) for name in (*(self.tool.parameters.get("properties") or ()), *self.tool.pagination.hidden)
        }
        return tuple(name for name in echoed(first.result, len(first.reading.records)) if plain(name) not in known)

    async def _counted(self, first: FirstPage, names: tuple[str, ...]) -> Pagination | None:
        """An argument moves the page by records or by pages; another one may say how long pages are."""
        records, place, size = first.reading.records, None, self.tool.pagination.size
        for name in names:
            value = self._value(name, TRIED)
            page = await self._page(first, {name: value})
            match TrialOutcome.OTHER if page is None else shown(records, page):
                case TrialOutcome.SIZE if size is None:
                    size = name
                case TrialOutcome.RECORDS:
                    place = place or Pagination(convention=PaginationStyle.OFFSET, position=name)
                case TrialOutcome.RECORDS_FROM_ONE:
                    place = place or Pagination(convention=PaginationStyle.OFFSET, position=name, first=1)
                case TrialOutcome.ELSEWHERE:
                    place = place or await self._numbered(first, name)
                case TrialOutcome.OTHER if page == [] and self._repeated.get(name) == 0:
                    place = place or await self._numbered(first, name)
                case _:
                    continue
        if place is None:
            return None
        bounded = replace(self.tool.pagination, convention=place.convention, position=place.position, first=place.first)
        if size is None or (size != bounded.size and not await self._fits(replace(bounded, size=size), records)):
            return bounded
        return replace(bounded, size=size)

    async def _numbered(self, first: FirstPage, name: str) -> Pagination | None:
        """Whether it counts pages: page 1 is the first one, or else page 0 is and page 1 is neither."""
        records = first.reading.records
        one = await self._page(first, {name: self._value(name, 1)})
        if one == records:
            return Pagination(convention=PaginationStyle.PAGE, position=name, first=1)
        is_long = one is not None and (len(one) == len(records) or self._repeated.get(name) == 0)
        if one is None or not is_long or shown(records, one) is not TrialOutcome.ELSEWHERE:
            return None
        is_first = await self._page(first, {name: self._value(name, 0)}) == records
        return Pagination(convention=PaginationStyle.PAGE, position=name, first=0) if is_first else None

    async def _fits(self, pagination: Pagination, records: Sequence[Json]) -> bool:
        """Whether position and size go together: an end of a range looks like a size as long as it stands alone."""
        result = await self.attempt(address(pagination, page_index=1, size=TRIED))
        page = None if result is None else read_page(result, Pagination(), records_path=self.tool.records_path).records
        return page == records[TRIED : 2 * TRIED]

    async def _answer(self, first: FirstPage, arguments: Mapping[str, Json]) -> CallResult | None:
        own = first.address.arguments if first.address is not None else {}
        return await self.attempt(PageAddress({**own, **arguments}))

    async def _page(self, first: FirstPage, arguments: Mapping[str, Json]) -> list[Json] | None:
        result = await self._answer(first, arguments)
        return None if result is None else _records(result, first)

    def _value(self, name: str, number: int) -> Json:
        schema = (self.tool.parameters.get("properties") or {}).get(name)
        return str(number) if isinstance(schema, dict) and schema.get("type") == "string" else number


def may_be_cut(tool: ToolSpec, found: ProbeResult, *, is_placed: bool = False) -> bool:
    """Whether a list without known pages says that it goes on, or is as long as lists are that servers cut.

    `is_placed`: the answer repeats an argument by its name as what may be the first place, as pages do and records not.
    """
    first = found.first
    if first is None or tool.effect is not Effect.READ or found.pagination.convention is not PaginationStyle.SINGLE:
        return False
    reading, count = first.reading, len(first.reading.records)
    is_surely_cut = reading.certainty is Certainty.EXACT and (reading.total or 0) > count
    if not tool.returns_many and not is_surely_cut and not is_placed:
        return False
    if not reading.is_list or count < _FEWEST or tool.pagination.is_declared:
        return False
    if reading.total is not None and reading.certainty is not Certainty.UNKNOWN:
        return reading.total > count
    return reading.has_more is True or (reading.has_more is None and (count % _ROUND == 0 or count in _POWERS))


def _is_surely_cut(first: FirstPage) -> bool:
    return first.reading.has_more is True or (first.reading.total or 0) > len(first.reading.records)


def _records(result: CallResult, first: FirstPage) -> list[Json] | None:
    reading = read_page(result, Pagination(), records_path=first.reading.records_path)
    return reading.records if reading.is_list else None


def _by_pair(declared: Pagination, pair: ArgumentValue) -> Pagination:
    if pair.after is not None:
        return replace(declared, convention=PaginationStyle.KEYSET, position=pair.argument, key=pair.path)
    return replace(declared, convention=PaginationStyle.CURSOR, position=pair.argument, next_path=pair.path)


def _as_tried(found: ProbeResult, first: FirstPage, pagination: Pagination, tool: ToolSpec) -> ProbeResult:
    """The first page stays the call's own, unless pages of a chosen size are to begin again."""
    reading = read_page(first.result, pagination, records_path=tool.records_path, size=first.size, asked=first.address)
    is_sized = pagination.is_addressable and pagination.size is not None and first.size is None
    what = (
        "a number of records" if pagination.convention is PaginationStyle.OFFSET else f"a {pagination.convention.value}"
    )
    note = f"'{pagination.position}' turned out to take {what}: the list goes on by it"
    return replace(
        found,
        pagination=pagination,
        total=reading.total if reading.certainty is not Certainty.UNKNOWN else None,
        certainty=reading.certainty,
        rung=ProbeMethod.FIRST_PAGE,
        first=None if is_sized else replace(first, reading=reading),
        notes=(note,),
    )
