"""Flights of a regional airline (January to June 2025) and the airports it serves. Deterministic."""
from __future__ import annotations

import datetime as dt
import random

# iata, name, city, country, elevation_ft, runways, hub
_AIRPORTS = [
    ("PRG", "Václav Havel Airport Prague", "Praha", "CZ", 1247, 2), ("BRQ", "Brno-Tuřany Airport", "Brno", "CZ", 778, 1),
    ("OSR", "Leoš Janáček Airport Ostrava", "Ostrava", "CZ", 844, 1), ("KLV", "Karlovy Vary Airport", "Karlovy Vary", "CZ", 1989, 1),
    ("PED", "Pardubice Airport", "Pardubice", "CZ", 741, 1),
    ("VIE", "Vienna International Airport", "Wien", "AT", 600, 2), ("SZG", "Salzburg Airport W. A. Mozart", "Salzburg", "AT", 1411, 1),
    ("GRZ", "Graz Airport", "Graz", "AT", 1115, 1), ("INN", "Innsbruck Airport", "Innsbruck", "AT", 1907, 1),
    ("MUC", "Munich Airport", "München", "DE", 1487, 2), ("FRA", "Frankfurt Airport", "Frankfurt am Main", "DE", 364, 4),
    ("BER", "Berlin Brandenburg Airport", "Berlin", "DE", 157, 2), ("HAM", "Hamburg Airport", "Hamburg", "DE", 53, 2),
    ("DUS", "Düsseldorf Airport", "Düsseldorf", "DE", 147, 2), ("STR", "Stuttgart Airport", "Stuttgart", "DE", 1276, 1),
    ("LEJ", "Leipzig/Halle Airport", "Leipzig", "DE", 470, 2), ("DRS", "Dresden Airport", "Dresden", "DE", 755, 1),
    ("NUE", "Nuremberg Airport", "Nürnberg", "DE", 1046, 1), ("CGN", "Cologne Bonn Airport", "Köln", "DE", 302, 3),
    ("ZRH", "Zurich Airport", "Zürich", "CH", 1416, 3), ("GVA", "Geneva Airport", "Genève", "CH", 1411, 1),
    ("BSL", "EuroAirport Basel Mulhouse", "Basel", "CH", 885, 2),
    ("LHR", "London Heathrow Airport", "London", "GB", 83, 2), ("LGW", "London Gatwick Airport", "London", "GB", 202, 2),
    ("MAN", "Manchester Airport", "Manchester", "GB", 257, 2), ("EDI", "Edinburgh Airport", "Edinburgh", "GB", 135, 1),
    ("BHX", "Birmingham Airport", "Birmingham", "GB", 327, 1), ("DUB", "Dublin Airport", "Dublin", "IE", 242, 2),
    ("ORK", "Cork Airport", "Cork", "IE", 502, 2),
    ("CDG", "Paris Charles de Gaulle Airport", "Paris", "FR", 392, 4), ("ORY", "Paris Orly Airport", "Paris", "FR", 291, 3),
    ("NCE", "Nice Côte d'Azur Airport", "Nice", "FR", 12, 2), ("LYS", "Lyon-Saint Exupéry Airport", "Lyon", "FR", 821, 2),
    ("MRS", "Marseille Provence Airport", "Marseille", "FR", 74, 2),
    ("AMS", "Amsterdam Schiphol Airport", "Amsterdam", "NL", -11, 6), ("EIN", "Eindhoven Airport", "Eindhoven", "NL", 74, 1),
    ("BRU", "Brussels Airport", "Brussels", "BE", 184, 3), ("CPH", "Copenhagen Airport", "København", "DK", 17, 3),
    ("ARN", "Stockholm Arlanda Airport", "Stockholm", "SE", 137, 3), ("GOT", "Göteborg Landvetter Airport", "Göteborg", "SE", 506, 1),
    ("OSL", "Oslo Gardermoen Airport", "Oslo", "NO", 681, 2), ("BGO", "Bergen Flesland Airport", "Bergen", "NO", 170, 1),
    ("HEL", "Helsinki-Vantaa Airport", "Helsinki", "FI", 179, 3), ("TLL", "Tallinn Airport", "Tallinn", "EE", 131, 1),
    ("RIX", "Riga International Airport", "Riga", "LV", 36, 1), ("VNO", "Vilnius Airport", "Vilnius", "LT", 646, 1),
    ("WAW", "Warsaw Chopin Airport", "Warszawa", "PL", 362, 2), ("KRK", "Kraków John Paul II Airport", "Kraków", "PL", 791, 1),
    ("GDN", "Gdańsk Lech Wałęsa Airport", "Gdańsk", "PL", 489, 1), ("WRO", "Wrocław Airport", "Wrocław", "PL", 404, 1),
    ("BUD", "Budapest Ferenc Liszt Airport", "Budapest", "HU", 495, 2), ("BTS", "Bratislava Airport", "Bratislava", "SK", 436, 2),
    ("KSC", "Košice Airport", "Košice", "SK", 755, 1), ("LJU", "Ljubljana Airport", "Ljubljana", "SI", 1273, 1),
    ("ZAG", "Zagreb Airport", "Zagreb", "HR", 353, 1), ("SPU", "Split Airport", "Split", "HR", 79, 1),
    ("DBV", "Dubrovnik Airport", "Dubrovnik", "HR", 527, 1), ("ATH", "Athens International Airport", "Athens", "GR", 308, 2),
    ("SKG", "Thessaloniki Airport", "Thessaloniki", "GR", 22, 2), ("FCO", "Rome Fiumicino Airport", "Roma", "IT", 15, 4),
    ("MXP", "Milan Malpensa Airport", "Milano", "IT", 768, 2), ("LIN", "Milan Linate Airport", "Milano", "IT", 353, 1),
    ("VCE", "Venice Marco Polo Airport", "Venezia", "IT", 7, 2), ("NAP", "Naples Airport", "Napoli", "IT", 294, 1),
    ("BCN", "Barcelona El Prat Airport", "Barcelona", "ES", 12, 3), ("MAD", "Madrid Barajas Airport", "Madrid", "ES", 1998, 4),
    ("PMI", "Palma de Mallorca Airport", "Palma", "ES", 27, 2), ("LIS", "Lisbon Humberto Delgado Airport", "Lisboa", "PT", 374, 1),
]
_HUBS = {"PRG", "VIE", "MUC"}
_SERVED = ["FRA", "BER", "HAM", "DUS", "ZRH", "GVA", "LHR", "MAN", "EDI", "DUB", "CDG", "NCE", "AMS", "BRU", "CPH", "ARN", "OSL", "HEL",
           "WAW", "KRK", "BUD", "ZAG", "SPU", "DBV", "ATH", "FCO", "MXP", "VCE", "BCN", "PMI", "KSC", "BRQ"]
