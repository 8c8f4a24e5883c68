"""Names of people, announced by "my name is", "this is … speaking", "Mr", a signature or a question."""

import re
from collections.abc import Iterable, Iterator

from app.ai.redaction.conversation_text import ConversationText
from app.ai.redaction.detectors.given_names import GIVEN_NAMES
from app.ai.redaction.entities import Entity, EntitySpan
from app.ai.redaction.words import split_words

# A turn without these words cannot match; checking words is cheaper than searching patterns.
_NAMED_BY = split_words("name names name's surname")
_SPOKEN_BY = split_words("speaking talking chatting connected")
_TITLED_BY = split_words("mr mrs ms miss mister dr doctor")
_SIGNED_BY = split_words("regards sincerely truly")
_WORD = r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*\.?"
_CAPITAL = r"[A-Z\u00c0-\u00de][^\W\d_]*(?:['\u2019-][^\W\d_]+)*\.?"
_UP_TO_THREE = rf"({_WORD}(?:\s{_WORD}){{0,2}})"
_CAPITALS = rf"({_CAPITAL}(?:\s{_CAPITAL}){{0,2}})"
_WHOSE = (
    r"(?:my|his|her|your|their|customer|caller|client|patient|account ?holder|card ?holder|full"
    r"|first|last|middle|family|given|maiden|legal)(?:'s)?"
)
# A name follows, with or without capitals.
_NAMED = re.compile(
    rf"(?i:\b{_WHOSE}\s(?:\w+\s){{0,2}}?names?(?:\s(?:on|for|under)\s(?:\w+\s){{1,3}}?)?"
    rf"(?:\s?(?:is|was|'s|\u2019s|:|=)|,)\s(?:mr\.?\s|mrs\.?\s|ms\.?\s)?"
    rf"|\bsurname(?:\sis|'s|:)\s|(?:^|[\n.,;]\s?)(?:full\s)?name\s?(?::|is|-)\s"
    rf"|\bname on (?:the|my|your) \w+(?:\sis|\s?:)\s|\bname(?:'s|\u2019s)\s|\bunder the name(?: of)?\s)"
    rf"{_UP_TO_THREE}"
)
# A capitalised name follows if the words after it say so too.
_INTRODUCED = re.compile(
    rf"(?i:\b(?:this is|it's|it is|here is|you(?:'re| are) (?:speaking|talking|chatting) (?:with|to)"
    rf"|speaking (?:with|to)|i am called|they call me|called|(?:am i|is this) speaking (?:with|to))\s)"
    rf"{_CAPITALS}(?i:(?=\s(?:speaking|calling|here|from|with|again|at)\b))"
)
_SPOKEN_WITH = re.compile(
    rf"(?i:\b(?:you(?:'re|\u2019re| are) (?:now )?(?:speaking|talking|chatting|connected) (?:with|to)"
    rf"|am i (?:speaking|talking) (?:with|to)|speaking (?:with|to)))\s{_CAPITALS}"
)
_I_AM = re.compile(rf"\b(?i:i'm|i\u2019m|i am|im|this is|it's|it\u2019s)\s{_CAPITALS}(?=(.?.?\w*))")
_I_AM_LOWER = re.compile(
    rf"\b(?i:this is)\s{_UP_TO_THREE}(?=\s(?:speaking|calling)\b)", re.IGNORECASE
)
_TITLED = re.compile(rf"\b(?i:mr|mrs|ms|miss|mister|dr|doctor)\.?\s{_CAPITALS}")
_SIGNED = re.compile(
    rf"\b(?i:(?:best|kind|warm)?\s?regards|sincerely|yours truly),?\s+{_CAPITALS}(?=\s*(?:$|\n|[.,]))"
)
_CALLING = split_words("speaking calling")
_ASKED_BY = split_words("name names who who's spell")
_LED_BY = split_words("this it it's i'm im am here called call")
# The words before a name in an introduction, and the capital of the name.
_LEAD = re.compile(
    r"(?:[Tt][Hh][Ii][Ss] [Ii][Ss]|[Ii][Tt](?:'[Ss]|\u2019s| [Ii][Ss])|[Ii](?:'?[Mm]|\u2019m| [Aa][Mm])"
    r"|[Hh]ere is|[Cc]alled|[Cc]all me)\s[A-Z\u00c0-\u00de]"
)
_ASKED = re.compile(
    r"\b(?:your|his|her|their|customer's|passenger's)\s(?:\w+\s){0,3}?names?\b|\bwho am i (?:speaking|talking|chatting)"
    r"|\bwho(?:'s| is) (?:this|calling|speaking)\b|\bname\s?\?|\bspell (?:that|it|your)",
    re.IGNORECASE,
)
_NOT_A_PERSON = re.compile(
    r"\b(?:user ?|company |business |file |brand |product |domain |pet |hotel |restaurant )names?\b"
    r"|\bname of (?:the|your) (?!account|card)",
    re.IGNORECASE,
)
_ANSWER = re.compile(
    rf"^\s*(?i:(?:(?:yes|yeah|yep|sure|ok|okay|hi|hello|of course|certainly|um|uh|it's|it is|that's"
    rf"|i'm|i am|thanks|my)\b[\s,.!]*)*){_UP_TO_THREE}"
)
# Words after "my name is" and the like that are no names.
_NO_NAME = split_words(
    """
    a an the and or but not is was are on in at of to from with for by so as if this that it its
    it's i i'm my me you your he she they we our us his her their him them misspelled wrong
    spelled incorrect correct right listed under also still already just really very here there
    what where when who why how which no yes yeah yep nope ok okay sure please thanks thank hi
    hello hey sorry calling speaking good fine great glad happy able trying looking having going
    getting sure interested afraid aware done ready new now then because since could can can't
    cannot would should will have has had do does did don't get got need want like know think
    see only too same all any some none one two account card number order email phone address
    date birth name names first last required needed missing different changed change spelt
    written going being been very correctly mr mrs ms customer agent support service services
    team help back about more than well let give something anything nothing someone something's
    ma'am sir maam madam absolutely actually however again today tomorrow yesterday later
    currently am pm
    """
)
# Capitalised words after "I'm" or "this is" that are no names either.
_NO_PERSON = _NO_NAME | split_words(
    """
    monday tuesday wednesday thursday friday saturday sunday january february march april may
    june july august september october november december english american british french german
    spanish italian indian chinese japanese canadian australian mexican irish scottish dutch
    muslim catholic christian jewish hindu buddhist republican democrat platinum gold silver
    bronze premium vip ok wifi internet google apple amazon microsoft android windows mac iphone
    netflix facebook instagram paypal visa mastercard covid god christmas easter great awesome
    perfect bot ai
    dental medical clinic office hospital hotel airport international restaurant station house
    """
)
_PATTERNS = (
    (_NAMED_BY, _NAMED, _NO_NAME),
    (_SPOKEN_BY, _SPOKEN_WITH, _NO_PERSON),
    (_TITLED_BY, _TITLED, _NO_PERSON),
    (_SIGNED_BY, _SIGNED, _NO_PERSON),
)
_CONNECTORS = split_words("from with here calling speaking and your at")
_MIN_KNOWN_LETTERS = 3
_JOINTS = "'\u2019-"
_ANY_NAME = re.compile(rf"(?<![\w\[@.-])[^\W\d_]++(?:[{_JOINTS}][^\W\d_]++){{0,3}}(?![\w@])")


