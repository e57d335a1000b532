"""The text of `--help` and `--help-all`: usage, examples, commands in groups, options.

Imports nothing heavy, since help must be fast: Typer's own formatter would import Rich.
"""

import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, TypeAlias

import typer
from typer.core import TyperCommand, TyperGroup


class CommandPanel(StrEnum):
    """The groups of commands, in the order in which help lists them."""

    ASK = "Ask"
    INSPECT = "Inspect"
    TRY = "Try"
    MANAGE = "Manage"


ALIASES = "Aliases"
"""The panel of options that are kept for compatibility and never listed."""
_OPTIONS = "Options"
_COMMANDS = "Commands"
_MAX_WIDTH = 100
_MIN_TABLE_WIDTH = 60
_MAX_TERM_WIDTH = 28
_COMPLETION = ("--install-completion", "--show-completion")

Row: TypeAlias = tuple[str, str]


class HelpCommand(TyperCommand):
    """A command with this module's help text."""

    def get_help(self, ctx: Any) -> str:
        """The text of `--help`."""
        return help_text(self, ctx)


class HelpGroup(TyperGroup):
    """A group of commands with this module's help text."""

    def get_help(self, ctx: Any) -> str:
        """The text of `--help`."""
        return help_text(self, ctx)


def print_full_help(context: typer.Context, is_requested: bool) -> None:  # noqa: FBT001  Typer passes the flag's value
    """The callback of `--help-all`."""
    if is_requested:
        typer.echo(help_text(context.command, context, is_full=True))
        raise typer.Exit


def help_text(command: Any, context: Any, *, is_full: bool = False) -> str:
    """The help of a command, no wider than the terminal; with `is_full` rarely used options included."""
    width = min(shutil.get_terminal_size().columns, _MAX_WIDTH)
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    blocks = [_wrapped(f"Usage: {usage}", width, indent="       " if width > _MIN_TABLE_WIDTH else "")]
    blocks += [_wrapped(paragraph, width) for paragraph in (command.help or "").split("\n\n") if paragraph]
    if command.epilog:
        blocks.append(["Examples:", *_indented(command.epilog.splitlines(), width)])
    for title, rows in _sections(command, context, is_full=is_full).items():
        blocks.append([f"{title}:", *_table(rows, width)])
    return "\n\n".join("\n".join(block) for block in blocks)


def _sections(command: Any, context: Any, *, is_full: bool) -> dict[str, list[Row]]:
    """The rows of every section by its title, in the order in which they are printed."""
    sections: dict[str, list[Row]] = {panel.value: [] for panel in CommandPanel}
    for name, child in getattr(command, "commands", {}).items():
        title = getattr(child, "rich_help_panel", None) or _COMMANDS
        sections.setdefault(title, []).append((name, _first_paragraph(child.help)))
    parameters = command.get_params(context)
    arguments = [_argument_row(each) for each in parameters if each.param_type_name == "argument"]
    options = [each for each in parameters if each.param_type_name == "option" and _is_listed(each, is_full=is_full)]
    if arguments:
        sections["Arguments"] = arguments
    for option in options:
        title = (option.rich_help_panel or _OPTIONS) if is_full else _OPTIONS
        sections.setdefault(title, []).append(_option_row(option))
    if _OPTIONS in sections:
        sections[_OPTIONS] = sections.pop(_OPTIONS)
    return {title: rows for title, rows in sections.items() if rows}


def _first_paragraph(text: str | None) -> str:
    return " ".join((text or "").partition("\n\n")[0].split())


def _is_listed(option: Any, *, is_full: bool) -> bool:
    if option.rich_help_panel == ALIASES:
        return False
    is_rare = option.hidden or option.opts[0] in _COMPLETION
    return is_full or not is_rare


def _argument_row(argument: Any) -> Row:
    return argument.metavar or argument.name.upper(), argument.help or ""


def _option_row(option: Any) -> Row:
    names = ", ".join(sorted(option.opts, key=len))
    default = option.default
    has_default = option.show_default and default not in (None, False, "", [], ())
    text = f"{option.help or ''} [default: {default}]" if has_default else option.help or ""
    return (names if option.is_flag else f"{names} {option.metavar or 'VALUE'}"), text


def _table(rows: Sequence[Row], width: int) -> Iterator[str]:
    """Names in a first column and texts in a second one; in a narrow terminal, each text below its name."""
    if width < _MIN_TABLE_WIDTH:
        for term, text in rows:
            yield from _indented([term], width)
            yield from _wrapped(text, width, indent="    ", first="    ")
        return
    column = min(max(len(term) for term, _ in rows), _MAX_TERM_WIDTH) + 4
    for term, text in rows:
        head = f"  {term}".ljust(column)
        first, *rest = _wrapped(text, width - column) or [""]
        if len(head) > column:
            yield head
            head = " " * column
        yield f"{head}{first}".rstrip()
        yield from (" " * column + line for line in rest)


def _indented(lines: Iterable[str], width: int) -> Iterator[str]:
    for line in lines:
        yield from _wrapped(line, width, indent="    ", first="  ")


def _wrapped(text: str, width: int, *, indent: str = "", first: str = "") -> list[str]:
    return textwrap.wrap(
        " ".join(text.split()), max(width, 10), initial_indent=first, subsequent_indent=indent, break_on_hyphens=False
    )
