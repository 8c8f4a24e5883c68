"""Issue, topics and summary of a conversation.

The summary says what was done, the outcome and what comes next. Issue, outcome and next steps are
quoted from the transcript; the overview joins them to sentences.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from app.ai.conduct.readings import SHOWN
from app.ai.dialogue.cues import Cue
from app.ai.dialogue.evidence import opening_span, quotable_span, sentence_spans
from app.ai.dialogue.turns import Line, Side, content_of
from app.ai.facts.conversation_facts import Facts
from app.ai.facts.phrases import PhraseIndex
from app.ai.insights.outcome import Outcome
from app.ai.languages.detection import ENGLISH
from app.ai.languages.lexicon import folded
from app.ai.languages.words import holds_unspaced, phrase_pattern, words_in
from app.ai.rules.course import asks_nothing
from app.ai.scorecard.values import Topic
from app.ai.wording import quote_at_end

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
_OPENING_LINES = 4
_LEAST_WORDS = 2
_MOST_ITEMS = 3
_MOST_WORDS = 12
# Earlier lines count more, and feelings alone are no issue.
_LATER = 0.3
_FEELING, _ONLY_FEELING = 0.6, 0.05
_FEW_WORDS = 6
# Words with which a customer makes a request.
_WANTS = re.compile(
    r"\b(?:need|want|would like|i'd like|looking for|help|can (?:you|i)|could (?:you|i)|please|how (?:do|can)"
    r"|where|when|why|chahiye|karna|karni|krna|batao|bataiye)\b|चाहिए|करना|करनी|बताइए",
    re.IGNORECASE,
)
_OFFERS = re.compile(r"\b(?:how|what) (?:can|may|could) (?:i|we)\b", re.IGNORECASE)
_NAMES = re.compile(r"\bmy name(?: is|'s)\b(?!.{0,200}\b(?:and|need|want)\b)", re.IGNORECASE)
_WRONG = ("problem", "opt_out", "danger")
_VENTS = ("complaint", "profanity")
_GREETS = re.compile(
    r"\A(?:(?:hi|hey|hello|good (?:morning|afternoon|evening|day)|yes|yeah|ok|okay|oh|so|um|uh|well|dear"
    r"|sorry to bother you)\b(?: there)?[\s,.!:-]+){1,4}",
    re.IGNORECASE,
)
_RECAPS = re.compile(
    r"\b(?:to (?:recap|summari[sz]e|sum up|confirm)|in summary|just to be sure|let me (?:repeat|recap))\b",
    re.IGNORECASE,
)
_CALLS_ABOUT = "purpose"
# The statements of the service side: kinds of cues by the label of their lines.
_DONE: Mapping[str, tuple[str, ...]] = {"done": ("success", "done", "opt_out_done")}
_REFUSED: Mapping[str, tuple[str, ...]] = {
    "refusal": ("failure", "refusal"),
    "nores": ("no_result",),
}
# The statements that tell the outcome best, by its status.
_OUTCOMES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "resolved": _DONE,
    "partially_resolved": {**_DONE, **_REFUSED},
    "unresolved": _REFUSED,
    "escalated": {"": ("transfer",)},
    "unknown": {**_DONE, **_REFUSED},
}
_ACTIONS: Mapping[str, tuple[str, ...]] = {"next": ("commitment", "next_step")}
_EMPTY: Mapping[str, Any] = {"overview": None, "issue": None, "outcome": None, "actionItems": []}


def issue_of(facts: Facts) -> str | None:
    """Quote what the conversation is about: why the service calls, or what the customer wants.

    It is the sentence of the customer's first lines that best states a problem or a request.
    """
    if facts.dialogue.lines[:1] and facts.dialogue.lines[0].side is Side.SERVICE:
        for cue in facts.said(_CALLS_ABOUT, lines=facts.opening(1)):
            called_about = _sentence_of(cue)
            # Speech recognition writes no question mark behind "how can I help you".
            if not called_about.endswith("?") and not _OFFERS.search(called_about):
                return called_about
    opening = facts.dialogue.customer[: 1 if asks_nothing(facts) else _OPENING_LINES]
    wrong = {_sentence_of(cue) for cue in facts.heard(*_WRONG, lines=opening)}
    vented = {_sentence_of(cue) for cue in facts.heard(*_VENTS, lines=opening)} - wrong
    candidates: list[tuple[float, str]] = []
    lines_before = 0
    for line in opening:
        worths = {
            text: _worth(facts, line, text, wrong)
            for text in _sentences(line)
            if not _NAMES.search(text)
        }
        for text in vented & worths.keys():
            tells = _content_words(line, text) >= _FEW_WORDS or _WANTS.search(text)
            worths[text] *= _FEELING if tells else _ONLY_FEELING
        candidates += [(worth * _LATER**lines_before, text) for text, worth in worths.items()]
        lines_before += any(worths.values())
    # The first of the best.
    best = max(candidates, key=lambda pair: pair[0], default=(0.0, ""))
    return _GREETS.sub("", best[1], count=1) if best[0] > 0 else None


def _worth(facts: Facts, line: Line, text: str, wrong: set[str]) -> float:
    words = _content_words(line, text)
    wants = bool(_WANTS.search(text))
    if text not in wrong and words < _LEAST_WORDS - (wants or text.endswith("?")):
        return 0.0
    telling = 3.0 if text in wrong else 2 * _negative(facts, line)
    return telling + 2 * wants + min(words, _MOST_WORDS) / _MOST_WORDS


def _negative(facts: Facts, line: Line) -> float:
    return next(
        (
            customer_line.negative
            for customer_line in facts.readings.customer
            if customer_line.line is line
        ),
        0.0,
    )


def _content_words(line: Line, text: str) -> int:
    # Stop words are known for English only.
    return len(content_of(text) if line.language == ENGLISH else words_in(text))


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


def summary_of(facts: Facts, outcome: Outcome, issue: str | None) -> dict[str, Any]:
    """Sum a conversation up; empty where the words are not read or speakers are unknown.

    If no line says how it ended, a standard sentence states the outcome.
    """
    if not facts.dialogue.readable or not facts.dialogue.attributed or not facts.dialogue.lines:
        return dict(_EMPTY)
    ended = _ended(facts, outcome)
    done = _without_recaps(_said(facts, _DONE))
    actions = [text for text in _without_recaps(_said(facts, _ACTIONS)) if text not in done]
    said_last = _without_recaps(_said(facts, _OUTCOMES[outcome.status]))[-1:]
    return {
        "overview": _overview(facts, issue, done, ended, actions),
        "issue": issue,
        "outcome": said_last[0] if said_last else ended,
        "actionItems": list(dict.fromkeys(actions))[-_MOST_ITEMS:],
    }


def _ended(facts: Facts, outcome: Outcome) -> str:
    if asks_nothing(facts):
        return facts.sentence("no_occasion.praise")
    return facts.sentence(f"summary.{outcome.status}")


def _overview(
    facts: Facts, issue: str | None, done: list[str], ended: str, actions: list[str]
) -> str:
    sentences = []
    if issue:
        by_customer = any(issue in line.text for line in facts.dialogue.customer)
        key = "summary.issue" if by_customer else "summary.done"
        sentences.append(facts.sentence(key, quote=quote_at_end(issue)))
    last_done = [text for text in done if text != issue][-1:]
    sentences += [facts.sentence("summary.done", quote=quote_at_end(text)) for text in last_done]
    sentences.append(ended)
    sentences += [facts.sentence("summary.next", quote=quote_at_end(text)) for text in actions[-1:]]
    return " ".join(sentences)


def _said(facts: Facts, kinds_of_label: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Quote statements of the service side in their order: by phrase, else by label."""
    texts = {}
    for kinds in kinds_of_label.values():
        for cue in facts.said(*kinds):
            texts[cue.place] = _sentence_of(cue)
    quoted_positions = {position for position, _ in texts}
    for line in facts.readings.agent:
        best = max(
            (line.marks[label] for label in kinds_of_label if label in line.marks), default=None
        )
        likely = best is not None and best.probability >= max(SHOWN, line.courteous)
        if best and likely and line.line.position not in quoted_positions:
            text, start, end = line.line.text, best.start, best.end
            begin, stop = quotable_span(text, start, end)
            texts[line.line.position, start] = text[begin:stop]
    return [texts[place] for place in sorted(texts)]


def _without_recaps(texts: Iterable[str]) -> list[str]:
    # A recap repeats earlier statements; it is quoted only where there are none.
    all_texts = list(texts)
    return [text for text in all_texts if not _RECAPS.search(text)] or all_texts


def _sentences(line: Line) -> Iterable[str]:
    for start, end in sentence_spans(line.text):
        first, last = opening_span(line.text[start:end])
        yield line.text[start + first : start + last]


def _sentence_of(cue: Cue) -> str:
    text = cue.line.text
    spans = [span for span in sentence_spans(text) if span[0] <= cue.start < span[1]]
    start, end = spans[0] if spans else (0, len(text))
    begin, stop = quotable_span(text[start:end], cue.start - start, cue.end - start)
    return text[start + begin : start + stop]
