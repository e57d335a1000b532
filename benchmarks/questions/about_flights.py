"""Questions about US flights of early 2001: a file with dates written as text ("2001/01/01 00:47")."""

from collections import Counter

from benchmarks.questions.plain import count, mean, median, percent, top
from benchmarks.questions.question import Fetch, Kind, Records, asked

FLIGHTS = Fetch("flights_20k")


@asked(
    "What is the average delay of flights that left from DFW, in minutes to two decimals?",
    FLIGHTS,
    sql="SELECT round(avg(delay), 2) FROM {0} WHERE origin = 'DFW'",
    kind=Kind.AVERAGE,
)
def flights_average_delay_from_dfw(flights: Records) -> float:
    return mean(f["delay"] for f in flights if f["origin"] == "DFW")


@asked(
    "Which five airports do most of the flights leave from? List them with the numbers of flights, most first.",
    FLIGHTS,
    sql="SELECT origin, count(*) AS n FROM {0} GROUP BY origin ORDER BY n DESC LIMIT 5",
    kind=Kind.TOP,
    is_ranked=True,
)
def flights_top_origins(flights: Records) -> list[tuple[str, float]]:
    return top(Counter(f["origin"] for f in flights), 5)


@asked(
    "Kolik letů mělo zpoždění větší než 60 minut?",
    FLIGHTS,
    sql="SELECT count(*) FROM {0} WHERE delay > 60",
    kind=Kind.COUNT,
    language="cs",
)
def flights_over_an_hour_late(flights: Records) -> int:
    return count(f["delay"] > 60 for f in flights)


@asked(
    "Jaký je medián vzdálenosti letů?",
    FLIGHTS,
    sql="SELECT median(distance) FROM {0}",
    kind=Kind.MEDIAN,
    language="cs",
)
def flights_median_distance(flights: Records) -> float:
    return median(f["distance"] for f in flights)


@asked(
    "How many different routes (pairs of origin and destination, in that direction) do the flights cover?",
    FLIGHTS,
    sql="SELECT count(DISTINCT (origin, destination)) FROM {0}",
    kind=Kind.DISTINCT,
)
def flights_routes(flights: Records) -> int:
    return len({(f["origin"], f["destination"]) for f in flights})


@asked(
    "What percentage of the flights in February 2001 was more than 15 minutes late? Two decimals.",
    FLIGHTS,
    sql="SELECT round(100.0 * count(*) FILTER (delay > 15) / count(*), 2) FROM {0} "
    "WHERE date_date >= '2001-02-01' AND date_date < '2001-03-01'",
    kind=Kind.DATES,
)
def flights_late_in_february(flights: Records) -> float:
    return percent(f["delay"] > 15 for f in flights if f["date"].startswith("2001/02/"))


@asked(
    "On how many flights from ORD to LAX was there no delay at all or an early arrival (delay of zero or less)?",
    FLIGHTS,
    sql="SELECT count(*) FROM {0} WHERE origin = 'ORD' AND destination = 'LAX' AND delay <= 0",
    kind=Kind.COUNT,
)
def flights_ord_lax_in_time(flights: Records) -> int:
    return count((f["origin"], f["destination"]) == ("ORD", "LAX") and f["delay"] <= 0 for f in flights)


@asked(
    "Which destination has the highest average delay among destinations with at least 200 flights? "
    "Give the average in minutes to two decimals, too.",
    FLIGHTS,
    sql="SELECT destination, round(avg(delay), 2) AS late FROM {0} GROUP BY 1 HAVING count(*) >= 200 "
    "ORDER BY late DESC LIMIT 1",
    kind=Kind.TOP,
    is_ranked=True,
)
def flights_latest_destination(flights: Records) -> list[tuple[str, float]]:
    delays: dict[str, list[int]] = {}
    for flight in flights:
        delays.setdefault(flight["destination"], []).append(flight["delay"])
    return top({place: mean(given) for place, given in delays.items() if len(given) >= 200}, 1)


@asked(
    "Jakou vzdálenost nalétaly dohromady všechny lety dne 15. ledna 2001?",
    FLIGHTS,
    sql="SELECT sum(distance) FROM {0} WHERE CAST(date_date AS DATE) = '2001-01-15'",
    kind=Kind.SUM,
    language="cs",
)
def flights_distance_on_a_day(flights: Records) -> int:
    return sum(f["distance"] for f in flights if f["date"].startswith("2001/01/15"))
