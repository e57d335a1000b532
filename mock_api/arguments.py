"""Arguments of the mock API's operations, shared by HTTP handlers, OpenAPI documents and MCP tools."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
Scalar: TypeAlias = str | int | float | bool
ScalarType: TypeAlias = Literal["string", "integer", "number", "boolean"]
PYTHON_TYPES: Mapping[ScalarType, type] = {"string": str, "integer": int, "number": float, "boolean": bool}


class InvalidArgumentValues(ValueError):
    """Arguments that are not valid; the message says which and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentSpec:
    """One argument. `values` lists the allowed values of an enum."""

    name: str
    kind: ScalarType
    description: str
    default: Scalar | None = None
    minimum: int | None = None
    maximum: int | None = None
    values: tuple[str, ...] = ()

    def json_schema(self) -> JsonObject:
        """The JSON Schema of the argument."""
        rest = {"default": self.default, "minimum": self.minimum, "maximum": self.maximum}
        known = {name: value for name, value in rest.items() if value is not None}
        closed = {"enum": list(self.values)} if self.values else {}
        return {"type": self.kind, "description": self.description, **known, **closed}

    def validation_error(self, value: object) -> str | None:
        """Why a value is not valid for this argument; None if it is."""
        if not _has_type(value, self.kind):
            return f"'{self.name}' is {value!r}; it must be of type {self.kind}"
        if self.values and value not in self.values:
            return f"'{self.name}' is {value!r}; it must be one of {', '.join(self.values)}"
        if isinstance(value, int) and self.minimum is not None and value < self.minimum:
            return f"'{self.name}' is {value}; it must be at least {self.minimum}"
        if isinstance(value, int) and self.maximum is not None and value > self.maximum:
            return f"'{self.name}' is {value}; it must be at most {self.maximum}"
        return None


def _has_type(value: object, kind: ScalarType) -> bool:
    if isinstance(value, bool) or kind == "boolean":
        return isinstance(value, bool) and kind == "boolean"
    return isinstance(value, int | float if kind == "number" else PYTHON_TYPES[kind])


def with_defaults(arguments: Iterable[ArgumentSpec], given: Mapping[str, object]) -> dict[str, Scalar | None]:
    """The given arguments with defaults for missing ones. Raises InvalidArgumentValues."""
    known = {argument.name: argument for argument in arguments}
    problems = [f"unknown argument '{name}'" for name in given if name not in known]
    problems += [
        problem for name, value in given.items() if name in known and (problem := known[name].validation_error(value))
    ]
    if problems:
        raise InvalidArgumentValues("; ".join(problems))
    return {name: given.get(name, argument.default) for name, argument in known.items()}  # type: ignore[misc]  # checked
