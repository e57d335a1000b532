"""English."""

from runax_cli.agent.locales.locale import DateWords, Locale, NumberWords, QuestionWords, StatementWords

EN = Locale(
    code="en",
    letters="",
    question=QuestionWords(
        figure=(
            r"how (?:many|much|often)|numbers? of|counts?|average|mean|median|sum|total|percent(?:age)?|proportion"
            r"|ratio"
        ),
        meaning=r"why|reasons?|summari[sz]\w*|summary|describe|explain|list|find|show|tell|everything",
        ranking=(
            r"most|least|fewest|highest|lowest|largest|smallest|biggest|top \d+|distribution|group(?:ed)? by"
            r"|per (?:day|week|month|year)"
        ),
        asking=(
            r"how|what|which|who|whom|whose|when|where|why|is|are|was|were|does|do|did|has|have|can|list|show|find|count"
            r"|give|tell|compare|summari[sz]e|describe|explain|compute|calculate"
        ),
        reporting=r"tell|give",
        filler=r"also|then|please|finally|if so|in|for|of|from|to|on|with|at|by",
        conjunction=r"and|or|but|plus|then",
        counting=r"how (?:many|much|often)",
        selecting=r"which|what|who",
        preposition=r"in|from|on|for|at",
        quantity_stem=r"how",
        quantity=r"how (?:many|much|often|large|long|high|big)",
        same_thing=(
            r"they|them|it|each|there|are|is|does|do|have|has|from|of|in|per|cent|percent|to|two|decimals?|times"
        ),
        output_format=r"give|list them|state|write|round",
        addition=(
            r"and also|and then|after that|as well as|in addition|additionally|besides that|furthermore|moreover"
            r"|respectively"
        ),
        comparison=r"compare[ds]?|comparison|versus|vs|differences? between|for each of",
        range_start=r"between|from",
        range_middle=r"and|to",
        name_conjunction=r"and|or",
        naming=r"of|for|by|the|customer|user",
        common="",
        predicate=(
            r"(?:is|are|was|were|has|have)\s+"
            r"(?!(?:there|the|any|all|they|it|he|she|we|his|her|its|their|this|that|these|a|an)\b)"
        ),
    ),
    number=NumberWords(
        names=(
            "zero no none",
            "one",
            "two both",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
        ),
        scales={"thousand": 3, "million": 6, "bn": 9, "billion": 9},
        scale_words=r"thousands?|millions?|billions?",
        scale_abbreviations=r"bn\b",
        percent=r"percent\w*|per cent",
        about=r"about|around|approximately|approx\.?|roughly|circa|some|ca\.?",
        over=r"over|more than|above|at least|no fewer than|no less than|exceeds",
        under=r"almost|nearly|close to|under|less than|fewer than|below|up to|at most",
        lower_bound=(
            r"at least|no fewer than|no less than|more than|minimum|lower bound|or more|incomplete|not all|partial\w*"
            r"|so far|of those (?:read|fetched)|that (?:were|was|could be) (?:read|fetched)"
        ),
    ),
    date=DateWords(
        months=(
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        ambiguous_months=("may",),
        ordinal_suffix=r"st|nd|rd|th",
        range_word=r"to|and",
        before_year=r"of",
        after_day=r"of",
        time_units={
            "hour": "hour",
            "hr": "hour",
            "h ": "hour",
            "minut": "minute",
            "min": "minute",
            "day": "day",
            "sec": "second",
            "s ": "second",
        },
    ),
    statement=StatementWords(
        list_conjunction=r"and",
        negation=r"no|none|not|never|nobody|nothing|without|zero",
        abbreviation=r"e\.g|i\.e|vs|etc|approx|no|nr|mr|mrs|ms|dr|st|min|max",
        unit=r"bn|sec|min|pp|am|pm",
        numbered_part=(
            r"steps?|options?|parts?|points?|phases?|levels?|pages?|chapters?|sections?|version|release|windows|android"
            r"|ios|usb|https?|iso|rfc|wi-?fi|office|python|java|html|wcag|type|question|sub-question|table|figure|top"
            r"|first|last|ranks?|places?|positions?|no\.|nr\.?"
        ),
        capitals="A-Z",
        unanswered="This part could not be answered",
        incomplete="This part is incomplete",
    ),
)
