"""A document of one or more files as a tree of nodes, whose references are followed when somebody looks.

Knows JSON pointers, references and which files may be read. Reads no file itself: one that is not loaded yet is
asked for by `DocumentNotLoaded`. Knows nothing of operations and schemas.
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
"""Where a schema that was written by itself keeps its parts; a reference to them means those of the schema around."""


class BrokenReference(Exception):
    """A reference that leads nowhere, in a circle, or where it must not; `path` is where it stands."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(why)
        self.path, self.why = path, why


class DocumentNotLoaded(Exception):
    """A file that a reference needs, and may read, has not been loaded yet."""

    def __init__(self, uri: str) -> None:
        super().__init__(uri)
        self.uri = uri


class DocumentNode(NamedTuple):
    """A value in a document, and where it stands: the file's URI and the JSON pointer inside it."""

    value: Json
    uri: str
    pointer: str = ""

    @property
    def fields(self) -> dict[str, Json]:
        """The value where it is an object, else nothing."""
        return self.value if isinstance(self.value, dict) else {}

    def child(self, key: str | int) -> "DocumentNode":
        """The member or item under `key`; its value is None where there is none."""
        if isinstance(key, str) and isinstance(self.value, dict):
            value = self.value.get(key)
        else:
            value = _member(self.value, key)
        return DocumentNode(value, self.uri, f"{self.pointer}/{_escape_token(key)}")

    def children(self) -> Iterator["DocumentNode"]:
        """The items of an array, in order."""
        if isinstance(self.value, list):
            for index, value in enumerate(self.value):
                yield DocumentNode(value, self.uri, f"{self.pointer}/{index}")

    def members(self) -> Iterator[tuple[str, "DocumentNode"]]:
        """The members of an object, by name."""
        uri, pointer = self.uri, self.pointer
        for key, value in self.fields.items():
            yield key, DocumentNode(value, uri, f"{pointer}/{_escape_token(key)}")

    def with_value(self, value: Json) -> "DocumentNode":
        """Another value in the same place."""
        return DocumentNode(value, self.uri, self.pointer)


def _escape_token(key: str | int) -> str:
    """A name as a part of a JSON pointer."""
    token = str(key)
    return token.replace("~", "~0").replace("/", "~1") if "~" in token or "/" in token else token


