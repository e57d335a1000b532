"""Builds the tools of one document, operation by operation. An invalid operation is skipped.

Reads no file: if one is needed, `DocumentNotLoaded` is raised, and the caller repeats the step once it is loaded.
"""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import replace

from adapters.base import Effect, SkippedTool, ToolSpec
from adapters.openapi.auth.schemes import Security, read_security
from adapters.openapi.document.document import BrokenReference, DocumentNode, DocumentNotLoaded, OpenApiDocument
from adapters.openapi.document.servers import BaseUrl, Servers
from adapters.openapi.gc_tuning import relaxed_gc
from adapters.openapi.operation.model import Operation, OperationEntry, find_operations
from adapters.openapi.operation.reader import OperationReader, UnusableOperation
from adapters.openapi.schema.inline import Inliner
from adapters.openapi.schema.normalize import Direction
from adapters.openapi.settings import OpenApiSettings, ToolOverride
from adapters.openapi.tools.arguments import ArgumentReader, tool_names
from adapters.openapi.tools.response_shape import ResponseReader, read_record_shape
from adapters.openapi.tools.tool import OpenApiTool, ToolContext, build_tool
from adapters.pagination import continuation_operations, count_operations

_READ_METHODS = frozenset({"GET", "HEAD"})
_NO_OVERRIDE = ToolOverride()


