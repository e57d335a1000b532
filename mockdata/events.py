"""Monitoring events of network devices, generated one at a time, so that memory does not depend on their number."""

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from mockdata.needles import NEEDLES, Needle
from mockdata.seeded_random import hash_bits
from mockdata.sentences import words

DEFAULT_COUNT = 20_000
MAX_COUNT = 1_000_000
SEVERITIES = ("info", "warning", "error", "critical")
_START = datetime(2026, 9, 1, tzinfo=UTC)
_DEVICE_STEP = 37


@cache
def devices() -> tuple[str, ...]:
    """Names of all devices."""
    return tuple(f"{kind}-{site}" for site in words()["sites"] for kind in words()["device_kinds"])


@cache
def metrics() -> tuple[str, ...]:
    """Names of all metrics."""
    return tuple(row[0] for row in words()["metrics"])


@cache
def _needles() -> dict[int, Needle]:
    return {each.ordinal: each for each in NEEDLES if each.resource == "events"}


def of_device(device: str, count: int) -> range:
    """The numbers of a device's events among the first `count`; empty for an unknown device."""
    names = devices()
    if device not in names:
        return range(0)
    first = names.index(device) * pow(_DEVICE_STEP, -1, len(names)) % len(names) or len(names)
    return range(first, count + 1, len(names))


def device(n: int) -> str:
    """The device that sent event `n`."""
    names = devices()
    return names[n * _DEVICE_STEP % len(names)]


def severity(seed: int, n: int) -> str:
    """The severity of event `n`: 2 % are critical."""
    if n in _needles():
        return "critical"
    share = hash_bits(seed, n) % 100
    return "info" if share < 80 else "warning" if share < 93 else "error" if share < 98 else "critical"


def metric(seed: int, n: int) -> str:
    """The metric of event `n`."""
    return metrics()[(hash_bits(seed, n) >> 8) % len(metrics())]


def record(seed: int, n: int) -> dict[str, Any]:
    """Event `n` as the API returns it."""
    bits, event_severity, source = hash_bits(seed, n) >> 16, severity(seed, n), device(n)
    name, unit, ordinary, critical = next(row for row in words()["metrics"] if row[0] == metric(seed, n))
    kind, _, site = source.partition("-")
    share = SEVERITIES.index(event_severity) / 3 + (bits % 1000) / 9000
    found = _needles().get(n)
    return {
        "id": n,
        "ts": (_START + timedelta(seconds=n * 4 + bits % 4)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "device": source,
        "kind": kind,
        "site": site,
        "metric": name,
        "value": None if bits % 97 == 0 else round(ordinary + (critical - ordinary) * share, 2),
        "unit": unit,
        "severity": event_severity,
        "message": found.text if found else _MESSAGES[event_severity][bits % 3].format(metric=name, port=bits % 48 + 1),
        "labels": {"rack": f"R{bits % 12 + 1}", "port": bits % 48 + 1 if kind != "ups" else None},
        "acknowledged_by": words()["staff"][bits % 10]
        if event_severity in ("error", "critical") and bits % 3
        else None,
    }


_MESSAGES = {
    "info": ("periodic reading of {metric}", "{metric} v normálu", "heartbeat, port {port} up"),
    "warning": ("{metric} above threshold", "{metric} kolísá, port {port}", "link flap on port {port}"),
    "error": ("{metric} out of range, port {port} degraded", "opakovaná chyba {metric}", "CRC errors on port {port}"),
    "critical": (
        "{metric} critical, traffic lost on port {port}",
        "výpadek portu {port}",
        "alarm {metric}, field team called",
    ),
}
