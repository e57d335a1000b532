"""An auction house's lots and invoices (English-language API)."""
import random
from datetime import date, timedelta

SALES = [("S23-11", "Vienna", date(2023, 11, 16)), ("S24-02", "London", date(2024, 2, 8)), ("S24-03", "Prague", date(2024, 3, 21)),
         ("S24-05", "Hamburg", date(2024, 5, 14)), ("S24-06", "Vienna", date(2024, 6, 20)), ("S24-09", "Prague", date(2024, 9, 26)),
         ("S24-10", "London", date(2024, 10, 17)), ("S24-12", "Vienna", date(2024, 12, 5))]
CITIES = ["Vienna", "London", "Prague", "Hamburg", "Zurich"]
MAKERS = {
    "Clocks": ["Thomas Tompion", "Josef Božek", "Johann Sachs", "Abraham Breguet"],
    "Paintings": ["Alois Kalvoda", "Olga Wisinger-Florian", "Max Liebermann", "Antonín Slavíček", "Laura Knight"],
    "Porcelain": ["Meissen", "Augarten", "Haas & Czjzek"],
    "Silver": ["Paul Storr", "Hester Bateman", "Josef Hoffmann"],
    "Furniture": ["Thonet", "Jindřich Halabala", "Adolf Loos"],
    "Jewellery": ["A. E. Köchert", "Franta Anýž", "Cartier"],
    "Maps": ["Willem Blaeu", "Jan Kryštof Müller", "Abraham Ortelius"],
}
THINGS = {
    "Clocks": ["Bracket clock", "Mantel clock", "Pocket chronometer", "Wall regulator"],
    "Paintings": ["Birch grove in autumn", "Harbour at dusk", "Market square after rain", "Portrait of a miller", "Snow on the river"],
    "Porcelain": ["Coffee service for six", "Figure of a harlequin", "Tureen with cover", "Pair of vases"],
    "Silver": ["Teapot", "Pair of candlesticks", "Salver", "Sugar caster"],
    "Furniture": ["Rocking chair", "Writing desk", "Adjustable armchair", "Corner cabinet"],
    "Jewellery": ["Garnet brooch", "Pearl necklace", "Signet ring", "Enamel pendant"],
    "Maps": ["Map of Moravia", "Map of Bohemia", "World map in two hemispheres", "Plan of Vienna"],
}
CONSIGNORS = ["Estate of R. Halloran", "Collection Weidinger", "M. Sedláčková", "Northgate Museum Trust", "Private owner, Graz", "Lindqvist & Sons"]
NOTES = [  # text, categories it fits (empty: any)
    ("Minor chip to the base, otherwise sound. Old restoration to the handle.", "Porcelain"),
    ("Second firing crack under the foot ring; all six saucers present.", "Porcelain"),
    ("Movement overhauled in 2019, runs well; the glass is a later replacement.", "Clocks"),
    ("Missing one screw on the back plate; not tested.", "Clocks"),
    ("Complete with original case and key.", "Clocks Jewellery"),
    ("Unlined canvas, slight craquelure in the sky, frame not original.", "Paintings"),
    ("Signed lower left. The date has been strengthened by a later hand.", "Paintings"),
    ("Hairline crack visible under UV light, not mentioned by the consignor.", "Paintings Porcelain"),
    ("Hallmarks rubbed but legible. No dents, no engraving removed.", "Silver"),
    ("Monogram erased and re-engraved; weight below that stated in the old catalogue.", "Silver"),
    ("Woodworm treated in 2015; no live infestation found.", "Furniture"),
    ("Seat recaned, frame stable.", "Furniture"),
    ("Folding lines reinforced with Japan paper. Colours original.", "Maps"),
    ("Water stain in the upper margin, outside the image.", "Maps Paintings"),
    ("Stone loose in setting; must not be worn before repair.", "Jewellery"),
    ("Provenance letter enclosed, authenticity not doubted by our expert.", ""),
    ("Export licence refused by the ministry; the lot may not leave Austria.", ""),
    ("The consignor asked for a second opinion before the sale.", ""),
]
BUYERS = [("Harriet Osei", "GB"), ("Jonas Brückner", "DE"), ("Tereza Malá", "CZ"), ("Galerie Kunze", "AT"), ("Pavel Horníček", "CZ"),
          ("Mireille Favre", "CH"), ("Douglas Penhaligon", "GB"), ("Antik Lorenz", "DE"), ("Stiftung Aumann", "AT"), ("Ingeborg Tamm", "DE")]


