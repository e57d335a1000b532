"""Help desk of a software maker (business software in the cloud): tickets of August 2024 to July 2025 and its customers. Deterministic."""
from __future__ import annotations

import datetime as dt
import random
import re

_PLACES = {
    "DE": [("Dresden", "01067"), ("Leipzig", "04109"), ("Hamburg", "20095"), ("Freiburg im Breisgau", "79098"), ("Köln", "50667"), ("Erfurt", "99084"), ("Halle (Saale)", "06108")],
    "AT": [("Graz", "8010"), ("Linz", "4020"), ("Wien", "1070")],
    "CZ": [("Praha", "11000"), ("Brno", "60200"), ("Olomouc", "77900"), ("Liberec", "46001"), ("Plzeň", "30100"), ("České Budějovice", "37001")],
    "GB": [("Leeds", "LS1 4AP"), ("Bristol", "BS1 5TR"), ("Glasgow", "G2 1DU")],
    "IE": [("Galway", "H91 E2K3"), ("Dublin", "D02 X285")],
    "US": [("Boston", "02108"), ("Newark", "07102"), ("Portland", "97204")],
    "FR": [("Lyon", "69002"), ("Bourg-en-Bresse", "01000")],
    "PL": [("Wrocław", "50-101"), ("Gdynia", "81-300")],
    "CH": [("Winterthur", "8400")],
}
_LANG = {"DE": "de", "AT": "de", "CH": "de", "CZ": "cs", "GB": "en", "IE": "en", "US": "en", "FR": "fr", "PL": "pl"}
_HEAD = {"de": ["Bäckerei Lindner", "Sanitär Hofmeister", "Autohaus Brückner", "Gärtnerei Rosenow", "Kanzlei Dr. Pfeil", "Metallbau Zwickl", "Apotheke am Markt", "Druckerei Sommer",
                "Möbelwerk Tannhof", "Fahrrad Kessler", "Optik Wendt", "Weingut Steindl", "Spedition Harms", "Elektro Gruber", "Hotel Seeblick", "Schreinerei Vogl", "Buchhandlung Ohm",
                "Reisebüro Polaris", "Textilhaus Marx", "Kaffeerösterei Nord", "Imkerei Haselbach", "Dentallabor Fuchs", "Bauhof Krüger", "Musikhaus Ritter", "Feinkost Adler", "Tierklinik Auental"],
         "cs": ["Pekárna U Mlýna", "Autoservis Vrba", "Knihkupectví Sova", "Truhlářství Beneš", "Zahradnictví Jíva", "Pivovar Kohout", "Tiskárna Kopie", "Lékárna Pod Lipou", "Stavebniny Hájek",
                "Hotel Vyhlídka", "Cyklo Sedlák", "Účetní kancelář Mráz", "Optika Duha", "Cukrárna Malina", "Elektro Kříž", "Papírnictví Tužka", "Zámečnictví Dvořáček", "Sklárna Jizera",
                "Vinařství Pálava", "Nábytek Dub", "Veterina Psí nos", "Masna Řezníček", "Hračky Káča", "Instalatérství Kapka"],
         "en": ["Thornbury Bakers", "Ashdown Cycles", "Kestrel Print", "Harbour Lights Hotel", "Oakley & Sons", "Maple Street Books", "Blue Heron Travel", "Pemberton Optics", "Northgate Motors",
                "Clover Dairy", "Rosewood Furniture", "Lantern Games", "Fern Valley Vets", "Copperfield Tools", "Granite Legal", "Willow Pharmacy", "Tidewater Foods", "Beacon Schools"],
         "fr": ["Boulangerie Perrin", "Garage Duvallon", "Fromagerie du Lac"], "pl": ["Piekarnia Kłos", "Drukarnia Orzeł", "Rowery Jastrząb"]}
_CONTACTS = {"de": ["Sabine Kretschmer", "Uwe Lohmann", "Claudia Özdemir", "Holger Raabe", "Monika Thies", "Bernd Schürmann", "Ines Wallner", "Florian Jäger"],
             "cs": ["Alena Vondráčková", "Zdeněk Říha", "Šárka Pokorná", "Bohumil Tesař", "Ludmila Žáková", "Radim Čapek", "Dana Hronová"],
             "en": ["Fiona MacLeod", "George Whitcombe", "Priya Nair", "Sean O'Hara", "Martha Kowalski", "Dylan Pryce", "Abigail Stone"],
             "fr": ["Hélène Marchand", "Luc Besnard"], "pl": ["Katarzyna Wójcik", "Paweł Zięba"]}
