"""German."""

from runax_cli.agent.locales.locale import (
    ClaimWords,
    DateWords,
    EverythingWords,
    Locale,
    NumberWords,
    QuestionWords,
    StatementWords,
)

DE = Locale(
    code="de",
    letters="ß",
    question=QuestionWords(
        figure=(
            r"wie ?viele?n?|wie oft|anzahl|durchschnitt\w*|mittelwert\w*|median\w*|summe|gesamt\w*|insgesamt|prozent\w*"
            r"|anteile?"
        ),
        meaning=(
            r"warum|weshalb|wieso|grund|gruende|fass\w* zusammen|zusammenfass\w+|beschreib\w*|erklaer\w*|erklar\w*"
            r"|liste"
            r"|finde|zeige?|alles"
        ),
        ranking=(
            r"am (?:meisten|wenigsten|haufigsten|langsten|kurzesten|teuersten)|hochste\w*|niedrigste\w*|grosste\w*"
            r"|kleinste\w*|meisten|wenigsten|verteilung|gruppier\w*|(?:pro|je) (?:tag|woche|monat|jahr)"
        ),
        asking=(
            r"wie|was|welche[rsnm]?|wer|wen|wem|wessen|wann|wo|warum|ist|sind|war|waren|hat|haben|gibt|liste|zeige?"
            r"|finde"
            r"|zahle|nenne|vergleiche|beschreibe|erklare|berechne"
        ),
        reporting=r"nenne|sage?|gib",
        filler=r"auch|dann|bitte|schliesslich|in|fur|von|zu|mit|bei|an",
        conjunction=r"und|oder|aber|sowie|dann",
        counting=r"wie ?viele?n?|wie oft",
        selecting=r"welche[rsnm]?|was|wer",
        preposition=r"in|aus|auf|fur|bei|von",
        quantity=r"wie (?:viele?n?|oft|gross|lang|hoch)",
        same_thing=r"sie|es|davon|jeweils|gibt|sind|ist|haben|hat|von|pro|prozent",
        output_format=r"gib|liste sie|nenne|runde|schreibe?",
        addition=r"und auch|und dann|danach|sowie|zusatzlich|ausserdem|daruber hinaus|beziehungsweise|ferner",
        comparison=r"vergleich\w*|gegenuber|versus|unterschiede? zwischen",
        range_start=r"zwischen|von|vom",
        range_middle=r"und|bis",
        name_conjunction=r"und|oder",
        naming=r"von|fur|der|die|das|des|kunden?|kundin|benutzer",
        possessive=r"ihr\w{0,2}|sein\w{0,2}|deren|dessen",
        some_of_them=r"davon|von (?:ihnen|diesen|denen)|sind|ist|waren|war|wurden?|haben|hat|hatten?",
        common=(
            r"wie|viele|welche[rsnm]?|und|der|die|das|den|dem|des|ein|eine|einen|ist|sind|wurden?|hat|haben|gibt|es"
            r"|im|von"
            r"|mit|fur|nicht|kein\w*"
        ),
    ),
    number=NumberWords(
        names=(
            "null keine kein keiner keines keinen keinem",
            "eins",
            "zwei zweien beide beiden beider",
            "drei dreien",
            "vier",
            "fünf",
            "sechs",
            "sieben",
            "acht",
            "neun",
            "zehn",
            "elf",
            "zwölf",
        ),
        pronouns="keine kein keiner keines keinen keinem beide beiden beider",
        scales={"tausend": 3, "tsd": 3, "mio": 6, "million": 6, "mrd": 9, "milliarde": 9},
        scale_words=r"[Tt]ausend|Tsd\.?|Millionen?|Milliarden?|Mio\.?|Mrd\.?",
        scale_abbreviations=r"Mio\b\.?|Mrd\b\.?",
        percent=r"[Pp]rozent\w*",
        about=r"etwa|ungefähr|rund|circa|ca\.?|zirka",
        over=r"gut|reichlich|über|mehr als|mindestens|wenigstens",
        under=r"fast|knapp|beinahe|unter|weniger als|höchstens|bis zu",
        lower_bound=(
            r"mindestens|wenigstens|mehr als|untergrenze|oder mehr|ersten|unvollständig\w*|nicht alle|teilweise|bisher"
            r"|der (?:gelesenen|geladenen|abgerufenen)"
        ),
    ),
    date=DateWords(
        months=(
            "januar jänner jan",
            "februar feb",
            "märz mrz",
            "april apr",
            "mai",
            "juni jun",
            "juli jul",
            "august aug",
            "september sept sep",
            "oktober okt",
            "november nov",
            "dezember dez",
        ),
        range_word=r"bis|und",
        before_year=r"des jahres",
        time_units={
            "woche": "week",
            "stunde": "hour",
            "std": "hour",
            "minute": "minute",
            "tag": "day",
            "sek": "second",
        },
    ),
    statement=StatementWords(
        list_conjunction=r"und",
        negation=r"nein|keine?[rsnm]?|nicht|nie|niemals|niemand|nichts|ohne",
        abbreviation=r"z\.B|d\.h|bzw|usw|ca|nr|hr|fr|dr|str|u\.a|evtl|ggf|inkl|max|mrd|mio|tsd|std|vgl",
        unit=r"Mio|Mrd|Tsd|Std|Uhr|Stk",
        numbered_part=(
            r"[Ss]chritte?|[Tt]eile?|[Pp]unkte?|[Pp]hase|[Ss]tufe|[Ss]eiten?|[Kk]apitel|[Aa]bschnitt|[Tt]yp"
            r"|[Ff]rage|[Tt]abelle"
            r"|[Pp]latz|[Rr]ang|[Pp]osition|ersten|letzten"
        ),
        capitals="ÄÖÜ",
        unanswered="Dieser Teil konnte nicht beantwortet werden",
        incomplete="Dieser Teil ist unvollständig",
    ),
    claim=ClaimWords(
        highest=r"an der spitze|höchste\w*|meiste\w*|größte\w*|längste\w*|teuerste\w*|häufigste\w*|maxim(?:um|ale\w*)",
        lowest=(
            r"niedrigste\w*|geringste\w*|wenigste\w*|kleinste\w*|kürzeste\w*|billigste\w*|günstigste\w*|minimum"
            r"|minimale\w*"
        ),
        not_superlative=r"meistens|zumeist|wenigstens|meisten der|die meisten",
        ordinal=r"zweit\w*|dritt\w*|viert\w*|fünft\w*|nächst\w*|folg\w*|gefolgt|danach|dahinter|dann",
        latest=r"neueste\w*|neuste\w*|jüngste\w*|späteste\w*|zuletzt",
        earliest=r"älteste\w*|früheste\w*",
        fractions={
            "hälfte": (1, 2),
            "ein drittel": (1, 3),
            "zwei drittel": (2, 3),
            "ein viertel": (1, 4),
            "drei viertel": (3, 4),
            "dreiviertel": (3, 4),
            "ein fünftel": (1, 5),
            "zwei fünftel": (2, 5),
            "drei fünftel": (3, 5),
            "vier fünftel": (4, 5),
            "ein zehntel": (1, 10),
            "jede zweite": (1, 2),
            "jeder zweite": (1, 2),
            "jede dritte": (1, 3),
            "jeder dritte": (1, 3),
            "jede vierte": (1, 4),
            "jeder vierte": (1, 4),
            "jede fünfte": (1, 5),
            "jeder fünfte": (1, 5),
        },
        part_of=r"von(?: den)?|aus",
        times=r"mal|fach\w*",
        multiples={"doppelt": 2, "zweimal": 2, "dreimal": 3, "dreifach": 3, "viermal": 4, "vierfach": 4, "fünfmal": 5},
        majority=r"mehr als die hälfte|über die hälfte|mehr als der hälfte|(?:die|eine|der) mehrheit|mehrheitlich",
        minority=r"weniger als die hälfte|weniger als der hälfte|(?:die|eine) minderheit|nicht einmal die hälfte",
        absence=r"keine?[rsnm]?|niemand|nichts|nie",
        not_known=(
            r"(?:daten|datensätze|ergebnisse|tickets?) (?:\w+ )?(?:nicht|kein\w*)|(?:geht|gehen|ist"
            r"|sind) (?:\w+ ){0,4}nicht"
            r" (?:hervor|angegeben|bekannt|vermerkt|enthalten)|lässt sich (?:\w+ ){0,4}nicht|keine (?:angaben?"
            r"|informationen?)"
        ),
        calculated=(
            r"differenz|unterschied\w*|mehr als|weniger als|mehr|weniger|höher\w*|niedriger\w*|länger\w*|kürzer\w*"
            r"|verhältnis"
            r"|anteile?|prozent\w*|zusammen|insgesamt|gesamt\w*|summe|durchschnitt\w*|mal|\w+mal|doppelt\w*|um"
            r"|übrig\w*|rest\w*"
            r"|von|pro|je|jede[rsnm]?|spanne|vorsprung|abstand|gemeinsam"
        ),
        contrast=r"nicht|kein\w*|statt|anstatt|als|außer|ohne|weder|noch|sondern|gegenüber|zuvor|von",
        greeting=r"hallo|hi|guten (?:morgen|tag|abend)|danke\w*|vielen dank|tschüss|auf wiedersehen|ok",
        about_runax=(
            r"runax|wer bist du|was bist du|was kannst du|kannst du (?:mir )?(?:helfen|deutsch)"
            r"|können sie (?:mir )?helfen|sprichst du|was können sie|welche (?:werkzeuge|quellen|tools)"
            r"|hilfe\W*$"
        ),
    ),
    everything=EverythingWords(
        everything=(
            r"alles(?:,? was (?:wir|du|sie) \w+(?: \w+)?)?"
            r"|(?:alle|samtliche) (?:verfugbaren )?(?:informationen|daten|angaben|details)"
            r"|was (?:wissen wir|weisst du|wissen sie)(?: alles)?"
        ),
        about=r"(?:ue|u)ber|zum|zur|zu|bezuglich",
        article=r"den|die|das|dem|der|unseren?|unserem|unser",
        naming=r"(?:mit (?:der|dem) )?(?:id|namen|nummer|kundennummer|nr\.?)|namens",
        name_particle=r"von|van|zu|der|de",
        name_ending=r"s",
    ),
)
