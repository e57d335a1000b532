"""Markdown as it streams: finished blocks, one after the other.

Knows where a block ends and how one is rendered. A block that is printed is never touched again, so that the
scrollback stays as it is.
"""

import io
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from rich.markdown import Markdown

# Raw HTML is off: Rich drops what it takes for a tag, and an answer may speak of `<anything>`.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")


@dataclass(frozen=True, slots=True)
class Split:
    """The blocks that are finished, and the rest that may still grow."""

    finished: tuple[str, ...]
    rest: str


def split_blocks(text: str) -> Split:
    """Cut `text` at its top-level blocks. The last one is never finished: what follows may belong to it."""
    starts = _block_starts(text)
    if len(starts) < 2:
        return Split((), text)
    # The parser counts "\n" only, `str.splitlines` knows ten more line ends.
    lines = list(io.StringIO(text, newline="\n"))
    borders = [0, *starts[1:]]
    blocks = ("".join(lines[first:after]) for first, after in itertools.pairwise(borders))
    return Split(tuple(blocks), "".join(lines[borders[-1] :]))


def _block_starts(text: str) -> Sequence[int]:
    tokens = _PARSER.parse(text)
    return sorted({token.map[0] for token in tokens if token.level == 0 and token.map is not None})


class BlockStream:
    """Collects a stream of text and hands out every block once, when it is finished."""

    def __init__(self) -> None:
        self._rest = ""

    def feed(self, piece: str) -> tuple[str, ...]:
        """Add a piece; the blocks that are finished by it."""
        # A block ends where a line begins: parsing at every piece would be quadratic in a long one.
        is_new_line = "\n" in piece or self._rest.endswith("\n")
        self._rest += piece
        if not is_new_line:
            return ()
        split = split_blocks(self._rest)
        self._rest = split.rest
        return split.finished

    def end(self) -> tuple[str, ...]:
        """What is left: nothing may follow, so every block is finished."""
        split, self._rest = split_blocks(self._rest), ""
        return (*split.finished, split.rest) if split.rest.strip() else split.finished


def rendered(text: str) -> Markdown:
    """`text` for a terminal. A link shows its address: what it says and where it leads may differ."""
    markdown = Markdown(text, hyperlinks=False)
    markdown.parsed = _PARSER.parse(text)
    return markdown