_AGENTS = ["Lenka Soukupová", "Vojtěch Kadlec", "Martina Jelínková", "Stefan Aigner", "Birgit Naumann", "Tobias Frings", "Emma Hartley", "Ravi Menon", "Claire Dufour"]
_MODULES = ["Invoicing", "Warehouse", "Payroll", "Web shop", "Mobile app"]

_T = {
    ("billing", "en"): [("Charged twice", "We were charged twice for {mon}, {amt} EUR each time. Please refund one of the payments."),
                        ("Invoice with wrong VAT number", "The invoice shows our old VAT number. We do not need a refund, just a corrected invoice."),
                        ("Price after upgrade", "After the upgrade we pay {amt} EUR more than your salesman promised. I expect a credit note, otherwise we cancel in {n} days.")],
    ("billing", "de"): [("Doppelte Abbuchung", "Für {mon} wurden zweimal {amt} Euro abgebucht. Bitte erstatten Sie eine der beiden Zahlungen."),
                        ("Falsche Adresse auf der Rechnung", "Auf der Rechnung steht noch unsere alte Anschrift. Eine Erstattung brauchen wir nicht, nur eine korrigierte Rechnung."),
                        ("Mahnung trotz Zahlung", "Wir haben eine Mahnung über {amt} Euro bekommen, obwohl wir vor {n} Tagen überwiesen haben. Der Beleg liegt bei.")],
    ("billing", "cs"): [("Dvojí platba", "Za {mon} nám byla platba {amt} EUR stržena dvakrát. Prosíme o vrácení jedné z nich."),
                        ("Chybné IČO na faktuře", "Na faktuře je špatné IČO. Peníze vracet nemusíte, stačí opravená faktura."),
                        ("Upomínka po zaplacení", "Přišla nám upomínka na {amt} EUR, přitom jsme zaplatili před {n} dny. Výpis z účtu přikládám.")],
    ("login", "en"): [("Cannot log in since Monday", "Since Monday none of our {n} users can log in. The password reset mail arrives, but the link has expired."),
                      ("Two-factor code not accepted", "The code from the authenticator is refused. On the old phone it still works, on the new one it does not."),
                      ("Locked account", "My account was locked after three attempts. A colleague unlocked it in the meantime, you may close this.")],
    ("login", "de"): [("Anmeldung nicht möglich", "Seit dem Update kann sich keiner unserer {n} Mitarbeiter anmelden. Im Browser Firefox geht es, in Chrome nicht."),
                      ("Passwort-Mail kommt nicht an", "Die Mail zum Zurücksetzen kommt nicht an, auch nicht im Spam-Ordner. Wir warten seit {n} Stunden."),
                      ("Zugang für ausgeschiedene Kollegin", "Bitte sperren Sie den Zugang von Frau Melchior, sie hat die Firma verlassen. Ihre Daten sollen erhalten bleiben.")],
    ("login", "cs"): [("Nejde se přihlásit", "Od včerejška se nikdo z našich {n} lidí nepřihlásí. Na telefonu to funguje, v počítači ne."),
                      ("Ověřovací kód nechodí", "SMS s kódem nedorazila ani na třetí pokus. Nakonec jsme použili záložní kód, ale chceme to opravit."),
                      ("Zablokovaný účet", "Účet kolegyně se zablokoval po špatném hesle. Prosíme odblokovat ještě dnes, zítra dělá mzdy.")],
    ("outage", "en"): [("System down", "Everything was down from {h}:10 to {h}:55 today. We lost {n} orders at the till and want to know the cause."),
                       ("Very slow since the morning", "Pages take {n} seconds to load. It is slow, but it works."),
                       ("Sync stopped", "The synchronisation with our shop stopped last night. No data seems to be lost, it just does not update.")],
    ("outage", "de"): [("Totalausfall", "Das System war heute von {h}:20 bis {h}:50 Uhr nicht erreichbar. Uns sind {n} Bestellungen verloren gegangen."),
                       ("Sehr langsam", "Seit heute früh braucht jede Seite {n} Sekunden. Es läuft, aber zäh."),
                       ("Drucken geht nicht", "Etiketten werden nicht gedruckt, Lieferscheine schon. Neustart hat nicht geholfen.")],
    ("outage", "cs"): [("Výpadek systému", "Dnes od {h}:15 do {h}:40 systém vůbec nejel. Přišli jsme o {n} objednávek."),
                       ("Pomalé načítání", "Stránky se načítají {n} sekund. Dá se pracovat, ale zdržuje to."),
                       ("Nefunguje synchronizace", "E-shop se od noci nesynchronizuje se skladem. Žádná data se neztratila, jen jsou stará.")],
    ("bug", "en"): [("Wrong total in the report", "The report adds the discount instead of subtracting it. The difference is {amt} EUR. Version {n} was fine."),
                    ("Export breaks umlauts", "In the CSV export ä and ö come out as question marks. Excel export is fine."),
                    ("App crashes on scan", "The app crashes whenever we scan a code with more than {n} digits. Android only, iPhones are fine.")],
    ("bug", "de"): [("Summe stimmt nicht", "Im Bericht wird der Rabatt addiert statt abgezogen, Differenz {amt} Euro. In der vorigen Version war es richtig."),
                    ("Umlaute im Export", "Im CSV-Export sind alle Umlaute kaputt, im Excel-Export nicht."),
                    ("App stürzt ab", "Die App stürzt beim Scannen ab, aber nur auf Android. Auf dem iPhone läuft sie.")],
    ("bug", "cs"): [("Špatný součet", "Sestava slevu přičítá místo odečítání, rozdíl je {amt} EUR. V minulé verzi to bylo dobře."),
                    ("Háčky v exportu", "V exportu do CSV se rozsypaly háčky a čárky, v Excelu je to v pořádku."),
                    ("Aplikace padá", "Aplikace padá při skenování kódů delších než {n} znaků. Jen na Androidu.")],
    ("feature request", "en"): [("Dark mode", "Our night shift would love a dark mode. Not urgent at all."),
                                ("Approval by two people", "We need invoices above {amt} EUR to be approved by two people. Without it our auditor will not accept the software.")],
    ("feature request", "de"): [("Dunkler Modus", "Ein dunkler Modus wäre schön, eilt aber nicht."),
                                ("Serienbrief aus Kundenliste", "Wir hätten gern einen Serienbrief. Zurzeit exportieren wir {n} Adressen von Hand, das kostet jeden Monat einen halben Tag.")],
    ("feature request", "cs"): [("Tmavý režim", "Potěšil by nás tmavý režim. Nespěchá to."),
                                ("Schvalování faktur", "Potřebujeme, aby faktury nad {amt} EUR schvalovali dva lidé. Jinak nám to auditor neuzná.")],
    ("cancellation", "en"): [("We want to cancel", "Please cancel our contract at the end of {mon}. The software is good, but we are closing the business."),
                             ("Cancellation unless fixed", "If the sync is not fixed within {n} days we will move to a competitor.")],
    ("cancellation", "de"): [("Kündigung", "Hiermit kündigen wir zum Monatsende. Mit dem Support waren wir zufrieden, der Preis ist uns zu hoch."),
                             ("Kündigung zurückziehen", "Wir möchten unsere Kündigung zurückziehen und doch beim Tarif bleiben.")],
    ("cancellation", "cs"): [("Výpověď smlouvy", "Prosíme o ukončení smlouvy ke konci měsíce. Program je dobrý, ale pro nás moc drahý."),
                             ("Stažení výpovědi", "Výpověď bereme zpět, zůstáváme u vás.")],
    ("billing", "fr"): [("Facture en double", "La facture de {amt} EUR a été prélevée deux fois. Merci de nous rembourser.")], ("outage", "fr"): [("Système en panne", "Rien ne marche depuis {h} h, {n} commandes perdues.")],
    ("login", "fr"): [("Connexion impossible", "Impossible de se connecter depuis hier, sauf sur le téléphone.")], ("bug", "fr"): [("Accents dans l'export", "Les accents sont illisibles dans le fichier CSV.")],
    ("billing", "pl"): [("Podwójna płatność", "Pobrano dwa razy {amt} EUR. Prosimy o zwrot.")], ("outage", "pl"): [("Awaria", "System nie działa od {h}:00. Straciliśmy {n} zamówień.")],
    ("login", "pl"): [("Nie mogę się zalogować", "Nie mogę się zalogować od wczoraj, w telefonie działa.")], ("bug", "pl"): [("Polskie znaki", "W eksporcie CSV nie ma polskich znaków.")],
}
_MON = {"en": ["March", "May", "June"], "de": ["März", "Mai", "Juni"], "cs": ["březen", "květen", "červen"], "fr": ["mars"], "pl": ["maj"]}
_FEE = {"Basic": (19, 39), "Plus": (49, 99), "Premium": (120, 260), "Enterprise": (390, 990)}


