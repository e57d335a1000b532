"""SSRF protection and URL origins.

Blocks link-local addresses and the metadata services of clouds, which hand out credentials. A protected client checks
the peer that it actually connected to, before a byte is sent, so DNS rebinding does not get around it. Only hosts that
the user configured are exempt.
"""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import httpx2

IpAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
_METADATA_NETWORKS = tuple(
    map(
        ipaddress.ip_network,
        (
            "169.254.0.0/16",  # link-local; metadata of AWS, Azure, Google, Oracle and others
            "fe80::/10",
            "fd00:ec2::/32",  # AWS over IPv6
            "fd20:ce::/32",  # Google over IPv6
            "100.100.100.200/32",  # Alibaba
            "192.0.0.192/32",  # Oracle
            "168.63.129.16/32",  # Azure's own services
        ),
    )
)
_NAT64_PREFIX = ipaddress.ip_network("64:ff9b::/96")
_METADATA_HOSTS = frozenset(
    {
        "metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal",
        "metadata.azure.internal", "metadata.tencentyun.com",
    }
)  # fmt: skip
_CONNECT_EVENT = "connection.connect_tcp.complete"


class BlockedAddress(httpx2.TransportError):
    """A request was blocked: its address is link-local or a metadata service."""


def is_metadata_address(host: str) -> bool:
    """Whether a host (address or name) is link-local or a metadata service of a cloud."""
    name = _normalize_host(host)
    if name in _METADATA_HOSTS:
        return True
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return any(
        form in network
        for form in _address_forms(address)
        for network in _METADATA_NETWORKS
        if form.version == network.version
    )


def block_metadata_addresses(client: httpx2.AsyncClient, configured: Iterable[str | None] = ()) -> httpx2.AsyncClient:
    """Make a client raise BlockedAddress for such addresses, except hosts of `configured` URLs. Returns the client.

    An allowed host is allowed by name only: another host that resolves to the same address is blocked.
    """
    allowed = frozenset(host for url in configured if url and is_metadata_address(host := _host_of(url)))

    async def check(request: httpx2.Request) -> None:
        host = request.url.host
        if _normalize_host(host) in allowed:
            return
        if is_metadata_address(host):
            raise BlockedAddress(f"'{host}' is {_BLOCKED_WHY}")
        request.extensions = {**request.extensions, "trace": _PeerCheck(host)}

    client.event_hooks = {**client.event_hooks, "request": [*client.event_hooks["request"], check]}
    return client


_BLOCKED_WHY = (
    "a link-local or cloud metadata address, which is blocked (SSRF protection); nothing was sent. To allow it, "
    "configure this address as the source"
)


class _PeerCheck:
    """Checks the peer of each new connection of one request."""

    def __init__(self, host: str) -> None:
        self._host = host

    async def __call__(self, event: str, info: dict[str, Any]) -> None:
        """Handle a trace event of the HTTP library."""
        if event != _CONNECT_EVENT:
            return
        stream = info["return_value"]
        peer = stream.get_extra_info("server_addr")
        address = str(peer[0]) if isinstance(peer, tuple) and peer else ""
        if is_metadata_address(address):
            await stream.aclose()
            raise BlockedAddress(f"'{self._host}' resolves to {address}, {_BLOCKED_WHY}")


def _normalize_host(host: str) -> str:
    return host.lower().strip("[]").rstrip(".")


def _host_of(url: str) -> str:
    try:
        return _normalize_host(httpx2.URL(url.strip()).host)
    except (httpx2.InvalidURL, UnicodeError):
        return ""


def _address_forms(address: IpAddress) -> Iterable[IpAddress]:
    """Yield an address and the IPv4 addresses embedded in it, if it is IPv6."""
    yield address
    if isinstance(address, ipaddress.IPv6Address):
        inner = (address.ipv4_mapped, address.sixtofour, *(address.teredo or ()))
        yield from (form for form in inner if form is not None)
        if address in _NAT64_PREFIX or int(address) >> 32 == 0:
            yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)


_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host in lower case, and port with the scheme's default filled in."""

    scheme: str
    host: str
    port: int | None

    @classmethod
    def of(cls, url: httpx2.URL) -> "Origin":
        """Return the origin of an absolute URL."""
        return cls(url.scheme, url.host.lower().rstrip("."), url.port or _DEFAULT_PORTS.get(url.scheme))

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == _DEFAULT_PORTS.get(self.scheme) else f":{self.port}")


def is_same_site(url: httpx2.URL, own: httpx2.URL) -> bool:
    """Whether a URL has the origin of `own`, or is https with its host, a subdomain or a parent domain of two labels.

    Siblings are other sites: under `github.io` or `co.uk` they have different owners.
    """
    mine, other = Origin.of(own), Origin.of(url)
    if other == mine:
        return True
    if other.scheme != "https" or not _is_domain(other.host) or not _is_domain(mine.host):
        return False
    return other.host == mine.host or other.host.endswith(f".{mine.host}") or mine.host.endswith(f".{other.host}")


def _is_domain(host: str) -> bool:
    """Whether a host is a domain of at least two labels, not an address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return "." in host.strip(".") and not host.endswith(".localhost")
    return False


def is_http_url(url: httpx2.URL) -> bool:
    """Whether a URL is absolute, with scheme http or https and a host."""
    return url.scheme in _DEFAULT_PORTS and bool(url.host)


def differs_only_in_scheme(url: httpx2.URL, own: httpx2.URL) -> bool:
    """Whether a URL has the origin of `own`, but http instead of https or the reverse."""
    mine, other = Origin.of(own), Origin.of(url)
    has_own_port = (url.port or _DEFAULT_PORTS.get(url.scheme)) == mine.port
    is_default = url.port is None and mine.port == _DEFAULT_PORTS.get(mine.scheme)
    return other.host == mine.host and other.scheme != mine.scheme and (has_own_port or is_default)


def resolve_url(base: httpx2.URL | None, reference: str) -> httpx2.URL | None:
    """Resolve a reference against a base URL, without user information and fragment; None if it is not an http URL."""
    try:
        url = httpx2.URL(reference.strip()) if base is None else base.join(reference.strip())
        url = url.copy_with(fragment=None, userinfo=b"")
    except (httpx2.InvalidURL, ValueError, UnicodeError):
        return None
    return url if is_http_url(url) else None
