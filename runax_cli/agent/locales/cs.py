"""Czech."""

from runax_cli.agent.locales.locale import (
    ClaimWords,
    DateWords,
    EverythingWords,
    Locale,
    NumberWords,
    QuestionWords,
    StatementWords,
)

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
        possessive=r"jejich|jeho|jeji",
        some_of_them=r"z nich|z toho|z techto|je|jsou|bylo|byly|byl|byla|ma|maji|melo|mely",
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
        inverted_by="a",
        pronouns="žádný žádná žádné žádní nikdo jeden jedna jedno jednou oba obě",
        scales={"tis": 3, "mil": 6, "mio": 6, "miliard": 9, "mld": 9},
        scale_words=r"tisíc\w*|tis\.|mili[oó]n\w*|miliard\w*|mld\.?",
        scale_abbreviations=r"mil\b\.?|mio\b",
        percent=r"procent\w*|p\.\s?b\.",
        about=r"cca\.?|asi|zhruba|přibližně|kolem|okolo",
        over=r"dobrých|přes|více než|víc než|nad|alespoň|nejméně|minimálně|přinejmenším",
        under=r"necel\w+|bezmála|téměř|skoro|méně než|pod|do|nejvýše|maximálně",
        lower_bound=(
            r"alespoň|nejméně|minimálně|přinejmenším|více než|víc než|dolní mez|prvn\w+|neúpln\w+|zatím|z načtených"
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
        time_units={"týd": "week", "hod": "hour", "minut": "minute", "dn": "day", "den": "day", "sek": "second"},
    ),
    statement=StatementWords(
        list_conjunction=r"a",
        negation=r"ne\w+|žádn\w+|nikdo|nikdy|nic|bez|ani",
        abbreviation=r"ing|mgr|st|č|čp|tj|tzv|tzn|např|resp|cca|apod|atd|mil|mld|tis|hod",
        unit=r"mil|mio|hod|dní|Kč",
        numbered_part=(
            r"kroku?|částí?|bodu?|fáze|úrove[ňn]|stran[aěu]|kapitol[aey]|verz[eí]|typu?|otázk[aey]|tabulk[aey]"
            r"|místo|místě"
            r"|prvních|posledních|pořadí|č\."
        ),
        capitals="ÁČĎÉĚÍŇÓŘŠŤÚŮÝŽ",
        unanswered="Tuto část se nepodařilo zodpovědět",
        incomplete="Tato část je neúplná",
    ),
    claim=ClaimWords(
        highest=(
            r"v čele|nejvíce?|nejvyšší\w*|největší\w*|nejdelší\w*|nejdražší\w*|nejčastěji|nejčastější\w*|maxim\w+"
            r"|nejtěžší\w*"
        ),
        lowest=r"nejméně|nejmíň|nejnižší\w*|nejmenší\w*|nejkratší\w*|nejlevnější\w*|minim[aáu]\w+|nejlehčí\w*",
        not_superlative=r"nej(?:méně|více) \d[\d .,]*|nejvýše|nejspíše?",
        ordinal=r"druh\w+|třet\w+|čtvrt\w+|pát\w+|další\w*|násled\w+|potom|pak|za ní\w?|po n\w+",
        latest=r"nejnovější\w*|nejpozdější\w*|nejpozději|naposledy",
        earliest=r"nejstarší\w*|nejdřívější\w*|nejdříve|nejranější\w*",
        fractions={
            "polovina": (1, 2),
            "polovinu": (1, 2),
            "polovině": (1, 2),
            "poloviny": (1, 2),
            "půlka": (1, 2),
            "třetina": (1, 3),
            "třetinu": (1, 3),
            "třetině": (1, 3),
            "dvě třetiny": (2, 3),
            "dvou třetin": (2, 3),
            "čtvrtina": (1, 4),
            "čtvrtinu": (1, 4),
            "tři čtvrtiny": (3, 4),
            "pětina": (1, 5),
            "pětinu": (1, 5),
            "dvě pětiny": (2, 5),
            "tři pětiny": (3, 5),
            "čtyři pětiny": (4, 5),
            "desetina": (1, 10),
            "desetinu": (1, 10),
            "každý druhý": (1, 2),
            "každá druhá": (1, 2),
            "každý třetí": (1, 3),
            "každá třetí": (1, 3),
            "každý čtvrtý": (1, 4),
            "každá čtvrtá": (1, 4),
        },
        part_of=r"ze?",
        times=r"krát|násobn\w+|násobek|násobku",
        multiples={"dvakrát": 2, "dvojnásob": 2, "třikrát": 3, "trojnásob": 3, "čtyřikrát": 4, "čtyřnásob": 4},
        majority=r"více než polovin\w+|víc než polovin\w+|přes polovinu|nadpoloviční\w*|většin\w+",
        minority=r"méně než polovin\w+|menšin\w+|necelá polovina|necelou polovinu",
        absence=r"žádn\w+|nikdo|nikdy|nic|ani jed\w+|nejsou|nebyl\w*|není",
        not_known=(
            r"(?:data|záznamy|výsledky|výsledek|tikety) (?:to )?(?:ne\w+)|není (?:uveden\w*|známo|zaznamenán\w*)"
            r"|nelze (?:určit|zjistit|říci)|neuvád\w+|neobsahuj\w+"
        ),
        calculated=(
            r"rozdíl\w*|o|více než|méně než|více|méně|vyšší\w*|nižší\w*|poměr\w*|podíl\w*|procent\w*|dohromady|celkem"
            r"|celkov\w+|součet|součtem|průměr\w*|krát|\w+krát|dvojnásob\w+|zbýv\w+|zbytek|ostatní\w*|z|na|každ\w+"
            r"|liší|rozpětí|společně"
            r"|úhrnem"
        ),
        contrast=r"ne|ni(?:c|kdy)|nikoli|nikoliv|místo|než|kromě|oproti|bez|ani|dříve|namísto|není|nejsou|nebyl\w*",
        greeting=r"ahoj|dobrý den|čau|nazdar|děkuji|díky|děkuju|na shledanou|dobře|ok",
        about_runax=(
            r"runax|kdo jsi|co jsi|co umíš|co umíte|um[íi](?:te|š) (?:česky|anglicky|německy)|můžeš mi pomoci"
            r"|můžete mi pomoci|jaké (?:máš|máte) nástroje|jaké nástroje|pomoc\W*$"
        ),
    ),
    everything=EverythingWords(
        everything=(
            r"(?:uplne |naprosto )?(?:vse|vsechno|vsecko)(?:,? co (?:vime|vis|mame|vite|je znamo|najdes))?"
            r"|(?:veskere|vsechny) (?:dostupne )?(?:informace|udaje|data|zaznamy)"
            r"|co (?:vsechno |vse )?(?:vime|mame|vis)"
        ),
        about=r"o|ohledne|tykajici se|k",
        article=r"nasem|nasi|tomto|teto",
        naming=r"(?:s |se )?(?:id|jmenem|cislem|cislo|c\.)|jmenem|jmenuje se",
        name_particle=r"z|ze|van|von|de|da",
        name_ending=r"ovi|ove|ou|em|ho|mu|a|e|i|u|y",
    ),
)
