"""What the description of an answer proves or rules out about paging.

Knows names, types and places of members. Knows no parameter but by its name, and no value.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from adapters.pagination.vocabulary import members as names
from adapters.pagination.vocabulary import members as vocabulary
from adapters.pagination.vocabulary import parameters as spelling
from adapters.pagination.vocabulary.members import plain


@dataclass(frozen=True, slots=True)
class ResponseShape:
    """The described answer.

    `members` maps dotted paths (`meta.next_cursor`, at most three levels, never inside a list) to JSON types, "" where
    the document names none. `headers` are names in lower case. `is_list` says that the payload itself is a list.
    `item_members` are names of the members of a record, where the document tells.
    """

    members: Mapping[str, str]
    headers: frozenset[str] = frozenset()
    is_list: bool = False
    item_members: frozenset[str] = frozenset()


_IDENTIFIERS = names.words("id _id uuid guid sid arn webid href_self")
_ACKNOWLEDGEMENTS = names.words("ok success status message error errors code result_code response_metadata warning")
_MARKS = frozenset(
    "token cursor marker position bookmark continuation scroll page key iterator offset next start".split()
)
_HANDED_BACK = frozenset("token cursor marker bookmark continuation scroll iterator".split())
_FOLLOWED = _HANDED_BACK | frozenset("position page key id record start offset".split())
_FORWARD = frozenset("next last evaluated end ending following continuation".split())
_STARTING = frozenset("exclusive start starting from after begin beginning".split())
_NO_PLACE = frozenset("date time timestamp day month year hour at version".split())
_COUNTERS = frozenset("id ids count total date time number size run runs execution".split())
_NAME = re.compile(r"[A-Za-z_$@][\w$@]*(?:\.[A-Za-z_$@][\w$@]*)*")
_OPEN = frozenset({"", "object"})
_NO_RECORDS = names.NEVER_RECORD_LISTS | names.LINK_LISTS
_HOLDERS = ("response", "result", "data", "list", "feed", "collection")
_LINKS = names.words("links _links paging pagination page pages meta link navigation page_info response_metadata")
_ABOUT_PAGES = names.words("pagination paging page page_info paginator")
_NEXT_IN_LINKS = names.words("next next_page next_link")
_TEXT = frozenset({"", "string", "object"})
_ADDRESSES = names.words("href url uri link")
_NEXT_PARTS = names.words("next next_page")
_CURSOR_PARTS = names.words("cursor cursors paging pagination")
_FORWARD_PARTS = names.words("after next")


@dataclass(frozen=True)
class ResponseSchema:
    """A described answer; every claim is False where nothing is described."""

    shape: ResponseShape | None

    @cached_property
    def leaves(self) -> dict[str, str]:
        """Member paths by type."""
        return dict(self.shape.members) if self.shape is not None else {}

    @cached_property
    def inside(self) -> dict[str, set[str]]:
        """Plain names of what lies inside of each member that has members, at any depth."""
        found: dict[str, set[str]] = {}
        for path in self.leaves:
            above, _, own = path.rpartition(".")
            while above:
                found.setdefault(above, set()).add(plain(own))
                above = above.rpartition(".")[0]
        return found

    @cached_property
    def around(self) -> dict[str, set[str]]:
        """Plain names of what members stand in, by their own; "" for the top."""
        found: dict[str, set[str]] = {}
        for path in self.leaves:
            above, _, own = path.rpartition(".")
            found.setdefault(plain(own), set()).add(plain(_leaf(above)))
        return found

    @cached_property
    def top(self) -> frozenset[str]:
        """Plain names of the members at the top."""
        return frozenset(plain(path) for path in self.leaves if "." not in path)

    @cached_property
    def has_list(self) -> bool:
        """Whether records can be in it: it is a list, has one, or has a member that may be one."""
        if self.shape is None or self.shape.is_list:
            return True
        return any(kind == "array" for kind in self.leaves.values()) or any(map(self._may_be_list, self.leaves))

    def _can_hand_back(self, asked: frozenset[str]) -> bool:
        """Whether a member of the same name can be what follows, and not a value that is told again."""
        is_following = "next" in asked and bool(asked & ((_MARKS | {"id"}) - {"next"}))
        has_place = self.is_collection if len(asked) == 1 else self.has_near_list
        is_last = self.is_collection and "last" in asked and bool(asked & {"key", "id"})
        return is_following or is_last or (has_place and bool(asked & _HANDED_BACK))

    @cached_property
    def has_near_list(self) -> bool:
        """Whether records can lie at its top or one below, and not merely inside of what it is about."""
        near = [path for path in self.leaves if path.count(".") <= 1]
        is_list = self.shape is not None and self.shape.is_list
        return is_list or any(self.leaves[path] == "array" or self._may_be_list(path) for path in near)

    def _may_be_list(self, path: str) -> bool:
        leaf = path.rpartition(".")[2]
        is_described = path in self.inside
        is_plural = leaf.lower().endswith("s") and not leaf.lower().endswith(("ss", "us", "is"))
        kind = self.leaves[path]
        is_known = plain(leaf).endswith(_HOLDERS) or plain(leaf) in names.RECORD_LISTS
        return kind in _OPEN and not is_described and (kind == "" or is_plural or is_known)

    @cached_property
    def has_link_list(self) -> bool:
        """Whether links stand in a list beside the records (`links: [{rel, href}]`)."""
        lists = [path for path, kind in self.leaves.items() if kind == "array" and "." not in path]
        return len(lists) > 1 and any(plain(path) in names.LINK_LISTS for path in lists)

    def counts(self, name: str) -> bool:
        """Whether a member of this name is a number."""
        return plain(name) in self.numbers

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Plain names of the members that are whole numbers."""
        return frozenset(plain(_leaf(path)) for path, kind in self.leaves.items() if kind == "integer")

    @cached_property
    def spelled(self) -> dict[str, frozenset[str]]:
        """Plain names of all members with the words they are made of."""
        return {plain(leaf): frozenset(spelling.pieces(leaf)) for leaf in map(_leaf, self.leaves)}

    @cached_property
    def is_surely_one(self) -> bool:
        """Whether it is described, holds no list and names nothing that follows."""
        top = self.top
        if self.shape is None or self.shape.is_list or not top or top <= _ACKNOWLEDGEMENTS:
            return False
        return not (self.has_list or self.markers or self.has_more or self.next_url or self.tells_of_pages)

    @cached_property
    def tells_of_pages(self) -> bool:
        """Whether it counts pages or records, or has a part about paging (`meta.page.total_filtered_count`)."""
        parts = {plain(part) for path in self.leaves for part in path.split(".")[:-1]}
        return self.has_member(names.TOTAL_PAGES | names.TOTALS) or bool(parts & _ABOUT_PAGES)

    @cached_property
    def is_collection(self) -> bool:
        """Whether it is surely a list of records, and not one record that has lists inside."""
        if self.shape is None or self.shape.is_list:
            return self.shape is not None
        top = {path: kind for path, kind in self.leaves.items() if "." not in path}
        beside = names.words("included") if "data" in top else frozenset()
        lists = [path for path, kind in top.items() if kind == "array" and plain(path) not in _NO_RECORDS | beside]
        is_known = any(plain(path) in names.RECORD_LISTS for path in lists)
        is_one = any(plain(path) in _IDENTIFIERS or path in {"key", "name"} for path in top)
        return bool(lists) and (is_known or len(lists) == 1) and not is_one

    @cached_property
    def markers(self) -> frozenset[str]:
        """Plain names of members that name what follows: tokens, cursors, next positions."""
        return frozenset(plain(leaf) for leaf in map(_leaf, self.leaves) if _is_marker(leaf))

    @cached_property
    def has_more(self) -> bool:
        """Whether it says that more follow (`has_more`, `IsTruncated`)."""
        return any(plain(_leaf(path)) in names.MORE_FLAGS for path in self.leaves)

    @cached_property
    def next_url(self) -> str | None:
        """The path of the address of the next page, if the answer has one: by its name, or as `next` among links."""
        for path, kind in self.leaves.items():
            above, _, leaf = path.rpartition(".")
            holder = plain(above.rpartition(".")[2]) if above else ""
            if kind not in _TEXT or not self._may_be_address(path):
                continue
            is_beside = plain(leaf) == "nextpage" and bool(above) and self._has_list_in(above)
            if plain(leaf) in names.NEXT_URLS or (plain(leaf) in _NEXT_IN_LINKS and holder in _LINKS) or is_beside:
                return path
        return self._next_beside_previous()

    @cached_property
    def has_next_url_beside_list(self) -> bool:
        """Whether that stands in one object with a list."""
        return self.next_url is not None and self._has_list_in(self.next_url.rpartition(".")[0])

    def _has_list_in(self, holder: str) -> bool:
        """Whether a list stands in this object."""
        return any(kind == "array" and path.rpartition(".")[0] == holder for path, kind in self.leaves.items())

    @cached_property
    def has_clear_next_url(self) -> bool:
        """Whether that is an address by its name, or by where it stands; `pagination.next` may be a cursor as well."""
        above, _, leaf = (self.next_url or "").rpartition(".")
        is_among_links = plain(above.rpartition(".")[2]) in names.LINK_LISTS
        has_inside = self.next_url in self.inside
        return is_among_links or has_inside or plain(leaf) in names.NEXT_URLS

    def _next_beside_previous(self) -> str | None:
        top = {plain(path): path for path in self.leaves if "." not in path}
        if "next" in top and top.keys() & (names.PREVIOUS_MARKS | {"count"}) and self.leaves[top["next"]] in _TEXT:
            return top["next"] if self._may_be_address(top["next"]) else None
        return None

    def _may_be_address(self, path: str) -> bool:
        """Whether it is text, or an object that holds one or of which nothing is known; `next: {page}` is none."""
        inner = self.inside.get(path)
        return inner is None or not _ADDRESSES.isdisjoint(inner)

    @cached_property
    def next_header(self) -> str | None:
        """A header that names the next page."""
        headers = self.shape.headers if self.shape is not None else frozenset()
        return next((name for name in sorted(headers) if name in names.NEXT_HEADERS), None)

    def has_header(self, name: str) -> bool:
        """Whether the header is declared."""
        return self.shape is not None and name in self.shape.headers

    def has_member(self, table: frozenset[str]) -> bool:
        """Whether any member, at any place, is called so."""
        return any(plain(_leaf(path)) in table for path in self.leaves)

    @cached_property
    def is_described(self) -> bool:
        """Whether anything is known of its members."""
        return bool(self.leaves) or (self.shape is not None and self.shape.is_list)

    def returns(self, name: str, *, is_mirror: bool = False) -> bool:
        """Whether what is asked for by `name` is handed out here: `marker` by `NextMarker`, `startKey` by `lastKey`.

        A member of the very same name counts where the answer is no mirror of the request, or where it stands in what
        is called `next` (`next.page`) or, named for a direction, in what is called a cursor (`cursor.after`).
        """
        key = (name, is_mirror)
        if key not in self._returned:
            self._returned[key] = self._returns(name, is_mirror=is_mirror)
        return self._returned[key]

    @cached_property
    def _returned(self) -> dict[tuple[str, bool], bool]:
        """What is known of `returns`; many parameters are asked for again and again."""
        return {}

    def _returns(self, name: str, *, is_mirror: bool) -> bool:
        own = plain(_leaf(name.replace("/", ".")))
        if self._is_in_part(own, _NEXT_PARTS) or (own in _FORWARD_PARTS and self._is_in_part(own, _CURSOR_PARTS)):
            return True
        asked = frozenset(spelling.pieces(name.rpartition("/")[2]))
        if not asked - _COUNTERS or asked & _NO_PLACE:
            return False
        can_repeat = not is_mirror and self._can_hand_back(asked)
        handed = {f"next{own}", f"next{own.removeprefix('start')}", f"{own}next"} | ({own} if can_repeat else set())
        if not handed.isdisjoint(self.spelled) or own in self._called_next:
            return True
        return bool(asked & _STARTING) and any(_is_pair(asked, given) for given in self.spelled.values())

    @cached_property
    def _called_next(self) -> frozenset[str]:
        """What is left of the names that say next beside a list, in any language: `jeton` of `jetonSuivant`."""
        if not self.has_near_list:
            return frozenset()
        told = [own for own in map(spelling.pieces, map(_leaf, self.leaves)) if own]
        called = [own for own in told if not vocabulary.NEXT.isdisjoint({own[0], own[-1]})]
        return frozenset("".join(word for word in own if word not in vocabulary.NEXT) for own in called)

    def named_in(self, text: str) -> str | None:
        """The path of the only value that a text names (`see lastId in the response`), none that is a plain word."""
        said = frozenset(_NAME.findall(text))
        found = [
            path
            for path, kind in self.leaves.items()
            if kind in {"", "string"} and (path in said or _leaf(path) in said) and len(spelling.pieces(path)) > 1
        ]
        return found[0] if len(found) == 1 else None

    def _is_in_part(self, own: str, parts: frozenset[str]) -> bool:
        return not parts.isdisjoint(self.around.get(own, ()))


