"""A document of one or more files as a tree of nodes, with lazy resolution of `$ref`.

Reads no file itself: resolving a reference to a file that is not loaded raises `DocumentNotLoaded`. References outside
the document's folder or origin are broken references.
"""

import os.path
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urljoin, urlsplit
from urllib.request import url2pathname

import httpx2

from adapters.base import Json
from adapters.http.url_safety import Origin, resolve_url

_MAX_HOPS = 50
_SCHEMA_LOCAL = ("#/$defs/", "#/definitions/")
"""Prefixes of references that standalone schemas make to their own parts: resolved in the enclosing schemas too."""


class BrokenReference(Exception):
    """A reference that is unresolvable, circular or not allowed; `path` is its location."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(reason)
        self.path, self.reason = path, reason


class DocumentNotLoaded(Exception):
    """An allowed reference needs a file that has not been loaded yet."""

    def __init__(self, uri: str) -> None:
        super().__init__(uri)
        self.uri = uri


class DocumentNode(NamedTuple):
    """A value in a document and its location: the URI of the file and the JSON pointer in it."""

    value: Json
    uri: str
    pointer: str = ""

    @property
    def fields(self) -> dict[str, Json]:
        """The value if it is an object, else an empty one."""
        return self.value if isinstance(self.value, dict) else {}

    def child(self, key: str | int) -> "DocumentNode":
        """Return the member or item under `key`; its value is None if there is none."""
        if isinstance(key, str) and isinstance(self.value, dict):
            value = self.value.get(key)
        else:
            value = _member(self.value, key)
        return DocumentNode(value, self.uri, f"{self.pointer}/{_escape_token(key)}")

    def children(self) -> Iterator["DocumentNode"]:
        """Yield the items of an array."""
        if isinstance(self.value, list):
            for index, value in enumerate(self.value):
                yield DocumentNode(value, self.uri, f"{self.pointer}/{index}")

    def members(self) -> Iterator[tuple[str, "DocumentNode"]]:
        """Yield the members of an object with their names."""
        uri, pointer = self.uri, self.pointer
        for key, value in self.fields.items():
            yield key, DocumentNode(value, uri, f"{pointer}/{_escape_token(key)}")

    def with_value(self, value: Json) -> "DocumentNode":
        """Return a node of another value at the same location."""
        return DocumentNode(value, self.uri, self.pointer)


def _escape_token(key: str | int) -> str:
    """Escape a name for a JSON pointer."""
    token = str(key)
    return token.replace("~", "~0").replace("/", "~1") if "~" in token or "/" in token else token


def _split_pointer(pointer: str) -> list[str]:
    """Split a JSON pointer into names."""
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def _descend(node: DocumentNode, tokens: list[str]) -> DocumentNode:
    """Return the node at the tokens of a pointer; its value is None if there is none."""
    for token in tokens:
        node = node.child(token)
    return node


def _member(value: Json, key: str | int) -> Json:
    if isinstance(value, dict):
        return value.get(str(key))
    if isinstance(value, list) and str(key).isdecimal() and int(key) < len(value):
        return value[int(key)]
    return None


class OpenApiDocument:
    """The loaded files of one description. `uri` is that of the root file."""

    def __init__(self, uri: str, value: Json) -> None:
        self.uri = uri
        self._files: dict[str, Json] = {uri: value}
        self._unavailable: dict[str, str] = {}
        self._targets: dict[tuple[str, str], DocumentNode] = {}
        self._resolving: set[tuple[str, str]] = set()

    @property
    def root(self) -> DocumentNode:
        """The root node of the root file."""
        return DocumentNode(self._files[self.uri], self.uri)

    def at(self, *names: str) -> DocumentNode:
        """Return the node under nested names, references resolved. Raises BrokenReference or DocumentNotLoaded."""
        node = self.root
        for name in names:
            node = self.resolve(node.child(name))
        return node

    def add(self, uri: str, value: Json) -> None:
        """Add a loaded file."""
        self._files[uri] = value

    def mark_unavailable(self, uri: str, reason: str) -> None:
        """Make all references to a file broken, because it cannot be loaded."""
        self._unavailable[uri] = reason

    def display_path(self, node: DocumentNode) -> str:
        """Return the location of a node for messages: `#/paths/…`, preceded by the file unless it is the root file."""
        file = "" if node.uri == self.uri else os.path.relpath(urlsplit(node.uri).path, urlsplit(self.uri).path + "/..")
        return f"{file}#{node.pointer}"

    def resolve(self, node: DocumentNode) -> DocumentNode:
        """Follow the reference at a node to its end; a node without one is returned as it is.

        Raises BrokenReference, or DocumentNotLoaded if an allowed file is not loaded yet.
        """
        reference = node.fields.get("$ref")
        if not isinstance(reference, str):
            return node
        target = self._targets.get((node.uri, reference))
        if target is None:
            target = self._resolve_chain(node)
            if not self._depends_on_position(node, reference):
                self._targets[node.uri, reference] = target
        return target

    def _depends_on_position(self, node: DocumentNode, reference: str) -> bool:
        """Whether a reference resolves differently in another place."""
        root = DocumentNode(self._files[node.uri], node.uri)
        return reference.startswith(_SCHEMA_LOCAL) and self._find(root, _split_pointer(reference)) is None

    def _resolve_chain(self, node: DocumentNode) -> DocumentNode:
        """Follow references until a node has none."""
        current = node
        for _ in range(_MAX_HOPS):
            reference = current.fields.get("$ref")
            if not isinstance(reference, str):
                return current
            current = self._resolve_once(current, reference)
        raise BrokenReference(self.display_path(node), f"circular reference '{node.value['$ref']}'")

    def _resolve_once(self, node: DocumentNode, reference: str) -> DocumentNode:
        file, _, fragment = reference.partition("#")
        uri = self._allowed_uri(node, file) if file else node.uri
        if uri in self._unavailable:
            raise BrokenReference(self.display_path(node), self._unavailable[uri])
        if uri not in self._files:
            raise DocumentNotLoaded(uri)
        target = DocumentNode(self._files[uri], uri)
        pointer = unquote(fragment)
        if pointer and not pointer.startswith("/"):
            return self._find_anchor(node, target, pointer)
        tokens = _split_pointer(pointer)
        found = self._find(target, tokens)
        if found is None and reference.startswith(_SCHEMA_LOCAL):
            candidates = (_descend(holder, tokens) for holder in self._enclosing_nodes(node))
            found = next((part for part in candidates if part.value is not None), None)
        if found is not None:
            return found
        raise BrokenReference(self.display_path(node), f"unresolvable reference '{reference}'")

    def _find(self, node: DocumentNode, tokens: list[str]) -> DocumentNode | None:
        """Return the node at the tokens of a pointer, following references on the way; None if there is none."""
        for token in tokens:
            child = node.child(token)
            if child.value is None and isinstance(node.fields.get("$ref"), str):
                child = self._resolve_on_the_way(node).child(token)
            if child.value is None:
                return None
            node = child
        return node

    def _resolve_on_the_way(self, node: DocumentNode) -> DocumentNode:
        """Resolve a reference that lies on the path of another one. Raises BrokenReference if it is circular."""
        place = (node.uri, node.pointer)
        if place in self._resolving:
            raise BrokenReference(self.display_path(node), f"circular reference '{node.fields['$ref']}'")
        self._resolving.add(place)
        try:
            return self.resolve(node)
        finally:
            self._resolving.discard(place)

    def _enclosing_nodes(self, node: DocumentNode) -> list[DocumentNode]:
        """Return the nodes that enclose a node, innermost first."""
        around = [DocumentNode(self._files[node.uri], node.uri)]
        for token in _split_pointer(node.pointer):
            around.append(around[-1].child(token))
        return around[::-1]

    def _find_anchor(self, node: DocumentNode, target: DocumentNode, name: str) -> DocumentNode:
        schemas = target.child("components").child("schemas")
        for _, schema in schemas.members():
            if schema.fields.get("$anchor") == name:
                return schema
        raise BrokenReference(self.display_path(node), f"unknown anchor '{name}'")

    def _allowed_uri(self, node: DocumentNode, file: str) -> str:
        """Return the URI of another file; raise BrokenReference unless it is in the root's folder or of its origin."""
        uri = urljoin(node.uri, file)
        if self.uri.startswith("file:"):
            is_allowed = uri.startswith("file:") and is_inside_folder(uri, self.uri)
            scope = "in the document's folder"
        else:
            url, own = resolve_url(httpx2.URL(node.uri), file), httpx2.URL(self.uri)
            is_allowed = url is not None and Origin.of(url) == Origin.of(own)
            uri = str(url)
            scope = "of the document's origin"
        if not is_allowed:
            raise BrokenReference(self.display_path(node), f"the file '{file}' was not read: it is not {scope}")
        return uri


def file_path(uri: str) -> Path:
    """Return the path of a `file:` URI."""
    return Path(url2pathname(urlsplit(uri).path))


def is_inside_folder(uri: str, root_uri: str) -> bool:
    """Whether a file lies in the folder of the root file, symbolic links resolved."""
    if urlsplit(uri).netloc not in ("", "localhost"):
        return False
    folder = file_path(root_uri).resolve().parent
    return file_path(uri).resolve().is_relative_to(folder)
