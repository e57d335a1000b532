"""A city's lost-property office: items handed in and claims of owners (German-language API)."""
import random
from datetime import date, timedelta

BEZIRKE = ["Altstadt", "Nordhafen", "Lindenau", "Südstadt", "Messe", "Rabenberg"]
ARTEN = {
    "Schlüsselbund": (5, 25, ["Vier Schlüssel an rotem Band, Anhänger in Form einer Eule.", "Autoschlüssel und Briefkastenschlüssel, kein Hinweis auf die Adresse.",
                               "Zwei Sicherheitsschlüssel mit Nummer, der Hersteller gibt keine Auskunft."]),
    "Geldbörse": (10, 90, ["Enthielt 45 Euro und eine Bibliothekskarte; kein Ausweis.", "Braunes Leder, Bargeld fehlte bereits bei der Abgabe.",
                            "Ausweis enthalten, Eigentümerin telefonisch nicht erreicht."]),
    "Mobiltelefon": (60, 600, ["Display gesprungen, Gerät lässt sich nicht einschalten.", "Gesperrt; Sperrbildschirm zeigt zwei Kinder am Strand.",
                                "Schwarze Hülle, SIM-Karte entfernt."]),
    "Fahrrad": (40, 900, ["Damenrad, blau, ohne Sattel. Rahmennummer nicht als gestohlen gemeldet.", "Vorderrad verbogen; Schloss noch am Rahmen.",
                           "Kinderrad, neuwertig, mit Stützrädern.", "E-Bike ohne Akku; laut Polizei liegt eine Diebstahlsanzeige vor."]),
    "Regenschirm": (5, 30, ["Automatikschirm, eine Speiche gebrochen.", "Stockschirm mit Holzgriff, Gravur »H. W.«"]),
    "Kleidung": (10, 180, ["Herrenmantel, Größe 52, in der linken Tasche eine Fahrkarte.", "Ein einzelner Handschuh, Wolle.",
                            "Schulranzenjacke, Namensschild herausgeschnitten."]),
    "Schmuck": (20, 1500, ["Ehering mit Gravur »Für immer, K.«", "Silberkette, Verschluss defekt, vermutlich kein echtes Silber.",
                            "Armbanduhr, läuft, Glas zerkratzt."]),
    "Musikinstrument": (50, 2500, ["Geige im Kasten, Bogen fehlt.", "Blockflöte mit Namenszug, Besitzerin hat sich nicht gemeldet."]),
}
FINDER = ["Annika Rauch", "Björn Tessmer", "Cem Aydın", "Dorothea Klimt", "Edgar Vosswinkel", "Fabienne Schott", "Gero Malchow", "Hedwig Osterloh",
          "Verkehrsbetriebe", "Stadtreinigung"]
MELDER = ["Lukas Immel", "Margarete Dohm", "Nuri Şahin", "Olga Petersen", "Philipp Zander", "Quirin Hasler", "Rieke Stolz", "Sabine Wöhrle", "Timo Ebeling"]
BEMERKUNG = ["Rückruf nur nach 17 Uhr.", "Beschreibung passt nicht zu den vorhandenen Stücken.", "Eigentum anhand eines Fotos nachgewiesen.",
             "Hat den Gegenstand inzwischen zu Hause wiedergefunden.", "Kaufbeleg wird nachgereicht.", None, None]


def collections():
    rng = random.Random(2718)
    finds, claims = [], []
    nr, day = 3907, date(2024, 1, 2)
    for _ in range(310):
        nr += rng.randint(1, 4)
        day += timedelta(days=rng.choice([0, 0, 1, 1, 2, 3]))
        art = rng.choices(list(ARTEN), [7, 7, 6, 5, 6, 6, 3, 1])[0]
        low, high, texte = ARTEN[art]
        wert = round(rng.uniform(low, high) * 2) / 2
        status = rng.choices(["verwahrt", "abgeholt", "versteigert", "vernichtet", "an Polizei übergeben"], [34, 40, 12, 9, 5])[0]
        bezirk = rng.choices(BEZIRKE, [6, 3, 3, 4, 5, 2])[0]
        abgeholt = day + timedelta(days=rng.randint(1, 58)) if status == "abgeholt" else None
        finds.append({
            "fund_nr": f"{nr:06d}", "art": art, "fundbezirk": bezirk, "abgabebezirk": bezirk if rng.random() < 0.55 else rng.choice(BEZIRKE),
            "funddatum": day.isoformat(), "abgegeben_am": (day + timedelta(days=rng.choice([0, 0, 1, 2, 5]))).isoformat(),
            "finder": rng.choices(FINDER, [3, 3, 2, 2, 2, 2, 2, 2, 9, 4])[0], "status": status,
            "abgeholt_am": abgeholt.isoformat() if abgeholt else None, "schaetzwert_eur": wert,
            "gebuehr_eur": round(3 + wert * 0.04, 2) if status == "abgeholt" else None,
            "lagerplatz": f"{rng.randint(1, 9):02d}-{rng.randint(1, 40):02d}" if status == "verwahrt" else None,
            "im_nahverkehr": rng.random() < 0.4, "beschreibung": rng.choice(texte + [None]),
        })
    nr = 88
    for _ in range(135):
        nr += rng.randint(1, 5)
        fund = rng.choice(finds)
        status = rng.choices(["offen", "zugeordnet", "abgelehnt", "zurückgezogen"], [45, 30, 15, 10])[0]
        claims.append({
            "meldung_nr": f"{nr:05d}", "melder": rng.choice(MELDER), "art": fund["art"], "verlustbezirk": rng.choice(BEZIRKE),
            "gemeldet_am": (date.fromisoformat(fund["funddatum"]) + timedelta(days=rng.randint(0, 14))).isoformat(),
            "kanal": rng.choices(["online", "telefonisch", "persönlich"], [5, 3, 2])[0], "status": status,
            "fund_nr": fund["fund_nr"] if status == "zugeordnet" else None, "wert_laut_melder_eur": rng.choice([None, rng.randint(5, 900), rng.randint(20, 300)]),
            "bemerkung": rng.choice(BEMERKUNG),
        })
    claims.sort(key=lambda c: c["gemeldet_am"])
    return {"finds": finds, "claims": claims}
