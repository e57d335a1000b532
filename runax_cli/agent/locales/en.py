"""English."""

from runax_cli.agent.locales.locale import (
    ClaimWords,
    DateWords,
    EverythingWords,
    Locale,
    NumberWords,
    QuestionWords,
    StatementWords,
)

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
            r"how|what|which|who|whom|whose|when|where|why|is|are|was|were|does|do|did|has|have|can|list|show|find"
            r"|count"
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
        possessive=r"their|its|his|her",
        some_of_them=(
            r"of (?:them|these|those|which)|are|were|is|was|have|had|has|did|do|does (?:it|each)|(?:still )?remain"
        ),
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
        pronouns="no none both one",
        scales={"thousand": 3, "million": 6, "bn": 9, "billion": 9},
        scale_words=r"thousands?|millions?|billions?",
        scale_abbreviations=r"bn\b",
        percent=r"percent\w*|per cent",
        about=r"about|around|approximately|approx\.?|roughly|circa|some|ca\.?",
        over=r"a good|just over|well over|over|more than|above|at least|no fewer than|no less than|exceeds",
        under=r"just under|well under|almost|nearly|close to|under|less than|fewer than|below|up to|at most",
        lower_bound=(
            r"at least|no fewer than|no less than|more than|minimum|lower bound|or more|the first|incomplete|not all"
            r"|partial\w*"
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
            "week": "week",
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
    claim=ClaimWords(
        highest=r"highest|commonest|most|largest|biggest|greatest|longest|maximum|top|heaviest|costliest",
        lowest=r"lowest|rarest|least|fewest|smallest|shortest|minimum|lightest|cheapest|least expensive",
        not_superlative=r"at (?:least|most)|most of|most recent(?:ly)?|almost|most likely",
        ordinal=r"second|third|fourth|fifth|next|follow\w*|other|after|behind|runner-up|then",
        latest=r"latest|newest|most recent(?:ly)?",
        earliest=r"earliest|oldest",
        fractions={
            "one half": (1, 2),
            "half": (1, 2),
            "a third": (1, 3),
            "one third": (1, 3),
            "two thirds": (2, 3),
            "a quarter": (1, 4),
            "one quarter": (1, 4),
            "three quarters": (3, 4),
            "a fifth": (1, 5),
            "one fifth": (1, 5),
            "two fifths": (2, 5),
            "three fifths": (3, 5),
            "four fifths": (4, 5),
            "a tenth": (1, 10),
            "one tenth": (1, 10),
            "one in two": (1, 2),
            "one in three": (1, 3),
            "one in four": (1, 4),
            "one in five": (1, 5),
            "one in ten": (1, 10),
        },
        part_of=r"(?:out )?of(?: the)?|in",
        times=r"times|fold",
        multiples={"twice": 2, "double": 2, "triple": 3, "quadruple": 4},
        majority=r"more than half|over half|(?:the|a) majority",
        minority=r"less than half|fewer than half|under half|(?:the|a) minority",
        absence=r"none|nobody|no one|there (?:are|were|is|was) no|(?:has|have|had) no|did not find any|not a single|no",
        not_known=(
            r"(?:data|records?|results?|tickets?) (?:does|do|did) not (?:say|tell|show|contain|include|explain"
            r"|state|give)"
            r"|not (?:stated|recorded|known|available|given)|cannot be (?:determined|answered|said)|no information"
        ),
        calculated=(
            r"difference|differs?|more than|less than|fewer than|more|fewer|higher|lower|longer|shorter|gap|ahead"
            r"|behind"
            r"|ratio|share|percent\w*|proportion|together|combined|in total|total|sum|average|mean|times|twice|double"
            r"|one in|every|each|spread|range|span|increase\w*|decrease\w*|rose|fell|grew|remaining|rest|other|left"
            r"|out of|per|between them"
        ),
        contrast=r"not|n't|never|instead of|rather than|than|except|unlike|versus|vs|neither|nor|without|formerly|from",
        greeting=r"hi|hello|hey|good (?:morning|afternoon|evening)|thanks?(?: you)?|thx|bye|goodbye|ok(?:ay)?|great",
        about_runax=(
            r"runax|who are you|what are you|what can you (?:do|help)|can you help|do you (?:speak|understand)"
            r"|what (?:tools|sources|functions) (?:do you|can you|are)"
            r"|which (?:tools|sources|functions)|how do (?:you|i use you)|help(?: me)?\W*$"
        ),
    ),
    everything=EverythingWords(
        everything=(
            r"everything(?: that)?(?: (?:we|you) (?:have|know|can find)| there is(?: to know)?| is known| known)?"
            r"|all (?:the |available )?(?:information|info|data|details|facts)(?: (?:we|you) have| available)?"
            r"|what do (?:we|you) know"
        ),
        about=r"about|regarding|concerning|on",
        article=r"the|our|a",
        naming=(
            r"(?:(?:named|called|with|whose|by)\s+)?(?:the\s+)?(?:id|name|number|no\.?|nr\.?)(?:\s+is)?|named"
            r"|called"
        ),
        name_particle=r"van|von|de|der|den|del|della|da|di|dos|du|la|le|bin|al|el|ter|zu",
        name_ending=r"'s",
    ),
)