def collections():
    rng = random.Random(411)
    lots, invoices = [], []
    no = 0
    for code, city, day in SALES:
        for _ in range(rng.randint(22, 34)):
            no += 1
            cat = rng.choices(list(MAKERS), [3, 6, 4, 4, 3, 4, 2])[0]
            low = rng.choice([80, 120, 200, 300, 450, 600, 900, 1200, 1800, 2500, 4000, 7500])
            high = int(low * rng.choice([1.25, 1.5, 2]))
            result = rng.choices(["sold", "unsold", "withdrawn", "post-sale"], [62, 25, 6, 7])[0]
            hammer = None
            if result == "sold":
                hammer = int(low * rng.uniform(0.8, 3.1) / 10) * 10 + rng.choice([0, 0, 5])
            elif result == "post-sale":
                hammer = int(low * rng.uniform(0.6, 0.95) / 10) * 10
            lots.append({
                "lot_no": f"{no * 3 + 14:05d}", "sale_code": code, "title": rng.choice(THINGS[cat]), "maker": rng.choice(MAKERS[cat]),
                "category": cat, "year_made": rng.choice([None, rng.randint(1690, 1938), rng.randint(1800, 1938)]),
                "estimate_low": low, "estimate_high": high, "hammer_price": hammer, "result": result, "auction_date": day.isoformat(),
                "sale_city": city, "warehouse_city": rng.choices(CITIES, [4, 2, 4, 2, 1])[0], "consignor": rng.choice(CONSIGNORS),
                "bidder_count": 0 if result in ("unsold", "withdrawn") and rng.random() < 0.7 else rng.randint(1, 14),
                "guaranteed": rng.random() < 0.12, "condition_note": rng.choice([n for n, c in NOTES if not c or cat in c.split()] + [None]),
            })
    inv = 371
    for lot in lots:
        if lot["hammer_price"] is None:
            continue
        inv += rng.randint(1, 6)
        buyer, country = rng.choice(BUYERS)
        issued = date.fromisoformat(lot["auction_date"]) + timedelta(days=rng.randint(1, 9))
        status = rng.choices(["paid", "open", "overdue", "disputed", "refunded"], [66, 12, 12, 6, 4])[0]
        paid = issued + timedelta(days=rng.randint(2, 40)) if status in ("paid", "refunded") else None
        premium = round(lot["hammer_price"] * 0.24, 2)
        invoices.append({
            "invoice_no": f"{inv:06d}", "lot_no": lot["lot_no"], "buyer_name": buyer, "buyer_country": country,
            "hammer_price": lot["hammer_price"], "premium": premium, "total": round(lot["hammer_price"] + premium, 2), "currency": "EUR",
            "issued_on": issued.isoformat(), "paid_on": paid.isoformat() if paid else None,
            "method": rng.choice(["bank transfer", "card", "cash"]) if paid else None, "status": status,
            "export_licence": rng.random() < 0.2,
            "remark": rng.choice([None, None, None, "Buyer collects in person.", "Courier requested, insured to full value.",
                                  "Second reminder sent; no reply so far.", "VAT number not yet confirmed.", "Do not ship before the cheque clears.",
                                  "Buyer claims the frame was damaged in our care."]),
        })
    return {"lots": lots, "invoices": invoices}