def _split_pointer(pointer: str) -> list[str]:
    """The names in a JSON pointer."""
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def _descend(node: DocumentNode, tokens: list[str]) -> DocumentNode:
    """What the tokens of a pointer lead to, its value None where that is nothing."""
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
    """The files of one description, by URI. `uri` is that of the first."""

    def __init__(self, uri: str, value: Json) -> None:
        self.uri = uri
        self._files: dict[str, Json] = {uri: value}
        self._unavailable: dict[str, str] = {}
        self._targets: dict[tuple[str, str], DocumentNode] = {}
        self._resolving: set[tuple[str, str]] = set()

    @property
    def root(self) -> DocumentNode:
        """The whole of the first file."""
        return DocumentNode(self._files[self.uri], self.uri)

    def at(self, *names: str) -> DocumentNode:
        """The value under nested names, references resolved. Raises BrokenReference or DocumentNotLoaded."""
        node = self.root
        for name in names:
            node = self.resolve(node.child(name))
        return node

    def add(self, uri: str, value: Json) -> None:
        """Take in a file that was asked for."""
        self._files[uri] = value

    def mark_unavailable(self, uri: str, why: str) -> None:
        """Take note that a file cannot be had: references to it are broken."""
        self._unavailable[uri] = why

    def display_path(self, node: DocumentNode) -> str:
        """How a person is told where a node stands: `#/paths/…`, with the file's name where it is another one."""
        file = "" if node.uri == self.uri else os.path.relpath(urlsplit(node.uri).path, urlsplit(self.uri).path + "/..")
        return f"{file}#{node.pointer}"

    def resolve(self, node: DocumentNode) -> DocumentNode:
        """The node that a chain of references ends at; the node itself where it is none.

        Raises BrokenReference, or DocumentNotLoaded where a file is missing that may be read.
        """
        reference = node.fields.get("$ref")
        if not isinstance(reference, str):
            return node
        known = self._targets.get((node.uri, reference))
        if known is None:
            known = self._resolve_chain(node)
            if not self._depends_on_position(node, reference):
                self._targets[node.uri, reference] = known
        return known

    def _depends_on_position(self, node: DocumentNode, reference: str) -> bool:
        """Whether a reference means something else in another place."""
        root = DocumentNode(self._files[node.uri], node.uri)
        return reference.startswith(_SCHEMA_LOCAL) and self._find(root, _split_pointer(reference)) is None

    def _resolve_chain(self, node: DocumentNode) -> DocumentNode:
        """Where a chain of references ends."""
        current = node
        for _ in range(_MAX_HOPS):
            reference = current.fields.get("$ref")
            if not isinstance(reference, str):
                return current
            current = self._resolve_once(current, reference)
        raise BrokenReference(self.display_path(node), f"the reference '{node.value['$ref']}' leads in a circle")

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
            inside = (_descend(holder, tokens) for holder in self._enclosing_nodes(node))
            found = next((part for part in inside if part.value is not None), None)
        if found is not None:
            return found
        raise BrokenReference(self.display_path(node), f"the reference '{reference}' leads nowhere")

    def _find(self, node: DocumentNode, tokens: list[str]) -> DocumentNode | None:
        """What the tokens of a pointer lead to, over references on the way; None where that is nothing."""
        for token in tokens:
            child = node.child(token)
            if child.value is None and isinstance(node.fields.get("$ref"), str):
                child = self._resolve_on_the_way(node).child(token)
            if child.value is None:
                return None
            node = child
        return node

    def _resolve_on_the_way(self, node: DocumentNode) -> DocumentNode:
        """What a reference on the way of another one ends at. Raises BrokenReference where it leads back to itself."""
        place = (node.uri, node.pointer)
        if place in self._resolving:
            raise BrokenReference(self.display_path(node), f"the reference '{node.fields['$ref']}' leads in a circle")
        self._resolving.add(place)
        try:
            return self.resolve(node)
        finally:
            self._resolving.discard(place)

    def _enclosing_nodes(self, node: DocumentNode) -> list[DocumentNode]:
        """What is around a node, from the inside out."""
        around = [DocumentNode(self._files[node.uri], node.uri)]
        for token in _split_pointer(node.pointer):
            around.append(around[-1].child(token))
        return around[::-1]

    def _find_anchor(self, node: DocumentNode, target: DocumentNode, name: str) -> DocumentNode:
        schemas = target.child("components").child("schemas")
        for _, schema in schemas.members():
            if schema.fields.get("$anchor") == name:
                return schema
        raise BrokenReference(self.display_path(node), f"there is no anchor '{name}'")

    def _allowed_uri(self, node: DocumentNode, file: str) -> str:
        """The URI of another file, if it may be read: in the first file's folder, or of its origin."""
        uri = urljoin(node.uri, file)
        if self.uri.startswith("file:"):
            is_allowed = uri.startswith("file:") and is_inside_folder(uri, self.uri)
            wanted = "in the document's folder"
        else:
            url, own = resolve_url(httpx2.URL(node.uri), file), httpx2.URL(self.uri)
            is_allowed = url is not None and Origin.of(url) == Origin.of(own)
            uri = str(url)
            wanted = "of the document's origin"
        if not is_allowed:
            raise BrokenReference(self.display_path(node), f"the file '{file}' is not {wanted} and was not read")
        return uri


def file_path(uri: str) -> Path:
    """The path that a `file:` URI names."""
    return Path(url2pathname(urlsplit(uri).path))


def is_inside_folder(uri: str, root_uri: str) -> bool:
    """Whether a file lies in the folder of the first one, symbolic links followed."""
    if urlsplit(uri).netloc not in ("", "localhost"):
        return False
    folder = file_path(root_uri).resolve().parent
    return file_path(uri).resolve().is_relative_to(folder)
