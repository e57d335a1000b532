"""A snapshot: what a probe saw of a call's data, by which a later run knows that it has not changed.

Knows what was announced and what the first record was. An unchanged total and an unchanged first record are a good
sign and no proof: records may have changed in place. So a snapshot says by what it judges, and how long its pages may
be taken for the data as it is. Pure; knows no page and no store.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import urlsplit

from adapters.base import CallResult
from adapters.json_text import compact_json_bytes
from adapters.pagination import Certainty
from adapters.pagination.probe.probe import ProbeResult
from runax_cli.executor.run_cache import key_of

_SHARE_BY_AGE = 1 / 96
"""Without a total, pages are taken for the data a ninety-sixth as long: a quarter of an hour of a day."""


class ValidatedBy(StrEnum):
    """What says that the data is unchanged."""

    TOTAL = "total and first record"
    AGE = "age and first record"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`digest` is equal for equal sights of the same data; `max_age_s` is how long pages of it may be used again."""

    digest: str
    judged_by: ValidatedBy
    max_age_s: float


@dataclass(frozen=True, slots=True)
class Reuse:
    """What later runs may take over: `identities` by source, and for how long at most. Zero seconds: nothing.

    A run that goes on takes over its own work whatever its age, and under the same identity only.
    """

    identities: Mapping[str, str] = field(default_factory=dict)
    max_age_s: float = 0.0

    def identity(self, source: str) -> str:
        """The identity of a source; "" where none is known."""
        return self.identities.get(source, "")


@dataclass(frozen=True, slots=True)
class ResponseVersion:
    """Where the answers of a probe came from, and what the server says of their version (RFC 9110, section 8.8)."""

    origin: str = ""
    etag: str = ""
    last_modified: str = ""

    @classmethod
    def of(cls, result: CallResult) -> "ResponseVersion":
        """The sight of one answer."""
        where = urlsplit(result.location.rpartition(" ")[2])
        headers = result.headers
        return cls(f"{where.scheme}://{where.netloc}", headers.get("etag", ""), headers.get("last-modified", ""))


def snapshot_of(found: ProbeResult, sight: ResponseVersion, *, source: str, reuse: Reuse) -> Snapshot | None:
    """What `found` shows of a source; None where nothing may be taken over.

    The identity of a source tells it, as one user may see it, from any other: pages of two never mix.
    """
    identity = reuse.identities.get(source)
    if identity is None or reuse.max_age_s <= 0:
        return None
    first = compact_json_bytes(found.sample[0]) if found.sample else b""
    is_counted = found.total is not None and found.certainty is Certainty.EXACT
    seen = [found.total, found.certainty.value, found.tokens_estimation, hashlib.sha256(first).hexdigest()]
    digest = key_of("snapshot", identity, sight.origin, sight.etag, sight.last_modified, *seen)
    judged_by = ValidatedBy.TOTAL if is_counted else ValidatedBy.AGE
    return Snapshot(digest, judged_by, reuse.max_age_s * (1 if is_counted else _SHARE_BY_AGE))
