"""Names of people, where the text says so: "my name is", "this is … speaking", "Mr", a signature."""

import re
from collections.abc import Iterable, Iterator

from app.ai.redaction.entities import Entity, Found
from app.ai.redaction.given_names import GIVEN_NAMES
from app.ai.redaction.talk import Talk
from app.ai.redaction.word_lists import split_words

# Words without which a pattern finds nothing; looking for them costs less than the patterns do.
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
# After these a name comes, whether it has a capital or not.
_NAMED = re.compile(
    rf"(?i:\b{_WHOSE}\s(?:\w+\s){{0,2}}?names?(?:\s(?:on|for|under)\s(?:\w+\s){{1,3}}?)?"
    rf"(?:\s?(?:is|was|'s|\u2019s|:|=)|,)\s(?:mr\.?\s|mrs\.?\s|ms\.?\s)?"
    rf"|\bsurname(?:\sis|'s|:)\s|(?:^|[\n.,;]\s?)(?:full\s)?name\s?(?::|is|-)\s"
    rf"|\bname on (?:the|my|your) \w+(?:\sis|\s?:)\s|\bname(?:'s|\u2019s)\s|\bunder the name(?: of)?\s)"
    rf"{_UP_TO_THREE}"
)
# After these it does if it has a capital, and something more says so.
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
# What stands before a name in an introduction, and the capital of the name.
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
# Words that follow "my name is" and the like, and are no name.
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
# What has a capital after "I'm" or "this is", and is no name either.
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
_BY = (
    (_NAMED_BY, _NAMED, _NO_NAME),
    (_SPOKEN_BY, _SPOKEN_WITH, _NO_PERSON),
    (_TITLED_BY, _TITLED, _NO_PERSON),
    (_SIGNED_BY, _SIGNED, _NO_PERSON),
)
_CONNECTORS = split_words(
    """
    from with here calling speaking and your at
    """
)
_LEAST_LEARNT = 3
_JOINTS = "'\u2019-"
_NAME_AGAIN = re.compile(rf"(?<![\w\[@.-])[^\W\d_]++(?:[{_JOINTS}][^\W\d_]++){{0,3}}(?![\w@])")


def find(talk: Talk, turn: int) -> Iterator[Found]:
    """Find the names of a turn that its own words, or the question before it, announce."""
    text = talk.turns[turn].text
    words = talk.words(turn)
    yield from _announced(text, words)
    asked = talk.before(turn)
    if asked is not None and not talk.words(asked).isdisjoint(_ASKED_BY):
        yield from _answered(text, talk.turns[asked].text)


def learnt(text: str, found: Found) -> Iterator[str]:
    """Name the words of a found name by which it is known again."""
    for word in re.findall(_WORD, text[found.start : found.end]):
        plain = word.rstrip(".")
        if len(plain) >= _LEAST_LEARNT and plain.lower() not in _NO_PERSON:
            yield plain


def again(text: str, spellings: frozenset[str]) -> Iterator[Found]:
    """Find names that were learned elsewhere in the conversation, also as a part of "Anne-Marie"."""
    for match in _NAME_AGAIN.finditer(text):
        name = match[0]
        while name and name not in spellings:
            name = name[: max(0, *map(name.rfind, _JOINTS))]
        if name:
            yield Found(match.start(), match.start() + len(name), Entity.NAME)


def spellings_of(known: Iterable[str]) -> frozenset[str]:
    """Return the spellings of learned names: with a capital, in capitals, and given names as is."""
    return frozenset(spelling for name in known for spelling in _spellings(name))


def _spellings(name: str) -> Iterator[str]:
    yield name.capitalize() if name.islower() else name
    yield name.upper()
    if name.lower() in GIVEN_NAMES:
        yield name.lower()


def _announced(text: str, words: frozenset[str]) -> Iterator[Found]:
    for trigger, pattern, no_names in _BY:
        if not words.isdisjoint(trigger):
            for match in pattern.finditer(text):
                yield from _person(text, match.start(1), match.end(1), no_names)
    if "this" in words and not words.isdisjoint(_CALLING):
        yield from _introduced_in_lower_case(text)
    if not words.isdisjoint(_LED_BY) and _LEAD.search(text):
        yield from _introduced(text)


def _introduced_in_lower_case(text: str) -> Iterator[Found]:
    for match in _I_AM_LOWER.finditer(text):
        if match[1].split()[0].lower() in GIVEN_NAMES:
            yield from _person(text, match.start(1), match.end(1), _NO_NAME)


def _introduced(text: str) -> Iterator[Found]:
    for match in _INTRODUCED.finditer(text):
        yield from _person(text, match.start(1), match.end(1), _NO_PERSON)
    for match in _I_AM.finditer(text):
        if match[1].split()[0].rstrip(".").lower() in GIVEN_NAMES or _goes_on(match):
            yield from _person(text, match.start(1), match.end(1), _NO_PERSON)


def _goes_on(match: re.Match[str]) -> bool:
    """Whether what follows "I'm Xyz" is how people go on after their name: "from", "with"."""
    is_own = match[0].lower().startswith(("i", "I")) and not match[0].lower().startswith("it")
    return is_own and match[2].strip(" ,").lower() in _CONNECTORS


def _answered(text: str, asked: str) -> Iterator[Found]:
    """Find a name that stands alone in answer to a question, or first in it."""
    if not _ASKED.search(asked) or _NOT_A_PERSON.search(asked):
        return
    match = _ANSWER.match(text)
    if match is None:
        return
    spoken = match[1].split()
    alone = match.end() >= len(text.rstrip(" .!?,")) and len(spoken) <= 3
    is_known = spoken[0].rstrip(".").lower() in GIVEN_NAMES
    capitals = len(spoken) > 1 and all(word[0].isupper() for word in spoken[:2])
    if is_known or capitals or (alone and len(spoken) > 1) or (alone and spoken[0][0].isupper()):
        yield from _person(text, match.start(1), match.end(1), _NO_PERSON)


def _person(text: str, start: int, end: int, no_names: frozenset[str]) -> Iterator[Found]:
    """Take words as a name up to the first that is none; a name in capitals ends with them."""
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
        yield Found(start, stop, Entity.NAME)
