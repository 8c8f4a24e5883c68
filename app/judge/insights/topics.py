"""Topics of a conversation: the scorecard's own, and the ones that contact centres share."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache

from app.judge.facts.conversation_facts import Facts
from app.judge.facts.phrases import PhraseIndex
from app.judge.languages.lexicon import folded
from app.judge.languages.words import holds_unspaced, phrase_pattern, words_in
from app.judge.scorecard.values import Topic

_MOST_TOPICS = 5
_MOST_SIGNS_BETWEEN = 3
# A default topic needs two lines that mention it; the issue counts as one more line.
_LEAST_TOPIC_LINES = 2
# Each in English, and then in Hindi where Hindi has words of its own for it.
_TOPICS: tuple[Topic, ...] = tuple(
    Topic(name, tuple(phrases.split(", ")))
    for name, phrases in (
        ("account access", "password, log in, login, locked out, sign in, पासवर्ड, लॉगिन"),
        ("billing", "bill, invoice, charged, overcharged, billing, बिल"),
        ("booking", "book, booked, booking, reserve, reservation, appointment, बुक, बुकिंग"),
        ("cancellation", "cancel, cancelled, canceled, cancellation, रद्द, कैंसिल"),
        (
            "delivery",
            "delivery, delivered, parcel, package, shipping, shipment, courier, dispatched, "
            "not arrive, not arrived, hasn't arrived, डिलीवरी, पार्सल",
        ),
        ("faulty product", "faulty, defective, damaged, broken, missing part, toota, टूटा, टूटी"),
        ("fraud", "fraud, fraudulent, stolen, scam, hacked, dhokha, धोखा"),
        (
            "payment",
            "payment, pay, paid, credit card, debit card, instalment, instalments, भुगतान, पेमेंट",
        ),
        ("refund", "refund, refunded, money back, reimbursed, paise wapas, रिफंड, रिफ़ंड, पैसे वापस"),
        ("repair", "repair, repaired, technician, warranty, guarantee, मरम्मत, वारंटी"),
        ("return", "return, returned, exchange, replacement, send it back, वापसी"),
        ("technical problem", "error, not working, crashed, internet, kaam nahi, काम नहीं, इंटरनेट"),
        ("travel", "flight, train, hotel, taxi, bus, फ्लाइट, फ़्लाइट, ट्रेन, होटल"),
    )
)


def topics_of(facts: Facts, own: Iterable[Topic], issue: str | None) -> tuple[str, ...]:
    """Name up to five topics, the scorecard's own first, then ours by how many lines speak of them.

    The scorecard's own are looked for in every language, ours in those that are read.
    """
    lines = [line.text for line in facts.dialogue.lines]
    names = list(_named_in(lines, tuple(own)))
    if facts.dialogue.readable:
        # The issue is a line already, and says the same as one more.
        texts = [folded(line) for line in (*lines, issue or "")]
        texts_by_word = _texts_by_word(texts, _first_topic_words())
        line_counts = [(topic.name, _lines_with(topic, texts, texts_by_word)) for topic in _TOPICS]
        ranked = sorted(line_counts, key=lambda pair: -pair[1])
        names += [name for name, count in ranked if count >= _LEAST_TOPIC_LINES]
    return tuple(dict.fromkeys(names))[:_MOST_TOPICS]


def _named_in(lines: Sequence[str], own: Sequence[Topic]) -> Iterator[str]:
    """Yield the scorecard's own topics of which a phrase is said."""
    index = PhraseIndex(lines, {phrase for topic in own for phrase in topic.any_of})
    for topic in own:
        if any(index.find(topic.any_of, (0, 0), len(lines))):
            yield topic.name


def _texts_by_word(texts: Sequence[str], words: frozenset[str]) -> dict[str, list[int]]:
    indexes = defaultdict(list)
    for index, text in enumerate(texts):
        for word in words.intersection(words_in(text)):
            indexes[word].append(index)
    return indexes


@cache
def _first_topic_words() -> frozenset[str]:
    begins = (_topic_patterns(topic.any_of)[0] for topic in _TOPICS)
    return frozenset[str]().union(*filter(None, begins))


def _lines_with(topic: Topic, texts: Sequence[str], texts_by_word: Mapping[str, list[int]]) -> int:
    # Most lines are not about most topics, and hold no word that one begins with.
    begins, in_ascii, in_any = _topic_patterns(topic.any_of)
    near: Iterable[int] = range(len(texts))
    if begins is not None:
        near = {index for word in begins for index in texts_by_word.get(word, ())}
    return sum(
        bool((in_ascii if texts[index].isascii() else in_any).search(texts[index]))
        for index in near
    )


@lru_cache(maxsize=512)
def _topic_patterns(
    phrases: tuple[str, ...],
) -> tuple[frozenset[str] | None, re.Pattern[str], re.Pattern[str]]:
    # Finding phrases of other scripts costs more, and no text in ASCII holds any.
    plain = [folded(phrase) for phrase in phrases]
    begins = None  # a phrase of a script without spaces begins anywhere
    if not any(map(holds_unspaced, plain)):
        begins = frozenset(words[0] for phrase in plain if (words := words_in(phrase)))
    return begins, _any_of(filter(str.isascii, plain)), _any_of(plain)


def _any_of(phrases: Iterable[str]) -> re.Pattern[str]:
    spelled = (phrase_pattern(phrase, most_between=_MOST_SIGNS_BETWEEN) for phrase in phrases)
    return re.compile("|".join(filter(None, spelled)) or "(?!)")
