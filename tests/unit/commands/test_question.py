"""Where the question comes from: argument, pipe, or both."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import pytest

from runax_cli.commands.ask import question_of
from runax_cli.core.errors import UsageError


@contextmanager
def pipe(data: bytes | None) -> Iterator[TextIO]:
    """A pipe that holds `data` and is closed at the other end; None leaves it open for a moment longer."""
    reader, writer = os.pipe()
    os.write(writer, data or b"")
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as stream:
        yield stream


def asked(argument: str | None, stdin: TextIO, *, is_terminal: bool = False) -> str:
    return question_of(argument, stdin, is_terminal=is_terminal, note=lambda _: None)


@pytest.mark.parametrize(
    ("argument", "piped", "question"),
    [
        ("how many?", b"", "how many?"),
        ("how many?", b"a,b\n1,2\n", "a,b\n1,2\n\nhow many?"),
        (None, b"how many?\n", "how many?"),
        ("-", b"how many?\n", "how many?"),
        ("  how many?  ", b"  \n", "how many?"),
        ("jak?", "Baláž\n".encode(), "Baláž\n\njak?"),
    ],
)
def test_the_pipe_comes_first_then_the_argument(argument: str | None, piped: bytes, question: str) -> None:
    with pipe(piped) as stdin:
        assert asked(argument, stdin) == question


@pytest.mark.parametrize("argument", [None, "", "  ", "-"])
def test_without_any_text_there_is_no_question(argument: str | None) -> None:
    with pipe(b"\n") as stdin, pytest.raises(UsageError, match="there is no question"):
        asked(argument, stdin)


def test_a_terminal_is_not_read_where_an_argument_is_given() -> None:
    with pipe(b"not to be read") as stdin:
        assert asked("how many?", stdin, is_terminal=True) == "how many?"
        assert stdin.read() == "not to be read"


def test_the_null_device_is_no_pipe() -> None:
    with Path(os.devnull).open(encoding="utf-8") as stdin:
        assert asked("how many?", stdin) == "how many?"


def test_a_redirected_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("from a file", encoding="utf-8")
    with (tmp_path / "q.txt").open(encoding="utf-8") as stdin:
        assert asked("and?", stdin) == "from a file\n\nand?"


def test_bytes_that_are_no_text_are_a_usage_error() -> None:
    with pipe(b"\xff\xfe\x00") as stdin, pytest.raises(UsageError, match="UTF-8"):
        asked(None, stdin)
