"""A list in aligned columns, or where a terminal is too narrow for them, one thing after the other.

Pure; knows cells of text and widths. What does not fit beside the other columns is cut in the last one alone, as long
as that keeps something worth reading; otherwise each thing has its values on lines of their own, whole.
"""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len, set_cell_size

_GAP = "  "
_LEAST_LAST = 20


def lines(columns: Sequence[str], rows: Sequence[Sequence[str]], *, width: int | None = None) -> Iterator[str]:
    """The lines of a list; `width` None is as wide as it gets. An empty list has none, not even a heading."""
    if not rows:
        return
    widths = [max(cell_len(row[at]) for row in (columns, *rows)) for at in range(len(columns))]
    if width is None or _total(widths) <= width:
        yield from _aligned([columns, *rows], widths)
    elif (last := width - _total(widths[:-1]) - len(_GAP)) >= _LEAST_LAST:
        yield from _aligned([[*row[:-1], _cut(row[-1], last)] for row in (columns, *rows)], [*widths[:-1], last])
    else:
        yield from _one_after_the_other(columns, rows, width=width)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _aligned(rows: Sequence[Sequence[str]], widths: Sequence[int]) -> Iterator[str]:
    for row in rows:
        padded = [cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
        yield _GAP.join(padded).rstrip()


def _cut(text: str, width: int) -> str:
    """The text, or as many of its words as fit; of a single long word what fits."""
    if cell_len(text) <= width:
        return text
    head = set_cell_size(text, width - 1).rstrip()
    is_inside_a_word = not text[len(head) :].startswith(" ")
    return (head.rpartition(" ")[0] or head if is_inside_a_word else head) + "…"


def _one_after_the_other(columns: Sequence[str], rows: Sequence[Sequence[str]], *, width: int) -> Iterator[str]:
    indent = min(max(map(cell_len, columns[1:]), default=0) + 2 * len(_GAP), width // 2)
    for row in rows:
        yield from _wrapped(row[0], width)
        for column, cell in zip(columns[1:], row[1:], strict=True):
            if cell:
                label = set_cell_size(f"{_GAP}{column}", indent - 1).rstrip()
                first, *more = _wrapped(cell, max(1, width - indent))
                yield label + " " * max(1, indent - cell_len(label)) + first
                yield from (" " * indent + line for line in more)


def _wrapped(text: str, width: int) -> Iterator[str]:
    """The text in lines of at most so many cells; a word that is longer goes on in the next line."""
    line = ""
    for word in text.split(" "):
        candidate = f"{line} {word}" if line else word
        if cell_len(candidate) <= width:
            line = candidate
            continue
        if line:
            yield line
        line = word
        while cell_len(line) > width:
            head = set_cell_size(line, width).rstrip() or line[0]
            yield head
            line = line[len(head) :]
    yield line
