"""Arguments of the mock API's operations: one value that documents, HTTP handlers and MCP tools are made from.

Knows types, limits and JSON Schema. Knows no resource and no transport.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
Scalar: TypeAlias = str | int | float | bool
Kind: TypeAlias = Literal["string", "integer", "number", "boolean"]
PYTHON_TYPES: Mapping[Kind, type] = {"string": str, "integer": int, "number": float, "boolean": bool}


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument. `values` are all that are allowed, where the set is closed."""

    name: str
    kind: Kind
    description: str
    default: Scalar | None = None
    minimum: int | None = None
    maximum: int | None = None
    values: tuple[str, ...] = ()

    def json_schema(self) -> JsonObject:
        """The argument as JSON Schema."""
        rest = {"default": self.default, "minimum": self.minimum, "maximum": self.maximum}
        known = {name: value for name, value in rest.items() if value is not None}
        closed = {"enum": list(self.values)} if self.values else {}
        return {"type": self.kind, "description": self.description, **known, **closed}
