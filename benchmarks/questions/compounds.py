"""Questions of two and three parts over different entities; each part has its own gold.

Parts that are in no other module are defined here.
"""

from collections import Counter

from benchmarks.questions import about_birdstrikes as strikes
from benchmarks.questions import about_customers as customers
from benchmarks.questions import about_events as events
from benchmarks.questions import about_flights as flights
from benchmarks.questions import about_logs as logs
from benchmarks.questions import about_messages as messages
from benchmarks.questions import about_payments as payments
from benchmarks.questions import about_tickets as tickets
from benchmarks.questions import about_two as two
from benchmarks.questions.plain import count, top
from benchmarks.questions.question import Compound, Fetch, Kind, Question, Records, asked


@asked(
    "What is the customer id of Tomáš Baláž?",
    Fetch("customers", {"name": "Tomáš Baláž"}),
    sql="SELECT id FROM {0}",
    kind=Kind.TEXT,
)
def id_of_balaz(found: Records) -> int:
    return next(int(c["id"]) for c in found)


@asked(
    "How many tickets does Tomáš Baláž have?",
    tickets.OF_CUSTOMER_4,
    sql="SELECT count(*) FROM {0}",
    kind=Kind.COUNT,
)
def tickets_of_balaz(found: Records) -> int:
    return count(True for _ in found)


@asked(
    "Which tariff does Tomáš Baláž have, by its name, and what is the monthly fee in CZK?",
    Fetch("customers", {"name": "Tomáš Baláž"}),
    sql="SELECT tariff.name, tariff.monthly_fee_czk FROM {0}",
    kind=Kind.NESTED,
)
def tariff_of_balaz(found: Records) -> list[tuple[str, int]]:
    return [(c["tariff"]["name"], c["tariff"]["monthly_fee_czk"]) for c in found]


@asked(
    "How many messages were exchanged with Tomáš Baláž?",
    Fetch("messages", {"customer_id": 4}),
    sql="SELECT count(*) FROM {0}",
    kind=Kind.COUNT,
)
def messages_of_balaz(found: Records) -> int:
    return count(True for _ in found)


@asked(
    "How many of the tickets of customer 4 are resolved or closed?",
    tickets.OF_CUSTOMER_4,
    sql="SELECT count(*) FROM {0} WHERE status IN ('resolved', 'closed')",
    kind=Kind.COUNT,
)
def tickets_of_balaz_done(found: Records) -> int:
    return count(t["status"] in ("resolved", "closed") for t in found)


@asked(
    "How many monitoring events did the device olt-brno-03 send?",
    Fetch("events", {"device": "olt-brno-03"}),
    sql="SELECT count(*) FROM {0}",
    kind=Kind.COUNT,
)
def events_of_a_device(found: Records) -> int:
    return count(True for _ in found)


@asked(
    "How many messages went out by letter?",
    Fetch("messages", {"channel": "letter"}),
    sql="SELECT count(*) FROM {0} WHERE direction = 'outbound'",
    kind=Kind.COUNT,
)
def messages_by_letter(found: Records) -> int:
    return count(m["direction"] == "outbound" for m in found)


@asked(
    "Which channel do customers use most to open tickets, and for how many?",
    tickets.TICKETS,
    sql="SELECT channel, count(*) AS n FROM {0} GROUP BY 1 ORDER BY n DESC LIMIT 1",
    kind=Kind.TOP,
    is_ranked=True,
)
def top_ticket_channel(found: Records) -> list[tuple[str, float]]:
    return top(Counter(t["channel"] for t in found), 1)


@asked(
    "How many invoices were issued in EUR?",
    payments.PAYMENTS,
    sql="SELECT count(*) FROM {0} WHERE currency = 'EUR'",
    kind=Kind.COUNT,
)
def invoices_in_euro(found: Records) -> int:
    return count(p["currency"] == "EUR" for p in found)


def _compound(name: str, text: str, *parts: Question) -> Compound:
    return Compound(id=name, text=text, parts=parts, language="cs" if name.endswith("-cs") else "en")


