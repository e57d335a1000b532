"""Lists and objects on standard output: aligned columns, one JSON object, or one JSON object a line.

Knows the three forms. Knows nothing of what is listed.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from runax_cli.commands.options import CommonOptions, Output
from runax_cli.ui.console import ColorChoice, Environment, SafeStream, one_line, strip_control
from runax_cli.ui.json_output import disarmed, to_json
from runax_cli.ui.table import lines

Row = Mapping[str, Any]


def environment_of(common: CommonOptions) -> Environment:
    """The world outside, with the colours that the command line asks for."""
    return Environment.of_process(color=ColorChoice(common.output.color or "auto"))


def _escaped(text: str) -> str:
    """Every character outside of ASCII as JSON writes it by number."""
    return "".join(char if char.isascii() else json.dumps(char)[1:-1] for char in text)


class Printer:
    """Prints to standard output in one form. A reader that goes away ends the printing quietly."""

    def __init__(self, env: Environment, form: Output) -> None:
        self._outlet = SafeStream(env.stdout)
        self._notes = SafeStream(env.stderr)
        self._form = form
        self._width = env.columns if env.is_stdout_terminal else None

    @property
    def is_broken(self) -> bool:
        """Whether nobody reads any more."""
        return self._outlet.is_broken

    def rows(self, noun: str, rows: Sequence[Row], *, columns: Sequence[str]) -> None:
        """A list of things called `noun`; `columns` are those that the text form shows."""
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

    def one(self, thing: Row, *, text: str) -> None:
        """One thing: `text`, or the object on one line."""
        if self._form == "text":
            self.text(text)
        else:
            self.json(thing)

    def json(self, value: Any) -> None:
        """One JSON value on one line."""
        self._outlet.line(to_json(value, is_ascii=not self._outlet.is_unicode))

    def json_line(self, line: bytes, *, before: str = "", end: str = "\n") -> None:
        """JSON, or a piece of it, that is encoded already and not parsed again: there may be millions of records."""
        text = disarmed(line.decode("utf-8", "replace"))
        if not self._outlet.is_unicode:
            # Outside of strings JSON is ASCII, and inside every character may be written by its number.
            text = _escaped(text)
        self._outlet.write(before + text + end)

    def flush(self) -> None:
        """Hand over what was printed by pieces."""
        self._outlet.flush()

    def text(self, text: str) -> None:
        """Lines of text, disarmed."""
        self._outlet.line(strip_control(text))

    def note(self, text: str) -> None:
        """A line for the person, on standard error."""
        self._notes.line(one_line(text))

    def _table(self, rows: Sequence[Row], columns: Sequence[str]) -> None:
        cells = [[one_line(str(row.get(column, ""))) for column in columns] for row in rows]
        for line in lines([column.replace("_", " ") for column in columns], cells, width=self._width):
            self._outlet.line(line)