def find(conversation: ConversationText, turn: int) -> Iterator[EntitySpan]:
    """Yield the names of a turn that its own words, or the question before it, announce."""
    text = conversation.turns[turn].text
    words = conversation.words(turn)
    yield from _announced(text, words)
    question = conversation.before(turn)
    if question is not None and not conversation.words(question).isdisjoint(_ASKED_BY):
        yield from _answered(text, conversation.turns[question].text)


def name_words(text: str, span: EntitySpan) -> Iterator[str]:
    """Yield the words of a name by which it is recognised elsewhere in the conversation."""
    for word in re.findall(_WORD, text[span.start : span.end]):
        plain = word.rstrip(".")
        if len(plain) >= _MIN_KNOWN_LETTERS and plain.lower() not in _NO_PERSON:
            yield plain


def find_known(text: str, spellings: frozenset[str]) -> Iterator[EntitySpan]:
    """Yield names that are known from elsewhere, also as the first part of "Anne-Marie"."""
    for match in _ANY_NAME.finditer(text):
        name = match[0]
        while name and name not in spellings:
            name = name[: max(0, *map(name.rfind, _JOINTS))]
        if name:
            yield EntitySpan(match.start(), match.start() + len(name), Entity.NAME)


def spellings_of(names: Iterable[str]) -> frozenset[str]:
    """Return the spellings of known names: capitalised, in capitals, and given names in lower case."""
    return frozenset(spelling for name in names for spelling in _spellings(name))


