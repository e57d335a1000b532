"""Questions about monitoring events; they are unambiguous for 1,000 and for 1,000,000 events."""

from collections import Counter, defaultdict

from benchmarks.questions.plain import count, mean, median, percent, tally, top
from benchmarks.questions.question import Fetch, Kind, Records, asked

EVENTS = Fetch("events")


@asked(
    "How many events are there of each severity?",
    EVENTS,
    sql="SELECT severity, count(*) FROM {0} GROUP BY severity",
    kind=Kind.GROUP,
)
def events_by_severity(events: Records) -> list[tuple[str, int]]:
    return tally(e["severity"] for e in events)


@asked(
    "What is the average temperature reported by each kind of device, in °C to two decimals?",
    EVENTS,
    sql="SELECT kind, round(avg(value), 2) FROM {0} WHERE metric = 'temperature' GROUP BY kind",
    kind=Kind.GROUP,
)
def events_temperature_by_kind(events: Records) -> list[tuple[str, float]]:
    values: dict[str, list[float]] = defaultdict(list)
    for event in events:
        if event["metric"] == "temperature" and event["value"] is not None:
            values[event["kind"]].append(event["value"])
    return [(kind, mean(given)) for kind, given in values.items()]


@asked(
    "What is the highest latency measured by any device, in ms?",
    EVENTS,
    sql="SELECT max(value) FROM {0} WHERE metric = 'latency'",
    kind=Kind.TOP,
)
def events_highest_latency(events: Records) -> float:
    return float(max(e["value"] for e in events if e["metric"] == "latency" and e["value"] is not None))


@asked(
    "Which metric has the most critical events, and how many?",
    EVENTS,
    sql="SELECT metric, count(*) AS n FROM {0} WHERE severity = 'critical' GROUP BY 1 ORDER BY n DESC LIMIT 1",
    kind=Kind.TOP,
    is_ranked=True,
)
def events_most_critical_metric(events: Records) -> list[tuple[str, float]]:
    return top(Counter(e["metric"] for e in events if e["severity"] == "critical"), 1)


@asked(
    "From how many different devices did critical events come?",
    EVENTS,
    sql="SELECT count(DISTINCT device) FROM {0} WHERE severity = 'critical'",
    kind=Kind.DISTINCT,
)
def events_devices_with_critical(events: Records) -> int:
    return len({e["device"] for e in events if e["severity"] == "critical"})


@asked(
    "U kolika událostí chybí naměřená hodnota?",
    EVENTS,
    sql="SELECT count(*) FROM {0} WHERE value IS NULL",
    kind=Kind.COUNT,
    language="cs",
)
def events_without_value(events: Records) -> int:
    return count(e["value"] is None for e in events)


@asked(
    "What is the median packet loss over all measurements, in per cent?",
    EVENTS,
    sql="SELECT median(value) FROM {0} WHERE metric = 'packet_loss'",
    kind=Kind.MEDIAN,
)
def events_median_packet_loss(events: Records) -> float:
    return median(e["value"] for e in events if e["metric"] == "packet_loss" and e["value"] is not None)


@asked(
    "What percentage of the critical events has been acknowledged by somebody? Two decimals.",
    EVENTS,
    sql="SELECT round(100.0 * count(acknowledged_by) / count(*), 2) FROM {0} WHERE severity = 'critical'",
    kind=Kind.SHARE,
)
def events_acknowledged_share(events: Records) -> float:
    return percent(e["acknowledged_by"] is not None for e in events if e["severity"] == "critical")


@asked(
    "How many events come from equipment in the rack R7 and are errors or critical?",
    EVENTS,
    sql="SELECT count(*) FROM {0} WHERE labels.rack = 'R7' AND severity IN ('error', 'critical')",
    kind=Kind.NESTED,
)
def events_grave_in_rack_7(events: Records) -> int:
    return count(e["labels"]["rack"] == "R7" and e["severity"] in ("error", "critical") for e in events)


@asked(
    "How many warnings were there on 1 September 2026 from 00:15 up to but not including 00:45 UTC?",
    EVENTS,
    sql="SELECT count(*) FROM {0} WHERE severity = 'warning' "
    "AND ts >= '2026-09-01 00:15:00' AND ts < '2026-09-01 00:45:00'",
    kind=Kind.DATES,
)
def events_warnings_in_half_an_hour(events: Records) -> int:
    begin, end = "2026-09-01T00:15:00Z", "2026-09-01T00:45:00Z"
    return count(e["severity"] == "warning" and begin <= e["ts"] < end for e in events)


@asked(
    "Kolik událostí má ve zprávě slovo „výpadek“?",
    EVENTS,
    sql="SELECT count(*) FROM {0} WHERE message LIKE '%výpadek%'",
    kind=Kind.TEXT,
    language="cs",
)
def events_outages_by_text(events: Records) -> int:
    return count("výpadek" in e["message"] for e in events)


@asked(
    "What was the last event of the device olt-brno-03? Give its id.",
    Fetch("events", {"device": "olt-brno-03"}),
    sql="SELECT id FROM {0} ORDER BY ts DESC LIMIT 1",
    kind=Kind.TOP,
    is_ranked=True,
)
def events_last_of_device(events: Records) -> int:
    return int(max(events, key=lambda e: str(e["ts"]))["id"])
