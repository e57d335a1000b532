"""How many records a page may hold: which parameter says it, and its bounds.

Knows parameters and their words. Knows no position but the one it stands beside. A size without a position is believed
only under a name that means nothing else, since a weak name (`count`, `top`, `max`) alone is a filter.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from adapters.base import Json
from adapters.pagination.detect.parameters import INTEGER, TEXT, FlatParameter, dated, end_beside
from adapters.pagination.detect.response_schema import ResponseSchema
from adapters.pagination.vocabulary import descriptions as wording
from adapters.pagination.vocabulary import members as names
from adapters.pagination.vocabulary import parameters as spelling


def size_beside(position: FlatParameter | None, known: Iterable[FlatParameter]) -> FlatParameter | None:
    """The size parameter beside a position: in the same object first, then by the strength of its name, then words."""
    others = list(known)
    ranked = [
        (rank, one) for one in others if one is not position and (rank := _rank(one, others, position)) is not None
    ]
    return min(ranked, key=lambda pair: pair[0], default=(0, None))[1]


def size_alone(known: Iterable[FlatParameter]) -> FlatParameter | None:
    """A limit without a position: one page at most, unless a response names a next one."""
    others = list(known)
    named = [one for one in others if one.is_named(spelling.SIZES_ALONE) or one.name in spelling.MARKED_SIZES]
    strong = [one for one in named if one.types & INTEGER]
    fitting = [one for one in strong if not spelling.parent(one.name) and not _limits_something_else(one, others)]
    return next((one for one in fitting if not one.text or one.says(wording.ABOUT_PAGING)), None)


def bounds(size: FlatParameter | None) -> dict[str, Json]:
    """The fields of a Pagination that tell of the size."""
    if size is None:
        return {}
    lowest, highest = size.number("minimum"), size.number("maximum")
    below, above = size.number("exclusiveMinimum"), size.number("exclusiveMaximum")
    stated = wording.STATED_MAXIMUM.search(size.text)
    cap = int(next(filter(None, stated.groups())).replace(",", "")) if stated else None
    return {
        "size": size.name,
        "sizes": size.choices,
        "min_size": min(size.choices) if size.choices else below + 1 if below is not None else lowest,
        "max_size": _largest(size.choices, highest, above, cap or None),
        "default_size": size.number("default"),
    }


def _rank(one: FlatParameter, known: list[FlatParameter], position: FlatParameter | None) -> tuple[int, int] | None:
    """How surely it is the size, the smaller the surer: those in the same object first; None where it is none."""
    if not one.is_number or (one.types and not one.types & INTEGER) or _limits_something_else(one, known):
        return None
    is_near = position is not None and spelling.parent(one.name) == spelling.parent(position.name)
    if one.is_foreign and not is_near:
        return None
    if position is not None and end_beside(position, known) is one:
        return None
    checks = (
        one.is_named(spelling.SIZES_ALONE),
        one.is_named(spelling.SIZES),
        one.says(wording.SAYS_SIZE) and not one.says(wording.SAYS_OFFSET),
        spelling.has_size_words(one.name),
        position is not None and spelling.is_unit_of(position.name, one.name),
        position is not None and spelling.is_start_of(position.name, one.name),
    )
    rank = next((number for number, is_met in enumerate(checks) if is_met), None)
    return None if rank is None else (0 if is_near or position is None else 1, rank)


def _limits_something_else(one: FlatParameter, known: list[FlatParameter]) -> bool:
    is_value_range = one.is_named(frozenset({"max"})) and any(other.is_named(frozenset({"min"})) for other in known)
    is_other = one.is_something_else and not one.says(wording.ABOUT_SIZE)
    is_beside_place = one.is_named(spelling.SIZES_ALONE) and not one.is_measured
    is_beside_place = is_beside_place and any(other.is_named(spelling.OFFSETS, spelling.PAGES) for other in known)
    return is_value_range or (is_other and not is_beside_place)


def _largest(choices: tuple[int, ...], highest: int | None, above: int | None, stated: int | None) -> int | None:
    """The cap of a page: by enumeration, by the schema, else by what the description says."""
    if choices:
        return max(choices)
    if highest is not None:
        return highest
    return above - 1 if above is not None else stated


_PLACES = spelling.OFFSETS | spelling.WEAK_OFFSETS | spelling.PAGES | spelling.WEAK_PAGES
_FORMATS = frozenset({None, "", "string", "number", "int", "int32", "int64", "integer"})


def as_numbers(known: Sequence[FlatParameter], answer: ResponseSchema) -> list[FlatParameter]:
    """The parameters, those of them made numbers that are text by their type only.

    What is said of one, or a name that means nothing else, is enough; a weaker name needs a position or a size beside
    it. Whatever the answer hands out, or is called a token, stays text.
    """
    digits = [one for one in known if _is_digits(one)]
    if not digits:
        return list(known)

    def turned(these: list[FlatParameter], fits: Callable[[FlatParameter], bool]) -> list[FlatParameter]:
        names = {one.name for one in these if one.name in texts and fits(one)}
        able = {one.name for one in digits if one.name in names and _is_able(one, answer)}
        return [_number(one) if one.name in able and fits(one) else one for one in these] if able else these

    texts, given = {one.name for one in digits}, list(known)
    clear = turned(given, _is_clear)
    if clear is not given and not _is_paged(known, answer):
        clear = given
    has_size = any(one.is_number and one.is_named(spelling.SIZES_ALONE) for one in clear)
    placed = turned(clear, _is_place) if has_size else clear
    has_place = any(one.types and one.is_number and one.is_named(_PLACES) for one in placed)
    sized = turned(placed, _is_weak_size) if has_place else placed
    ends = [end_beside(one, sized) for one in sized if one.types and one.is_number]
    return turned(sized, lambda one: one in ends and _is_end(one))


def _is_paged(known: Sequence[FlatParameter], answer: ResponseSchema) -> bool:
    """Whether anything asks for a place in a list or leads to the next page: a size alone may be any text."""
    if answer.markers or answer.next_url is not None or answer.has_header("link"):
        return True
    places = (_PLACES, spelling.CURSORS, spelling.WEAK_CURSORS, spelling.KEYS)
    is_named = any(one.is_named(*places) or spelling.has_offset_words(one.name) for one in known)
    return is_named or any(
        spelling.has_cursor_words(one.name) or spelling.has_page_words(one.name) or one.opens(wording.SAYS_OFFSET)
        for one in known
    )


def is_text_only(one: FlatParameter) -> bool:
    """Whether its document calls it a string and nothing else."""
    return one.schema.get("type") == "string"


def _number(one: FlatParameter) -> FlatParameter:
    return replace(one, types=INTEGER)


def _is_digits(one: FlatParameter) -> bool:
    """Whether its type lets it hold digits: a text, free or with numbers to choose from."""
    is_text = bool(one.types & TEXT) and one.types <= TEXT | INTEGER and is_text_only(one)
    is_open = not one.schema.get("enum") or bool(one.choices)
    return is_text and is_open and one.schema.get("format") in _FORMATS


def _is_able(one: FlatParameter, answer: ResponseSchema) -> bool:
    """Whether nothing says that it is something else than a number of paging."""
    is_firm = one.is_named(spelling.SIZES_ALONE, spelling.OFFSETS, spelling.SKIPS)
    is_other = one.is_measured if is_firm else one.is_something_else
    if dated(one) or is_other or one.is_foreign:
        return False
    tokens = (wording.IS_CURSOR, wording.NAMES_CURSOR, wording.HANDED_OUT, wording.NOT_BY_HAND)
    if one.is_named(spelling.CURSORS) or any(one.says(pattern) for pattern in tokens):
        return False
    return not answer.returns(one.name) or one.opens(wording.SAYS_OFFSET)


def _is_clear(one: FlatParameter) -> bool:
    if one.is_named(spelling.SIZES_ALONE, spelling.OFFSETS):
        return True
    said = (wording.SAYS_SIZE, wording.SAYS_OFFSET, wording.SAYS_PAGE)
    is_spelled = one.is_named(_PLACES, spelling.SIZES) or _is_spelled(one.name)
    if one.opens(wording.SAYS_OFFSET):
        return True
    return is_spelled and (any(map(one.opens, said)) or (one.is_number and one.is_named(spelling.PAGES)))


def _is_spelled(name: str) -> bool:
    return spelling.has_size_words(name) or spelling.has_offset_words(name) or spelling.has_page_words(name)


def _is_place(one: FlatParameter) -> bool:
    """Whether it is a position where a size stands beside it."""
    return one.is_named(spelling.PAGES, spelling.SKIPS) and not one.says(wording.SAYS_CURSOR)


def _is_end(one: FlatParameter) -> bool:
    return not one.text or one.says(wording.ENDS_PAGE) or one.says(wording.SAYS_PAGED)


def _is_weak_size(one: FlatParameter) -> bool:
    return one.is_named(spelling.SIZES) and (not one.text or one.says(wording.ABOUT_SIZE))


_ODATA_COUNT = "$count"
_INLINE_COUNT = "$inlinecount"
_METADATA_FLAGS = names.words(
    "meta_only metadata_only only_meta only_metadata count_only only_count total_only only_total return_count_only"
)
_TOTAL_FLAGS = names.words(
    "total_required include_totals include_total with_count with_total with_totals return_total return_totals "
    "show_total show_totals total_count_required include_total_count include_count get_total get_total_count "
    "calculate_total compute_total need_total need_count with_total_count return_total_count return_count "
    "total_results track_total_hits exact_count require_total_count want_total fetch_total count_total "
    "include_total_results include_record_count total_records_required request_total include_all_count"
)
_ASKS = frozenset(
    "with include including includes return required require show get calculate compute need want fetch request track "
    "exact add report enable".split()
)
_WHOLE = frozenset("total totals totalcount".split())
_COUNT_ONLY = frozenset("hits count total metadata meta".split())


def metadata_flag(known: Iterable[FlatParameter]) -> tuple[str, Json] | None:
    """The flag that asks for figures in place of records, and its value."""
    for one in known:
        if spelling.parent(one.name):
            continue
        if one.is_named(_METADATA_FLAGS) and one.is_flag:
            return one.name, True
        if (value := _result_type(one)) is not None:
            return one.name, value
        is_count = bool({"count", "total", "metadata", "meta"} & set(spelling.pieces(one.name)))
        if "boolean" in one.types and is_count and one.says(wording.INSTEAD):
            return one.name, True
    return None


def total_flags(known: Iterable[FlatParameter], *, has_range: bool = False) -> tuple[tuple[str, Json], ...]:
    """Arguments that make a page tell the total as well."""
    pairs = ((one.name, _total_value(one, has_range=has_range)) for one in known if not spelling.parent(one.name))
    return tuple((name, value) for name, value in pairs if value is not None)


def _result_type(one: FlatParameter) -> str | None:
    """`resulttype=hits` (OGC): a choice one of whose values is the count."""
    listed = one.schema.get("enum")
    if not one.is_named(names.words("resulttype result_type")) or not isinstance(listed, list):
        return None
    return next((value for value in listed if isinstance(value, str) and value.lower() in _COUNT_ONLY), None)


def _total_value(one: FlatParameter, *, has_range: bool) -> Json:
    if one.name == _INLINE_COUNT:
        return "allpages"
    if one.is_named(frozenset({"prefer"})):
        return "count=exact" if has_range or "count=exact" in f"{one.text} {one.schema.get('enum')}" else None
    if one.name == _ODATA_COUNT and one.is_flag:
        return True
    if "boolean" not in one.types:
        return None
    own = set(spelling.pieces(one.name))
    is_named = one.is_named(_TOTAL_FLAGS) or bool(own & _WHOLE and own & _ASKS)
    is_count = bool(own & {"count", "total", "totals"}) and one.opens(wording.ASKS_TOTAL)
    is_said = one.opens(wording.ASKS_TOTAL_OF_LIST)
    return True if (is_named and not one.is_something_else) or is_count or is_said else None
