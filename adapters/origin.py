"""Where a URL leads: the origin (scheme, host, port) that credentials are bound to.

Knows URLs. Judges nothing: who asks decides what a foreign origin means. The one URL parser is that of the HTTP
library which later sends the request, so that no second reading of a hostile URL exists.
"""

from dataclasses import dataclass

import httpx2

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host in lower case, and port with the scheme's default filled in."""

    scheme: str
    host: str
    port: int | None

    @classmethod
    def of(cls, url: httpx2.URL) -> "Origin":
        """The origin of an absolute URL."""
        return cls(url.scheme, url.host.lower().rstrip("."), url.port or _PORTS.get(url.scheme))

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == _PORTS.get(self.scheme) else f":{self.port}")


def is_http(url: httpx2.URL) -> bool:
    """Whether it is an absolute http or https URL with a host."""
    return url.scheme in _PORTS and bool(url.host)


def is_other_scheme(url: httpx2.URL, own: httpx2.URL) -> bool:
    """Whether a URL differs from one's own origin by nothing but http for https, or the reverse."""
    mine, other = Origin.of(own), Origin.of(url)
    has_own_port = (url.port or _PORTS.get(url.scheme)) == mine.port
    is_default = url.port is None and mine.port == _PORTS.get(mine.scheme)
    return other.host == mine.host and other.scheme != mine.scheme and (has_own_port or is_default)


def joined(base: httpx2.URL, reference: str) -> httpx2.URL | None:
    """The reference seen from the base, without user information and fragment; None where it is no http URL."""
    try:
        url = base.join(reference.strip()).copy_with(fragment=None, userinfo=b"")
    except (httpx2.InvalidURL, ValueError, UnicodeError):
        return None
    return url if is_http(url) else None
