"""What a conversation is about: topics known by their words, the scorecard's own among them."""

import re
from collections.abc import Iterable
from functools import lru_cache

from app.ai.facts import Facts
from app.ai.phrases import PLAIN
from app.ai.scorecard import Topic
from app.ai.words import phrase_pattern

_NEVER = re.compile(r"(?!)")
_MOST = 5
_MOST_BETWEEN = 3
# Of a topic of ours two lines must speak: one word in passing is no topic.
_LEAST_LINES = 2

DEFAULTS: tuple[Topic, ...] = (
    Topic("account access", ("password", "log in", "login", "locked out", "sign in")),
    Topic("billing", ("bill", "invoice", "charged", "overcharged", "billing")),
    Topic("booking", ("book", "booked", "booking", "reserve", "reservation", "appointment")),
    Topic("cancellation", ("cancel", "cancelled", "canceled", "cancellation")),
    Topic("delivery", ("delivery", "delivered", "parcel", "package", "shipping", "shipment")),
    Topic("fraud", ("fraud", "fraudulent", "stolen", "scam", "hacked")),
    Topic("payment", ("payment", "pay", "paid", "credit card", "debit card")),
    Topic("refund", ("refund", "refunded", "money back", "reimbursed")),
    Topic("technical problem", ("error", "broken", "not working", "crashed", "internet")),
    Topic("travel", ("flight", "train", "hotel", "taxi", "bus")),
)


def topics_of(facts: Facts, own: Iterable[Topic]) -> tuple[str, ...]:
    """Name up to five topics, the scorecard's own first, then ours by how many lines speak of them.

    The scorecard's own are looked for in every language, ours where English is spoken or mixed in.
    """
    texts = [line.text.translate(PLAIN).lower() for line in facts.dialogue.lines]
    found = [topic.name for topic in own if _lines_with(topic, texts)]
    if facts.dialogue.readable:
        counted = [(topic.name, _lines_with(topic, texts)) for topic in DEFAULTS]
        ranked = sorted(counted, key=lambda pair: -pair[1])
        found += [name for name, count in ranked if count >= _LEAST_LINES]
    return tuple(dict.fromkeys(found))[:_MOST]


def _lines_with(topic: Topic, texts: list[str]) -> int:
    pattern = _pattern(topic.any_of)
    # Most conversations are not about most topics.
    if pattern.search("\n".join(texts)) is None:
        return 0
    return sum(pattern.search(text) is not None for text in texts)


@lru_cache(maxsize=512)
def _pattern(phrases: tuple[str, ...]) -> re.Pattern[str]:
    spelled = [
        phrase_pattern(phrase.translate(PLAIN).lower(), most_between=_MOST_BETWEEN)
        for phrase in phrases
    ]
    known = [pattern for pattern in spelled if pattern]
    return re.compile("|".join(known)) if known else _NEVER
