"""A request as somebody should see it who decides whether it may be sent.

Knows method, place and body. Secrets are masked by whoever makes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from adapters.base import Json


@dataclass(frozen=True, slots=True)
class ShownRequest:
    """What would be sent: `GET`, `POST` … or `tools/call`; the URL or the server; the body, where there is one."""

    method: str
    place: str
    body: Json = None


@runtime_checkable
class ShowsRequests(Protocol):
    """A source that can say what a call would send."""

    async def shown(self, tool: str, arguments: Mapping[str, Json]) -> ShownRequest:
        """The request of a call, which is not sent. Raises SourceError where there is none."""
