"""Objects that hold a position and a size: those are about paging, whatever the object is called.

`filter` is what a list is narrowed by, and a foreign word as a rule; `filter: {skip, limit, where}` pages all the same.
Knows names and types of members that stand side by side. Knows no description.
"""

from collections.abc import Sequence
from dataclasses import replace

from adapters.paging import spelling
from adapters.paging.members import holder, leaf
from adapters.paging.parameters import INTEGER, Parameter

_PLACES = spelling.OFFSETS | spelling.PAGES | spelling.SKIPS
_SIZES = spelling.SIZES_ALONE


def known_by_company(parameters: Sequence[Parameter]) -> list[Parameter]:
    """The parameters; a position and a size in one object are known as such there.

    Of several such objects each is about a list of its own inside of the answer, and none about the answer.
    """
    numbers = [one for one in parameters if one.types and one.types <= INTEGER]
    placed = {holder(one.name) for one in numbers if leaf(one.name) in _PLACES}
    sized = {holder(one.name) for one in numbers if leaf(one.name) in _SIZES}
    holders = (placed & sized) - {""}
    if len(holders) > 1:
        return list(parameters)
    members = {one.name for one in numbers if holder(one.name) in holders and leaf(one.name) in _PLACES | _SIZES}
    return [replace(one, is_in_company=True) if one.name in members else one for one in parameters]
