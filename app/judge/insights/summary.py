"""Issue and summary of a conversation: what was wanted, what was done, how it ended and what is open.

Issue, outcome and next steps are quoted from the transcript where the ledger tells them for sure; the
overview joins them to sentences.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from app.judge.acts.catalogue import Act
from app.judge.acts.reading import SHOWN
from app.judge.dialogue.cues import Cue
from app.judge.dialogue.evidence import MOST_WORDS, quotable_span, sentence_spans
from app.judge.dialogue.turns import Line, Side, content_of
from app.judge.facts.conversation_facts import Facts, shown_act
from app.judge.facts.requests import SURE, asks_nothing, surely_told
from app.judge.insights.outcome import Outcome
from app.judge.languages.detection import ENGLISH
from app.judge.languages.lexicon import lexicon_of, plain_of
from app.judge.languages.words import words_in
from app.judge.ledger.entries import CLOSED, STATE_ACTS, Entry, State
from app.judge.ledger.status import ESCALATED, PARTLY, RESOLVED, UNRESOLVED
from app.judge.wording import quote_at_end

_LEAST_WORDS = 2
# How likely a line promises or asks something at least where a phrase says so, too.
_HINTED = 0.3
_MOST_IN_NAME = _EXCLAMATION = _FILLER = 3
_BETWEEN = " \t\n,.;:!-"
_MOST_ITEMS = 3
_LAST_LINES = 2
_CALLS_ABOUT = "purpose"
_FEELINGS = (Act.ANGRY, Act.COMPLAIN, Act.DISAPPOINTED)
_PROMISES = (Act.PROMISE, Act.PROMISE_BY)
# The acts that move a matter, or tell where it stands.
_BEARING = (
    *(Act.INFORM, Act.INSTRUCT, Act.PROPOSE, Act.DONE, Act.PROMISE, Act.PROMISE_BY, Act.UNDONE),
    *(Act.REFUSE, Act.REFUSE_REASON, Act.CANNOT, Act.ELSEWHERE, Act.RETRACT),
)
# The states whose line tells an outcome.
_TELLING = {
    RESOLVED: (State.DONE,),
    PARTLY: (State.DONE,),
    UNRESOLVED: (State.REFUSED, State.FAILED, State.SENT_ELSEWHERE),
    ESCALATED: (State.TRANSFERRED,),
}
_EMPTY: dict[str, Any] = {"overview": None, "issue": None, "outcome": None, "actionItems": []}


def issue_of(facts: Facts) -> str | None:
    """Quote what the conversation is about: why the service calls, or what the customer wants."""
    called_about = _called_about(facts)
    if called_about is not None:
        return called_about
    wanted = [_wanted(facts, entry) for entry in facts.ledger.matters[:1]]
    return next(filter(None, wanted), None) or _first_said(facts, facts.dialogue.customer)


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


def _wanted(facts: Facts, entry: Entry) -> str | None:
    """Quote the line of a request; a later one where that names no matter."""
    lines = [line for line in facts.dialogue.customer if line.position >= entry.position]
    return _first_said(facts, lines)


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
    begin, end = _opening(text, spans, asked.start if asked else start)
    while begin < end and (word := text[begin:end].split(maxsplit=1)[0]).endswith(","):
        if len(word) > _FILLER and _content_words(line, word):
            break
        begin = text.index(word, begin) + len(word)
        begin += len(text[begin:end]) - len(text[begin:end].lstrip())
    return text[begin:end]


def _telling(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Leave out the exclamations before and after what tells more."""
    tells = [
        text[slice(*span)].endswith("?") or len(text[slice(*span)].split()) > _EXCLAMATION
        for span in spans
    ]
    if not any(tells):
        return spans
    first, last = tells.index(True), len(tells) - tells[::-1].index(True)
    return spans[first:last]


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


