"""Links in headers (RFC 8288) and in bodies, resolved against the request.

Knows syntax. Whether a link may be followed (same origin) is for the source to decide, which holds the credentials.
"""

import re
from dataclasses import dataclass
from urllib.parse import parse_qs, urljoin, urlsplit

_LINK = re.compile(r"<([^>]*)>((?:[^,\"<]|\"(?:[^\"\\]|\\.)*\")*)")
_PARAMETER = re.compile(r";\s*([\w!#$&+\-.^`|~*]+)\s*(?:=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s;,\"]*)))?")
_ESCAPED = re.compile(r"\\(.)")
_URL = re.compile(r"https?://\S+", re.IGNORECASE)


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
    """All links of a header value; several headers joined by commas are one value. Broken parts are left out."""
    return tuple(Link(target.strip(), _parameters(rest)) for target, rest in _LINK.findall(header))


def link_with(links: tuple[Link, ...], relation: str) -> Link | None:
    """The first link of that relation."""
    return next((link for link in links if relation in link.relations), None)


def _parameters(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, quoted, token in _PARAMETER.findall(text):
        found.setdefault(name.lower(), _ESCAPED.sub(r"\1", quoted) if quoted else token)
    return found


def absolute(url: str, location: str) -> str:
    """`url` resolved against the URL in `location` (`GET https://…`); unchanged where there is none."""
    base = _URL.search(location)
    return urljoin(base.group(), url) if base else url


def looks_like_url(text: str) -> bool:
    """Whether a text is a URL, or a relative one that begins with a path or a query."""
    return bool(_URL.match(text)) or text.startswith(("/", "?"))


def query_integer(url: str, name: str) -> int | None:
    """The whole number that a URL's query gives to `name`."""
    values = parse_qs(urlsplit(url).query).get(name, [])
    return int(values[0]) if values and values[0].isascii() and values[0].isdigit() else None
