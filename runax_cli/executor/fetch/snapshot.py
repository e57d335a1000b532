"""Snapshots: what a probe saw of a call's data, by which a later run recognizes that it is unchanged.

An unchanged total and an unchanged first record are evidence and no proof: records may have changed in place. So a
snapshot says what it is validated by and how long its pages may be used again.
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

_UNCOUNTED_SHARE = 1 / 96
"""The part of the maximum age that holds without a total: a quarter of an hour of a day."""


class ValidatedBy(StrEnum):
    """The evidence that the data is unchanged."""

    TOTAL = "total and first record"
    AGE = "age and first record"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a call's data. `digest` is equal for equal states; its pages may be used again for `max_age_s`."""

    digest: str
    validated_by: ValidatedBy
    max_age_s: float


@dataclass(frozen=True, slots=True)
class ReusePolicy:
    """Which pages of earlier runs may be used: the `identities` of the sources, and a maximum age. 0 s: none.

    A resumed run uses its own stored work regardless of its age, but only under the same identity.
    """

    identities: Mapping[str, str] = field(default_factory=dict)
    max_age_s: float = 0.0

    def identity(self, source: str) -> str:
        """Return the identity of a source; "" if it is unknown."""
        return self.identities.get(source, "")


@dataclass(frozen=True, slots=True)
class ResponseVersion:
    """The origin of a response and its version according to the server (RFC 9110, section 8.8)."""

    origin: str = ""
    etag: str = ""
    last_modified: str = ""

    @classmethod
    def from_result(cls, result: CallResult) -> "ResponseVersion":
        """Return the version of a response."""
        url = urlsplit(result.location.rpartition(" ")[2])
        headers = result.headers
        return cls(f"{url.scheme}://{url.netloc}", headers.get("etag", ""), headers.get("last-modified", ""))


def snapshot_of(probe: ProbeResult, version: ResponseVersion, *, source: str, reuse: ReusePolicy) -> Snapshot | None:
    """Return the snapshot of a source's data by its probe; None if no pages of other runs may be used.

    The identity of the source is a part of it, so that pages of two users never mix.
    """
    identity = reuse.identities.get(source)
    if identity is None or reuse.max_age_s <= 0:
        return None
    first = compact_json_bytes(probe.sample[0]) if probe.sample else b""
    is_counted = probe.total is not None and probe.certainty is Certainty.EXACT
    seen = [probe.total, probe.certainty.value, probe.tokens_estimation, hashlib.sha256(first).hexdigest()]
    digest = key_of("snapshot", identity, version.origin, version.etag, version.last_modified, *seen)
    validated_by = ValidatedBy.TOTAL if is_counted else ValidatedBy.AGE
    return Snapshot(digest, validated_by, reuse.max_age_s * (1 if is_counted else _UNCOUNTED_SHARE))
