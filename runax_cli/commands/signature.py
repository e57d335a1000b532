"""Option groups as parameters: a function that takes a dataclass of options gets a flat signature for Typer.

Knows signatures. Knows no single option.
"""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from typing import Any, TypeAlias

import typer

from runax_cli.commands.options import (
    AnswerOptions,
    CallOptions,
    Common,
    LimitOptions,
    Options,
    OutputOptions,
    SourceOptions,
)
from runax_cli.exits import ExitCode

GROUPS: dict[str, type[Options]] = {
    "source": SourceOptions,
    "answer": AnswerOptions,
    "limits": LimitOptions,
    "call": CallOptions,
    "output": OutputOptions,
}
_CONTEXT = "context"
Command: TypeAlias = Callable[..., ExitCode]


def with_options(*groups: str) -> Callable[[Command], Command]:
    """Give a command the options of `groups` besides its own, and hand them over as its argument `common`.

    Options that stand before the command's name (on the root) hold too; those after it win. A parameter of the
    command that is a group itself is made flat in the same way.
    """
    chosen = {name: GROUPS[name] for name in groups}

    def decorate(function: Command) -> Command:
        parameters_of = inspect.signature(function).parameters
        own = [p for p in parameters_of.values() if p.name not in ("common", _CONTEXT) and not _is_group(p)]
        own_groups = {p.name: p.annotation for p in parameters_of.values() if _is_group(p)}
        shared = [_parameter(item) for group in (*own_groups.values(), *chosen.values()) for item in fields(group)]

        def command(**values: Any) -> ExitCode:
            context = values[_CONTEXT] if _CONTEXT in parameters_of else values.pop(_CONTEXT)
            given = {name: group(**_taken(values, group)) for name, group in chosen.items()}
            mine = {name: group(**_taken(values, group)) for name, group in own_groups.items()}
            return function(**values, **mine, common=_completed(given, context))

        context = inspect.Parameter(_CONTEXT, inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
        parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (context, *own, *shared)]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        return command

    return decorate


def _is_group(parameter: inspect.Parameter) -> bool:
    return inspect.isclass(parameter.annotation) and issubclass(parameter.annotation, Options)


def _parameter(item: "Field[Any]") -> inspect.Parameter:
    default = item.default if item.default is not MISSING else []
    return inspect.Parameter(item.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=item.type)


def _taken(values: dict[str, Any], group: type[Any]) -> dict[str, Any]:
    return {item.name: values.pop(item.name) for item in fields(group)}


def _completed(given: dict[str, Any], context: typer.Context) -> Common:
    root = context.find_root().obj
    if not isinstance(root, Common):
        return Common(**given)
    return Common(
        **{name: given[name].over(getattr(root, name)) if name in given else getattr(root, name) for name in GROUPS}
    )
