"""A mountain rescue service's call-outs and avalanche bulletins (Czech-language API)."""
import random
from datetime import date, timedelta

OBLASTI = {"Krkonoše": ["Pec", "Špindlerův Mlýn", "Harrachov"], "Jeseníky": ["Ovčárna", "Červenohorské sedlo"], "Beskydy": ["Pustevny", "Lysá hora"],
           "Šumava": ["Špičák", "Zadov"], "Jizerské hory": ["Bedřichov"], "Orlické hory": ["Deštné", "Říčky"]}
STANICE = [s for v in OBLASTI.values() for s in v]
CINNOST = {"lyžování": 8, "snowboard": 4, "pěší turistika": 6, "skialpinismus": 3, "horské kolo": 4, "běžecké lyžování": 2, "sáňkování": 2, "lezení": 1}
ZRANENI = ["koleno", "rameno", "hlava", "zápěstí", "kotník", "páteř", "podchlazení", "vyčerpání", "bez zranění"]
VEDOUCI = ["Marek Šperl", "Ivana Hušková", "Tomáš Vrbata", "Radim Kolář", "Petra Zelinková", "Ondřej Mašek", "Lucie Fabiánová"]
POPIS = {
    "lyžování": ["Srážka dvou lyžařů, druhý účastník z místa odjel.", "Pád na zledovatělé sjezdovce, přilba prasklá.",
                 "Převoz odmítnut, podepsán revers."],
    "snowboard": ["Pád ve snowparku při skoku.", "Jízda mimo trať, navzdory zákazu.", "Zranění při nácviku, vlek nebyl v provozu."],
    "pěší turistika": ["Turista bez mapy zabloudil, nalezen u lesní chaty.", "Uklouznutí na mokrém kameni, boty v pořádku.",
                       "Skupina volala kvůli tmě; čelovky neměli."],
    "skialpinismus": ["Utržená lavina, zasypání jen po pás, vyproštění vlastními silami.", "Prasklé vázání, dvojice nemohla pokračovat."],
    "horské kolo": ["Pád přes řídítka v traileru, kolo nepojízdné.", "Střet s pěším, pěší neutrpěl zranění.", "Jezdec bez přilby, krátké bezvědomí."],
    "běžecké lyžování": ["Náhlá nevolnost ve stopě, podán kyslík.", "Ztracena hůlka i stopa, odvoz na parkoviště."],
    "sáňkování": ["Náraz do stromu, sáně bez brzdy.", "Dítě spadlo ze sání, rodič o pomoc žádal opakovaně."],
    "lezení": ["Pád ve skále, jištění vydrželo.", "Uvíznutí ve stěně, vlastní sestup nemožný."],
}
ZPRAVY = ["Větrem přenesený sníh v závětří, uvolnění možné už při malém zatížení.", "Sněhová pokrývka je stabilní, pozor jen na převěje.",
          "Denní oteplení, odpoledne mokré laviny na jižních svazích.", "Nový sníh se dosud nespojil s krustou.",
          "Základna dobře zpevněná; profil vykopán nebyl."]


def collections():
    rng = random.Random(1602)
    rescues, bulletins = [], []
    day, nr = date(2023, 11, 25), 214
    for _ in range(345):
        day += timedelta(days=rng.choice([0, 0, 0, 1, 1, 2, 3]))
        nr += rng.randint(1, 3)
        oblast = rng.choices(list(OBLASTI), [9, 4, 4, 3, 2, 2])[0]
        winter = day.month in (11, 12, 1, 2, 3, 4)
        pool = {k: w for k, w in CINNOST.items() if (k in ("pěší turistika", "horské kolo", "lezení")) != winter or k == "pěší turistika"}
        cinnost = rng.choices(list(pool), list(pool.values()))[0]
        zraneni = rng.choice(ZRANENI)
        vrtulnik = rng.random() < (0.35 if zraneni in ("páteř", "hlava") else 0.07)
        stanice = rng.choice(OBLASTI[oblast])
        podpora = rng.choice(STANICE) if rng.random() < 0.3 else None
        zachr = rng.randint(1, 4) + (rng.randint(2, 7) if rng.random() < 0.12 else 0)
        rescues.append({
            "cislo": f"{nr:05d}", "datum": day.isoformat(), "oblast": oblast, "stanice": stanice, "podpora_stanice": podpora if podpora != stanice else None,
            "cinnost": cinnost, "zraneni": zraneni, "vek": rng.choice([None] + [rng.randint(5, 79)] * 9), "pohlavi": rng.choice(["žena", "muž", "muž"]),
            "narodnost": rng.choices(["CZ", "PL", "DE", "SK", "NL"], [60, 16, 13, 7, 4])[0], "vrtulnik": vrtulnik,
            "zachranaru": zachr, "trvani_min": rng.randint(20, 95) + 22 * (zachr > 4) + 40 * (cinnost == "skialpinismus"),
            "vzdalenost_km": round(rng.uniform(0.3, 14.5), 1), "predano": "vrtulník" if vrtulnik else rng.choices(["sanitka", "vlastní odchod", "doprovod rodiny"], [5, 3, 2])[0],
            "vedouci": rng.choices(VEDOUCI, [5, 4, 4, 3, 3, 2, 2])[0], "naklady_kc": rng.randint(18, 160) * 50 + (48500 if vrtulnik else 0),
            "popis": rng.choice(POPIS[cinnost] + [None]),
        })
    day = date(2023, 12, 1)
    sneh = {o: rng.randint(20, 90) for o in ("Krkonoše", "Jeseníky", "Šumava")}
    n = 30
    while day < date(2024, 4, 1):
        for o in sneh:
            if rng.random() < 0.42:
                n += 1
                sneh[o] = max(5, sneh[o] + rng.randint(-12, 15))
                stupen = rng.choices([1, 2, 3, 4], [4, 5, 3, 1])[0]
                bulletins.append({
                    "cislo": f"L{n:04d}", "datum": day.isoformat(), "oblast": o, "stupen": stupen, "tendence": rng.choice(["roste", "klesá", "beze změny"]),
                    "snih_cm": sneh[o], "vitr_kmh": rng.randint(5, 110), "teplota_c": round(rng.uniform(-16, 7), 1), "autor": rng.choice(VEDOUCI[:4] + ["Blanka Říhová"]),
                    "text": rng.choice([ZPRAVY[1], ZPRAVY[4], ZPRAVY[2], None] if stupen < 3 else [ZPRAVY[0], ZPRAVY[2], ZPRAVY[3]]),
                })
        day += timedelta(days=1)
    return {"rescues": rescues, "bulletins": bulletins}
