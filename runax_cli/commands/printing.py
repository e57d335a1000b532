"""Prints lists and objects to standard output: as a table, one JSON object, or JSON lines."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, assert_never

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from runax_cli.commands.options import CommonOptions, Output
from runax_cli.ui.console import ColorChoice, Environment, SafeStream, one_line, strip_control
from runax_cli.ui.json_output import escape_controls, to_json

Row = Mapping[str, Any]
_GAP = 2
_MIN_LAST_COLUMN = 20
_UNLIMITED = 1_000_000


def environment_of(common: CommonOptions) -> Environment:
    """Streams and terminals of this process, with the color policy of the command line."""
    return Environment.of_process(color=ColorChoice(common.output.color or "auto"))


def _escaped(text: str) -> str:
    """The text with all non-ASCII characters as JSON escapes."""
    return "".join(char if char.isascii() else json.dumps(char)[1:-1] for char in text)


class Printer:
    """Prints to standard output in one format. If the reader closes the pipe, the rest is dropped silently."""

    def __init__(self, env: Environment, form: Output) -> None:
        self._outlet = SafeStream(env.stdout)
        self._notes = SafeStream(env.stderr)
        self._form = form
        self._width = env.columns if env.is_stdout_terminal else None

    @property
    def is_broken(self) -> bool:
        """Whether the reader closed the pipe."""
        return self._outlet.is_broken

    def rows(self, noun: str, rows: Sequence[Row], *, columns: Sequence[str]) -> None:
        """Print a list, in JSON under the key `noun`; the text format shows the given columns only."""
        match self._form:
            case "text":
                self._table(rows, columns)
            case "json":
                self.json({noun: [dict(row) for row in rows]})
            case "jsonl":
                for row in rows:
                    self.json(row)
            case _ as never:
                assert_never(never)

    def one(self, item: Row, *, text: str) -> None:
        """Print one object: its `text`, or as JSON on one line."""
        if self._form == "text":
            self.text(text)
        else:
            self.json(item)

    def json(self, value: Any) -> None:
        """Print a JSON value on one line."""
        self._outlet.line(to_json(value, is_ascii=not self._outlet.is_unicode))

    def json_line(self, line: bytes, *, before: str = "", end: str = "\n") -> None:
        """Print encoded JSON, or a part of it, without parsing it again, since there may be millions of records."""
        text = escape_controls(line.decode("utf-8", "replace"))
        if not self._outlet.is_unicode:
            # JSON is ASCII outside of strings, and inside them any character may be escaped.
            text = _escaped(text)
        self._outlet.write(before + text + end)

    def flush(self) -> None:
        """Flush what was printed in parts."""
        self._outlet.flush()

    def text(self, text: str) -> None:
        """Print lines of text without control characters."""
        self._outlet.line(strip_control(text))

    def note(self, text: str) -> None:
        """Print a line to standard error."""
        self._notes.line(one_line(text))

    def _table(self, rows: Sequence[Row], columns: Sequence[str]) -> None:
        cells = [[one_line(str(row.get(column, ""))) for column in columns] for row in rows]
        for line in table_lines([column.replace("_", " ") for column in columns], cells, width=self._width):
            self._outlet.line(line)


def table_lines(columns: Sequence[str], rows: Sequence[Sequence[str]], *, width: int | None = None) -> Iterator[str]:
    """The lines of a table with a header; without rows there are none. A `width` of None sets no limit.

    If the width is too small, the text of the last column wraps; if that is not enough, the others wrap too.
    """
    if not rows:
        return
    sizes = [max(cell_len(row[at]) for row in (columns, *rows)) + _GAP for at in range(len(columns) - 1)]
    has_room = width is None or sum(sizes) + _MIN_LAST_COLUMN <= width
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="")
    for column in columns[:-1]:
        table.add_column(column, overflow="fold", no_wrap=has_room)
    table.add_column(columns[-1], overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console(width=width or _UNLIMITED, color_system=None, legacy_windows=False)
    with console.capture() as captured:
        console.print(table)
    yield from (line.rstrip() for line in captured.get().splitlines())