def _opening(text: str, spans: Sequence[tuple[int, int]], asked: int) -> tuple[int, int]:
    """Return some thirty words of whole sentences: all of them, or else those up to what is asked."""
    if not spans:
        return 0, 0
    whole = (spans[0][0], spans[-1][1])
    if len(text[slice(*whole)].split()) <= MOST_WORDS:
        return whole
    index = next((place for place, span in enumerate(spans) if asked < span[1]), 0)
    first, last = spans[index]
    for begin, _ in reversed(spans[:index]):
        if len(text[begin:last].split()) > MOST_WORDS:
            break
        first = begin
    if len(text[first:last].split()) > MOST_WORDS:
        return quotable_span(text, first, last)
    return first, last


def summary_of(facts: Facts, outcome: Outcome, issue: str | None) -> dict[str, Any]:
    """Sum a conversation up; empty where the words are not read or speakers are unknown.

    If no line tells for sure how it ended, a standard sentence states the outcome.
    """
    if not facts.dialogue.readable or not facts.dialogue.attributed or not facts.dialogue.lines:
        return dict(_EMPTY)
    told = list(_quotes(facts, outcome.status))
    praised = asks_nothing(facts)
    ended = facts.sentence("no_occasion.praise" if praised else f"summary.{outcome.status}")
    actions = [text for text in _promised(facts) if text not in told]
    return {
        "overview": " ".join(_overview(facts, issue, told[-1:], ended, actions[-1:])),
        "issue": issue,
        "outcome": told[-1] if told else ended,
        "actionItems": actions[-_MOST_ITEMS:],
    }


def _overview(
    facts: Facts, issue: str | None, told: list[str], ended: str, actions: list[str]
) -> Iterator[str]:
    if issue:
        by_customer = any(issue in line.text for line in facts.dialogue.customer)
        key = "summary.issue" if by_customer else "summary.done"
        yield facts.sentence(key, quote=quote_at_end(issue))
    for entry in facts.ledger.matters[1:_MOST_ITEMS]:
        further = _wanted(facts, entry)
        surely = facts.acts.at(entry.position).of(Act.REQUEST) >= SURE
        if surely and further and further != issue:
            yield facts.sentence("summary.further", quote=quote_at_end(further))
    for text in told:
        if text != issue:
            yield facts.sentence("summary.done", quote=quote_at_end(text))
    yield ended
    if not told and not actions and (last := _last_word(facts)):
        yield facts.sentence("summary.last", quote=quote_at_end(last))
    for text in actions:
        yield facts.sentence("summary.next", quote=quote_at_end(text))


def _quotes(facts: Facts, status: str) -> Iterator[str]:
    """Quote in their order the lines that tell how the requests ended, as the status says."""
    for entry in facts.ledger.matters:
        step = surely_told(facts, entry)
        if entry.closed and (step is None or step.state is State.CONFIRMED):
            step = entry.last(State.DONE)
        if step is not None and step.state in _TELLING.get(status, ()):
            acts = STATE_ACTS[step.state]
            yield shown_act(facts.acts.at(step.position), acts).quote


def _promised(facts: Facts) -> list[str]:
    """Quote what the service side promised and did not do before the end."""
    done = [
        step.position
        for entry in facts.ledger.entries
        for step in entry.steps
        if step.state in CLOSED
    ]
    last_done = max(done, default=-1)
    phrased = facts.said_at("commitment", "next_step")
    promised = [
        shown_act(line, _PROMISES).quote
        for line in facts.acts.service
        if line.of(Act.PROMISE_BY) >= (_HINTED if line.line.position in phrased else SHOWN)
        or (line.of(Act.PROMISE) >= SURE and line.line.position >= last_done)
    ]
    return list(dict.fromkeys(promised))


def _last_word(facts: Facts) -> str | None:
    """Quote what the service side said last that bears on the matter."""
    for line in reversed(facts.acts.service[-_LAST_LINES:]):
        quote = shown_act(line, _BEARING).quote
        if max(map(line.of, _BEARING)) >= SURE and not quote.endswith("?"):
            return quote
    return None


def _content_words(line: Line, text: str) -> int:
    # Stop words are known for English only.
    return len(content_of(text) if line.language == ENGLISH else words_in(text))


def _sentence_of(cue: Cue) -> str:
    begin, end = quotable_span(cue.line.text, cue.start, cue.end)
    return cue.line.text[begin:end]
