"""Links of `Link` headers (RFC 8288) and of bodies, resolved against the URL of the request.

Whether a link may be followed (same origin) is decided by the source, which holds the credentials.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from urllib.parse import parse_qsl, quote, urljoin, urlsplit

from adapters.base import Json
from adapters.pagination.vocabulary import members as vocabulary
from adapters.pagination.vocabulary.members import plain

_LINK = re.compile(r"<([^>]*)>((?:[^,\"<]|\"(?:[^\"\\]|\\.)*\")*)")
_PARAMETER = re.compile(r";\s*([\w!#$&+\-.^`|~*]+)\s*(?:=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s;,\"]*)))?")
_ESCAPED = re.compile(r"\\(.)")
_URL = re.compile(r"https?://\S+", re.IGNORECASE)
_QUERY = re.compile(r"[\w$.%\[\]-]{1,60}=[^=\s/][^\s/]*")
_TEMPLATE = re.compile(r"\{[?&#/.;+][^{}]*\}")
_TARGETS = ("href", "url", "uri", "link", "target")
_RELATIONS = ("rel", "relation", "relationship", "name", "type", "label", "title", "key")
_MAX_NUMBER_DIGITS = 7
_MAX_LINKS, _MAX_LABEL_CHARS = 6, 24


@dataclass(frozen=True, slots=True)
class Link:
    """One link of a `Link` header: its target and its parameters, names in lower case."""

    url: str
    parameters: dict[str, str]

    @property
    def relations(self) -> frozenset[str]:
        """The relation types, lower case; one link may have several."""
        return frozenset(self.parameters.get("rel", "").lower().split())


def parse_links(header: str) -> tuple[Link, ...]:
    """All links of a header value; several headers are joined by commas. Broken parts are ignored."""
    return tuple(Link(target.strip(), _parameters(rest)) for target, rest in _LINK.findall(header))


def find_link(links: tuple[Link, ...], relation: str) -> Link | None:
    """The first link of that relation."""
    return next((link for link in links if relation in link.relations), None)


def _parameters(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, quoted, token in _PARAMETER.findall(text):
        found.setdefault(name.lower(), _ESCAPED.sub(r"\1", quoted) if quoted else token)
    return found


def link_url(value: Json) -> str | None:
    """The URL of a link: text, an object with `href`, `url` or similar, or a list of one; no template variables."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict):
        value = next((inner for name in _TARGETS if isinstance(inner := value.get(name), str) and inner), None)
    return _TEMPLATE.sub("", value) if isinstance(value, str) and value else None


def link_with_relation(links: Json, relation: str) -> Json:
    """The link of that relation in a list of link objects, under any name."""
    if not isinstance(links, list):
        return None
    return next((link for link in links if isinstance(link, dict) and relation in _relations(link)), None)


def load_more_link(links: Json) -> Json:
    """The only entry of a short list of links or actions whose name says to load more: `{"id": "loadMore", …}`."""
    if not isinstance(links, list) or not 0 < len(links) <= _MAX_LINKS:
        return None
    entries = [link for link in links if isinstance(link, dict) and len(link) <= _MAX_LINKS]
    found = [link for link in entries if any(_is_load_more(link.get(name)) for name in (*_RELATIONS, "id", "action"))]
    return found[0] if len(found) == 1 and len(entries) == len(links) else None


def _is_load_more(value: Json) -> bool:
    return isinstance(value, str) and len(value) <= _MAX_LABEL_CHARS and vocabulary.is_has_more_name(value)


def _relations(link: dict[str, Json]) -> frozenset[str]:
    for name in _RELATIONS:
        relation = link.get(name)
        if isinstance(relation, str):
            return frozenset(relation.lower().split())
        if isinstance(relation, list):
            return frozenset(str(one).lower() for one in relation)
    return frozenset()


def request_url(location: str) -> str | None:
    """The URL in a location (`GET https://…`); None for a source without URLs."""
    base = _URL.search(location)
    return base.group() if base else None


def absolute_url(url: str, location: str) -> str:
    """`url`, or a bare query, resolved against the URL in `location`; unchanged if there is none."""
    base = request_url(location)
    return urljoin(base, f"?{url}" if _QUERY.fullmatch(url) else url) if base else url


def looks_like_url(text: str) -> bool:
    """Whether a text is a URL, or a relative one that starts with a path or a query."""
    return bool(_URL.match(text)) or text.startswith(("/", "?", "./", "../"))


def query_params(url: str) -> dict[str, str]:
    """The parameters of a URL's query; of a repeated one the last value."""
    return dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))


def is_same_path(url: str, other: str) -> bool:
    """Whether two absolute URLs differ in their query at most."""
    mine, yours = urlsplit(url), urlsplit(other)
    return (mine.netloc.lower(), mine.path.rstrip("/")) == (yours.netloc.lower(), yours.path.rstrip("/"))


def is_same_host(url: str, other: str) -> bool:
    """Whether two absolute URLs have the same host and port."""
    return urlsplit(url).netloc.lower() == urlsplit(other).netloc.lower()


def is_numbered_sequence(urls: Sequence[str]) -> bool:
    """Whether URLs differ only in one page number or offset, by equal steps: `?page=4`, `?page=5`."""
    queries = [query_params(url) for url in urls]
    if len(queries) < 2 or any(query.keys() != queries[0].keys() for query in queries):
        return False
    changing = [name for name in queries[0] if len({query[name] for query in queries}) > 1]
    if len(changing) != 1 or plain(changing[0]) not in vocabulary.PAGE_POSITIONS | vocabulary.OFFSET_POSITIONS:
        return False
    values = [query[changing[0]] for query in queries]
    if not all(value.isascii() and value.isdigit() for value in values):
        return False
    steps = {int(after) - int(before) for before, after in pairwise(values)}
    return len(steps) == 1 and min(steps) > 0


def with_request_parameters(url: str, location: str, *, excluded: frozenset[str]) -> str:
    """The URL of a next page, with the request's own parameters that it lacks and needs.

    A server that puts an opaque token into the URL remembers the request, and some refuse other parameters next to it.
    One that only counts (`?page=2`) and drops a filter or the size would continue in other data. So parameters are
    added only to a URL of the request's own path whose query holds nothing but short numbers and the request's own
    values. `excluded` are the plain names of positions; values masked in the location cannot be added.
    """
    base = request_url(location)
    if base is None or not is_same_path(url, base):
        return url
    mine, theirs = query_params(base), query_params(url)
    if not theirs or not all(_is_plain(value, mine.get(name)) for name, value in theirs.items()):
        return url
    lacking = "&".join(_missing_parameters(base, theirs, excluded))
    return f"{url}&{lacking}" if lacking and not urlsplit(url).fragment else url


def _missing_parameters(base: str, theirs: dict[str, str], excluded: frozenset[str]) -> Iterator[str]:
    for name, value in parse_qsl(urlsplit(base).query, keep_blank_values=True):
        if name not in theirs and value != "***" and "".join(filter(str.isalnum, name.lower())) not in excluded:
            yield f"{quote(name, safe='[]$')}={quote(value, safe='')}"


def _is_plain(value: str, own: str | None) -> bool:
    is_short_number = value.isascii() and value.isdigit() and len(value) <= _MAX_NUMBER_DIGITS
    return is_short_number or value == own
