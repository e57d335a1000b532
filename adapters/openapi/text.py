"""The text of a document as plain JSON values: from JSON, or from YAML read by the rules of JSON.

Knows syntax and its traps: YAML that takes `no` for false and a date for a date object, nesting that overruns the
stack of the C parser, anchors that multiply. Knows nothing of OpenAPI.
"""

import json
import re
from collections.abc import Hashable

import orjson
import yaml

from adapters.base import Json

_MARKUP = (
    "it is a web page or other markup, neither JSON nor YAML; a page that shows an API names the URL of the document "
    "itself, often /openapi.json, /swagger.json or /v3/api-docs"
)
_PACKED = ((b"\x1f\x8b", "gzip"), (b"PK\x03\x04", "zip"), (b"BZh", "bzip2"), (b"\x28\xb5\x2f\xfd", "zstd"))
_COMMENT = re.compile(rb"^[ \t]*(?://|/\*)|[,{\[][ \t]*(?://|/\*)", re.MULTILINE)
_COMMENTS = re.compile(rb'"(?:\\.|[^"\\])*+"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_LAST_COMMA = re.compile(rb'"(?:\\.|[^"\\])*+"?|,(?=\s*[}\]])', re.DOTALL)
_TAB = re.compile(rb"^ *\t", re.MULTILINE)
_MAX_DEPTH = 500
_MAX_VALUES = 5_000_000
_MAX_MERGED = 100_000


class NotADocument(ValueError):
    """The text is neither JSON nor YAML, or is made to do harm."""


def parse_document(data: bytes) -> Json:
    """The value of a JSON or YAML text. Raises NotADocument."""
    data = _as_utf_8(data)
    begin = data[:1_000].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if begin == b"<":
        raise NotADocument(_MARKUP)
    if begin in (b"{", b"[", b"/"):
        try:
            return _json(data)
        except NotADocument:
            bare = _without_comments(data)
            if bare != data:
                return _json(bare)
            if b"\n" not in data.strip():
                raise
    return _yaml(data)


def _without_comments(data: bytes) -> bytes:
    """The text without what editors allow in JSON: comments, and a comma behind the last member.

    Only where a line begins or ends with a comment: YAML takes one for a part of the next name, and `//` stands in
    addresses.
    """
    if not _COMMENT.search(data):
        return data
    return _LAST_COMMA.sub(_kept, _COMMENTS.sub(_kept, data))


def _kept(match: re.Match[bytes]) -> bytes:
    return match[0] if match[0].startswith(b'"') else b" "


def _as_utf_8(data: bytes) -> bytes:
    """The text in the encoding that it begins like, with its mark or without one."""
    packed = next((kind for begin, kind in _PACKED if data.startswith(begin)), None)
    if packed is not None:
        raise NotADocument(f"it is packed ({packed}); unpack it, and name the document that is inside")
    encoding = json.detect_encoding(data)
    if encoding.startswith("utf-8"):
        return data
    try:
        return data.decode(encoding).encode()
    except UnicodeError:
        raise NotADocument(f"it begins like text in {encoding.upper()} and is none") from None


def _hint(data: bytes) -> str:
    """What people write that YAML does not allow, if the text has it."""
    return "; YAML is indented with spaces, and a line begins with a tab" if _TAB.search(data) else ""


def _json(data: bytes) -> Json:
    try:
        return orjson.loads(data.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        reason = str(error)
    try:
        return json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise NotADocument(f"no JSON: {reason}") from None


def _yaml(data: bytes) -> Json:
    try:
        _measure(data)
        return yaml.load(data, Loader=_JsonLikeLoader)  # noqa: S506  derived from the safe loader
    except yaml.YAMLError as error:
        raise NotADocument(f"neither JSON nor YAML: {' '.join(str(error).split())}{_hint(data)}") from None
    except (RecursionError, ValueError, UnicodeError) as error:
        raise NotADocument(f"neither JSON nor YAML: {error}") from None


def _measure(data: bytes) -> None:
    """Refuse what would overrun the stack or the memory later, by the events alone, which need neither.

    Counts values as they will be seen: an alias counts as all that its anchor holds.
    """
    sizes: dict[str, int] = {}
    open_: list[tuple[str | None, int]] = [(None, 0)]
    for event in yaml.parse(data, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            open_.append((event.anchor, 1))
            if len(open_) > _MAX_DEPTH:
                raise NotADocument(f"nested more than {_MAX_DEPTH} levels deep")
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, size = open_.pop()
            sizes[anchor or ""] = size
        elif isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in open_):
                raise NotADocument(f"the anchor '{event.anchor}' holds itself")
            size = sizes.get(event.anchor or "", 1)
        else:
            size = 1
        open_[-1] = (open_[-1][0], open_[-1][1] + size)
        if open_[-1][1] > _MAX_VALUES:
            raise NotADocument(f"its anchors multiply to more than {_MAX_VALUES:,} values")


class _JsonLikeLoader(yaml.CSafeLoader):
    """YAML 1.2's JSON schema, as OpenAPI asks for: no dates, no octals, no `yes`; keys are strings."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  as the library has it

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge keys, unless merging multiplies them beyond reason."""
        super().flatten_mapping(node)
        if len(node.value) > _MAX_MERGED:
            raise yaml.constructor.ConstructorError(None, None, "merge keys multiply", node.start_mark)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Json]:  # noqa: FBT001, FBT002
        """A mapping with its keys as written: `200:` is "200"."""
        self.flatten_mapping(node)
        return {self._key(key): self.construct_object(value, deep=deep) for key, value in node.value}

    def _key(self, node: yaml.Node) -> str:
        if isinstance(node, yaml.ScalarNode):
            return str(node.value)
        raise yaml.constructor.ConstructorError(None, None, "a key is no text", node.start_mark)

    def _plain_object(self, node: yaml.Node) -> Json:
        """A tag of another application says nothing about the value: take it as it stands."""
        if isinstance(node, yaml.ScalarNode):
            return self.construct_scalar(node)
        if isinstance(node, yaml.MappingNode):
            return self.construct_mapping(node, deep=True)
        return self.construct_sequence(node, deep=True) if isinstance(node, yaml.SequenceNode) else None


_RESOLVERS = (
    ("tag:yaml.org,2002:bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("tag:yaml.org,2002:int", r"^[-+]?(?:0|[1-9][0-9]{0,4000})$", "-+0123456789"),
    (
        "tag:yaml.org,2002:float",
        r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$",
        "-+.0123456789",
    ),
    ("tag:yaml.org,2002:null", r"^(?:~|null|Null|NULL|)$", "~nN\0"),
    ("tag:yaml.org,2002:merge", r"^(?:<<)$", "<"),
)
for _tag, _pattern, _first in _RESOLVERS:
    _characters = [character if character != "\0" else "" for character in _first]
    _JsonLikeLoader.add_implicit_resolver(_tag, re.compile(_pattern), _characters)
_JsonLikeLoader.yaml_constructors = {
    **yaml.CSafeLoader.yaml_constructors,
    None: _JsonLikeLoader._plain_object,
    "tag:yaml.org,2002:timestamp": yaml.CSafeLoader.construct_yaml_str,
    "tag:yaml.org,2002:binary": yaml.CSafeLoader.construct_yaml_str,
}
