"""Questions about wildlife strikes: columns with spaces and signs in their names, missing speeds."""

from collections import Counter

from benchmarks.questions.plain import count, mean, median, percent, tally, top
from benchmarks.questions.question import Fetch, Kind, Records, asked

STRIKES = Fetch("birdstrikes")


@asked(
    "What was the total cost of all wildlife strikes (Cost Total $), in dollars?",
    STRIKES,
    sql='SELECT sum("Cost Total $") FROM {0}',
    kind=Kind.SUM,
)
def strikes_total_cost(strikes: Records) -> int:
    return sum(int(s["Cost Total $"]) for s in strikes)


@asked(
    "Among strikes with a repair cost above zero, what was the average repair cost in dollars, to two decimals?",
    STRIKES,
    sql='SELECT round(avg("Cost Repair"), 2) FROM {0} WHERE "Cost Repair" > 0',
    kind=Kind.AVERAGE,
)
def strikes_average_repair(strikes: Records) -> float:
    return mean(int(s["Cost Repair"]) for s in strikes if int(s["Cost Repair"]) > 0)


@asked(
    "Which three airports have the highest total cost of strikes (Cost Total $)? Highest first, with the amounts.",
    STRIKES,
    sql='SELECT "Airport Name", sum("Cost Total $") AS total FROM {0} GROUP BY 1 ORDER BY total DESC LIMIT 3',
    kind=Kind.TOP,
    is_ranked=True,
)
def strikes_dearest_airports(strikes: Records) -> list[tuple[str, float]]:
    costs: Counter[str] = Counter()
    for strike in strikes:
        costs[strike["Airport Name"]] += int(strike["Cost Total $"])
    return top(costs, 3)


@asked(
    "How many strikes happened from June to August 1998?",
    STRIKES,
    sql="""SELECT count(*) FROM {0} WHERE "Flight Date" >= '1998-06-01' AND "Flight Date" < '1998-09-01'""",
    kind=Kind.DATES,
)
def strikes_in_summer_1998(strikes: Records) -> int:
    return count("1998-06-01" <= s["Flight Date"] <= "1998-08-31" for s in strikes)


@asked(
    "What is the median speed (IAS, in knots) at the time of the strike, where it is known?",
    STRIKES,
    sql='SELECT median("Speed IAS in knots") FROM {0}',
    kind=Kind.MEDIAN,
)
def strikes_median_speed(strikes: Records) -> float:
    return median(int(s["Speed IAS in knots"]) for s in strikes if s["Speed IAS in knots"])


@asked(
    "Kolik procent střetů se stalo v noci (Time of day je Night)? Na dvě desetinná místa.",
    STRIKES,
    sql="""SELECT round(100.0 * count(*) FILTER ("Time of day" = 'Night') / count(*), 2) FROM {0}""",
    kind=Kind.SHARE,
    language="cs",
)
def strikes_at_night(strikes: Records) -> float:
    return percent(s["Time of day"] == "Night" for s in strikes)


@asked(
    "How many different wildlife species are named, leaving out those that begin with Unknown?",
    STRIKES,
    sql="""SELECT count(DISTINCT "Wildlife Species") FROM {0} WHERE "Wildlife Species" NOT LIKE 'Unknown%'""",
    kind=Kind.DISTINCT,
)
def strikes_known_species(strikes: Records) -> int:
    return len({s["Wildlife Species"] for s in strikes if not s["Wildlife Species"].startswith("Unknown")})


@asked(
    "How many strikes with substantial damage were there in each phase of flight?",
    STRIKES,
    sql="""SELECT "Phase of flight", count(*) FROM {0} WHERE "Effect Amount of damage" = 'Substantial' GROUP BY 1""",
    kind=Kind.GROUP,
)
def strikes_substantial_by_phase(strikes: Records) -> list[tuple[str, int]]:
    return tally(s["Phase of flight"] for s in strikes if s["Effect Amount of damage"] == "Substantial")


@asked(
    "How many strikes hit aircraft of the operator written US AIRWAYS* in Pennsylvania?",
    STRIKES,
    sql="""SELECT count(*) FROM {0} WHERE "Aircraft Airline Operator" = 'US AIRWAYS*' """
    """AND "Origin State" = 'Pennsylvania'""",
    kind=Kind.TEXT,
)
def strikes_of_us_airways(strikes: Records) -> int:
    return count(
        (s["Aircraft Airline Operator"], s["Origin State"]) == ("US AIRWAYS*", "Pennsylvania") for s in strikes
    )
