"""Phrases about pagination in English descriptions.

Each was found in public OpenAPI documents. They are loose between the words that carry the meaning, and strict there.
"""

import re
from functools import cached_property, lru_cache

_THINGS = r"(?:[\w'’/-]+ ){0,5}?"  # noqa: RUF001 - documents have typographic apostrophes
_RETURNED = r"(?:return|retriev|fetch|get|list|show|display|includ|obtain|send|sent|deliver|load|give|output|read)\w*"
_SKIPPED = r"(?:skip|omit|jump|bypass|ignor|leave out|pass over|discard)\w*"
_RECORDS = r"(?:results|records|items|entries|rows|objects|hits|elements|count)"
_EARLIER = r"(?:previous|prior|preceding|last|earlier|former)(?:ly)?"
_ANSWER = r"(?:response|call|request|page|results?|query|answer|reply|operation|invocation|set|batch|list\w*|output)"


class Phrase:
    """A regular expression over descriptions, compared by identity: hashing a large pattern is slow.

    It is compiled at its first use: most commands read no description, and together the patterns take 20 ms.
    """

    def __init__(self, *alternatives: str) -> None:
        self._alternatives = alternatives

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(self._alternatives), re.IGNORECASE)

    def is_in(self, text: str) -> bool:
        """Whether a text matches. Results are cached: the operations of a document have most parameters in common."""
        return bool(text) and _is_in(self, text)

    def search(self, text: str) -> re.Match[str] | None:
        """The first match."""
        return self._pattern.search(text)


@lru_cache(maxsize=65536)
def _is_in(phrase: Phrase, text: str) -> bool:
    return phrase.search(text) is not None


