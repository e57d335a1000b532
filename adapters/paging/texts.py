"""Numbers of paging that a document calls text.

Documents made from examples, or by hand, call every parameter a string. Knows names and words. Knows no value: what is
sent for such a parameter is written as its document has it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from adapters.paging import spelling, wording
from adapters.paging.answers import Answer
from adapters.paging.ends import end_beside
from adapters.paging.parameters import INTEGER, TEXT, Parameter, dated

_PLACES = spelling.OFFSETS | spelling.WEAK_OFFSETS | spelling.PAGES | spelling.WEAK_PAGES
_FORMATS = frozenset({None, "", "string", "number", "int", "int32", "int64", "integer"})


def as_numbers(known: Sequence[Parameter], answer: Answer) -> list[Parameter]:
    """The parameters, those of them made numbers that are text by their type only.

    What is said of one, or a name that means nothing else, is enough; a weaker name needs a position or a size beside
    it. Whatever the answer hands out, or is called a token, stays text.
    """
    digits = [one for one in known if _is_digits(one)]
    if not digits:
        return list(known)

    def turned(these: list[Parameter], fits: Callable[[Parameter], bool]) -> list[Parameter]:
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


def _is_paged(known: Sequence[Parameter], answer: Answer) -> bool:
    """Whether anything asks for a place in a list or leads to the next page: a size alone may be any text."""
    if answer.markers or answer.next_url is not None or answer.has_header("link"):
        return True
    places = (_PLACES, spelling.CURSORS, spelling.WEAK_CURSORS, spelling.KEYS)
    is_named = any(one.is_named(*places) or spelling.has_offset_words(one.name) for one in known)
    return is_named or any(
        spelling.has_cursor_words(one.name) or spelling.has_page_words(one.name) or one.opens(wording.SAYS_OFFSET)
        for one in known
    )


def is_text_only(one: Parameter) -> bool:
    """Whether its document calls it a string and nothing else."""
    return one.schema.get("type") == "string"


def _number(one: Parameter) -> Parameter:
    return replace(one, types=INTEGER)


def _is_digits(one: Parameter) -> bool:
    """Whether its type lets it hold digits: a text, free or with numbers to choose from."""
    is_text = bool(one.types & TEXT) and one.types <= TEXT | INTEGER and is_text_only(one)
    is_open = not one.schema.get("enum") or bool(one.choices)
    return is_text and is_open and one.schema.get("format") in _FORMATS


def _is_able(one: Parameter, answer: Answer) -> bool:
    """Whether nothing says that it is something else than a number of paging."""
    is_firm = one.is_named(spelling.SIZES_ALONE, spelling.OFFSETS, spelling.SKIPS)
    is_other = one.is_measured if is_firm else one.is_something_else
    if dated(one) or is_other or one.is_foreign:
        return False
    tokens = (wording.IS_CURSOR, wording.NAMES_CURSOR, wording.HANDED_OUT, wording.NOT_BY_HAND)
    if one.is_named(spelling.CURSORS) or any(one.says(pattern) for pattern in tokens):
        return False
    return not answer.returns(one.name) or one.opens(wording.SAYS_OFFSET)


def _is_clear(one: Parameter) -> bool:
    if one.is_named(spelling.SIZES_ALONE, spelling.OFFSETS):
        return True
    said = (wording.SAYS_SIZE, wording.SAYS_OFFSET, wording.SAYS_PAGE)
    is_spelled = one.is_named(_PLACES, spelling.SIZES) or _is_spelled(one.name)
    if one.opens(wording.SAYS_OFFSET):
        return True
    return is_spelled and (any(map(one.opens, said)) or (one.is_number and one.is_named(spelling.PAGES)))


def _is_spelled(name: str) -> bool:
    return spelling.has_size_words(name) or spelling.has_offset_words(name) or spelling.has_page_words(name)


def _is_place(one: Parameter) -> bool:
    """Whether it is a position where a size stands beside it."""
    return one.is_named(spelling.PAGES, spelling.SKIPS) and not one.says(wording.SAYS_CURSOR)


def _is_end(one: Parameter) -> bool:
    return not one.text or one.says(wording.ENDS_PAGE) or one.says(wording.SAYS_PAGED)


def _is_weak_size(one: Parameter) -> bool:
    return one.is_named(spelling.SIZES) and (not one.text or one.says(wording.ABOUT_SIZE))
