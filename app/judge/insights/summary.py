"""Issue and summary of a conversation: what was wanted, what was done, how it ended and what is open.

Issue, outcome and next steps are quoted from the transcript as a lead would quote them; the overview
joins them to sentences.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from app.judge.acts.catalogue import Act
from app.judge.dialogue.cues import Cue
from app.judge.dialogue.evidence import quotable_span, sentence_spans, whole_sentences
from app.judge.dialogue.turns import Line, Side, content_of
from app.judge.facts.conversation_facts import Facts
from app.judge.facts.requests import SURE, asks_nothing, takeovers
from app.judge.insights.outcome import Outcome
from app.judge.insights.telling import HEDGED, OPEN, OUTCOME, Quotable, joined, quoted
from app.judge.languages.detection import ENGLISH
from app.judge.languages.lexicon import lexicon_of, plain_of
from app.judge.languages.words import words_in
from app.judge.ledger.status import RESOLVED
from app.judge.wording import as_sentence, part, quote_at_end, sentence

_LEAST_WORDS, _LEAST_TOLD = 2, 3
# How likely a line asks at least, where there is another sign of it.
_HINTED = 0.3
_MOST_IN_NAME = _EXCLAMATION = _FILLER = 3
_BETWEEN = " \t\n,.;:!-"
_MOST_ITEMS = 3
_CALLS_ABOUT = "purpose"
_FEELINGS = (Act.ANGRY, Act.DISAPPOINTED)
_PROMISES = (Act.PROMISE, Act.PROMISE_BY)
# What the service side leaves to the customer.
_LEAVES = (Act.INSTRUCT, Act.ELSEWHERE)
# With this somebody promises something.
_WILL = re.compile(r"\b(?:i|we)(?:['\u2019]ll| will)\b", re.IGNORECASE)
_EMPTY: dict[str, Any] = {"overview": None, "issue": None, "outcome": None, "actionItems": []}


def issue_of(facts: Facts) -> str | None:
    """Quote what the conversation is about: why the service calls, or what the customer wants."""
    called_about = _called_about(facts)
    if called_about is not None:
        return called_about
    wanted = [_wanted(facts, entry.position) for entry in facts.ledger.matters[:1]]
    told = _first_told(facts) or next(filter(None, wanted), None)
    return told or _first_said(facts, facts.dialogue.customer)


def _called_about(facts: Facts) -> str | None:
    """Quote why the service side calls, where it speaks first and does not just ask."""
    if not facts.dialogue.lines or facts.dialogue.lines[0].side is not Side.SERVICE:
        return None
    for cue in facts.said(_CALLS_ABOUT, lines=facts.opening(1)):
        told = _sentence_of(cue)
        asks = facts.acts.lines and facts.acts.at(cue.line.position).of(Act.ASK) >= _HINTED
        # Speech recognition writes no question mark behind "how can I help you".
        if not told.endswith("?") and not asks:
            return told
    return None


def _first_told(facts: Facts) -> str | None:
    """Quote what the customer tells first, where that is the matter and no detail that was asked for."""
    if not facts.acts.customer:
        return None
    turns, begun = facts.dialogue.turns, facts.acts.customer[0].line.position
    if any(line.shows(Act.VERIFY) for line in facts.acts.service if line.line.position < begun):
        return None
    place = next(i for i, turn in enumerate(turns) if turn.side is Side.CUSTOMER)
    entries = [entry.position for entry in facts.ledger.matters[:1]]
    lines = turns[place].lines
    if any(line.shows(Act.ASK_PERSON) for line in facts.acts.customer if line.line in lines):
        return None
    if entries and entries[0] <= lines[-1].position:
        return _wanted(facts, entries[0])
    told = [text for line in lines if (text := _without_greeting(facts, line))]
    return next((text for text in told if len(content_of(text)) >= _LEAST_TOLD), None)


def _wanted(facts: Facts, position: int) -> str | None:
    """Quote the line of a request; a later one where that names no matter."""
    return _first_said(
        facts, [line for line in facts.dialogue.customer if line.position >= position]
    )


def _first_said(facts: Facts, lines: Sequence[Line]) -> str | None:
    """Quote the first line that says something; without one, the first that says a word."""
    told = [(line, text) for line in lines if (text := _without_greeting(facts, line))]
    full = (text for line, text in told if _content_words(line, text) >= _LEAST_WORDS)
    named = (
        text
        for line, text in told
        if _content_words(line, text) and not facts.heard("closing", "praise", lines=[line])
    )
    return next(full, None) or next(named, None)


def _without_greeting(facts: Facts, line: Line) -> str:
    """Return the matter of a line: some thirty words in whole sentences, without greeting and mere feeling."""
    start, text = _greeted(facts, line), line.text
    marks = facts.acts.at(line.position) if line.position in facts.acts.positions else None
    asked = marks and marks.best(Act.REQUEST)
    felt = marks and marks.best(*_FEELINGS)
    spans = [(max(start, first), end) for first, end in sentence_spans(text) if end > start]
    spans = [span for span in spans if not _is_name(line, text[slice(*span)])]
    if felt and asked and felt.probability >= SURE and felt.start != asked.start:
        told = [span for span in spans if not span[0] <= felt.start < span[1]]
        spans = told if told == spans[: len(told)] or told == spans[-len(told) :] else spans
    spans = _telling(text, spans)
    begin, end = whole_sentences(text, spans, asked.start if asked else start)
    while begin < end and (word := text[begin:end].split(maxsplit=1)[0]).endswith(","):
        if len(word) > _FILLER and _content_words(line, word):
            break
        begin = text.index(word, begin) + len(word)
        begin += len(text[begin:end]) - len(text[begin:end].lstrip())
    return text[begin:end]


def _telling(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Leave out the exclamations, and an address, before and after what tells more."""
    tells = [
        text[start:end].endswith("?")
        or (len(text[start:end].split()) > _EXCLAMATION and not _is_address(text, start, end))
        for start, end in spans
    ]
    if not any(tells):
        return spans
    first, last = tells.index(True), len(tells) - tells[::-1].index(True)
    return spans[first:last]


