"""Questions about customers: nested addresses, tariffs and devices."""

from collections import Counter

from benchmarks.questions.plain import at, count, mean, median, percent, tally, top
from benchmarks.questions.question import Fetch, Kind, Records, asked

CUSTOMERS = Fetch("customers")


@asked(
    "How many customers are active?",
    CUSTOMERS,
    sql="SELECT count(*) FROM {0} WHERE status = 'active'",
    kind=Kind.COUNT,
)
def customers_active(customers: Records) -> int:
    return count(c["status"] == "active" for c in customers)


@asked(
    "What do the monthly fees of all active customers add up to, in CZK?",
    CUSTOMERS,
    sql="SELECT sum(tariff.monthly_fee_czk) FROM {0} WHERE status = 'active'",
    kind=Kind.SUM,
)
def customers_fees_of_active(customers: Records) -> int:
    return sum(c["tariff"]["monthly_fee_czk"] for c in customers if c["status"] == "active")


@asked(
    "Kolik v průměru platí měsíčně zákazníci z Brna? V korunách, na dvě desetinná místa.",
    CUSTOMERS,
    sql="SELECT round(avg(tariff.monthly_fee_czk), 2) FROM {0} WHERE address.city = 'Brno'",
    kind=Kind.AVERAGE,
    language="cs",
)
def customers_average_fee_in_brno(customers: Records) -> float:
    return mean(c["tariff"]["monthly_fee_czk"] for c in customers if c["address"]["city"] == "Brno")


@asked(
    "Which city has the most customers, and how many are they?",
    CUSTOMERS,
    sql="SELECT address.city, count(*) AS n FROM {0} GROUP BY 1 ORDER BY n DESC LIMIT 1",
    kind=Kind.TOP,
    is_ranked=True,
)
def customers_top_city(customers: Records) -> list[tuple[str, float]]:
    return top(Counter(c["address"]["city"] for c in customers), 1)


@asked(
    "How many customers have more than one device registered?",
    CUSTOMERS,
    sql="SELECT count(*) FROM {0} WHERE len(devices) > 1",
    kind=Kind.NESTED,
)
def customers_with_several_devices(customers: Records) -> int:
    return count(len(c["devices"]) > 1 for c in customers)


@asked(
    "How many routers do customers rent from us altogether?",
    CUSTOMERS,
    sql="SELECT count(*) FROM (SELECT unnest(devices) AS d FROM {0}) WHERE d.kind = 'router' AND d.is_rented",
    kind=Kind.NESTED,
)
def customers_rented_routers(customers: Records) -> int:
    return count(d["kind"] == "router" and d["is_rented"] for c in customers for d in c["devices"])


@asked(
    "How many customers registered during the year 2020 (UTC)?",
    CUSTOMERS,
    sql="SELECT count(*) FROM {0} WHERE registered_at >= '2020-01-01' AND registered_at < '2021-01-01'",
    kind=Kind.DATES,
)
def customers_registered_in_2020(customers: Records) -> int:
    return count(at(c["registered_at"]).year == 2020 for c in customers)


@asked(
    "Kolik zákazníků nemá uvedené telefonní číslo?",
    CUSTOMERS,
    sql="SELECT count(*) FROM {0} WHERE phone IS NULL",
    kind=Kind.COUNT,
    language="cs",
)
def customers_without_phone(customers: Records) -> int:
    return count(c["phone"] is None for c in customers)


@asked(
    "For each tariff code, how many customers have it?",
    CUSTOMERS,
    sql="SELECT tariff.code, count(*) FROM {0} GROUP BY 1",
    kind=Kind.GROUP,
)
def customers_by_tariff(customers: Records) -> list[tuple[str, int]]:
    return tally(c["tariff"]["code"] for c in customers)


@asked(
    "What percentage of our customers are companies, that is, have company data filled in? Two decimals.",
    CUSTOMERS,
    sql="SELECT round(100.0 * count(company) / count(*), 2) FROM {0}",
    kind=Kind.SHARE,
)
def customers_company_share(customers: Records) -> float:
    return percent(c["company"] is not None for c in customers)


@asked(
    "How many customers carry the tag vip?",
    CUSTOMERS,
    sql="SELECT count(*) FROM {0} WHERE list_contains(tags, 'vip')",
    kind=Kind.NESTED,
)
def customers_vip(customers: Records) -> int:
    return count("vip" in c["tags"] for c in customers)


@asked(
    "Kolik různých celých jmen se mezi zákazníky vyskytuje?",
    CUSTOMERS,
    sql="SELECT count(DISTINCT name) FROM {0}",
    kind=Kind.DISTINCT,
    language="cs",
)
def customers_distinct_names(customers: Records) -> int:
    return len({c["name"] for c in customers})


@asked(
    "What is the median download speed of our customers' tariffs, in Mb/s, counting each customer once?",
    CUSTOMERS,
    sql="SELECT median(tariff.download_mbps) FROM {0}",
    kind=Kind.MEDIAN,
)
def customers_median_download(customers: Records) -> float:
    return median(c["tariff"]["download_mbps"] for c in customers)


@asked(
    "How many customers with known coordinates live north of the 50th parallel?",
    CUSTOMERS,
    sql="SELECT count(*) FROM {0} WHERE address.location.lat > 50",
    kind=Kind.NESTED,
)
def customers_north_of_50(customers: Records) -> int:
    return count(c["address"]["location"] and c["address"]["location"]["lat"] > 50 for c in customers)


@asked(
    "Kolik zákazníků má celé jméno, které končí na „ová“?",
    CUSTOMERS,
    sql="SELECT count(*) FROM {0} WHERE name LIKE '%ová'",
    kind=Kind.TEXT,
    language="cs",
)
def customers_named_ova(customers: Records) -> int:
    return count(c["name"].endswith("ová") for c in customers)


@asked(
    "Which customer has been with us the longest? Give the name and the customer id.",
    CUSTOMERS,
    sql="SELECT name, id FROM {0} ORDER BY registered_at LIMIT 1",
    kind=Kind.TOP,
    is_ranked=True,
)
def customers_oldest(customers: Records) -> list[tuple[str, int]]:
    ages = {(c["name"], c["id"]): -at(c["registered_at"]).timestamp() for c in customers}
    return [next(iter(top(ages, 1)))[0]]
