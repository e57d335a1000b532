"""Czech."""

from runax_cli.agent.locales.locale import DateWords, Locale, NumberWords, QuestionWords, StatementWords

CS = Locale(
    code="cs",
    letters="ěščřžýůťďňĚŠČŘŽÝŮŤĎŇ",
    question=QuestionWords(
        figure=(
            r"kolik\w*|pocet|poctu|poctem|prumer\w*|soucet|souctu|celkem|celkov\w*|median\w*|procent\w*|podil\w*"
            r"|jak casto"
        ),
        meaning=(
            r"proc|duvod\w*|shrn\w*|souhrn\w*|popis\w*|vysvetl\w*|vypis\w*|najdi|najit|zjisti|zjistit|ukaz\w*|rekni|vse"
            r"|vsechno"
        ),
        ranking=r"nej\w+|rozlozeni|seskup\w*|podle (?:dne|dnu|mesic\w*|rok\w*|typu|stavu)",
        asking=(
            r"kolik\w*|jak\w*|kter\w+|kdo|koho|komu|kdy|kde|proc|ci|co|ceho|cim|najdi|vypis|zjisti|ukaz|spocitej|shrn"
            r"|porovnej|rekni|popis|vysvetli|uved"
        ),
        reporting=r"rekni|uved",
        filler=r"take|taky|pak|potom|dale|prosim|u|v|z|s",
        conjunction=r"a|i|ale|nebo|pak|potom|pote",
        counting=r"kolik\w*",
        selecting=r"kter\w+|kdo|co",
        preposition=r"v|ve|z|ze|u",
        quantity=r"kolik",
        same_thing=r"jich|kazd\w+|ma|maji|je",
        output_format=r"uved|vypis je",
        addition=r"a take|a taky|a dale|a pak|a potom|a pote|a zaroven|jakoz i|krome toho|navic|dale pak",
        comparison=r"porovn\w+|srovn\w+|rozdil\w* mezi",
        range_start=r"mezi|od",
        range_middle=r"a|do",
        name_conjunction=r"a|i|nebo",
        naming=r"u|pro|od|zakaznik\w*|uzivatel\w*",
        common=r"kolik|jak|jaky|jake|ktery|ktere|kdo|kdy|kde|proc|najdi|vypis|zjisti|zakaznik\w*|je|ma|maji",
    ),
    number=NumberWords(
        names=(
            "žádný žádná žádné žádní nikdo",
            "jeden jedna jedno jednou",
            "dva dvě dvou oba obě",
            "tři tří",
            "čtyři čtyř",
            "pět pěti",
            "šest šesti",
            "sedm sedmi",
            "osm osmi",
            "devět devíti",
            "deset deseti",
            "jedenáct jedenácti",
            "dvanáct dvanácti",
        ),
        scales={"tis": 3, "mil": 6, "mio": 6, "miliard": 9, "mld": 9},
        scale_words=r"tisíc\w*|tis\.|mili[oó]n\w*|miliard\w*|mld\.?",
        scale_abbreviations=r"mil\b\.?|mio\b",
        percent=r"procent\w*|p\.\s?b\.",
        about=r"cca\.?|asi|zhruba|přibližně|kolem|okolo",
        over=r"přes|více než|víc než|nad|alespoň|nejméně|minimálně|přinejmenším",
        under=r"téměř|skoro|méně než|pod|do|nejvýše|maximálně",
        lower_bound=(
            r"alespoň|nejméně|minimálně|přinejmenším|více než|víc než|dolní mez|neúpln\w+|zatím|z načtených"
            r"|z přečtených"
        ),
    ),
    date=DateWords(
        months=(
            "leden ledna lednu lednem",
            "únor února únoru únorem",
            "březen března březnu březnem",
            "duben dubna dubnu dubnem",
            "květen května květnu květnem",
            "červen června červnu červnem",
            "červenec července červenci červencem",
            "srpen srpna srpnu srpnem",
            "září zářím",
            "říjen října říjnu říjnem",
            "listopad listopadu listopadem",
            "prosinec prosince prosinci prosincem",
        ),
        range_word=r"až|a",
        before_year=r"roku",
        time_units={"hod": "hour", "minut": "minute", "dn": "day", "den": "day", "sek": "second"},
    ),
    statement=StatementWords(
        list_conjunction=r"a",
        negation=r"ne\w+|žádn\w+|nikdo|nikdy|nic|bez|ani",
        abbreviation=r"ing|mgr|st|č|čp|tj|tzv|tzn|např|resp|cca|apod|atd|mil|mld|tis|hod",
        unit=r"mil|mio|hod|dní|Kč",
        numbered_part=(
            r"kroku?|částí?|bodu?|fáze|úrove[ňn]|stran[aěu]|kapitol[aey]|verz[eí]|typu?|otázk[aey]|tabulk[aey]|místo|místě"
            r"|prvních|posledních|pořadí|č\."
        ),
        capitals="ÁČĎÉĚÍŇÓŘŠŤÚŮÝŽ",
        unanswered="Tuto část se nepodařilo zodpovědět",
        incomplete="Tato část je neúplná",
    ),
)