_CAPTAINS = ["Jana Hrubešová", "Tomáš Křivánek", "Ondřej Malík", "Petra Vašíčková", "Lukas Steininger", "Katharina Brandl", "Jürgen Weißmann",
             "Sophie Achleitner", "Neil Fairbairn", "Gwen Tattersall", "Rory Quinlan", "Marek Dobeš"]
_OFFICERS = ["Marek Dobeš", "Sophie Achleitner", "Eliška Tománková", "Filip Navrátil", "Adéla Šírová", "Moritz Lechner", "Hannah Zeilinger",
             "Callum Reid", "Aoife Brennan", "Daniel Oberhuber"]
_AIRCRAFT = {"A320": 180, "A321neo": 220, "E195": 118, "ATR 72-600": 70, "B737-800": 186}
_TAILS = {"A320": ["OK-NEA", "OK-NEB", "OK-NEC"], "A321neo": ["OK-NLA", "OK-NLB"], "E195": ["OE-LWA", "OE-LWB", "OE-LWC"],
          "ATR 72-600": ["OK-GFQ", "OK-GFR"], "B737-800": ["OK-TVM", "OK-TVO"]}
_REASONS = ["weather", "air traffic control", "technical", "late inbound aircraft", "crew", "security"]
_NOTES = ["Slot coordinated all year.", "Night curfew from 23:00 to 06:00.", "De-icing stand must be booked two hours ahead.", None, None,
          "Ground handling contract expires in October 2026.", "No jet bridge for ATR aircraft.", "Steep approach, crews need a special qualification.",
          "Fuel supplier changed in April; price not yet agreed.", None, "Remote stands only after 20:00.", "Customs open on request."]


