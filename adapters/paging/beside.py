"""Which members of an object speak of the list beside them: a total, a number of pages, a flag, the next page.

Knows the tables of names and the words inside names, each with the kind of value that it needs. Knows no response as a
whole. A name in no table counts by its words only where the value is of the kind: `gesamt` is a total as a number, and
a text of that name is a fact.
"""

from adapters.base import Json
from adapters.paging import names, vocabulary
from adapters.paging.names import plain

ENVELOPE = (
    names.CONTAINERS
    | names.SIDE_VALUES
    | names.NEVER_RECORD_LISTS
    | names.RARELY_RECORD_LISTS
    | names.TOTALS
    | names.WEAK_TOTALS
    | names.TOTAL_PAGES
    | names.PAGE_POSITIONS
    | names.OFFSET_POSITIONS
    | names.SIZES
    | names.NEXT_URLS
    | names.NEXT_CURSORS
    | names.NEXT_ANY
    | names.WEAK_CURSORS
    | names.MORE_FLAGS
    | names.LAST_FLAGS
    | names.FIRST_FLAGS
    | names.PREVIOUS_FLAGS
    | names.PREVIOUS_MARKS
    | names.TOKENS
    | names.DATA_PATHS
)


def speaks_of_list(name: str, value: Json) -> bool:
    """Whether a member is about the list and its pages, and no fact of a record."""
    bare = without_prefix(name)
    if plain(name) in ENVELOPE or plain(bare) in ENVELOPE:
        return True
    if isinstance(value, bool):
        return vocabulary.says_more(bare) or vocabulary.says_last(bare)
    if isinstance(value, int):
        return vocabulary.says_total(bare) or vocabulary.says_count(bare) or vocabulary.says_pages(bare)
    if value is None or isinstance(value, str):
        return vocabulary.says_next(bare) or vocabulary.says_cursor(bare)
    return False


def says_none(name: str, value: Json) -> bool:
    """Whether a member says that there are no records at all."""
    if isinstance(value, bool) or value not in (0, "0"):
        return False
    bare = without_prefix(name)
    return plain(bare) in names.TOTALS or vocabulary.says_total(bare)


def without_prefix(name: str) -> str:
    """A name without the namespace before it: `hydra:member` is `member`."""
    return name.rpartition(":")[2] or name
