"""Issue and summary of a conversation.

The summary says what was done, the outcome and what comes next. Issue, outcome and next steps are
quoted from the transcript; the overview joins them to sentences.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from app.judge.conduct.readings import SHOWN
from app.judge.dialogue.cues import Cue, first_request
from app.judge.dialogue.evidence import opening_span, quotable_span, sentence_spans
from app.judge.dialogue.turns import Line, Side, content_of
from app.judge.facts.conversation_facts import Facts
from app.judge.facts.requests import asks_nothing
from app.judge.insights.outcome import Outcome
from app.judge.languages.detection import ENGLISH
from app.judge.languages.words import words_in
from app.judge.wording import quote_at_end

_OPENING_LINES = 4
_LEAST_WORDS = 2
_MOST_ITEMS = 3
_MOST_WORDS = 12
# Earlier lines count more, and feelings alone, or asking for somebody else, are no issue.
_LATER = 0.15
_FEELING, _ONLY_FEELING = 0.6, 0.01
_FEW_WORDS = 6
# Words with which a customer makes a request.
_WANTS = re.compile(
    r"\b(?:need|want|would like|i'd like|looking for|help|can (?:you|i)|could (?:you|i)|please|how (?:do|can)"
    r"|(?:can't|cannot|can not|cant|won't|wont)(?! wait)"
    r"|where|when|why|chahiye|karna|karni|krna|batao|bataiye)\b|चाहिए|करना|करनी|बताइए",
    re.IGNORECASE,
)
_OFFERS = re.compile(
    r"\b(?:how|what) (?:can|may|could) (?:i|we)\b|\bwhy you(?:'re| are) calling\b", re.IGNORECASE
)
_NAMES = re.compile(
    r"\bmy name(?: is|'s)\b(?!.{0,200}\b(?:and|need|want|would|i'd|looking|trying)\b)",
    re.IGNORECASE,
)
_WRONG = ("problem", "opt_out", "danger")
_VENTS = ("complaint", "profanity")
_ASKS_FOR_PERSON = "escalation_request"
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
    passed_on = {_sentence_of(cue) for cue in facts.heard(_ASKS_FOR_PERSON, lines=opening)} - wrong
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
        for text in passed_on & worths.keys():
            worths[text] *= _ONLY_FEELING
        candidates += [(worth * _LATER**lines_before, text) for text, worth in worths.items()]
        lines_before += any(worths.values())
    # The first of the best.
    best = max(candidates, key=lambda pair: pair[0], default=(0.0, ""))
    return _GREETS.sub("", best[1], count=1) if best[0] > 0 else _named_alone(facts)


def _named_alone(facts: Facts) -> str | None:
    # "Refund" says in a word what is wanted.
    lines = first_request(facts.dialogue, facts.said("greeting", "purpose"))
    asked = facts.said_at("purpose")
    for before, reply in pairwise(facts.dialogue.turns):
        if reply.side is Side.CUSTOMER and any(line.position in asked for line in before.lines):
            lines += reply.lines
    for line in lines:
        text = _GREETS.sub("", f"{line.text} ", count=1).strip()
        farewell = facts.heard("thanks", "praise", "closing", lines=[line])
        if content_of(text) and any(map(str.isalpha, text)) and not farewell:
            return text
    return None


def _worth(facts: Facts, line: Line, text: str, wrong: set[str]) -> float:
    words = _content_words(line, text)
    wants = text.endswith("?") or bool(_WANTS.search(text))
    if text not in wrong and words < _LEAST_WORDS - wants:
        return 0.0
    length = min(words, _MOST_WORDS) / _MOST_WORDS
    weight = 3.0 if text in wrong else 2 * _negative(facts, line) * min(1.0, 3 * length)
    return weight + 2 * wants + length


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
            texts[cue.place] = _statement(cue)
    # What the customer is asked to confirm is neither done nor promised yet.
    left_out = {position for position, _ in texts} | facts.said_at("asks_confirmation")
    for line in facts.readings.agent:
        best = max(
            (line.marks[label] for label in kinds_of_label if label in line.marks), default=None
        )
        likely = best is not None and best.probability >= max(SHOWN, line.courteous)
        if best and likely and line.line.position not in left_out:
            texts[line.line.position, best.start] = _quotable(line.line, best.start, best.end)
    # "Yes." says nothing by itself.
    return [texts[place] for place in sorted(texts) if " " in texts[place]]


def _statement(cue: Cue) -> str:
    text = _sentence_of(cue)
    # "Done." says nothing by itself either: quote the next sentence with it.
    return text if " " in text else _quotable(cue.line, cue.start, cue.end)


def _quotable(line: Line, start: int, end: int) -> str:
    begin, stop = quotable_span(line.text, start, end)
    return line.text[begin:stop]


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
