"""The parameters that may be the position of a page, by the rules of `detect.rules`."""

from collections.abc import Sequence
from dataclasses import dataclass

from adapters.base import PaginationStyle
from adapters.pagination.detect.context import ParameterContext
from adapters.pagination.detect.parameters import FlatParameter
from adapters.pagination.detect.rules import RULES, Confidence, Rule
from adapters.pagination.vocabulary.members import words

_DESCENDING_KEYS = words("max_id")


@dataclass(frozen=True, slots=True)
class PositionCandidate:
    """A parameter that may be the position, and the rule that says so."""

    parameter: FlatParameter
    rule: Rule

    @property
    def style(self) -> PaginationStyle:
        """The pagination style of which it is the position."""
        return self.rule.style


def position_candidates(context: ParameterContext) -> list[PositionCandidate]:
    """All candidates, the preferred style first, and in the order of the document within a style.

    A cursor or a key that is required is the caller's own, since the first page has none.
    """
    found: list[PositionCandidate] = []
    for rules in RULES:
        is_addressable = rules[0].style in (PaginationStyle.OFFSET, PaginationStyle.PAGE)
        for parameter in context.parameters:
            if is_addressable or parameter.name not in context.required:
                rule = next((rule for rule in rules if rule.applies(parameter, context)), None)
                if rule is not None and rule.confidence is not Confidence.NONE:
                    found.append(PositionCandidate(parameter, rule))
    return found


def preferred(candidates: Sequence[PositionCandidate]) -> list[PositionCandidate]:
    """The sure candidates, else all, without deprecated parameters if there are others.

    Of several keys the descending one comes first, since such lists begin with the newest record.
    """
    current = [one for one in candidates if not one.parameter.is_deprecated] or list(candidates)
    chosen = [one for one in current if one.rule.confidence is Confidence.SURE] or current
    if chosen and chosen[0].style is PaginationStyle.KEYSET:
        return sorted(chosen, key=lambda one: _DESCENDING_KEYS.isdisjoint(one.parameter.spellings))
    return chosen