COMPOUNDS = (
    _compound(
        "active-and-urgent",
        "How many customers are active, and how many urgent tickets still have the status open?",
        customers.customers_active,
        tickets.tickets_urgent_and_open,
    ),
    _compound(
        "balaz-whole",
        "What is the customer id of Tomáš Baláž, how many tickets does he have, and what do his overdue invoices add "
        "up to in CZK?",
        id_of_balaz,
        tickets_of_balaz,
        payments.payments_overdue_of_customer_4,
    ),
    _compound(
        "balaz-tariff-and-messages",
        "Which tariff does Tomáš Baláž have (its name and monthly fee in CZK), and how many messages were exchanged "
        "with him?",
        tariff_of_balaz,
        messages_of_balaz,
    ),
    _compound(
        "balaz-done-and-owed-cs",
        "Kolik požadavků zákazníka 4 je vyřešených nebo uzavřených (resolved, closed) a kolik korun dělají jeho "
        "faktury po splatnosti (overdue)?",
        tickets_of_balaz_done,
        payments.payments_overdue_of_customer_4,
    ),
    _compound(
        "overdue-and-critical",
        "What is the total amount of overdue invoices in CZK, and which metric has the most critical events "
        "(with their number)?",
        payments.payments_overdue_sum,
        events.events_most_critical_metric,
    ),
    _compound(
        "statuses-and-severities",
        "How many tickets are there in each status, and how many monitoring events of each severity?",
        tickets.tickets_by_status,
        events.events_by_severity,
    ),
    _compound(
        "phones-late-and-values-cs",
        "Kolik zákazníků nemá uvedený telefon, kolik faktur bylo zaplaceno až po splatnosti a u kolika událostí "
        "chybí naměřená hodnota?",
        customers.customers_without_phone,
        payments.payments_paid_late,
        events.events_without_value,
    ),
    _compound(
        "tariffs-and-methods",
        "How many customers does each tariff code have? And for invoices in CZK with the status paid: what amount came "
        "in by each payment method?",
        customers.customers_by_tariff,
        payments.payments_by_method,
    ),
    _compound(
        "sms-and-weekend",
        "How many SMS messages did customers send us (inbound), and how many tickets were created on a Saturday or "
        "Sunday (UTC)?",
        messages.messages_inbound_sms,
        tickets.tickets_at_weekends,
    ),
    _compound(
        "read-and-paid",
        "What percentage of the outbound messages has been read, and what percentage of the invoices issued in October "
        "2026 has the status paid? Two decimals each.",
        messages.messages_share_read,
        payments.payments_paid_share_in_october,
    ),
    _compound(
        "device-and-letters",
        "How many monitoring events did the device olt-brno-03 send, and how many messages went out (outbound) by "
        "letter?",
        events_of_a_device,
        messages_by_letter,
    ),
    _compound(
        "channel-and-city",
        "Which channel are most tickets opened through (with their number), and which city has the most customers "
        "(with their number)?",
        top_ticket_channel,
        customers.customers_top_city,
    ),
    _compound(
        "three-medians",
        "Give me three medians: the download speed of customers' tariffs in Mb/s (each customer once), the amount of "
        "an invoice in CZK, and the minutes between sending and reading of messages that were read.",
        customers.customers_median_download,
        payments.payments_median_amount,
        messages.messages_median_minutes_to_read,
    ),
    _compound(
        "euro-and-brno",
        "How many invoices were issued in EUR, and how many tickets did customers from Brno raise?",
        invoices_in_euro,
        two.tickets_from_brno,
    ),
    _compound(
        "companies-and-late",
        "What percentage of our customers are companies (have company data), and what percentage of the invoices that "
        "those companies have paid was paid after the due date? Two decimals each.",
        customers.customers_company_share,
        two.companies_paying_late,
    ),
    _compound(
        "flights-and-strikes",
        "How many different routes (origin and destination, in that direction) do the flights cover, and what was the "
        "total cost of all wildlife strikes (Cost Total $) in dollars?",
        flights.flights_routes,
        strikes.strikes_total_cost,
    ),
    _compound(
        "delay-and-speed",
        "What is the average delay of flights from DFW in minutes, to two decimals, and what is the median known speed "
        "(IAS in knots) at wildlife strikes?",
        flights.flights_average_delay_from_dfw,
        strikes.strikes_median_speed,
    ),
    _compound(
        "late-and-night-cs",
        "Kolik letů mělo zpoždění větší než 60 minut a kolik procent střetů s ptáky se stalo v noci "
        "(Time of day je Night, na dvě desetinná místa)?",
        flights.flights_over_an_hour_late,
        strikes.strikes_at_night,
    ),
    _compound(
        "airports-twice",
        "Which five airports do most flights leave from (with numbers of flights), and which three airports have the "
        "highest total cost of wildlife strikes (Cost Total $, with amounts)?",
        flights.flights_top_origins,
        strikes.strikes_dearest_airports,
    ),
    _compound(
        "species-and-processes",
        "How many wildlife species are named in the strikes, leaving out those that begin with Unknown, and how many "
        "different processes (Pid) wrote to the SSH log?",
        strikes.strikes_known_species,
        logs.ssh_processes,
    ),
    _compound(
        "root-and-levels",
        "How many lines of the SSH log report a failed password for root, and how many lines of each level does the "
        "Apache log have?",
        logs.ssh_failed_for_root,
        logs.apache_by_level,
    ),
    _compound(
        "attackers-and-errors",
        "Which two IP addresses have the most 'Failed password' lines in the SSH log (with numbers), and how many "
        "errors does the Apache log have on 5 December 2005?",
        logs.ssh_top_attackers,
        logs.apache_errors_on_a_day,
    ),
    _compound(
        "logs-cs",
        "Kolik řádků SSH logu vzniklo od 9:00 (včetně) do 10:00 (mimo) a kolik různých IP adres klientů je v logu "
        "Apache u zakázaného výpisu adresáře (Directory index forbidden)?",
        logs.ssh_lines_from_nine_to_ten,
        logs.apache_forbidden_clients,
    ),
    _compound(
        "routers-and-models",
        "How many routers do customers rent from us, and how many different device models appear in tickets of the "
        "category router?",
        customers.customers_rented_routers,
        tickets.tickets_models_of_routers,
    ),
    _compound(
        "fees-overdue-refunds",
        "For CZK only: what do the monthly fees of all active customers add up to, what is the total of overdue "
        "invoices, and how many customers have at least one ticket with the status open and an overdue invoice?",
        customers.customers_fees_of_active,
        payments.payments_overdue_sum,
        two.customers_open_and_overdue,
    ),
    _compound(
        "notes-and-invoices-cs",
        "Kolik interních poznámek k požadavkům napsala Marie Doubravová a kolik různých zákazníků má fakturu po "
        "splatnosti (overdue)?",
        tickets.tickets_notes_of_marie,
        payments.payments_customers_overdue,
    ),
    _compound(
        "quarter-and-year",
        "How many tickets were created from 1 January to 31 March 2025 (UTC), and how many customers registered during "
        "2020 (UTC)?",
        tickets.tickets_in_first_quarter_2025,
        customers.customers_registered_in_2020,
    ),
    _compound(
        "staff-critical-failed",
        "Which three members of staff have the most tickets assigned (with numbers), from how many different devices "
        "did critical events come, and how many messages failed to be delivered on each channel?",
        tickets.tickets_busiest_staff,
        events.events_devices_with_critical,
        messages.messages_failed_by_channel,
    ),
    _compound(
        "month-and-month",
        "In which month were invoices with the highest total amount issued (CZK only, with the amount), and in which "
        "month of 2024 (UTC) were the most messages sent (with their number)?",
        payments.payments_best_month,
        messages.messages_busiest_month_2024,
    ),
    _compound(
        "temperature-and-outages",
        "What is the average temperature reported by each kind of device, in °C to two decimals, and which two cities "
        "do the most tickets of the category outage come from (with numbers)?",
        events.events_temperature_by_kind,
        two.cities_with_most_outages,
    ),
    _compound(
        "active-and-their-fees",
        "How many customers are active, and what is their total monthly fee in CZK?",
        customers.customers_active,
        customers.customers_fees_of_active,
    ),
    _compound(
        "late-and-how-late",
        "How many invoices were paid after their due date, and by how many days on average were they late (two "
        "decimals)?",
        payments.payments_paid_late,
        payments.payments_average_delay,
    ),
    _compound(
        "extra-and-its-sum",
        "How many invoices have a line for an extra service (line code extra), and what did these lines bring in total "
        "on invoices in CZK?",
        payments.payments_with_extra,
        payments.payments_extra_sum,
    ),
    _compound(
        "urgent-and-tagged",
        "How many urgent tickets are still open (status open), and how many tickets carry both the tag fibre and the "
        "tag vip?",
        tickets.tickets_urgent_and_open,
        tickets.tickets_fibre_and_vip,
    ),
    _compound(
        "phones-and-names-cs",
        "Kolik zákazníků nemá uvedené telefonní číslo a kolik různých celých jmen se mezi zákazníky vyskytuje?",
        customers.customers_without_phone,
        customers.customers_distinct_names,
    ),
    _compound(
        "overdue-and-their-sum-cs",
        "Kolik různých zákazníků má fakturu po splatnosti (overdue) a jaká je jejich celková částka v CZK?",
        payments.payments_customers_overdue,
        payments.payments_overdue_sum,
    ),
    _compound(
        "three-of-invoices",
        "What is the median amount of an invoice in CZK, how much was refunded altogether (CZK invoices only), and how "
        "many invoices have a number that starts with 202603?",
        payments.payments_median_amount,
        payments.payments_refunded,
        payments.payments_numbered_202603,
    ),
)
