"""Parameters that make a server tell a total: in place of records, or beside them.

Knows flags and their values. Knows no position and no size.
"""

from collections.abc import Iterable

from adapters.base import Json
from adapters.paging import names, spelling, wording
from adapters.paging.parameters import Parameter

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


def metadata_flag(known: Iterable[Parameter]) -> tuple[str, Json] | None:
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


def total_flags(known: Iterable[Parameter], *, has_range: bool = False) -> tuple[tuple[str, Json], ...]:
    """Arguments that make a page tell the total as well."""
    pairs = ((one.name, _total_value(one, has_range=has_range)) for one in known if not spelling.parent(one.name))
    return tuple((name, value) for name, value in pairs if value is not None)


def _result_type(one: Parameter) -> str | None:
    """`resulttype=hits` (OGC): a choice one of whose values is the count."""
    listed = one.schema.get("enum")
    if not one.is_named(names.words("resulttype result_type")) or not isinstance(listed, list):
        return None
    return next((value for value in listed if isinstance(value, str) and value.lower() in _COUNT_ONLY), None)


def _total_value(one: Parameter, *, has_range: bool) -> Json:
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
