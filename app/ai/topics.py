"""What a conversation is about: topics known by their words, the scorecard's own among them."""

import re
from collections.abc import Iterable
from functools import lru_cache

from app.ai.facts import Facts
from app.ai.phrases import PLAIN
from app.ai.scorecard import Topic
from app.ai.summary import issue_of
from app.ai.words import phrase_pattern, words_in

_MOST = 5
_MOST_BETWEEN = 3
# Of a topic of ours two lines must speak, or what the conversation is about: one word in passing
# is no topic.
_LEAST_LINES = 2

DEFAULTS: tuple[Topic, ...] = (
    Topic("account access", ("password", "log in", "login", "locked out", "sign in")),
    Topic("billing", ("bill", "invoice", "charged", "overcharged", "billing")),
    Topic("booking", ("book", "booked", "booking", "reserve", "reservation", "appointment")),
    Topic("cancellation", ("cancel", "cancelled", "canceled", "cancellation")),
    Topic(
        "delivery",
        (
            *("delivery", "delivered", "parcel", "package", "shipping", "shipment"),
            *("courier", "dispatched", "not arrived", "hasn't arrived"),
        ),
    ),
    Topic("faulty product", ("faulty", "defective", "damaged", "broken", "missing part")),
    Topic("fraud", ("fraud", "fraudulent", "stolen", "scam", "hacked")),
    Topic(
        "payment",
        ("payment", "pay", "paid", "credit card", "debit card", "instalment", "instalments"),
    ),
    Topic("refund", ("refund", "refunded", "money back", "reimbursed")),
    Topic("repair", ("repair", "repaired", "technician", "warranty", "guarantee")),
    Topic("return", ("return", "returned", "exchange", "replacement", "send it back")),
    Topic("technical problem", ("error", "not working", "crashed", "internet")),
    Topic("travel", ("flight", "train", "hotel", "taxi", "bus")),
)


def topics_of(facts: Facts, own: Iterable[Topic]) -> tuple[str, ...]:
    """Name up to five topics, the scorecard's own first, then ours by how many lines speak of them.

    The scorecard's own are looked for in every language, ours where English is spoken or mixed in.
    """
    texts = [line.text.translate(PLAIN).lower() for line in facts.dialogue.lines]
    words = frozenset(words_in(" ".join(texts)))
    found = [topic.name for topic in own if _lines_with(topic, texts, words)]
    if facts.dialogue.readable:
        # The issue is a line already, and says the same as one more.
        issue = (issue_of(facts) or "").translate(PLAIN).lower()
        counted = [(topic.name, _lines_with(topic, [*texts, issue], words)) for topic in DEFAULTS]
        ranked = sorted(counted, key=lambda pair: -pair[1])
        found += [name for name, count in ranked if count >= _LEAST_LINES]
    return tuple(dict.fromkeys(found))[:_MOST]


def _lines_with(topic: Topic, texts: list[str], words: frozenset[str]) -> int:
    # Most conversations are not about most topics, and hold no word that one begins with.
    begins, pattern = _pattern(topic.any_of)
    if begins.isdisjoint(words):
        return 0
    return sum(pattern.search(text) is not None for text in texts)


@lru_cache(maxsize=512)
def _pattern(phrases: tuple[str, ...]) -> tuple[frozenset[str], re.Pattern[str]]:
    plain = [phrase.translate(PLAIN).lower() for phrase in phrases]
    spelled = [phrase_pattern(phrase, most_between=_MOST_BETWEEN) for phrase in plain]
    begins = frozenset(words[0] for phrase in plain if (words := words_in(phrase)))
    return begins, re.compile("|".join(filter(None, spelled)) or "(?!)")