def _spellings(name: str) -> Iterator[str]:
    yield name.capitalize() if name.islower() else name
    yield name.upper()
    if name.lower() in GIVEN_NAMES:
        yield name.lower()


def _announced(text: str, words: frozenset[str]) -> Iterator[EntitySpan]:
    for trigger, pattern, no_names in _PATTERNS:
        if not words.isdisjoint(trigger):
            for match in pattern.finditer(text):
                yield from _person(text, match.start(1), match.end(1), no_names)
    if "this" in words and not words.isdisjoint(_CALLING):
        yield from _introduced_in_lower_case(text)
    if not words.isdisjoint(_LED_BY) and _LEAD.search(text):
        yield from _introduced(text)


def _introduced_in_lower_case(text: str) -> Iterator[EntitySpan]:
    for match in _I_AM_LOWER.finditer(text):
        if match[1].split()[0].lower() in GIVEN_NAMES:
            yield from _person(text, match.start(1), match.end(1), _NO_NAME)


def _introduced(text: str) -> Iterator[EntitySpan]:
    for match in _INTRODUCED.finditer(text):
        yield from _person(text, match.start(1), match.end(1), _NO_PERSON)
    for match in _I_AM.finditer(text):
        first = match[1].split()[0].rstrip(".").lower()
        if first in GIVEN_NAMES or _is_connected(match):
            yield from _person(text, match.start(1), match.end(1), _NO_PERSON)


def _is_connected(match: re.Match[str]) -> bool:
    """Tell whether a word such as "from" or "with" follows "I'm Xyz", as after a name."""
    lead = match[0].lower()
    is_own = lead.startswith("i") and not lead.startswith("it")
    return is_own and match[2].strip(" ,").lower() in _CONNECTORS


def _answered(text: str, question: str) -> Iterator[EntitySpan]:
    """Yield the name that an answer consists of or begins with."""
    if not _ASKED.search(question) or _NOT_A_PERSON.search(question):
        return
    match = _ANSWER.match(text)
    if match is None:
        return
    words = match[1].split()
    is_alone = match.end() >= len(text.rstrip(" .!?,"))
    is_known = words[0].rstrip(".").lower() in GIVEN_NAMES
    has_capitals = len(words) > 1 and all(word[0].isupper() for word in words[:2])
    if is_known or has_capitals or (is_alone and (len(words) > 1 or words[0][0].isupper())):
        yield from _person(text, match.start(1), match.end(1), _NO_PERSON)


def _person(text: str, start: int, end: int, no_names: frozenset[str]) -> Iterator[EntitySpan]:
    """Yield the words up to the first that is no name; a capitalised name ends with its capitals."""
    stop = start
    has_capital = text[start : start + 1].isupper()
    for match in re.finditer(_WORD, text[start:end]):
        word = match[0].rstrip(".")
        if word.lower() in no_names or (has_capital and not word[0].isupper()):
            break
        stop = start + match.end()
        if match[0].endswith(".") and len(word) > 1 and word.lower() not in ("mr", "mrs", "dr"):
            stop -= 1
            break
    if stop > start:
        yield EntitySpan(start, stop, Entity.NAME)