def collections() -> dict[str, list[dict]]:
    rng = random.Random(7741)
    customers = []
    for lang, heads in _HEAD.items():
        for head in heads:
            country = rng.choice([c for c, lg in _LANG.items() if lg == lang] + (["DE", "DE"] if lang == "de" else []))
            city, postcode = rng.choice(_PLACES[country])
            plan = rng.choices(list(_FEE), [30, 40, 22, 8])[0]
            customers.append({"customer_id": "", "company": head + {"de": rng.choice([" GmbH", " KG", " e. K.", " GmbH"]), "cs": rng.choice([" s.r.o.", " s.r.o.", " a.s."]), "en": rng.choice([" Ltd", " Ltd", " LLC"]),
                                                                    "fr": " SARL", "pl": " sp. z o.o."}[lang],
                              "contact_name": rng.choice(_CONTACTS[lang]), "city": city, "postcode": postcode, "country": country, "language": lang, "plan": plan,
                              "previous_plan": rng.choice([None, None, None, *[p for p in _FEE if p != plan]]), "monthly_fee": round(rng.uniform(*_FEE[plan]), 2), "users": rng.randint(1, 60),
                              "customer_since": (dt.date(2016, 1, 1) + dt.timedelta(days=rng.randint(0, 3100))).isoformat(), "is_active": rng.random() < 0.88, "newsletter": rng.random() < 0.5,
                              "account_manager": rng.choice(["Helena Bártová", "Rupert Angerer", "Judith Merrick", None]),
                              "notes": rng.choice([None, None, None, "Prefers phone calls in the morning.", "Zahlt immer pünktlich.", "Platí se zpožděním, zatím vždy zaplatili.",
                                                   "Reference customer; may be named in public.", "Nur schriftlich kontaktieren.", "Chtějí fakturu poštou.", "Merger planned for 2026, do not offer a long contract."])})
    rng.shuffle(customers)
    for i, c in enumerate(customers):
        c["customer_id"] = f"{307 + i * 13:05d}"
    tickets, start = [], dt.datetime(2024, 8, 1, 6)
    weights = [rng.paretovariate(1.3) for _ in customers]
    for _ in range(430):
        c = rng.choices(customers, weights)[0]
        lang = c["language"]
        cat = rng.choices(["billing", "login", "outage", "bug", "feature request", "cancellation"], [24, 20, 17, 21, 10, 8] if lang in ("en", "de", "cs") else [6, 5, 5, 5, 0, 0])[0]
        subject, body = rng.choice(_T[cat, lang])
        body = body.format(mon=rng.choice(_MON[lang]), amt=rng.choice([19, 38, 57, 84, 126, 149, 240, 395]), n=rng.randint(3, 29), h=rng.randint(8, 16))
        created = (start + dt.timedelta(minutes=rng.randint(0, 364 * 24 * 60))).replace(second=rng.randint(0, 59))
        created = created.replace(hour=rng.randint(6, 20))
        priority = rng.choices(["low", "normal", "high", "urgent"], [1, 3, 5, 6] if cat == "outage" else [6, 0, 0, 0] if cat == "feature request" else [3, 8, 4, 1])[0]
        recent = created > dt.datetime(2025, 6, 20)
        status = rng.choices(["new", "open", "pending", "solved", "closed"], [4, 6, 4, 6, 0] if recent else [0, 1, 1, 8, 18])[0]
        agent = None if status == "new" else rng.choice(_AGENTS[:3] if lang == "cs" else _AGENTS[3:6] if lang == "de" else _AGENTS[6:]) if rng.random() < 0.85 else rng.choice(_AGENTS)
        done = status in ("solved", "closed")
        hours = round(rng.lognormvariate(2.9, 1.1), 1) if done else None
        twice = any(w in body for w in ("twice", "zweimal", "dvakrát", "deux fois", "dwa razy"))
        refund = float(re.search(r"(\d+) E", body)[1]) + rng.choice([0, 0, 0.5]) if cat == "billing" and done and twice else None
        tickets.append({"ticket_id": "", "customer_id": c["customer_id"], "company": c["company"], "requester": c["contact_name"], "created_at": created.strftime("%Y-%m-%dT%H:%M:%S"),
                        "solved_at": (created + dt.timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%S") if done else None, "status": status, "priority": priority, "category": cat,
                        "channel": rng.choices(["email", "phone", "chat", "web form"], [8, 4, 4, 3])[0], "module": rng.choice(_MODULES), "language": lang, "assignee": agent,
                        "escalated_to": rng.choice([a for a in _AGENTS if a != agent]) if agent and rng.random() < 0.17 else None,
                        "first_response_minutes": None if status == "new" else int(rng.lognormvariate(4.0 if priority in ("high", "urgent") else 4.9, 0.8)) + 3, "resolution_hours": hours,
                        "satisfaction": rng.choices([1, 2, 3, 4, 5], [2, 2, 4, 8, 9])[0] if done and rng.random() < 0.6 else None, "reopened": done and rng.random() < 0.12,
                        "refund_eur": refund,
                        "subject": subject, "body": body})
    tickets.sort(key=lambda t: t["created_at"])
    for i, t in enumerate(tickets):
        t["ticket_id"] = f"{1180 + i * 3:07d}"
    return {"tickets": tickets, "customers": customers}
