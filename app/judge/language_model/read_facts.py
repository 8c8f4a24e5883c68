"""Facts of a conversation as a language model has read it: everything else follows from its ledger.

A `Reading` holds claims, each with a quote that is in the transcript and its meaning: an act, a cue or a state.
The claims about one request are its course.
"""

from collections.abc import Iterable
from typing import Any

from app.judge.acts.catalogue import Act
from app.judge.acts.reading import SHOWN, Acts, LineActs, Mark
from app.judge.dialogue.cues import Cue, Cues
from app.judge.dialogue.turns import Line, Side, content_of
from app.judge.facts.conversation_facts import Facts, read_again
from app.judge.insights.outcome import Outcome, outcome_of
from app.judge.language_model.reading import (
    FEELINGS,
    REQUESTS,
    RUDE,
    STEPS,
    Reading,
    ReadRequest,
    ShownClaim,
)
from app.judge.ledger.entries import Entry, Ledger, RequestKind, State, Step

_MEANINGS = [meaning for words in (STEPS, REQUESTS, FEELINGS, RUDE) for meaning in words.values()]
# What the model reads only in part: the rules' own reading of it stays.
_SHARED_ACTS = {Act.ASK, Act.INFORM, Act.INSTRUCT, Act.YES}
# What the model has no word for, but says with another one: a refusal may have a reason.
_LIKE_ACTS = {Act.REFUSE_REASON, Act.UNDONE, Act.PROMISE_BY, Act.LEAVE, Act.INSULT}
_REPLACED_ACTS = ({meaning.act for meaning in _MEANINGS} | _LIKE_ACTS) - _SHARED_ACTS
_LIKE_CUES = {"success", "no_result", "bad_news", "dismissive", "next_step"}
_REPLACED_CUES = {meaning.cue for meaning in _MEANINGS} | _LIKE_CUES
_UNHAPPY = frozenset({Act.ANGRY, Act.DISAPPOINTED, Act.SARCASTIC, Act.COMPLAIN, Act.UNSOLVED})
_SHOWN_LAST = frozenset({State.PROMISED, State.IN_WORK, State.TRANSFERRED})
# Less sure than this is nothing that a rule has read.
_MOST_SURE_RULE = 0.85


def facts_as_read(facts: Facts, reading: Reading) -> Facts:
    """Replace the acts, the phrases and the ledger of the rules by those that the model has shown."""
    lines = {line.segment.id: line for line in facts.dialogue.lines}
    claims = [(lines[claim.evidence.segment_id], claim) for claim in reading.claims]
    kept = {line.line.position: line.marks for line in facts.acts.lines}
    acts = [
        LineActs(line, _marks(kept.get(line.position, {}), _at(claims, line)))
        for line in facts.dialogue.lines
        if line.side in (Side.CUSTOMER, Side.SERVICE)
    ]
    cues = [
        cue
        for line in facts.dialogue.lines
        for cue in facts.cues.in_line(line)
        if cue.kind not in _REPLACED_CUES
    ]
    cues += [
        Cue(claim.meaning.cue, line, claim.evidence.char_start, claim.evidence.char_end)
        for line, claim in claims
        if claim.meaning.cue
    ]
    in_order = sorted(cues, key=lambda cue: cue.place)
    ledger = Ledger(
        tuple(_entry(request, lines) for request in reading.requests),
        ends_content=_ends_content(facts, claims),
    )
    return read_again(facts, Cues(in_order), Acts(tuple(acts)), ledger)


def is_surer(facts: Facts, reading: Reading) -> bool:
    """Tell whether the model is at least as sure of how the requests ended as the rules are."""
    by_model = [request.course[-1].confidence for request in reading.requests if request.course]
    status = outcome_of(facts).status
    likely = facts.opinion.of("status", status) if facts.opinion else {}
    return min(by_model, default=1.0) >= min(_MOST_SURE_RULE, likely.get(status, 0.0))


def summary_of(facts: Facts, reading: Reading, outcome: Outcome) -> dict[str, Any] | None:
    """Sum a conversation up in the words in which the model has told what it could show; None without a request."""
    if not reading.requests:
        return None
    issue = reading.requests[0].claim.words or None
    ended = [request.course[-1] for request in reading.requests if request.course]
    open_steps = [claim for claim in ended if claim.meaning.state in _SHOWN_LAST]
    status = facts.sentence(f"summary.{outcome.status}")
    told = [claim.words for claim in ended if claim.words]
    parts = [*(request.claim.words for request in reading.requests), *told, status]
    return {
        "overview": " ".join(dict.fromkeys(filter(None, parts))),
        "issue": issue,
        "outcome": told[-1] if told else status,
        "actionItems": [claim.words for claim in open_steps if claim.words],
    }


def _at(claims: Iterable[tuple[Line, ShownClaim]], line: Line) -> list[ShownClaim]:
    return [claim for other, claim in claims if other is line]


def _marks(kept: Any, claims: list[ShownClaim]) -> dict[Act, Mark]:
    shown = {claim.meaning.act for claim in claims}
    marks = {
        act: mark
        for act, mark in kept.items()
        if act not in _REPLACED_ACTS or (act is Act.PROMISE_BY and Act.PROMISE in shown)
    }
    for claim in claims:
        place = claim.evidence.char_start, claim.evidence.char_end
        marks[claim.meaning.act] = Mark(max(SHOWN, claim.confidence), *place)
    return marks


def _entry(request: ReadRequest, lines: dict[str, Line]) -> Entry:
    line = lines[request.claim.evidence.segment_id]
    entry = Entry(request.kind, line.position, content_of(line.text))
    for claim in sorted(request.course, key=lambda claim: _place(claim, lines)):
        position, state = lines[claim.evidence.segment_id].position, claim.meaning.state
        if state is State.OPEN:
            entry.repeated_at.append(position)
        if state is State.TAKEN and entry.state is State.PROPOSED:
            state = State.ACCEPTED
        if state is State.ANSWERED and request.kind is not RequestKind.QUESTION:
            state = State.EXPLAINED
        if state is not None:
            entry.steps.append(Step(state, position))
    return entry


def _place(claim: ShownClaim, lines: dict[str, Line]) -> tuple[int, int]:
    return lines[claim.evidence.segment_id].position, claim.evidence.char_start


def _ends_content(facts: Facts, claims: Iterable[tuple[Line, ShownClaim]]) -> bool:
    last = facts.dialogue.customer[-1:]
    return not any(line in last and claim.meaning.act in _UNHAPPY for line, claim in claims)
