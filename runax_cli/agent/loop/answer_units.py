"""Finds the parts of a growing answer that further text cannot change. Pure.

A unit is a paragraph; or a list or table with the heading or lead-in before it and the paragraph after it, which may
name its source.
"""

import re
from collections.abc import Iterator

from runax_cli.agent.evidence.citations import Passage, split_passages

_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+")
_FENCE = re.compile(r"^\s*(?:```|~~~)", re.MULTILINE)
_EMPHASIS = re.compile(r"[*_`\s]+$")
_CITATIONS = re.compile(r"(?:\s*[\[【][^\[\]【】]*[\]】])+[.;,\s]*$")


def finished_end(text: str, *, start: int = 0) -> int:
    """The end of the last finished unit, after the blank lines that end it; `start` if there is none.

    `start` is the end of an earlier unit.
    """
    end, unit = start, start
    for block_end, after in _blocks(text, start):
        if not _continues(text[unit:block_end]):
            end = unit = after
    return end


def _blocks(text: str, start: int) -> Iterator[tuple[int, int]]:
    """The end of each block that a blank line ends, and the position after the blank lines. Code is not split."""
    for blank in _BLANK_LINES.finditer(text, start):
        if len(_FENCE.findall(text, start, blank.start())) % 2 == 0:
            yield blank.start(), blank.end()


def _continues(unit: str) -> bool:
    """Whether the next block may belong to a unit: it ends in a list, a table, a heading or a lead-in."""
    last = _last_passage(unit)
    if last is None or last.kind != "sentence":
        return last is not None
    plain = _EMPHASIS.sub("", _CITATIONS.sub("", _EMPHASIS.sub("", last.text)))
    return plain.endswith(":")


def _last_passage(unit: str) -> Passage | None:
    last = None
    for passage in split_passages(unit):
        last = passage if passage.text else last
    return last
