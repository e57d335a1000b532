"""Numbers of pagination that a document declares as strings, as many generated documents do with every parameter."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from adapters.pagination.detect.parameters import INTEGER, TEXT, FlatParameter, first_last_pair
from adapters.pagination.detect.response_schema import ResponseSchema
from adapters.pagination.vocabulary import descriptions as phrases
from adapters.pagination.vocabulary import parameters as spelling

_POSITIONS = spelling.OFFSETS | spelling.WEAK_OFFSETS | spelling.PAGES | spelling.WEAK_PAGES
_NUMERIC_FORMATS = frozenset({None, "", "string", "number", "int", "int32", "int64", "integer"})


def numeric_strings(parameters: Sequence[FlatParameter], response: ResponseSchema) -> list[FlatParameter]:
    """The parameters, with strings that hold a position or a page size typed as numbers.

    A description or an unambiguous name is enough; another name needs a position or a size next to it. Tokens, and
    whatever the response returns, stay text.
    """
    strings = {one.name for one in parameters if _may_hold_digits(one)}
    if not strings:
        return list(parameters)

    def typed(these: list[FlatParameter], is_number: Callable[[FlatParameter], bool]) -> list[FlatParameter]:
        chosen = [one for one in these if one.name in strings and is_number(one) and not _is_no_number(one, response)]
        names = {one.name for one in chosen}
        return [replace(one, types=INTEGER) if one.name in names else one for one in these]

    given = list(parameters)
    clear = typed(given, _is_clear) if _is_paged(parameters, response) else given
    has_size = any(one.accepts_integer and one.is_named(spelling.UNAMBIGUOUS_SIZES) for one in clear)
    positioned = typed(clear, _is_position) if has_size else clear
    has_position = any(one.types and one.accepts_integer and one.is_named(_POSITIONS) for one in positioned)
    sized = typed(positioned, _is_weak_size) if has_position else positioned
    ends = [first_last_pair(one, sized) for one in sized if one.types and one.accepts_integer]
    return typed(sized, lambda one: one in ends and _is_end(one))


def is_text_only(one: FlatParameter) -> bool:
    """Whether the document declares it a string and nothing else."""
    return one.schema.get("type") == "string"


def _is_paged(parameters: Sequence[FlatParameter], response: ResponseSchema) -> bool:
    """Whether anything asks for a position or names the next page: a size alone may be any text."""
    if response.pointers or response.next_url is not None or response.has_header("link"):
        return True
    tables = (_POSITIONS, spelling.CURSORS, spelling.WEAK_CURSORS, spelling.KEYS)
    has_words = (spelling.has_offset_words, spelling.has_cursor_words, spelling.has_page_words)
    return any(
        one.is_named(*tables) or any(has(one.name) for has in has_words) or one.summary_mentions(phrases.OFFSET)
        for one in parameters
    )


def _may_hold_digits(one: FlatParameter) -> bool:
    """Whether its type lets it hold digits: free text, or text with numbers to choose from."""
    is_text = bool(one.types & TEXT) and one.types <= TEXT | INTEGER and is_text_only(one)
    is_open = not one.schema.get("enum") or bool(one.choices)
    return is_text and is_open and one.schema.get("format") in _NUMERIC_FORMATS


def _is_no_number(one: FlatParameter, response: ResponseSchema) -> bool:
    """Whether something says that it is not a number of pagination."""
    is_clear = one.is_named(spelling.UNAMBIGUOUS_SIZES, spelling.OFFSETS, spelling.SKIPS)
    is_other = one.has_unit if is_clear else one.is_about_something_else
    if one.is_date or is_other or one.is_in_other_object or one.is_named(spelling.CURSORS):
        return True
    cursors = (phrases.DEFINITE_CURSOR, phrases.CURSOR_OR_TOKEN, phrases.PREVIOUS_RESPONSE, phrases.SET_BY_SERVER)
    is_returned = response.returns(one.name) and not one.summary_mentions(phrases.OFFSET)
    return is_returned or any(map(one.mentions, cursors))


def _is_clear(one: FlatParameter) -> bool:
    if one.is_named(spelling.UNAMBIGUOUS_SIZES, spelling.OFFSETS) or one.summary_mentions(phrases.OFFSET):
        return True
    has_words = (spelling.has_size_words, spelling.has_offset_words, spelling.has_page_words)
    is_named = one.is_named(_POSITIONS, spelling.SIZES) or any(has(one.name) for has in has_words)
    is_described = any(map(one.summary_mentions, (phrases.PAGE_SIZE, phrases.PAGE_NUMBER)))
    return is_named and (is_described or (one.accepts_integer and one.is_named(spelling.PAGES)))


def _is_position(one: FlatParameter) -> bool:
    """Whether it is a position if a page size is next to it."""
    return one.is_named(spelling.PAGES, spelling.SKIPS) and not one.mentions(phrases.CURSOR)


def _is_end(one: FlatParameter) -> bool:
    return not one.description or one.mentions(phrases.LAST_ROW) or one.mentions(phrases.PAGED)


def _is_weak_size(one: FlatParameter) -> bool:
    return one.is_named(spelling.SIZES) and (not one.description or one.mentions(phrases.RETURNED_RESULTS))
