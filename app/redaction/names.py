"""Names of people, announced by "my name is", "this is … speaking", "Mr", a signature or a question.

The names with which agents, bots and their company introduce themselves are not masked.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from app.redaction import other_languages
from app.redaction.conversation_text import (
    ConversationText,
    places_of,
    split_words,
)
from app.redaction.entities import Entity, EntitySpan

# A turn without these words cannot match; checking words is cheaper than searching patterns.
_NAMED_BY = split_words("name names name's surname")
_SPOKEN_BY = split_words("speaking talking chatting connected")
_TITLED_BY = split_words("mr mrs ms miss mister dr doctor")
_SIGNED_BY = split_words("regards sincerely truly")
_WORD = r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*\.?"
_A_WORD = re.compile(_WORD)
_CAPITAL = r"[A-Z\u00c0-\u00de][^\W\d_]*(?:['\u2019-][^\W\d_]+)*\.?"
_UP_TO_THREE = rf"({_WORD}(?:\s{_WORD}){{0,2}})"
_CAPITALS = rf"({_CAPITAL}(?:\s{_CAPITAL}){{0,2}})"
_WHOSE = (
    r"(?:my|his|her|your|their|customer|caller|client|patient|account ?holder|card ?holder|full"
    r"|first|last|middle|family|given|maiden|legal)(?:'s)?"
)
# A name follows, with or without capitals.
_NAMED = re.compile(
    rf"(?:\b(?:{_WHOSE}\s(?:\w+\s){{0,2}}names?(?:\s(?:on|for|under)\s(?:\w+\s){{1,3}}?)?"
    rf"(?:\s?(?:is|was|'s|\u2019s|:|=)|,)\s(?:mr\.?\s|mrs\.?\s|ms\.?\s)?|surname(?:\sis|'s|:)\s"
    rf"|name on (?:the|my|your) \w+(?:\sis|\s?:)\s|name(?:'s|\u2019s)\s|under the name(?: of)?\s)"
    rf"|(?:^|[\n.,;]\s?)(?:full\s)?name\s?(?::|is|-)\s)"
    rf"{_UP_TO_THREE}"
)
# A capitalised name follows if the words after it say so too.
_INTRODUCED = re.compile(r"\b(?:this is|it's|it is|here is|i am called|they call me|called)\s")
_SPOKEN_WITH = re.compile(
    r"\b(?:you(?:'re|\u2019re| are) (?:now )?(?:speaking|talking|chatting|connected) (?:with|to)"
    r"|am i (?:speaking|talking) (?:with|to)|speaking (?:with|to))\s"
)
_I_AM = re.compile(r"\b(?:i'm|i\u2019m|i am|im|this is|it's|it\u2019s)\s")
_I_AM_LOWER = re.compile(rf"\bthis is\s{_UP_TO_THREE}(?=\s(?:speaking|calling)\b)")
_TITLED = re.compile(r"\b(?:mr|mrs|ms|miss|mister|dr|doctor)\.?\s")
_SIGNED = re.compile(r"\b(?:(?:best|kind|warm)?\s?regards|sincerely|yours truly),?\s+")
# Right after such a phrase.
_NAME = re.compile(rf"(?<=\s){_CAPITALS}")
_NAME_AND_MORE = re.compile(rf"{_NAME.pattern}(?=(.?.?\w*))")
_NAME_OF_CALLER = re.compile(
    rf"{_NAME.pattern}(?i:(?=\s(?:speaking|calling|here|from|with|again|at)\b))"
)
_SIGNATURE = re.compile(rf"{_NAME.pattern}(?=\s*(?:$|\n|[.,]))")
_CALLING = split_words("speaking calling")
_ASKED_BY = split_words("name names who who's spell") | other_languages.ASKED_BY
_LED_BY = split_words("this it it's i'm im am here called call")
_I_AM_CUES = ("this is", "i'm", "i\u2019m", "i am")
_LEADS = (*_I_AM_CUES, "it's", "it\u2019s", "it is", "im ", "im\n", "here is", "called", "call me")
# Both are looked for in questions in lower case.
_ASKED = re.compile(
    r"\b(?:your|his|her|their|customer's|passenger's)\s(?:\w+\s){0,3}?names?\b|\bwho am i (?:speaking|talking|chatting)"
    r"|\bwho(?:'s| is) (?:this|calling|speaking)\b|\bname\s?\?|\bspell (?:that|it|your)"
    rf"|{other_languages.ASKED}",
)
_ASKING = ("name", "who", "spell", *other_languages.ASKING)
_NOT_A_PERSON = re.compile(
    r"\b(?:user ?|company |business |file |brand |product |domain |pet |hotel |restaurant )names?\b"
    r"|\bname of (?:the|your) (?!account|card)",
)
_ANSWER = re.compile(
    rf"^\s*(?i:(?:(?:yes|yeah|yep|sure|ok|okay|hi|hello|of course|certainly|um|uh|it's|it is|that's"
    rf"|i'm|i am|thanks|my|{other_languages.ANSWERED})\b[\s,.!]*)*){_UP_TO_THREE}"
)
# Words after "my name is" and the like that are not names.
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
# Capitalised words after "I'm" or "this is" that are not names either.
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
# The phrases are looked for in lower case, and right after each the name.
_PATTERNS = (
    (_SPOKEN_BY, _SPOKEN_WITH, _NAME),
    (_TITLED_BY, _TITLED, _NAME),
    (_SIGNED_BY, _SIGNED, _SIGNATURE),
    (other_languages.NAMED_BY, other_languages.NAMED, _NAME),
)
_CONNECTORS = split_words("from with here calling speaking and your at")
_MIN_KNOWN_LETTERS = 3
_JOINTS = "'\u2019-"
# Shorter words are passed over: no known name has fewer letters.
_ANY_NAME = re.compile(
    rf"(?<![\w\[@.-])(?=[\w{_JOINTS}]{{{_MIN_KNOWN_LETTERS}}})"
    rf"([^\W\d_]++)(?:[{_JOINTS}][^\W\d_]++){{0,3}}(?![\w@])"
)
_FIRST_PART = re.compile(rf"[^{_JOINTS}]+")
# Without names that are more often words: will, mark, grace, hope, may, rose, bill, art.
_GIVEN_NAMES = split_words(
    """
    aaron abdul abigail adam adrian ahmed aidan aisha alan albert alejandro alex alexander
    alexandra alexis alfred ali alice alicia alison allison alyssa amanda amber amelia amir amit
    amy ana andre andrea andreas andrew andy angela angelica anita anjali ann anna anne annette
    annie anthony antonio anya arjun arthur ashley ashok audrey barbara beatrice ben benjamin
    bernard beth bethany betty beverly bob bobby bonnie bradley brandon brenda brian bridget
    bruce bryan caitlin caleb cameron camila carl carla carlos carmen carol carolina caroline
    carolyn catherine cathy charles charlie charlotte chelsea chen cheryl chris christian
    christina christine christopher cindy claire clara claudia colin colleen connor courtney
    craig crystal cynthia daisy dale daniel daniela danielle danny darren dave david deborah
    debbie debra deepak denise dennis derek diana diane diego dmitri dominic don donald donna
    doris dorothy doug douglas dylan edith eduardo edward edwin eileen elaine eleanor elena eli
    elijah elizabeth ella ellen emily emma eric erica erik erin ernest esther ethan eugene eva
    evan evelyn fatima felicia felix fernando fiona frances francesca francis francisco frankie
    fred frederick gabriel gabriela gareth gary gavin geoff george georgia gerald gina giovanni
    gita gloria gordon graham greg gregory gustavo hannah hans harold harpreet harriet hassan
    heather heidi helen henry howard hugh hugo ian ibrahim igor imran ingrid irene isaac isabel
    isabella ivan jackie jacob jacqueline jake james jamie jane janet janice jared jasmine jason
    javier jayden jean jeff jeffrey jennifer jenny jeremy jerome jerry jesse jessica jill jim
    jimmy joan joanna joanne joe joel johan john johnny jonathan jordan jorge jose joseph joshua
    juan juanita judith judy julia julian julie justin kaitlyn karen karim karl karthik kate
    katherine kathleen kathryn kathy katie kavita kayla keith kelly ken kenneth kevin khalid kim
    kimberly kirsten kristen kristin kumar kurt kyle lakshmi larry laura lauren laurie lawrence
    leah leo leonard leslie lewis liam linda lindsay lisa lois lorraine louis louise lucas lucia
    lucy luis luke lydia lynn madison mandy manuel marcus margaret maria marie marilyn mario
    marion marjorie marlene marsha martha martin mary mateo mathew matt matthew maureen max maya
    megan melanie melissa mercedes meredith mia michael michele michelle miguel mike mildred
    mindy miriam mitchell mohamed mohammed molly monica morgan nadia nancy naomi natalia natalie
    natasha nathan neha neil nicholas nick nicola nicole nina noah nora norma norman olga oliver
    olivia omar oscar pablo pamela patricia patrick paul paula pauline pedro peggy penny peter
    phil philip phillip phyllis pooja prakash pranav pratik priya rachel rafael rahul raj rajesh
    ralph ramesh ramon randy raul raymond rebecca regina renee ricardo richard rick ricky rita
    rob robert roberta roberto robin rodrigo roger rohan roland ron ronald rosa rosemary ross
    roy ruth ryan sabrina sally sam samantha samuel sandra sanjay santiago sara sarah scott sean
    sebastian sergei sergio seth shannon sharon shaun sheila shelly shirley shreya simon sofia
    sonia sophia sophie spencer stacey stacy stanley stefan stella stephanie stephen steve
    steven stuart sunil suresh susan suzanne sylvia tamara tammy tanya tara taylor teresa terry
    thelma theo theodore theresa thomas tiffany tim timothy tina todd tom tony tracey tracy
    travis trevor tyler valerie vanessa vera veronica vicky victor victoria vijay vikram vincent
    virginia vivian vladimir walter wanda warren wayne wendy wesley william willie xavier yasmin
    yolanda yuki yusuf yvonne zachary zainab zoe
    """
)
_SERVICE_WORD = r"[^\W\d_]{2,20}"
_SERVICE_CAPITAL = r"[A-Z\u00c0-\u00de][^\W\d_]{1,20}"
# Two capitalised words, or any single word.
_OWN_NAME = rf"({_SERVICE_CAPITAL}\s{_SERVICE_CAPITAL}|{_SERVICE_WORD})\b"
_OWN = re.compile(
    rf"\b(?i:my name(?: is|'s|\u2019s)|this is|i'm|i\u2019m|i am|you(?:'re|\u2019re| are) (?:now )?"
    rf"(?:speaking|talking|chatting|connected) (?:with|to)|(?<!am i )speaking (?:with|to)"
    rf"|you can call me)\s{_OWN_NAME}"
    rf"|\b{_OWN_NAME}\s(?i:speaking|here)\b"
)
_COMPANY = re.compile(
    rf"\b(?i:welcome to|for (?:calling|contacting|choosing|chatting with|ringing))\s"
    rf"({_SERVICE_CAPITAL}(?:\s{_SERVICE_CAPITAL}){{0,2}}|{_SERVICE_WORD})"
    rf"|\b(?i:this is|i'm|i am|my name is)\s{_SERVICE_WORD}(?:\s{_SERVICE_WORD})?,?\s(?i:from|at|with)\s"
    rf"({_SERVICE_CAPITAL}(?:\s{_SERVICE_CAPITAL}){{0,2}}|{_SERVICE_WORD})"
)
# "Habla Juan Pérez?" asks for the customer.
_OWN_ELSEWHERE = re.compile(
    rf"(?:(?i:die|der|frau|herr|o|a)\s)?{_OWN_NAME}(?![^.!,;:\u00bf?\n]{{0,20}}\?)"
)
_SERVICE_PATTERNS = (
    (
        _OWN,
        (*_I_AM_CUES, "name", "speaking", "talking", "chatting", "connected", "call me", "here"),
    ),
    (_COMPANY, (*_I_AM_CUES, "name is", "welcome to", "for c", "for ringing")),
)
_WORD_OF_NAME = re.compile(_SERVICE_WORD)


def find(conversation: ConversationText, turn: int) -> Iterator[EntitySpan]:
    """Yield the names of a turn that its own words, or the question before it, announce."""
    yield from _announced(conversation, turn)
    question = conversation.before(turn)
    if question is not None and not conversation.words(question).isdisjoint(_ASKED_BY):
        yield from _answered(conversation, question, turn)


def repeated(
    conversation: ConversationText, spans: Mapping[int, Sequence[EntitySpan]]
) -> Iterator[tuple[int, Iterator[EntitySpan]]]:
    """Yield each turn in which names that were found once occur again, with where they do."""
    names = {
        word
        for turn, turn_spans in spans.items()
        for span in turn_spans
        if span.entity is Entity.NAME
        for word in _known_words(conversation.turns[turn].text, span)
    }
    if not names:
        return
    lower_case = frozenset(word.lower() for word in names)
    spellings = _spellings_of(names)
    first_parts = frozenset(_FIRST_PART.findall(spelling)[0] for spelling in spellings)
    for turn in spans:
        if not conversation.words(turn).isdisjoint(lower_case):
            yield turn, _known(conversation.turns[turn].text, spellings, first_parts)


def service_name_words(conversation: ConversationText) -> frozenset[str]:
    """Return the words of the names with which agents and bots introduce themselves, in lower case."""
    return frozenset(
        word.lower()
        for place, turn in enumerate(conversation.turns)
        if turn.is_service
        for word in _introduced_words(conversation, place)
    )


def is_service_name(text: str, span: EntitySpan, service_words: frozenset[str]) -> bool:
    """Return whether a name consists only of such words."""
    words = _WORD_OF_NAME.findall(text[span.start : span.end].lower())
    return bool(words) and service_words.issuperset(words)


def _known_words(text: str, span: EntitySpan) -> Iterator[str]:
    """Yield the words of a name by which it is recognised elsewhere in the conversation."""
    for word in _A_WORD.findall(text[span.start : span.end]):
        plain = word.rstrip(".")
        if len(plain) >= _MIN_KNOWN_LETTERS and plain.lower() not in _NO_PERSON:
            yield plain


def _known(
    text: str, spellings: frozenset[str], first_parts: frozenset[str]
) -> Iterator[EntitySpan]:
    """Yield names that are known from elsewhere, also as the first part of "Anne-Marie"."""
    for match in _ANY_NAME.finditer(text):
        name = match[0] if match[1] in first_parts else ""
        while name and name not in spellings:
            name = name[: max(0, *map(name.rfind, _JOINTS))]
        if name:
            yield EntitySpan(match.start(), match.start() + len(name), Entity.NAME)


def _spellings_of(names: Iterable[str]) -> frozenset[str]:
    """Return the spellings of known names: capitalised, in capitals, and given names in lower case."""
    return frozenset(spelling for name in names for spelling in _spellings(name))


def _spellings(name: str) -> Iterator[str]:
    yield name.capitalize() if name.islower() else name
    yield name.upper()
    if name.lower() in _GIVEN_NAMES:
        yield name.lower()


def _announced(conversation: ConversationText, turn: int) -> Iterator[EntitySpan]:
    text, lower_case_text = conversation.turns[turn].text, conversation.lower_case(turn)
    words = conversation.words(turn)
    if not words.isdisjoint(_NAMED_BY):
        places = places_of(["name"], lower_case_text)
        for match in conversation.matches_near(_NAMED, lower_case_text, places):
            yield from _person(text, match.start(1), match.end(1), _NO_NAME)
    for cues, phrases, name in _PATTERNS:
        if not words.isdisjoint(cues):
            places = places_of(cues, lower_case_text)
            for match in _names_after(conversation, turn, phrases, name, places):
                yield from _person(text, match.start(1), match.end(1), _NO_PERSON)
    if "this" in words and not words.isdisjoint(_CALLING):
        yield from _introduced_in_lower_case(text, lower_case_text)
    if not words.isdisjoint(_LED_BY):
        yield from _introduced(conversation, turn)


def _names_after(
    conversation: ConversationText,
    turn: int,
    phrases: re.Pattern[str],
    name: re.Pattern[str],
    places: Iterable[int],
) -> Iterator[re.Match[str]]:
    """Yield the names right after phrases in lower case; no phrase begins within a name."""
    text, lower_case_text = conversation.turns[turn].text, conversation.lower_case(turn)
    end = 0
    for phrase in conversation.matches_near(phrases, lower_case_text, places):
        # In "Anna. You are speaking with Bob" the first name takes "You": the rest is a phrase, too.
        rest = phrases.search(lower_case_text, max(end, phrase.start()), phrase.end())
        match = name.match(text, rest.end()) if rest else None
        if match:
            end = match.end()
            yield match


def _introduced_in_lower_case(text: str, lower_case_text: str) -> Iterator[EntitySpan]:
    for match in _I_AM_LOWER.finditer(lower_case_text):
        if match[1].split()[0] in _GIVEN_NAMES:
            yield from _person(text, match.start(1), match.end(1), _NO_NAME)


def _introduced(conversation: ConversationText, turn: int) -> Iterator[EntitySpan]:
    text, lower_case_text = conversation.turns[turn].text, conversation.lower_case(turn)
    places = places_of(_LEADS, lower_case_text)
    for match in _names_after(conversation, turn, _INTRODUCED, _NAME_OF_CALLER, places):
        yield from _person(text, match.start(1), match.end(1), _NO_PERSON)
    for match in _names_after(conversation, turn, _I_AM, _NAME_AND_MORE, places):
        first = match[1].split()[0].rstrip(".").lower()
        if first in _GIVEN_NAMES or _is_connected(lower_case_text, match):
            yield from _person(text, match.start(1), match.end(1), _NO_PERSON)


def _is_connected(lower_case_text: str, match: re.Match[str]) -> bool:
    """Return whether a word such as "from" or "with" follows "I'm Xyz", as after a name."""
    if match[2].strip(" ,").lower() not in _CONNECTORS:
        return False
    # "This is Xyz" and "it's Xyz" are as often about things.
    return not lower_case_text.endswith(("is", "it's", "it\u2019s"), 0, match.start() - 1)


def _answered(conversation: ConversationText, asking: int, turn: int) -> Iterator[EntitySpan]:
    """Yield the name that a turn consists of or begins with, as the answer to another."""
    text, question = conversation.turns[turn].text, conversation.lower_case(asking)
    asked = conversation.matches_near(_ASKED, question, places_of(_ASKING, question))
    if not any(asked) or _NOT_A_PERSON.search(question):
        return
    match = _ANSWER.match(text)
    if match is None:
        return
    words = match[1].split()
    is_alone = match.end() >= len(text.rstrip(" .!?,"))
    is_known = words[0].rstrip(".").lower() in _GIVEN_NAMES
    has_capitals = len(words) > 1 and all(word[0].isupper() for word in words[:2])
    if is_known or has_capitals or (is_alone and (len(words) > 1 or words[0][0].isupper())):
        yield from _person(text, match.start(1), match.end(1), _NO_PERSON)


def _person(text: str, start: int, end: int, no_names: frozenset[str]) -> Iterator[EntitySpan]:
    """Yield the words of a name; a capitalised name ends with its capitals."""
    stop = start
    has_capital = text[start : start + 1].isupper()
    for match in _A_WORD.finditer(text[start:end]):
        word = match[0].rstrip(".")
        if word.lower() in no_names or (has_capital and not word[0].isupper()):
            break
        stop = start + match.end()
        if match[0].endswith(".") and len(word) > 1 and word.lower() not in ("mr", "mrs", "dr"):
            stop -= 1
            break
    if stop > start:
        yield EntitySpan(start, stop, Entity.NAME)


def _introduced_words(conversation: ConversationText, turn: int) -> Iterator[str]:
    text, lower_case_text = conversation.turns[turn].text, conversation.lower_case(turn)
    yield from _WORD_OF_NAME.findall(conversation.turns[turn].name or "")
    for pattern, cues in _SERVICE_PATTERNS:
        places = places_of(cues, lower_case_text)
        for match in conversation.matches_near(pattern, text, places):
            yield from _WORD_OF_NAME.findall(match[match.lastindex or 0])
    places = places_of(other_languages.OWN_CUES, lower_case_text)
    for match in _names_after(conversation, turn, other_languages.OWN, _OWN_ELSEWHERE, places):
        yield from _WORD_OF_NAME.findall(match[1])