def _remark(rng: random.Random, status: str, reason: str | None, winter: bool) -> str | None:
    n = rng.randint(3, 38)
    by = {
        "weather": [f"Thunderstorm over the field, boarding stopped for {n + 10} minutes.", "Dense fog at destination, RVR below minima until mid-morning.",
                    f"De-icing queue, {n % 9 + 2} aircraft ahead of us.", "Strong crosswind, two approaches flown before landing.",
                    "Snow clearing on the runway; passengers stayed in the terminal and got vouchers."],
        "air traffic control": [f"Slot given {n + 25} minutes after schedule because of a strike in French airspace.",
                                "Flow restriction over Karlsruhe sector; crew informed passengers twice.", "Radar maintenance, reduced departure rate."],
        "technical": ["Left pack tripped on the ground, reset by maintenance, no further fault.", "Nose wheel changed after walk-round found a cut.",
                      f"Hydraulic leak found; aircraft swapped, {n} bags reloaded by hand.", "Coffee machine leaked into the galley; dispatched with galley 2 closed.",
                      "Door warning after push-back, return to stand. Sensor replaced."],
        "late inbound aircraft": [f"Waited for inbound rotation and {n} connecting passengers from Zurich.", "Inbound late; turnaround done in 28 minutes instead of 40."],
        "crew": ["First officer reported sick, standby called from home.", "Crew out of duty time, replacement brought by taxi from Brno."],
        "security": ["Unattended bag at the gate, terminal cleared. Bag was harmless.", f"Passenger removed before departure, {n % 4 + 1} bags offloaded."],
        None: ["Two wheelchair passengers boarded first; all fine.", "Medical case on board: a passenger fainted, doctor on board helped, no diversion needed.",
               "Quiet flight, cabin crew praised by a group of students.", f"{n} bags left behind because of weight limits, sent with the next flight.",
               "Cabin too cold according to several passengers; heating repaired overnight.", "Bird strike on approach, inspection found no damage."],
    }
    if not winter:
        by["weather"] = [t for t in by["weather"] if "icing" not in t and "Snow" not in t]
    else:
        by["weather"] = [t for t in by["weather"] if "Thunder" not in t]
    if status == "diverted":
        return {"weather": rng.choice(["Diverted after two missed approaches in fog; passengers continued by bus.",
                                       "Diverted, hail over destination. Crew waited two hours on the ground and continued the same evening."]),
                "technical": rng.choice(["Diverted, hydraulic low-pressure light. Passengers spent the night in a hotel.",
                                         "Diverted because of a cracked windscreen; replacement aircraft sent from the base."]),
                "security": rng.choice(["Diverted because of a drunk and aggressive passenger, handed over to the police; continued after two hours.",
                                        "Diverted, smell of smoke in row 12 turned out to be a power bank. Continued the same evening.",
                                        "Diverted, destination closed because of drones near the runway. Passengers continued by bus."])}[reason]
    if status == "cancelled":
        return rng.choice(["Cancelled at short notice; most passengers rebooked on the evening flight.", "Cancelled the evening before. Refunds, no rebooking asked for.",
                           f"Cancelled after boarding; {n} passengers got hotel rooms."])
    return rng.choice(by[reason]) if rng.random() < (0.75 if reason else 0.22) else None


