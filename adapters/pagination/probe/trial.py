"""A trial of arguments that no name explains: whether a list that looks truncated continues by one of them.

It runs for a tool without known pagination if the response says that there is more, or has a length at which servers
truncate. It sends few requests, each legal by the document, and trusts only what the records prove.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from adapters.base import CallResult, Effect, Json, PageAddress, Pagination, PaginationStyle, ToolSpec
from adapters.pagination import Certainty, page_address, read_page
from adapters.pagination.probe.result import FirstPage, ProbeMethod, ProbeResult
from adapters.pagination.probe.undeclared import (
    TRIAL_VALUE,
    ArgumentValue,
    TrialOutcome,
    argument_values,
    compare_pages,
    continues_list,
    echoed_names,
    echoed_numbers,
    numeric_arguments,
)
from adapters.pagination.vocabulary.members import plain

Attempt: TypeAlias = Callable[[PageAddress], Awaitable[CallResult | None]]

MAX_TRIALS = 3
"""Failed trials per tool. One is too few: a complete list shows nothing about a truncated one."""
_MIN_RECORDS = 5
_ROUND = 5
_USUAL_LENGTHS = frozenset(2**n for n in range(3, 15)) | {12, 24, 36, 48}


@dataclass
class ArgumentTrial:
    """One trial. `attempt` sends one request and returns None if it is refused; `given` are the call's own arguments.

    `is_allowed` is False after several failed trials: then nothing is sent. `was_run` says whether anything was sent.
    """

    tool: ToolSpec
    attempt: Attempt
    given: Mapping[str, Json]
    is_allowed: bool = True
    was_run: bool = False
    _echoed: Mapping[str, int] = field(default_factory=dict)

    async def run(self, found: ProbeResult) -> ProbeResult:
        """The result of the probe after the trial. Raises SourceError."""
        first = found.first
        if first is None or found.pagination.convention is not PaginationStyle.SINGLE or not first.reading.is_list:
            return found
        self._echoed = echoed_numbers(self.tool.parameters, self.given, first.result)
        is_positioned = any(value in (0, 1) for value in self._echoed.values())
        if not self.is_allowed or not may_be_truncated(self.tool, found, is_positioned=is_positioned):
            return self._mark_truncated(found, first)
        self.was_run = True
        declared = numeric_arguments(self.tool.parameters, self.given, is_truncated=_is_truncated(first))
        pagination = await self._by_returned_value(first) or await self._by_number(first, declared)
        pagination = pagination or await self._by_number(first, self._undeclared_names(first))
        return (
            self._mark_truncated(found, first)
            if pagination is None
            else _with_pagination(found, first, pagination, self.tool)
        )

    def _mark_truncated(self, found: ProbeResult, first: FirstPage) -> ProbeResult:
        """Mark a list as possibly truncated if the response repeats an argument that equals its length."""
        reading, count = first.reading, len(first.reading.records)
        is_told = reading.has_more is not None or reading.total is not None or found.certainty is not Certainty.EXACT
        name = next((name for name, value in self._echoed.items() if value == count), None)
        if is_told or name is None or count < _MIN_RECORDS:
            return found
        note = f"the response reports '{name}' as {count:,} and has as many records: there may be more"
        return replace(found, certainty=Certainty.AT_LEAST, notes=(*found.notes, note))

    async def _by_returned_value(self, first: FirstPage) -> Pagination | None:
        """Try values of the response, from outside the records or from one of them, in arguments of a similar name."""
        records = first.reading.records
        for candidate in argument_values(self.tool.parameters, self.given, first.result, records):
            result = await self._request(first, {candidate.argument: candidate.value})
            page = None if result is None else _records(result, first)
            if result is not None and page is not None and continues_list(candidate, records, page, result):
                return _by_value(self.tool.pagination, candidate)
        return None

    def _undeclared_names(self, first: FirstPage) -> tuple[str, ...]:
        """Undeclared names that the response of a GET uses for its page size and position."""
        if not self.tool.locator.startswith("GET ") or not _is_truncated(first):
            return ()
        known = {
            plain(name) for name in (*(self.tool.parameters.get("properties") or ()), *self.tool.pagination.hidden)
        }
        return tuple(
            name for name in echoed_names(first.result, len(first.reading.records)) if plain(name) not in known
        )

    async def _by_number(self, first: FirstPage, names: tuple[str, ...]) -> Pagination | None:
        """Try numbers in arguments: one may move the page by records or by pages, another may be the page size."""
        records, place, size = first.reading.records, None, self.tool.pagination.size
        for name in names:
            value = self._value(name, TRIAL_VALUE)
            page = await self._page_with(first, {name: value})
            match TrialOutcome.UNCLEAR if page is None else compare_pages(records, page):
                case TrialOutcome.SIZE if size is None:
                    size = name
                case TrialOutcome.OFFSET:
                    place = place or Pagination(convention=PaginationStyle.OFFSET, position=name)
                case TrialOutcome.OFFSET_FROM_ONE:
                    place = place or Pagination(convention=PaginationStyle.OFFSET, position=name, first=1)
                case TrialOutcome.OTHER_RECORDS:
                    place = place or await self._as_page_number(first, name)
                case TrialOutcome.UNCLEAR if page == [] and self._echoed.get(name) == 0:
                    place = place or await self._as_page_number(first, name)
                case _:
                    continue
        if place is None:
            return None
        bounded = replace(self.tool.pagination, convention=place.convention, position=place.position, first=place.first)
        if size is None or (
            size != bounded.size and not await self._works_with_size(replace(bounded, size=size), records)
        ):
            return bounded
        return replace(bounded, size=size)

    async def _as_page_number(self, first: FirstPage, name: str) -> Pagination | None:
        """Check whether an argument counts pages, from 1 or from 0."""
        records = first.reading.records
        one = await self._page_with(first, {name: self._value(name, 1)})
        if one == records:
            return Pagination(convention=PaginationStyle.PAGE, position=name, first=1)
        is_long = one is not None and (len(one) == len(records) or self._echoed.get(name) == 0)
        if one is None or not is_long or compare_pages(records, one) is not TrialOutcome.OTHER_RECORDS:
            return None
        is_first = await self._page_with(first, {name: self._value(name, 0)}) == records
        return Pagination(convention=PaginationStyle.PAGE, position=name, first=0) if is_first else None

    async def _works_with_size(self, pagination: Pagination, records: Sequence[Json]) -> bool:
        """Check position and size together: alone, the end of a range looks like a size."""
        result = await self.attempt(page_address(pagination, page_index=1, size=TRIAL_VALUE))
        page = None if result is None else read_page(result, Pagination(), records_path=self.tool.records_path).records
        return page == records[TRIAL_VALUE : 2 * TRIAL_VALUE]

    async def _request(self, first: FirstPage, arguments: Mapping[str, Json]) -> CallResult | None:
        own = first.address.arguments if first.address is not None else {}
        return await self.attempt(PageAddress({**own, **arguments}))

    async def _page_with(self, first: FirstPage, arguments: Mapping[str, Json]) -> list[Json] | None:
        result = await self._request(first, arguments)
        return None if result is None else _records(result, first)

    def _value(self, name: str, number: int) -> Json:
        schema = (self.tool.parameters.get("properties") or {}).get(name)
        return str(number) if isinstance(schema, dict) and schema.get("type") == "string" else number


def may_be_truncated(tool: ToolSpec, found: ProbeResult, *, is_positioned: bool = False) -> bool:
    """Whether a list without known pagination says that it continues, or has a length at which servers truncate.

    `is_positioned`: the response repeats an argument with the value of a first position, as pages do.
    """
    first = found.first
    if first is None or tool.effect is not Effect.READ or found.pagination.convention is not PaginationStyle.SINGLE:
        return False
    reading, count = first.reading, len(first.reading.records)
    is_truncated = reading.certainty is Certainty.EXACT and (reading.total or 0) > count
    if not tool.returns_many and not is_truncated and not is_positioned:
        return False
    if not reading.is_list or count < _MIN_RECORDS or tool.pagination.is_declared:
        return False
    if reading.total is not None and reading.certainty is not Certainty.UNKNOWN:
        return reading.total > count
    return reading.has_more is True or (reading.has_more is None and (count % _ROUND == 0 or count in _USUAL_LENGTHS))


def _is_truncated(first: FirstPage) -> bool:
    return first.reading.has_more is True or (first.reading.total or 0) > len(first.reading.records)


def _records(result: CallResult, first: FirstPage) -> list[Json] | None:
    reading = read_page(result, Pagination(), records_path=first.reading.records_path)
    return reading.records if reading.is_list else None


def _by_value(declared: Pagination, candidate: ArgumentValue) -> Pagination:
    if candidate.after is not None:
        return replace(declared, convention=PaginationStyle.KEYSET, position=candidate.argument, key=candidate.path)
    return replace(declared, convention=PaginationStyle.CURSOR, position=candidate.argument, next_path=candidate.path)


def _with_pagination(found: ProbeResult, first: FirstPage, pagination: Pagination, tool: ToolSpec) -> ProbeResult:
    """The first page stays the call's own, unless pages of a chosen size have to start again."""
    reading = read_page(
        first.result, pagination, records_path=tool.records_path, size=first.size, address=first.address
    )
    is_sized = pagination.is_addressable and pagination.size is not None and first.size is None
    what = (
        "a number of records" if pagination.convention is PaginationStyle.OFFSET else f"a {pagination.convention.value}"
    )
    note = f"'{pagination.position}' takes {what}: it is used to request the next pages"
    return replace(
        found,
        pagination=pagination,
        total=reading.total if reading.certainty is not Certainty.UNKNOWN else None,
        certainty=reading.certainty,
        method=ProbeMethod.FIRST_PAGE,
        first=None if is_sized else replace(first, reading=reading),
        notes=(note,),
    )