_MOST_KNOWN = 512
_KNOWN: dict[int, ResponseSchema] = {}


def answer_of(shape: ResponseShape | None) -> ResponseSchema:
    """The answer that is described; the same one where the description is the same object, as tools share them."""
    known = _KNOWN.get(id(shape))
    if known is None or known.shape is not shape:
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        known = _KNOWN[id(shape)] = ResponseSchema(shape)
    return known


def _is_pair(asked: frozenset[str], given: frozenset[str]) -> bool:
    """`ExclusiveStartKey` and `LastEvaluatedKey`: the same words but for those that say begin and end."""
    core = _core(asked)
    is_same = bool(asked & _STARTING and given & _FORWARD and core) and core == _core(given)
    return is_same and bool(given & {"next", "evaluated"} or core & _MARKS)


def _core(pieces: frozenset[str]) -> frozenset[str]:
    return pieces - _FORWARD - _STARTING


def _leaf(path: str) -> str:
    return path.rpartition(".")[2]


def _is_marker(leaf: str) -> bool:
    own = plain(leaf)
    if own in names.NEXT_CURSORS or own in names.NEXT_URLS:
        return True
    found = spelling.pieces(leaf)
    return len(found) > 1 and found[0] == "next" and found[-1] in _MARKS | {"id", "link", "url", "uri", "state"}
