"""Shows tools in short where the question hardly needs them: as one line with their arguments.

A tool in short can be called like any other, and its arguments are checked against its whole schema.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from runax_cli.agent.loop.toolbox import schema_text
from runax_cli.guard.duplicates import data_fingerprint
from runax_cli.guard.redundant_text import as_line
from runax_cli.guard.visible_tool import SplitArguments, VisibleTool, shorten
from runax_cli.models.base import ToolSchema

_DESCRIPTION_CHARS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolBrevity:
    """Decides which tools of a sub-question are shown in short.

    These are the tools whose records without any filter are in a dataset already (`datasets` maps fingerprints of data
    to names), and those that the plan does not name: `planned` are the ones it does, empty if it names none. A tool
    that is requested is shown whole again, so that a model can correct a call.
    """

    tools: Mapping[str, VisibleTool]
    datasets: Mapping[str, str]
    planned: frozenset[str] = frozenset()
    requested: set[str] = field(default_factory=set)

    def schema(self, schema: ToolSchema) -> ToolSchema:
        """The schema of a tool as the next request shows it."""
        tool = self.tools.get(schema.name)
        if tool is None:
            return schema
        dataset = None if tool.spec.requires_fresh_input else self._dataset_of(schema.name)
        if dataset is not None:
            return _shorter(schema, f"All its records are in {dataset}.")
        is_needed = schema.name in self.planned or schema.name in self.requested
        if is_needed or not self.planned or not self.planned <= self.tools.keys():
            return schema
        return _shorter(schema, shorten(schema.description, _DESCRIPTION_CHARS))

    def _dataset_of(self, name: str) -> str | None:
        return self.datasets.get(data_fingerprint(name, SplitArguments(api={})))


def _shorter(schema: ToolSchema, description: str) -> ToolSchema:
    """A tool as one line; required arguments keep their schemas. Unchanged if that saves nothing."""
    parameters = schema.parameters
    required = parameters.get("required") or []
    properties: Mapping[str, Any] = parameters.get("properties") or {}
    optional = {name: inner for name, inner in properties.items() if name not in required}
    if not optional:
        return schema
    line = f"{description} Arguments: {as_line({'properties': optional})}".strip()
    kept = {key: value for key, value in parameters.items() if key in ("$defs", "definitions", "required")}
    # Servers that constrain replies to the schema allow other arguments only if it says so.
    brief = {
        "type": "object",
        "properties": {name: properties[name] for name in required if name in properties},
        "additionalProperties": True,
    }
    short = replace(schema, description=line, parameters=brief | kept)
    return short if len(schema_text(short)) < len(schema_text(schema)) else schema
