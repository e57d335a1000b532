"""The question comes from the argument, the pipe, or both."""

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
    """The reading end of a closed pipe that holds `data`."""
    reader, writer = os.pipe()
    os.write(writer, data or b"")
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as stream:
        yield stream


def read_question(argument: str | None, stdin: TextIO, *, is_terminal: bool = False) -> str:
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
def test_pipe_comes_before_the_argument(argument: str | None, piped: bytes, question: str) -> None:
    with pipe(piped) as stdin:
        assert read_question(argument, stdin) == question


@pytest.mark.parametrize("argument", [None, "", "  ", "-"])
def test_empty_question_is_a_usage_error(argument: str | None) -> None:
    with pipe(b"\n") as stdin, pytest.raises(UsageError, match="the question is missing"):
        read_question(argument, stdin)


def test_terminal_is_not_read_if_there_is_an_argument() -> None:
    with pipe(b"not to be read") as stdin:
        assert read_question("how many?", stdin, is_terminal=True) == "how many?"
        assert stdin.read() == "not to be read"


def test_null_device_is_not_read() -> None:
    with Path(os.devnull).open(encoding="utf-8") as stdin:
        assert read_question("how many?", stdin) == "how many?"


def test_redirected_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("from a file", encoding="utf-8")
    with (tmp_path / "q.txt").open(encoding="utf-8") as stdin:
        assert read_question("and?", stdin) == "from a file\n\nand?"


def test_invalid_utf8_is_a_usage_error() -> None:
    with pipe(b"\xff\xfe\x00") as stdin, pytest.raises(UsageError, match="UTF-8"):
        read_question(None, stdin)
