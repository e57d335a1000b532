"""Detects a reply that repeats itself, as models do that are stuck. Pure.

Only text that is repeated without a difference counts, copy after copy: rows and items that differ in one figure or one
citation are an honest list.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from runax_cli.agent.evidence.citations import Passage, split_passages
from runax_cli.core.untrusted_text import one_line

MIN_SENTENCES = 5
"""This many equal sentences in a row are a repetition."""
MIN_ROWS = 20
"""This many equal list items or table rows in a row are a repetition: a list may have equal entries."""
MIN_WORDS = 4
"""Shorter sentences, items and rows may be values that are honestly the same."""
MAX_PERIOD = 12
"""A repeated piece has at most this many sentences, items or rows."""
_MAX_CHARS = 100_000
_MAX_PASSAGE_CHARS = 20_000
_MIN_RUN_CHARS = 160
_RUN = re.compile(r"(.{2,200}?)\1{7,}", re.DOTALL)
_WORD = re.compile(r"\w+")
_SHOWN_CHARS = 80


@dataclass(frozen=True, slots=True)
class Repetition:
    """A piece of text that is repeated. `end` is the end of its first copy in the reply."""

    text: str
    end: int


def find_repetition(reply: str) -> Repetition | None:
    """The first piece that a reply repeats too often; None if there is none. Looks at the first 100,000 characters."""
    passages = [passage for passage in split_passages(reply[:_MAX_CHARS]) if passage.text]
    return _repeated_passages(passages) or _repeated_phrase(passages)


def cut_repetition(reply: str, found: Repetition) -> str:
    """The reply up to the first copy of what it repeats."""
    return f"{reply[: found.end].rstrip()} …"


def _repeated_passages(passages: Sequence[Passage]) -> Repetition | None:
    keys = [passage.text.casefold() for passage in passages]
    found = (_with_period(keys, passages, period) for period in range(1, MAX_PERIOD + 1))
    return min((one for one in found if one is not None), key=lambda one: one.end, default=None)


def _with_period(keys: Sequence[str], passages: Sequence[Passage], period: int) -> Repetition | None:
    """The first run of passages in which each equals the one `period` passages before."""
    run = 0
    for at in range(period, len(keys)):
        run = run + 1 if keys[at] == keys[at - period] else 0
        piece = passages[at - period + 1 : at + 1]
        if run and run >= period * (_copies_needed(piece) - 1) and _has_words(piece):
            first = passages[at - run - period + 1 : at - run + 1]
            return Repetition(_shown(first), first[-1].end)
    return None


def _copies_needed(piece: Sequence[Passage]) -> int:
    return MIN_SENTENCES if all(passage.kind in ("sentence", "heading") for passage in piece) else MIN_ROWS


def _has_words(piece: Sequence[Passage]) -> bool:
    return any(len(_WORD.findall(passage.text)) >= MIN_WORDS for passage in piece)


def _repeated_phrase(passages: Sequence[Passage]) -> Repetition | None:
    """A phrase that is repeated inside one passage, with at least two different letters."""
    for passage in passages:
        for run in _RUN.finditer(passage.text[:_MAX_PASSAGE_CHARS]):
            letters = {char for char in run[1].casefold() if char.isalpha()}
            if len(run[0]) >= _MIN_RUN_CHARS and len(letters) > 1:
                return Repetition(one_line(run[1], limit=_SHOWN_CHARS), passage.start + run.end(1))
    return None


def _shown(piece: Sequence[Passage]) -> str:
    return one_line(" ".join(passage.text for passage in piece), limit=_SHOWN_CHARS)