def collections() -> dict[str, list[dict]]:
    rng = random.Random(20250611)
    airports = []
    for iata, name, city, country, feet, runways in _AIRPORTS:
        airports.append({"iata": iata, "name": name, "city": city, "country": country, "elevation_ft": feet, "runways": runways, "is_hub": iata in _HUBS,
                         "handling_fee_eur": round(rng.uniform(310, 1480), 2) if iata in _HUBS or iata in _SERVED else None,
                         "passengers_millions": round(rng.lognormvariate(2.0, 1.0), 1), "opened": rng.randint(1921, 1992),
                         "station_manager": rng.choice(["Ivana Pospíchalová", "Dieter Hufnagel", "Clare Ogilvie", "Jakub Zezula", "Renate Holzinger", None]),
                         "station_code": f"{rng.randint(3, 960):04d}", "notes": rng.choice(_NOTES)})
    routes = []
    for far in _SERVED:
        for hub in rng.sample(sorted(_HUBS), rng.choice([1, 1, 2])):
            routes.append((hub, far))
    numbers = {r: f"NV{rng.randint(11, 989):04d}" for r in routes}
    flights = []
    day0 = dt.date(2025, 1, 1)
    for _ in range(540):
        hub, far = rng.choice(routes)
        out = rng.random() < 0.55
        origin, dest = (hub, far) if out else (far, hub)
        day = day0 + dt.timedelta(days=rng.randint(0, 180))
        sched = dt.datetime.combine(day, dt.time(rng.randint(5, 21), rng.choice([0, 5, 10, 20, 25, 35, 40, 50, 55])))
        kind = rng.choices(["A320", "A321neo", "E195", "ATR 72-600", "B737-800"], [34, 14, 26, 12, 14])[0]
        seats = _AIRCRAFT[kind]
        x = rng.random()
        winter = day.month <= 2
        reason = diverted = None
        if x < 0.06:
            status, dep, arr, pax = "cancelled", None, None, 0
            reason = rng.choices(_REASONS, [4 if winter else 2, 2, 4, 0, 3, 1])[0]
        else:
            pax = min(seats, max(9, int(rng.gauss(seats * (0.7 + day.month / 50), seats * 0.14))))
            if x < 0.09:
                status = "diverted"
                diverted = rng.choice([a for a in ["LEJ", "NUE", "GRZ", "BTS", "VIE", "MUC", "PRG", "STR"] if a not in (origin, dest)])
                dep, arr = rng.randint(-3, 40), rng.randint(95, 410)
                reason = rng.choice(["weather", "technical", "security"])
            elif x < 0.42:
                status = "delayed"
                dep = int(rng.lognormvariate(3.6, 0.55)) + 8
                arr = max(16, dep + rng.randint(-12, 14))
                reason = rng.choices(_REASONS, [5 if winter else 3, 4, 3, 5, 2, 1])[0]
            else:
                status, dep = "on_time", rng.randint(-7, 14)
                arr = min(15, dep + rng.randint(-14, 8))
        captain = rng.choice(_CAPTAINS)
        officer = rng.choice([o for o in _OFFICERS if o != captain])
        revenue = round(pax * rng.uniform(48, 139), 2)
        flights.append([sched, {"id": "", "flight_number": numbers[(hub, far)] if out else numbers[(hub, far)][:-1] + str((int(numbers[(hub, far)][-1]) + 1) % 10),
                        "flight_date": day.isoformat(), "scheduled_departure": sched.strftime("%Y-%m-%dT%H:%M:%S"), "origin": origin, "destination": dest, "diverted_to": diverted,
                        "status": status, "departure_delay": dep, "arrival_delay": arr, "delay_reason": reason, "aircraft_type": kind,
                        "tail_number": rng.choice(_TAILS[kind]), "captain": captain, "first_officer": officer, "seats": seats, "passengers": pax,
                        "revenue_eur": revenue, "is_charter": rng.random() < 0.08, "remarks": _remark(rng, status, reason, day.month <= 3)}])
    flights.sort(key=lambda p: p[0])
    for i, (_, f) in enumerate(flights):
        f["id"] = f"{41 + i * 7:06d}"
    return {"flights": [f for _, f in flights], "airports": airports}
