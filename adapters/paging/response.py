"""What a document says about a tool's answers, before there is one.

Knows names, types and places of members. Knows no schema language: whoever reads the document flattens it.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ResponseShape:
    """The described answer.

    `members` maps dotted paths (`meta.next_cursor`, at most three levels, never inside a list) to JSON types, "" where
    the document names none. `headers` are names in lower case. `is_list` says that the payload itself is a list.
    `item_members` are names of the members of a record, where the document tells.
    """

    members: Mapping[str, str]
    headers: frozenset[str] = frozenset()
    is_list: bool = False
    item_members: frozenset[str] = frozenset()
