"""Shows tools in short where the question hardly needs them: as one line with their arguments.

A tool in short can be called like any other, and its arguments are checked against its whole schema.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runax_cli.agent.loop.toolbox import schema_text
from runax_cli.agent.result.requested_call import RequestedCall
from runax_cli.executor.outcome import EnvelopeStatus
from runax_cli.guard.duplicates import data_fingerprint
from runax_cli.guard.redundant_text import as_line
from runax_cli.guard.visible_tool import SplitArguments, VisibleTool, shorten
from runax_cli.models.base import ToolSchema

_DESCRIPTION_CHARS = 120
_ANSWERED = (EnvelopeStatus.SUCCESS, EnvelopeStatus.EMPTY)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolBrevity:
    """Decides which tools of a sub-question are shown in short.

    These are the tools whose records without any filter are in a dataset already (`datasets` maps fingerprints of data
    to names), those that the plan does not name (`planned` is empty if it names none), and all once a call has
    succeeded. A tool whose latest call was invalid is shown whole, so that a model can correct the call.
    """

    tools: Mapping[str, VisibleTool]
    datasets: Mapping[str, str]
    planned: frozenset[str] = frozenset()

    def schema(self, schema: ToolSchema, calls: Sequence[RequestedCall]) -> ToolSchema:
        """The schema of a tool as the next request shows it, after `calls`."""
        tool = self.tools.get(schema.name)
        if tool is None or _was_invalid(schema.name, calls):
            return schema
        dataset = None if tool.spec.requires_fresh_input else self._dataset_of(schema.name)
        if dataset is not None:
            return _shorter(schema, f"All its records are in {dataset}.")
        if not self._is_unplanned(schema.name) and not any(call.envelope.status in _ANSWERED for call in calls):
            return schema
        return _shorter(schema, shorten(schema.description, _DESCRIPTION_CHARS))

    def _is_unplanned(self, name: str) -> bool:
        return bool(self.planned) and self.planned <= self.tools.keys() and name not in self.planned

    def _dataset_of(self, name: str) -> str | None:
        return self.datasets.get(data_fingerprint(name, SplitArguments(api={})))


def _was_invalid(name: str, calls: Sequence[RequestedCall]) -> bool:
    latest = next((call for call in reversed(calls) if call.envelope.tool == name), None)
    return latest is not None and latest.envelope.status is EnvelopeStatus.VALIDATION_ERROR


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
