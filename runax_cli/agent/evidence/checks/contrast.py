"""Whether a text denies a value that it mentions, or only compares with it."""

import re

from runax_cli.agent.evidence.values import Mention
from runax_cli.agent.locales import any_of

_CONTRAST = re.compile(
    rf"\b{any_of(lambda locale: locale.claim.contrast)}\b|\b{any_of(lambda locale: locale.statement.negation)}\b",
    re.IGNORECASE,
)
_NEGATION = re.compile(rf"\b{any_of(lambda locale: locale.statement.negation)}\b", re.IGNORECASE)
_CONTRAST_CHARS = 30
_NEAR_CHARS = 12


def is_contrasted(mention: Mention, text: str) -> bool:
    """Whether the words before deny the value or compare with it: "not delivered", "rather than delivered"."""
    before = text[max(0, mention.start - _CONTRAST_CHARS) : mention.start]
    return any(match.end() >= len(before) - _NEAR_CHARS for match in _CONTRAST.finditer(before))


def is_denied(mention: Mention, text: str) -> bool:
    """Whether the words right before a value deny it: "not delivered"."""
    before = text[max(0, mention.start - _CONTRAST_CHARS) : mention.start]
    return any(match.end() >= len(before) - _NEAR_CHARS for match in _NEGATION.finditer(before))