PAGE_SIZE = Phrase(
    rf"\b(?:number|amount|count|quantity|maximum|max) (?:of |number of )?{_THINGS}(?:to|that (?:can|will) be|that are|"
    rf"being|should be|you want to|which) {_THINGS}{_RETURNED}\b",
    rf"\b(?:number|amount|count|quantity|maximum|max|limit) (?:of |on )?{_THINGS}(?:per|on (?:a|one|each|every)"
    rf"|in (?:a|one|each|every|the)) (?:single )?{_ANSWER}\b",
    rf"\bhow many {_THINGS}(?:to {_RETURNED}|per page|(?:on|in|at) (?:a|one|each) \w+|(?:should|will|may) be)\b",
    r"\b(?:page|batch|chunk|slice) ?(?:size|length)\b",
    rf"\bhow many {_THINGS}(?:one|a|each) {_ANSWER} (?:may|can|will|should) (?:hold|contain|have)\b",
    r"^(?:the )?\w+ (?:per|in (?:one|a|each)) (?:page|response|answer|reply|slice|batch|chunk|block|portion|request)\b",
    rf"\b{_RETURNED} (?:no|not) more than (?:this|that) (?:many|number)\b",
    r"\bsize of (?:the |a |an |each |one |every )?(?:\w+ )?(?:page|batch|slice|chunk|result|window)s?\b",
    rf"\bmax(?:imum)?(?:imal)? (?:number of )?(?:\w+ )?{_RECORDS}\b",
    rf"\b{_RECORDS} (?:{_THINGS})?(?:per page|returned|to {_RETURNED})\b",
    r"\blimit(?:s|ing)? (?:the |on the )?(?:maximum )?(?:number|amount|size|count)\b",
    r"\bpag(?:e|ing|ination) limit\b|\bat most this many\b",
)
OFFSET = Phrase(
    r"\bposition (?:with)?in the (?:\w+ ){0,2}(?:list|set|results?)\b[^.;]{0,40}\bstart",
    rf"^(?:the )?\w+ to {_SKIPPED} (?:over )?before\b",
    rf"\b(?:number|amount|count|quantity) of {_THINGS}(?:to|that are|that (?:should|will) be|being) "
    rf"(?:be )?{_SKIPPED}\b",
    rf"\bhow many {_THINGS}(?:to|should be|are|will be|must be) {_SKIPPED}\b",
    rf"\b{_SKIPPED} (?:over )?(?:the )?(?:first |this |that |a |an |\w+ )?(?:number|many|specified|given|\d+|n) ",
    r"\b(?:index|position|offset|ordinal|rank|number|row) of (?:the )?(?:first|starting|initial) (?:\w+ )?\w+",
    r"\b(?:start(?:ing)?|beginning|initial|first) (?:index|position|offset|row|record|item|result|entry|element|hit)\b",
    r"\bfirst (?:\w+ )?(?:result|record|item|row|entry|element|hit|object) to (?:be )?"
    r"(?:return|retriev|fetch|show|display|includ|get|list|read)\w*\b",
    r"\b(?:zero|0|one|1)[- ]based (?:index|position|offset|number)\b",
    r"\bstarting point (?:for|of|in) (?:the )?(?:\w+ ){0,3}(?:results|list|page|records|search)",
    r"\b(?:pag(?:e|ing|ination)|results?|record|row|item|list) (?:start )?offset\b",
    r"\boffset (?:for|of|in|into|from|to) (?:the |a )?(?:\w+ ){0,3}(?:pag\w*|results?|records?|items?|list|set)\b",
)
PAGE_NUMBER = Phrase(
    r"\bpage[- ](?:number|no\b|num\b|index)",
    rf"\bpage (?:of (?:\w+ ){{1,3}})?(?:to|you want to|that you want to|should be|that is) (?:be )?{_RETURNED}\b",
    r"\bpage (?:of \w+ )?to (?:request|query|view|open|start)\b",
    r"\bwhich ['\"`]?(?:page|slice|batch|chunk|portion|block)\b",
    r"\b(?:0|1|zero|one)-based page\b",
    r"\b(?:number|index) of (?:the |a )?(?:\w+ ){0,2}page\b",
    r"\b(?:current|requested|desired|result|results) page\b(?! size)",
)
CURSOR = Phrase(
    r"\b(?:paginat\w+|paging|page|continuation|next|cursor)[- ]?(?:token|cursor|marker|key)s?\b",
    rf"\b(?:token|cursor|marker|value|key|string|id|identifier|bookmark|pointer|handle|name|arn)\b[^.;]{{0,100}}"
    rf"\b{_EARLIER} (?:\w+ ){{0,3}}{_ANSWER}\b",
    rf"\b{_EARLIER} (?:\w+ ){{0,3}}{_ANSWER}\b[^.;]{{0,60}}\b(?:token|cursor|marker|truncated|incomplete)\b",
    r"\bcursors?\b|\bopaque\b|\bpaginat\w+|\bpaging\b|\bpaged\b|\bnexttoken\b",
    r"\b(?:token|cursor|marker|value|key|bookmark|id|identifier)\b[^.;]{0,60}"
    r"\b(?:next|subsequent|following|more|remaining|additional|further) "
    r"(?:page|set|batch|group|chunk|portion|slice|results?|records?|items?|entries|list)\b",
    r"\b(?:begin|start|resum|continu)\w* (?:returning|listing|reading|the list\w*|from where|where)\b",
    r"\b(?:next|subsequent|following) (?:page|batch|chunk|slice) of\b",
    r"\b(?:next|subsequent|following) set of (?:\w+ )?(?:results|records|items)\b",
    r"\bpoint (?:to|at) (?:resume|continue)\b|\bcontinu\w+\b[^.;]{0,40}\b(?:token|list|results?|enumerat\w+)",
)
RECORD_KEY = Phrase(
    rf"\b(?:id|identifier|key|name|item|record|object|entry|sku|code|\w+ id)\b[^.;]{{0,60}}"
    rf"\blast (?:\w+ ){{0,3}}(?:of|from|in|on|returned|received|seen|read|by)\b[^.;]{{0,60}}\b{_EARLIER}\b",
    rf"\blast (?:\w+ ){{0,4}}(?:of|from|in|on|returned (?:in|by|on)|received (?:in|from|on)|seen (?:in|on)) "
    rf"(?:the |your |a )?(?:{_EARLIER}|fetched|current)\b",
    r"\b(?:after|beyond|following) (?:the |this |that )?(?:specified |given )?(?:\w+ )?(?:id|identifier|key)\b",
    r"\bwith (?:an? )?\w*(?:ids?|identifiers?|keys?|numbers?) (?:strictly )?"
    r"(?:greater|less|lower|higher|larger|smaller|more recent|older|newer|after|beyond)\b",
    r"\bobject id that defines your place\b|\blexically after\b",
    r"\bwhose (?:\w+ )?(?:id|identifier|key|number) is (?:strictly )?"
    r"(?:greater|less|lower|higher|larger|smaller|after)\b",
    r"\b(?:before|after|since) (?:\w+ )?id\b[^;]{0,40}\bpaginat",
    r"\b(?:id|identifier|key) (?:before|after) which\b",
    r"\bids? (?:greater|less|lower|higher|larger|smaller) than\b|\bids? (?:strictly )?(?:after|before) (?:this|the)\b",
)
CREDENTIAL = Phrase(
    r"\bidempoten|\bauthenticat|\bauthori[sz]|\bcredential|\baccess[- ]token|\bsecurity[- ]token|\bcsrf\b|\bpassword"
    r"|\bsync(?:hroni[sz]ation)?[- ]?token|\bsynctoken|\bsigned?ature|\bapi[- ]key\b|\bbearer\b|\bsecret\b"
    r"|\bcase[- ]sensitive,? (?:\w+ )?(?:string|token) that you"
)
DATE = Phrase(r"\b(?:date|time|timestamp|iso ?8601|rfc ?3339|unix|yyyy)\b|(?<!of the )\bepoch\b")
RESULT_WINDOW = Phrase(
    r"(?:more than|beyond|first|up to|exceed\w*|greater than|over|limited to|maximum offset:?) (?:the first )?"
    r"(\d{1,3}(?:[,.]\d{3})+|\d{4,}) (?:hits|results|records|items|entries|documents|rows)"
)
COUNT_ONLY = Phrase(
    r"\b(?:count|number|total|metadata|figures?)\b[^.;]{0,40}\binstead of\b|\bonly (?:return |the )?(?:\w+ )?"
    r"(?:count|total|number of|metadata)\b|\b(?:count|total|metadata) only\b"
    r"|\bwithout (?:any |the |returning )*(?:records|items|results|data|rows)\b"
)
INCLUDES_TOTAL = Phrase(
    r"\b(?:whether|if|set|includ\w*|return\w*|show\w*|add\w*|comput\w*|calculat\w*|request\w*)\b[^.;]{0,60}"
    r"\b(?:total|overall|full) (?:\w+ ){0,2}(?:count|number|items|pages|results|records|amount of)\b"
    r"|\b(?:whether|if|set|includ\w*|return\w*|show\w*|add\w*)\b[^.;]{0,60}\btotal[_ ](?:pages|items|count|results)\b"
)
CURSOR_OR_TOKEN = Phrase(r"\bcursors?\b|\btokens?\b|\bopaque\b")
LIST_TOTAL = Phrase(
    r"\b(?:whether|if|set|includ\w*|return\w*|show\w*|add\w*)\b[^.;]{0,60}\btotal[_ ](?:pages|items|results|hits)\b",
    r"\btotal (?:count|number) (?:of )?(?:the )?(?:all )?(?:matching|available|\w+ that match|"
    r"results|records|items|hits)\b",
    r"\btotal (?:count|number) in the (?:response|answer|result|header)\b",
)
PAGING = Phrase(r"\bpaginat\w+|\bpaging\b|\bnext page\b|\bpage of results\b")
DEFINITE_CURSOR = Phrase(
    r"\b(?:paginat\w+|paging|page|continuation|next[- ]?page|cursor)[- ]?(?:token|cursor|marker|key|bookmark)\b",
    rf"\b(?:token|cursor|marker|value|string|bookmark|pointer|handle)\b[^.;]{{0,60}}\b(?:return|receiv|obtain|retriev|given"
    rf"|provid|taken|from|of|in)\w*\b[^.;]{{0,40}}\b{_EARLIER} (?:\w+ ){{0,3}}{_ANSWER}\b",
    r"\bcursor (?:returned|value|string|token|position)\b|^(?:optional\W+)?(?:an? |the )?(?:\w+ )?cursor\b(?! size)",
    r"\bopaque (?:\w+ ){0,3}(?:token|cursor|value|string|marker|bookmark|id|identifier)\b[^.;]{0,60}"
    r"\b(?:paginat\w+|next|previous|pages?|continu\w+|resum\w+|results?)\b",
    r"\b(?:token|value|key|marker|bookmark)\b[^.;]{0,60}\b(?:next|subsequent|following|more) "
    r"(?:page|set|batch|group|chunk|portion|slice) (?:of|in)\b",
    r"\bwhere (?:to|the) (?:previous |last )?(?:\w+ )?(?:continue|resume|left off|leaves off|ended)\b",
    r"\b(?:token|cursor|marker|bookmark|pointer|handle)\b[^;]{0,80}\bto (?:get|fetch|retrieve|request|load|obtain) "
    r"(?:the |an? )?(?:next|following|subsequent|further) "
    r"(?:page|set|batch|chunk|portion|slice|results|records|items)\b",
)
PREVIOUS_RESPONSE = Phrase(
    r"\b\w*(?:key|token|cursor|marker|id|value)\b (?:field |value |member |property )?(?:in|of|from) (?:the |a )?"
    r"(?:previous |last |prior )?(?:response|answer|reply)\b"
)
SET_BY_SERVER = Phrase(
    r"\bshould(?:n't| not) (?:be )?(?:provid|defin|set|us|giv|specif)|\bnot (?:expected|meant|intended) to (?:be )?"
    r"(?:provid|set|giv|us|specif)|\byou (?:do not|don't) (?:need|have) to (?:provide|set) this\b"
)
LAST_ROW = Phrase(
    r"\b(?:end|ending|last|final|highest|stop(?:ping)?) "
    r"(?:record|row|item|index|result|position|entry|element|value)\b",
    r"\bend of (?:the )?(?:\w+ )?(?:block|page|list|range|window|slice|results|records|rows|items)\b",
)
START = Phrase(r"\bstart|\bbegin|\bfirst\b|\boffset\b|\bposition\b|\bpag(?:e|ing|inat)")
FOR_PAGINATION = Phrase(
    r"\b(?:used|use|needed|required|meant|only) (?:for|in|to|with) (?:the )?paginat\w+|\bto paginate\b"
)
LINK_HEADER = Phrase(r"\blink header\b|\blink response header\b")
BYTES = Phrase(r"\bbytes?\b|\bblob\b|\bbinary\b|\boctets?\b")
SCIM = Phrase(r"\bscim\b|\brfc ?7644\b")
RESULTS = Phrase(
    r"\bpag(?:e|es|ed|ing|inat\w*)\b|\bresults?\b|\brecords?\b|\bitems?\b|\bentries\b|\brows?\b|\bskip|\bcursor\b"
    r"|\bnext\b|\bto return\b|\bobjects?\b|\bdocuments?\b|\bnumber of\b"
)
PAGED = Phrase(r"\bpaginat\w+|\bpaged\b|\bpaging\b|\bpages? through\b")
PAGINATION = Phrase(r"\bpaginat")
RETURNED_RESULTS = Phrase(
    r"\bper[ -]page\b|\bpage size\b|\bto (?:return|retrieve|fetch)\b|\bto be retrieved\b|\breturned\b|\bresults?\b"
    r"|\brecords?\b|\bitems?\b"
)
_UNITS = (
    r"\bpages? of (?:the|a|an|this) (?:pdf|document|file|book|website|notebook|scan)\b|\bto render\b"
    r"|\btime ?-?zones?\b|\butc\b|\bgmt\b|\b(?:milli|micro|nano)?seconds?\b|\bminutes?\b|\bhours?\b|\bdays?\b"
    r"|\bbytes?\b|(?<!of the )\bepoch\b|\btimestamps?\b|\bpixels?\b"
    r"|\bdegrees?\b|\bmet(?:er|re)s?\b|\bkm\b"
)
UNIT = Phrase(_UNITS)
UNRELATED = Phrase(
    rf"{_UNITS}|\bdate\b|\bcredit\b|\bspeed\b|\bprice\b"
    r"|\bamount\b(?! of (?:\w+ ){0,2}(?:items|records|results|entries|rows|objects|hits|elements|documents|pages)\b)"
    r"|\bspend\w*\b|\brate limit\b|\bcurrency\b|\btimeout\b|\bbudget\b|\btemperature\b|\bcharacters?\b"
    r"|\bline number\b|\b(?:page|article|document|wiki)'?s? ?-?(?:ids?|identifier|title|name|slug|url)\b"
    r"|\b(?:ids?|identifier|title|name|slug|url) of (?:the|a|an) (?:\w+ )?(?:page|article|document)\b"
)
ONE_BASED = Phrase(
    r"\bbase 1\b|\b(?:numbered|counted|indexed) from 1\b|\b(?:1|one)[- ](?:based|indexed)\b"
    r"|\b(?:starts?|starting|begins?|beginning|count(?:ed|ing|s)) (?:at|with|from) 1\b"
)
FIRST_PAGE_IS_0 = Phrase(
    r"\bdefault(?:s|ed)?(?: value)?(?: is| to|:|=)?[ `'\"]*(?:page )?0\b(?![.,]\d)",
    r"\bpage 0\b|\bpage=0\b|\bfirst page (?:is|has|=)[ `'\"]*(?:number |index )?(?:0|zero)\b",
    r"\b(?:numbered|counted|indexed) (?:from|at) (?:0|zero)\b",
)
NUMBER_OF_PAGES = Phrase(r"\b(?:number|amount|count) of pages\b")
DEPRECATED = Phrase(r"\b(?:been |is |are )deprecated\b|^\W*deprecated\b")
PAGES_TO_SKIP = Phrase(rf"\b(?:number|amount|count) of pages (?:to|that are) (?:be )?{_SKIPPED}\b")
ZERO_BASED = Phrase(
    r"\bbase 0\b|\b(?:0|zero)[- ](?:based|indexed)\b"
    r"|\b(?:starts?|starting|begins?|beginning|count(?:ed|ing|s)) (?:at|with|from) (?:0|zero)\b"
)
_NUMBER = r"(\d{1,3}(?:,\d{3})+|\d+)"
_CAPPED = (
    r"(?: (?:is|of|the|value|valid|al+owed|acceptable|possible|permitted|supported|page size|limit|count|size|number"
    r"|amount|per page|results|items))*"
)
STATED_MAXIMUM = Phrase(
    rf"(?<!default will return )\b(?:max(?:imum)?\)?{_CAPPED}"
    r"|up to|at most|(?:no|not|not be|cannot be|be) more than|(?:cannot|can't|must not|may not|not) exceed)"
    rf"[\s:=(*`]{{0,4}}{_NUMBER}",
    rf"\bmax(?:imum)? number of [^.;:\d]{{0,50}}(?: is|:|\)|=) ?{_NUMBER}",
    r"\b(?:between|range|from|allowed values?|values?|valid)(?: is)?\W{0,4}\d+[`*]? ?"
    rf"(?:and|to|through|-|,|\u2013|\.\.) ?[`*]?{_NUMBER}",
    rf"[(\[]\d+ ?(?:-|\u2013|\.\.|to) ?{_NUMBER}[)\]]",
    rf"\b{_NUMBER} (?:is (?:the |also the )?)?max(?:imum)?\b"
    r"(?!\W{0,3}(?:\d|number|is\b|of\b|value|limit|items|results|allowed))",
    r"\b(?:greater|higher|larger|bigger) than [`*]?(\d{1,3}(?:,\d{3})+|\d{2,})",
)
