"""The schema of a response, as far as it says something about pagination.

Every claim is False, empty or None if the document does not describe the response.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from adapters.pagination.vocabulary import members as vocabulary
from adapters.pagination.vocabulary import parameters as spelling
from adapters.pagination.vocabulary.members import plain, words

_IDENTIFIERS = words("id _id uuid guid sid arn webid href_self")
_ACKNOWLEDGEMENTS = words("ok success status message error errors code result_code response_metadata warning")
_POINTER_WORDS = frozenset(
    "token cursor marker position bookmark continuation scroll page key iterator offset next start".split()
)
_TOKEN_WORDS = frozenset("token cursor marker bookmark continuation scroll iterator".split())
_FORWARD = frozenset("next last evaluated end ending following continuation".split())
_STARTING = frozenset("exclusive start starting from after begin beginning".split())
_NOT_A_POSITION = frozenset("date time timestamp day month year hour at version".split())
_COUNTERS = frozenset("id ids count total date time number size run runs execution".split())
_NAME = re.compile(r"[A-Za-z_$@][\w$@]*(?:\.[A-Za-z_$@][\w$@]*)*")
_OPEN_TYPES = frozenset({"", "object"})
_TEXT_TYPES = frozenset({"", "string", "object"})
_NO_RECORDS = vocabulary.NEVER_RECORD_LISTS | vocabulary.LINK_LISTS
_LIST_HOLDERS = ("response", "result", "data", "list", "feed", "collection")
_LINKS = words("links _links paging pagination page pages meta link navigation page_info response_metadata")
_PAGING_OBJECTS = words("pagination paging page page_info paginator")
_NEXT_IN_LINKS = words("next next_page next_link")
_URL_MEMBERS = words("href url uri link")
_NEXT_OBJECTS = words("next next_page")
_CURSOR_OBJECTS = words("cursor cursors paging pagination")
_FORWARD_MEMBERS = words("after next")


@dataclass(frozen=True)
class ResponseSchema:
    """The described members and headers of a response. Claims are computed once per value.

    `members` maps dotted paths (`meta.next_cursor`, at most three levels, never inside a list) to JSON types, "" if
    the document gives none. `headers` are names in lower case. `is_list`: the payload itself is a list.
    `item_members` are the names of the members of a record, if described. `is_known` is False if there is no schema.
    """

    members: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: frozenset[str] = frozenset()
    is_list: bool = False
    item_members: frozenset[str] = frozenset()
    is_known: bool = True

    @cached_property
    def descendants(self) -> dict[str, set[str]]:
        """Plain names of all members inside each object, by the path of the object."""
        found: dict[str, set[str]] = {}
        for path in self.members:
            parent, _, name = path.rpartition(".")
            while parent:
                found.setdefault(parent, set()).add(plain(name))
                parent = parent.rpartition(".")[0]
        return found

    @cached_property
    def parents(self) -> dict[str, set[str]]:
        """Plain names of the objects that hold a member, by the plain name of the member; "" is the payload."""
        found: dict[str, set[str]] = {}
        for path in self.members:
            parent, _, name = path.rpartition(".")
            found.setdefault(plain(name), set()).add(plain(_leaf(parent)))
        return found

    @cached_property
    def top_level(self) -> frozenset[str]:
        """Plain names of the members of the payload."""
        return frozenset(plain(path) for path in self.members if "." not in path)

    @cached_property
    def has_list(self) -> bool:
        """Whether it can hold records: it is a list, has one, or has a member that may be one."""
        if not self.is_known or self.is_list:
            return True
        return any(kind == "array" for kind in self.members.values()) or any(map(self._may_be_list, self.members))

    @cached_property
    def has_shallow_list(self) -> bool:
        """Whether it can hold records at its top or one level below."""
        shallow = [path for path in self.members if path.count(".") <= 1]
        return self.is_list or any(self.members[path] == "array" or self._may_be_list(path) for path in shallow)

    def _may_be_list(self, path: str) -> bool:
        name = _leaf(path)
        is_plural = name.lower().endswith("s") and not name.lower().endswith(("ss", "us", "is"))
        kind = self.members[path]
        is_usual = plain(name).endswith(_LIST_HOLDERS) or plain(name) in vocabulary.RECORD_LISTS
        return kind in _OPEN_TYPES and path not in self.descendants and (kind == "" or is_plural or is_usual)

    @cached_property
    def integers(self) -> frozenset[str]:
        """Plain names of the integer members."""
        return frozenset(plain(_leaf(path)) for path, kind in self.members.items() if kind == "integer")

    @cached_property
    def words_by_name(self) -> dict[str, frozenset[str]]:
        """The words of each member's name, by its plain name."""
        return {plain(name): frozenset(spelling.pieces(name)) for name in map(_leaf, self.members)}

    @cached_property
    def is_one_record(self) -> bool:
        """Whether it is described, has no list and names no next page."""
        if not self.is_known or self.is_list or not self.top_level or self.top_level <= _ACKNOWLEDGEMENTS:
            return False
        return not (self.has_list or self.pointers or self.has_more_flag or self.next_url or self.has_paging_metadata)

    @cached_property
    def has_paging_metadata(self) -> bool:
        """Whether it counts pages or records, or has an object about paging (`meta.page.total_filtered_count`)."""
        holders = {plain(part) for path in self.members for part in path.split(".")[:-1]}
        return self.has_member(vocabulary.TOTAL_PAGES | vocabulary.TOTALS) or bool(holders & _PAGING_OBJECTS)

    @cached_property
    def is_collection(self) -> bool:
        """Whether it is certainly a list of records, and not one record that has lists inside."""
        if not self.is_known or self.is_list:
            return self.is_known
        top = {path: kind for path, kind in self.members.items() if "." not in path}
        ignored = _NO_RECORDS | (words("included") if "data" in top else frozenset())
        lists = [path for path, kind in top.items() if kind == "array" and plain(path) not in ignored]
        has_usual_list = any(plain(path) in vocabulary.RECORD_LISTS for path in lists)
        has_identifier = any(plain(path) in _IDENTIFIERS or path in {"key", "name"} for path in top)
        return bool(lists) and (has_usual_list or len(lists) == 1) and not has_identifier

    @cached_property
    def pointers(self) -> frozenset[str]:
        """Plain names of the members that point to the next page: tokens, cursors, URLs, next positions."""
        return frozenset(plain(name) for name in map(_leaf, self.members) if _is_pointer(name))

    @cached_property
    def has_more_flag(self) -> bool:
        """Whether it has a flag for further pages (`has_more`, `IsTruncated`)."""
        return any(plain(_leaf(path)) in vocabulary.MORE_FLAGS for path in self.members)

    @cached_property
    def next_url(self) -> str | None:
        """The path of the URL of the next page: by its name, or as `next` among links."""
        for path, kind in self.members.items():
            parent, _, name = path.rpartition(".")
            holder = plain(_leaf(parent)) if parent else ""
            if kind not in _TEXT_TYPES or not self._may_be_url(path):
                continue
            is_beside_list = plain(name) == "nextpage" and bool(parent) and self._has_list_in(parent)
            is_among_links = plain(name) in _NEXT_IN_LINKS and holder in _LINKS
            if plain(name) in vocabulary.NEXT_URLS or is_among_links or is_beside_list:
                return path
        return self._next_beside_previous()

    @cached_property
    def has_next_url_beside_list(self) -> bool:
        """Whether the URL of the next page is in the same object as a list."""
        return self.next_url is not None and self._has_list_in(self.next_url.rpartition(".")[0])

    def _has_list_in(self, holder: str) -> bool:
        return any(kind == "array" and path.rpartition(".")[0] == holder for path, kind in self.members.items())

    @cached_property
    def has_unambiguous_next_url(self) -> bool:
        """Whether `next_url` is certainly a URL, by its name or place; `pagination.next` may be a cursor as well."""
        parent, _, name = (self.next_url or "").rpartition(".")
        is_among_links = plain(_leaf(parent)) in vocabulary.LINK_LISTS
        return is_among_links or self.next_url in self.descendants or plain(name) in vocabulary.NEXT_URLS

    def _next_beside_previous(self) -> str | None:
        top = {plain(path): path for path in self.members if "." not in path}
        has_partner = bool(top.keys() & (vocabulary.PREVIOUS_POINTERS | {"count"}))
        if "next" in top and has_partner and self.members[top["next"]] in _TEXT_TYPES:
            return top["next"] if self._may_be_url(top["next"]) else None
        return None

    def _may_be_url(self, path: str) -> bool:
        """Whether it is text, or an object with a URL or without described members; `next: {page}` is not a URL."""
        inner = self.descendants.get(path)
        return inner is None or not _URL_MEMBERS.isdisjoint(inner)

    @cached_property
    def next_header(self) -> str | None:
        """A header that names the next page."""
        return next((name for name in sorted(self.headers) if name in vocabulary.NEXT_HEADERS), None)

    def has_header(self, name: str) -> bool:
        """Whether the header is declared."""
        return name in self.headers

    def has_member(self, table: frozenset[str]) -> bool:
        """Whether a member at any depth has a name of the table."""
        return any(plain(_leaf(path)) in table for path in self.members)

    @cached_property
    def is_described(self) -> bool:
        """Whether anything is known about its members."""
        return bool(self.members) or self.is_list

    def returns(self, parameter: str, *, echoes_request: bool = False) -> bool:
        """Whether it returns the value for a parameter: `NextMarker` for `marker`, `lastKey` for `startKey`.

        A member of the same name counts if the response does not echo the request, or if it is inside `next`
        (`next.page`) or, named for a direction, inside a cursor object (`cursor.after`).
        """
        key = (parameter, echoes_request)
        if key not in self._returned:
            self._returned[key] = self._is_returned(parameter, echoes_request=echoes_request)
        return self._returned[key]

    @cached_property
    def _returned(self) -> dict[tuple[str, bool], bool]:
        """The results of `returns`: operations that share a response share most of their parameters."""
        return {}

    def _is_returned(self, parameter: str, *, echoes_request: bool) -> bool:
        name = plain(_leaf(parameter.replace("/", ".")))
        holders = self.parents.get(name, set())
        if holders & _NEXT_OBJECTS or (name in _FORWARD_MEMBERS and holders & _CURSOR_OBJECTS):
            return True
        own = frozenset(spelling.pieces(parameter.rpartition("/")[2]))
        if not own - _COUNTERS or own & _NOT_A_POSITION:
            return False
        candidates = {f"next{name}", f"next{name.removeprefix('start')}", f"{name}next"}
        if not echoes_request and self._may_return_same_name(own):
            candidates.add(name)
        if not candidates.isdisjoint(self.words_by_name):
            return True
        return bool(own & _STARTING) and any(_is_start_and_end(own, other) for other in self.words_by_name.values())

    def _may_return_same_name(self, own: frozenset[str]) -> bool:
        """Whether a member with the name of the parameter can be the next value, and not the one that was sent."""
        is_next = "next" in own and bool(own & ((_POINTER_WORDS | {"id"}) - {"next"}))
        is_beside_records = self.is_collection if len(own) == 1 else self.has_shallow_list
        is_last = self.is_collection and "last" in own and bool(own & {"key", "id"})
        return is_next or is_last or (is_beside_records and bool(own & _TOKEN_WORDS))

    def path_named_in(self, text: str) -> str | None:
        """The path of the only member that a text names (`see lastId in the response`), ignoring single words."""
        mentioned = frozenset(_NAME.findall(text))
        found = [
            path
            for path, kind in self.members.items()
            if kind in {"", "string"}
            and (path in mentioned or _leaf(path) in mentioned)
            and len(spelling.pieces(path)) > 1
        ]
        return found[0] if len(found) == 1 else None


UNKNOWN_RESPONSE = ResponseSchema(is_known=False)


def _is_start_and_end(start: frozenset[str], end: frozenset[str]) -> bool:
    """`ExclusiveStartKey` and `LastEvaluatedKey`: equal except for the words for start and end."""
    core = start - _FORWARD - _STARTING
    is_pair = bool(start & _STARTING and end & _FORWARD and core) and core == end - _FORWARD - _STARTING
    return is_pair and bool(end & {"next", "evaluated"} or core & _POINTER_WORDS)


def _leaf(path: str) -> str:
    return path.rpartition(".")[2]


def _is_pointer(name: str) -> bool:
    if plain(name) in vocabulary.NEXT_CURSORS or plain(name) in vocabulary.NEXT_URLS:
        return True
    found = spelling.pieces(name)
    return len(found) > 1 and found[0] == "next" and found[-1] in _POINTER_WORDS | {"id", "link", "url", "uri", "state"}