def _is_address(text: str, start: int, end: int) -> bool:
    """Tell whether a sentence is a line in which every word is a name or has a number."""
    words = text[start:end].split()
    are_names = all(word[0].isupper() or any(map(str.isdigit, word)) for word in words)
    return are_names and not text[start:end].isupper() and text.startswith("\n", end)


def _is_name(line: Line, text: str) -> bool:
    """Tell whether a sentence says who speaks, and nothing else."""
    lexicon = lexicon_of(line.language)
    if lexicon is None or _content_words(line, text) > _MOST_IN_NAME:
        return False
    said = plain_of(text).lower()
    phrases = (phrase for phrase in lexicon.phrases if phrase.kind == "introduction")
    return any(phrase.pattern.search(said) for phrase in phrases)


def _greeted(facts: Facts, line: Line) -> int:
    """Return where a line begins behind its greeting."""
    start = 0
    for cue in sorted(facts.heard("greeting", "thanks", lines=[line]), key=lambda cue: cue.start):
        if not _content_words(line, line.text[start : cue.start]):
            start = max(start, cue.end)
    rest = line.text[start:]
    return start + len(rest) - len(rest.lstrip(_BETWEEN))


def summary_of(facts: Facts, outcome: Outcome, issue: str | None) -> dict[str, Any]:
    """Sum a conversation up; empty where the words are not read or speakers are unknown.

    If no line tells how it ended, a standard sentence states the outcome.
    """
    if not facts.dialogue.readable or not facts.dialogue.attributed or not facts.dialogue.lines:
        return dict(_EMPTY)
    key = "no_occasion.praise" if asks_nothing(facts) else f"summary.{outcome.status}"
    ended = facts.sentence(key)
    told = quoted(facts, outcome.status, OUTCOME, issue)
    pending = quoted(facts, outcome.status, OPEN, issue)
    later = [item for item in pending if not any(item.quote in deed.quote for deed in told)]
    # Where nothing is resolved, what is open is the state of the matter.
    ending = told if outcome.status == RESOLVED else joined([*told, *later])
    return {
        "overview": " ".join(
            [
                *_wishes(facts, issue),
                *(
                    _told(facts, "also" if place else "done", item)
                    for place, item in enumerate(told)
                ),
                ended,
                *(_told(facts, _kind_of(item), item) for item in later),
            ]
        ),
        "issue": issue,
        "outcome": _as_text(ending) or ended,
        "actionItems": [item.quote for item in pending],
    }


def _as_text(told: Sequence[Quotable]) -> str:
    """Join what is quoted of how it ended."""
    *others, last = [item.quote for item in told] or [""]
    return " ".join([*map(as_sentence, others), last])


def _told(facts: Facts, key: str, item: Quotable) -> str:
    """Say who said it: after a handover that is somebody else."""
    taken_over = next((line for line in takeovers(facts) if line.of(Act.NAME) >= SURE), None)
    is_another = taken_over is not None and item.position >= taken_over.line.position
    agent = part("summary.another") if is_another else facts.agent
    quote = quote_at_end(item.quote)
    return sentence(f"summary.{key}", agent=agent, customer=facts.customer, quote=quote)


def _wishes(facts: Facts, issue: str | None) -> Iterator[str]:
    if issue:
        by_customer = any(issue in line.text for line in facts.dialogue.customer)
        key = "issue" if by_customer else "done"
        yield facts.sentence(f"summary.{key}", quote=quote_at_end(issue))
    for entry in facts.ledger.matters[1:_MOST_ITEMS]:
        further = _wanted(facts, entry.position)
        surely = facts.acts.at(entry.position).of(Act.REQUEST) >= SURE
        if surely and further and further not in (issue or ""):
            yield facts.sentence("summary.further", quote=quote_at_end(further))


def _kind_of(item: Quotable) -> str:
    """Return what a pending sentence is: a promise, something left to the customer, or what comes next."""
    if HEDGED.search(item.quote):
        return "pending"
    promised, left = (max(map(item.line.of, acts)) for acts in (_PROMISES, _LEAVES))
    if _WILL.search(item.quote) or promised >= max(left, SURE):
        return "next"
    return "left" if left >= SURE else "pending"


def _content_words(line: Line, text: str) -> int:
    # Stop words are known for English only.
    return len(content_of(text) if line.language == ENGLISH else words_in(text))


def _sentence_of(cue: Cue) -> str:
    begin, end = quotable_span(cue.line.text, cue.start, cue.end)
    return cue.line.text[begin:end]
