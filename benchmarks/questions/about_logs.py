"""Questions about system logs (OpenSSH, Apache): times without a date, addresses inside texts."""

import re
from collections import Counter

from benchmarks.questions.plain import count, tally, top
from benchmarks.questions.question import Fetch, Kind, Records, asked

SSH = Fetch("loghub_openssh")
APACHE = Fetch("loghub_apache")
_FROM = re.compile(r"from (\d+\.\d+\.\d+\.\d+)")


@asked(
    "In the SSH log, how many lines report a failed password for root?",
    SSH,
    sql="""SELECT count(*) FROM {0} WHERE "Content" LIKE 'Failed password for root %'""",
    kind=Kind.TEXT,
)
def ssh_failed_for_root(lines: Records) -> int:
    return count(line["Content"].startswith("Failed password for root ") for line in lines)


@asked(
    "How many different processes (Pid) wrote to the SSH log?",
    SSH,
    sql='SELECT count(DISTINCT "Pid") FROM {0}',
    kind=Kind.DISTINCT,
)
def ssh_processes(lines: Records) -> int:
    return len({line["Pid"] for line in lines})


@asked(
    "Which two IP addresses have the most lines that begin with 'Failed password' in the SSH log, and how many each?",
    SSH,
    sql=r"""SELECT regexp_extract("Content", 'from (\d+\.\d+\.\d+\.\d+)', 1) AS ip, count(*) AS n FROM {0} """
    """WHERE "Content" LIKE 'Failed password%' GROUP BY ip ORDER BY n DESC LIMIT 2""",
    kind=Kind.TOP,
    is_ranked=True,
)
def ssh_top_attackers(lines: Records) -> list[tuple[str, float]]:
    failed = [line["Content"] for line in lines if line["Content"].startswith("Failed password")]
    return top(Counter(_FROM.findall(text)[0] for text in failed), 2)


@asked(
    "Kolik řádků SSH logu vzniklo od 9:00 (včetně) do 10:00 (mimo)?",
    SSH,
    sql="""SELECT count(*) FROM {0} WHERE "Time" >= '09:00:00' AND "Time" < '10:00:00'""",
    kind=Kind.DATES,
    language="cs",
)
def ssh_lines_from_nine_to_ten(lines: Records) -> int:
    return count("09:00:00" <= line["Time"] < "10:00:00" for line in lines)


@asked(
    "How many lines of each level does the Apache log have?",
    APACHE,
    sql='SELECT "Level", count(*) FROM {0} GROUP BY 1',
    kind=Kind.GROUP,
)
def apache_by_level(lines: Records) -> list[tuple[str, int]]:
    return tally(line["Level"] for line in lines)


@asked(
    "How many errors does the Apache log have on 5 December 2005?",
    APACHE,
    sql="""SELECT count(*) FROM {0} WHERE "Level" = 'error' AND CAST("Time_date" AS DATE) = '2005-12-05'""",
    kind=Kind.DATES,
)
def apache_errors_on_a_day(lines: Records) -> int:
    return count(line["Level"] == "error" and line["Time"].startswith("Mon Dec 05") for line in lines)


@asked(
    "How many different numbers of a child appear in lines 'jk2_init() Found child <number> in scoreboard slot …' "
    "of the Apache log?",
    APACHE,
    sql=r"""SELECT count(DISTINCT regexp_extract("Content", 'Found child (\d+)', 1)) FROM {0} """
    """WHERE "Content" LIKE 'jk2_init() Found child%'""",
    kind=Kind.DISTINCT,
)
def apache_children(lines: Records) -> int:
    return len({number for line in lines for number in re.findall(r"Found child (\d+)", line["Content"])})


@asked(
    "Kolik různých IP adres klientů se v logu Apache objevuje v řádcích se zakázaným výpisem adresáře "
    "(Directory index forbidden)?",
    APACHE,
    sql=r"""SELECT count(DISTINCT regexp_extract("Content", 'client (\S+?)\]', 1)) FROM {0} """
    """WHERE "Content" LIKE '%Directory index forbidden%'""",
    kind=Kind.DISTINCT,
    language="cs",
)
def apache_forbidden_clients(lines: Records) -> int:
    forbidden = [line["Content"] for line in lines if "Directory index forbidden" in line["Content"]]
    return len({text.split("]")[0].removeprefix("[client ") for text in forbidden})