class OpenApiToolBuilder:
    """Builds the tools of one document; skipped parts are added to `skipped`."""

    def __init__(self, document: OpenApiDocument, settings: OpenApiSettings) -> None:
        self.skipped: list[SkippedTool] = []
        self._document, self._settings = document, settings
        self.servers = Servers(document, settings.base_url, self.skipped)
        self.security: Security = read_security(document, settings, self.skipped)
        self.reader = OperationReader(document, self.skipped)
        inliner = Inliner(document, Direction.REQUEST)
        self._context = ToolContext(
            source=settings.name,
            document=document,
            arguments=ArgumentReader(inliner, self.skipped, self.security.credential_parameters),
            skipped=self.skipped,
        )
        self._responses = ResponseReader(document, self.reader)
        self.tools: dict[str, OpenApiTool] = {}
        self._entries: dict[str, OperationEntry] = {}
        self._names: dict[str, str] = {}
        self._restored: dict[str, ToolSpec] = {}
        self._pending: list[tuple[str, DocumentNode]] = [
            (path, item) for path, item in self._paths().members() if not path.startswith("x-")
        ]

    def _paths(self) -> DocumentNode:
        try:
            return self._document.at("paths")
        except BrokenReference as error:
            self.skipped.append(SkippedTool(error.path, error.reason))
            return self._document.root.with_value(None)

    @relaxed_gc()
    def build(self) -> None:
        """Build all tools. Raises DocumentNotLoaded; call again to continue once that file is loaded."""
        while self._pending:
            self._find_operations(*self._pending[-1])
            self._pending.pop()
        if not self._names:
            if not self._entries and not any(one.path.startswith("#/paths") for one in self.skipped):
                reason = "the document has no operations"
                self.skipped.append(SkippedTool("#/paths", reason))
            ordered = sorted(self._entries.values(), key=lambda entry: entry.locator)
            self._names = tool_names(ordered)
            self._entries = {self._names[entry.locator]: entry for entry in ordered}
        for name in list(self._entries):
            self._add_tool(name, self._entries[name])
            del self._entries[name]
        self._link_related()

    def restore(self, specs: Iterable[ToolSpec]) -> None:
        """Use cached tools of the same document; `tool` builds their operations when they are needed."""
        self._restored = {spec.name: spec for spec in specs}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all tools, built or restored."""
        return tuple(self._restored or self.tools)

    def tool(self, name: str) -> OpenApiTool | None:
        """Return a tool by name. Raises DocumentNotLoaded; call again once that file is loaded."""
        spec = self._restored.get(name)
        if spec is not None and name not in self.tools:
            path = spec.locator.partition(" ")[2]
            for entry in find_operations(self._document, self._paths().child(path), path, self.skipped):
                if entry.locator == spec.locator:
                    self._add_tool(name, entry)
            if name in self.tools:
                self.tools[name] = replace(self.tools[name], spec=spec)
        return self.tools.get(name)

    def _link_related(self) -> None:
        """Link tools that count the records of others or return their further pages; settings take precedence."""
        specs = [tool.spec for tool in self.tools.values()]
        counts, continued = count_operations(specs), continuation_operations(specs)
        keys = {key: name for name, tool in self.tools.items() for key in _settings_keys(name, tool.operation.entry)}
        self._report_unknown_operations(keys)
        for name, tool in self.tools.items():
            paging = continued.get(name, tool.spec.pagination)
            related = replace(
                paging,
                count_operation=self._tool_name_of(paging.count_operation, keys, tool) or counts.get(name),
                next_operation=self._tool_name_of(paging.next_operation, keys, tool),
            )
            if related != tool.spec.pagination:
                self.tools[name] = replace(tool, spec=replace(tool.spec, pagination=related))

    def _report_unknown_operations(self, keys: Mapping[str, str]) -> None:
        """Report settings for operations that do not exist."""
        for key in sorted(self._settings.read_operations.union(self._settings.overrides) - keys.keys()):
            near = difflib.get_close_matches(key, keys, n=1)
            reason = f"the settings name the unknown operation '{key}'"
            hint = f"; did you mean '{near[0]}'?" if near else ""
            self.skipped.append(
                SkippedTool(self._document.display_path(self._document.root.child("paths")), reason + hint)
            )

    def _tool_name_of(self, wanted: str | None, keys: Mapping[str, str], tool: OpenApiTool) -> str | None:
        """Return the tool for a key of the settings; an unknown one is reported."""
        if wanted is not None and wanted not in keys:
            reason = f"the pagination settings of '{tool.spec.name}' name the unknown operation '{wanted}'"
            self.skipped.append(SkippedTool(self._document.display_path(tool.operation.entry.operation), reason))
        return keys.get(wanted or "")

    def _find_operations(self, path: str, item: DocumentNode) -> None:
        try:
            found = list(find_operations(self._document, item, path, self.skipped))
        except BrokenReference as error:
            self.skipped.append(SkippedTool(error.path, error.reason))
            return
        for entry in found:
            self._entries[entry.locator] = entry

    def _add_tool(self, name: str, entry: OperationEntry) -> None:
        """Build the tool of one operation, or record why it is skipped. Unexpected errors skip it as well."""
        mark = len(self.skipped)
        try:
            self.tools[name] = self._tool(name, entry)
        except DocumentNotLoaded:
            del self.skipped[mark:]
            raise
        except (UnusableOperation, BrokenReference) as error:
            self.skipped.append(SkippedTool(error.path, error.reason))
        except (TypeError, ValueError, KeyError, IndexError, AttributeError, RecursionError) as error:
            reason = f"the operation cannot be read: {type(error).__name__}: {error}"
            self.skipped.append(SkippedTool(self._document.display_path(entry.operation), reason[:300]))

    def _tool(self, name: str, entry: OperationEntry) -> OpenApiTool:
        operation = self.reader.read(entry)
        base = self.base_of(operation)
        overrides, keys = self._settings.overrides, _settings_keys(name, entry)
        if base.url is None and self.servers.root.url is not None:
            raise UnusableOperation(self._document.display_path(entry.operation), base.reason)
        return build_tool(
            name,
            operation,
            self._context,
            shape=read_record_shape(self._document, self.reader, entry, responses=self._responses),
            effect=self._effect(name, entry),
            override=next((overrides[key] for key in keys if key in overrides), _NO_OVERRIDE),
        )

    def base_of(self, operation: Operation) -> BaseUrl:
        """Return the base URL of an operation."""
        return self.servers.base_of(operation.servers)

    def _effect(self, name: str, entry: OperationEntry) -> Effect:
        if entry.method in _READ_METHODS or self._settings.read_operations & _settings_keys(name, entry):
            return Effect.READ
        return Effect.DESTRUCTIVE if entry.method == "DELETE" else Effect.WRITE


def _settings_keys(name: str, entry: OperationEntry) -> frozenset[str]:
    """Return the names by which settings may refer to an operation."""
    stated = entry.operation.fields.get("operationId")
    return frozenset({name, entry.locator, *([stated] if isinstance(stated, str) else [])})
