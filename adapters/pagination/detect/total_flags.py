"""Parameters that ask for the total: flags next to a page, and flags for figures instead of records."""

from collections.abc import Iterable

from adapters.base import Json
from adapters.pagination.detect.parameters import FlatParameter
from adapters.pagination.vocabulary import descriptions as phrases
from adapters.pagination.vocabulary import parameters as spelling
from adapters.pagination.vocabulary.members import words

_ODATA_COUNT = "$count"
_INLINE_COUNT = "$inlinecount"
_RESULT_TYPES = words("resulttype result_type")
_METADATA_FLAGS = words(
    "meta_only metadata_only only_meta only_metadata count_only only_count total_only only_total return_count_only"
)
_TOTAL_FLAGS = words(
    "total_required include_totals include_total with_count with_total with_totals return_total return_totals "
    "show_total show_totals total_count_required include_total_count include_count get_total get_total_count "
    "calculate_total compute_total need_total need_count with_total_count return_total_count return_count "
    "total_results track_total_hits exact_count require_total_count want_total fetch_total count_total "
    "include_total_results include_record_count total_records_required request_total include_all_count"
)
_VERBS = frozenset(
    "with include including includes return required require show get calculate compute need want fetch request track "
    "exact add report enable".split()
)
_TOTALS = frozenset("total totals totalcount".split())
_COUNTS = frozenset("count total totals".split())
_METADATA_WORDS = frozenset("count total metadata meta".split())
_COUNT_VALUES = frozenset("hits count total metadata meta".split())


def metadata_flag(parameters: Iterable[FlatParameter]) -> tuple[str, Json] | None:
    """The flag that asks for figures instead of records, and its value."""
    for one in parameters:
        if spelling.parent(one.name):
            continue
        if one.is_named(_METADATA_FLAGS) and one.accepts_boolean:
            return one.name, True
        if (value := _result_type(one)) is not None:
            return one.name, value
        has_words = bool(_METADATA_WORDS & set(spelling.pieces(one.name)))
        if "boolean" in one.types and has_words and one.mentions(phrases.COUNT_ONLY):
            return one.name, True
    return None


def total_flags(parameters: Iterable[FlatParameter], *, has_range: bool = False) -> tuple[tuple[str, Json], ...]:
    """The arguments, with their values, that make a page include the total."""
    own = (one for one in parameters if not spelling.parent(one.name))
    pairs = ((one.name, _total_value(one, has_range=has_range)) for one in own)
    return tuple((name, value) for name, value in pairs if value is not None)


def _result_type(one: FlatParameter) -> str | None:
    """`resulttype=hits` (OGC): a choice one of whose values is the count."""
    listed = one.schema.get("enum")
    if not one.is_named(_RESULT_TYPES) or not isinstance(listed, list):
        return None
    return next((value for value in listed if isinstance(value, str) and value.lower() in _COUNT_VALUES), None)


def _total_value(one: FlatParameter, *, has_range: bool) -> Json:
    if one.name == _INLINE_COUNT:
        return "allpages"
    if one.is_named(frozenset({"prefer"})):
        is_known = has_range or "count=exact" in f"{one.description} {one.schema.get('enum')}"
        return "count=exact" if is_known else None
    if one.name == _ODATA_COUNT and one.accepts_boolean:
        return True
    if "boolean" not in one.types:
        return None
    own = set(spelling.pieces(one.name))
    is_named = one.is_named(_TOTAL_FLAGS) or bool(own & _TOTALS and own & _VERBS)
    is_count = bool(own & _COUNTS) and one.summary_mentions(phrases.INCLUDES_TOTAL)
    is_described = one.summary_mentions(phrases.LIST_TOTAL)
    return True if (is_named and not one.is_about_something_else) or is_count or is_described else None
