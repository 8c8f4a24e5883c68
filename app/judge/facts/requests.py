"""Requests of the customer: what became of each, in sentences with evidence."""

import math
import re
from collections.abc import Iterable

from app.judge.acts.catalogue import Act
from app.judge.acts.reading import LineActs
from app.judge.dialogue.cues import Cue
from app.judge.dialogue.evidence import (
    CONTRADICTS,
    SUPPORTS,
    Evidence,
    sentence_around,
    sentence_spans,
)
from app.judge.dialogue.turns import Side
from app.judge.facts.contradictions import SOLVED, is_opposed
from app.judge.facts.conversation_facts import Facts, performed, shown_act
from app.judge.languages.lexicon import plain_of
from app.judge.ledger.entries import CLOSED, STATE_ACTS, Entry, RequestKind, State, Step
from app.judge.ledger.status import ESCALATED, stated_status
from app.judge.wording import sentence

_ENDED_BADLY = frozenset(
    {
        *(State.REFUSED, State.FAILED, State.SENT_ELSEWHERE, State.PUT_OFF),
        *(State.DENIED, State.GIVEN_UP, State.TAKEN_BACK),
    }
)
_WELL = CLOSED | {State.TAKEN, State.INSTRUCTED, State.EXPLAINED}
# How much of a request is fulfilled in a state, where no model tells how well it went.
_FULFILLED = {
    **dict.fromkeys(CLOSED, 1.0),
    State.TAKEN: 0.9,
    State.INSTRUCTED: 0.7,
    State.EXPLAINED: 0.6,
    State.ACCEPTED: 0.6,
    State.PROMISED: 0.5,
    State.TRANSFERRED: 0.5,
    State.PARTLY: 0.5,
    State.PROPOSED: 0.4,
    State.IN_WORK: 0.3,
    State.ASKED_BACK: 0.3,
    State.OPEN: 0.2,
    **dict.fromkeys(_ENDED_BADLY, 0.1),
}
# A line in which an action failed, something asked for is not there, or something is refused takes off the
# effectiveness as much as these powers of e tell.
_FAILED, _MISSING, _REFUSED = 0.8, 0.4, 0.12
_REFUSES = (Act.CANNOT, Act.REFUSE, Act.REFUSE_REASON, Act.UNDONE, Act.RETRACT)
_FINISHED = ("solved", "closing", "nothing_more")
# What may still come, and how likely a line names its time where no other time is asked for.
_WAITING = frozenset(
    {
        *(State.OPEN, State.ASKED_BACK, State.IN_WORK, State.PROPOSED, State.ACCEPTED),
        *(State.PROMISED, State.TRANSFERRED),
    }
)
_TIMED = 0.3
_MOST_TOLD = 3
# How likely a line shows an act at least where words claim it; the customer's verdict is read less well.
SURE = 0.65
# What somebody who opts out wants no more of, and in how many replies that is done.
_CONTACT = re.compile(
    r"\b(?:(?:e-?)?mails?|newsletters?|calls?|messages|texts|sms|marketing|adverti\w+|number|list|contact)\b",
    re.IGNORECASE,
)
_REPLIES, _DONE = 2, 0.35
SURE_OF = {
    State.CONFIRMED: 0.75,
    State.GIVEN_UP: 0.7,
    State.DONE: 0.5,
    State.FAILED: 0.55,
    State.REFUSED: 0.55,
}
# Words of something that is past, or is so now.
TELLS_DONE = re.compile(
    r"\b(?:have|has|i've|we've|is|are|it's|they're|you're|was|were|been|just|now)\b[^.!?]{0,40}?"
    r"\b(?:\w{2,}ed|done|sent|made|set|put|taken|given|paid|gone|off|out)\b|^\W*(?:\w{2,}ed|done|sent)\b",
    re.IGNORECASE,
)
# Words of a way that is left where something is refused, how near the refusal they are, and those of a condition.
_WAY = re.compile(
    r"\b(?:you(?:'d| would)? (?:can(?!'t| not)|could|may|need|have to)|(?<!what )(?<!if )(?:i|we) (?:can(?!'t| not)|could(?!n't))"
    r"|if (?!i\b|we\b)[^.!?]{1,80}\b(?:we|i|you)|instead|alternatively)\b",
    re.IGNORECASE,
)
_NEAR = 2
_CONDITION = re.compile(r"\b(?:without|unless|until|only (?:if|with|when|once))\b", re.IGNORECASE)
_NOT_DONE = (Act.CANNOT, Act.UNDONE, Act.REFUSE, Act.REFUSE_REASON)
# Where the service side does or refuses something, there was a request.
_SERVES = (Act.DONE, Act.CANNOT, Act.REFUSE, Act.REFUSE_REASON)
_APPRECIATES = (Act.THANK, Act.PRAISE)
PLEASED = (*_APPRECIATES, Act.CLOSE)
_DISTURBS = (
    *(Act.REQUEST, Act.REPEAT, Act.ASK, Act.COMPLAIN, Act.ANGRY, Act.OPT_OUT, Act.ASK_PERSON),
    *(Act.DISAPPOINTED, Act.SARCASTIC, Act.UNSOLVED, Act.GIVE_UP, Act.LEAVE, Act.INSULT),
)


def asks_nothing(facts: Facts) -> bool:
    """Tell whether the customer only thanks or praises: there is no request and no problem."""
    customer = facts.acts.customer
    if facts.heard("complaint") or any(line.shows(*_SERVES) for line in facts.acts.service):
        return False
    thanks = any(line.shows(*_APPRECIATES) for line in customer)
    return (
        thanks and not facts.ledger.entries and not any(line.shows(*_DISTURBS) for line in customer)
    )


def unanswered_calls(facts: Facts) -> list[Cue]:
    """List where the service side says that a customer who had not finished no longer replies."""
    turns = [turn for turn in facts.dialogue.turns if turn.side is Side.CUSTOMER]
    if not turns or facts.heard(*_FINISHED, lines=turns[-1].lines):
        return []
    last = turns[-1].lines[-1].position
    return [cue for cue in facts.said("no_reply") if cue.line.position > last]


def opt_out_confirmation(facts: Facts) -> Cue | None:
    """Return the confirmation of the customer's request not to be contacted again."""
    requested = min((cue.line.position for cue in facts.heard("opt_out")), default=None)
    if requested is None:
        return None
    confirmations = facts.said("opt_out_done")
    said = next((cue for cue in confirmations if cue.line.position > requested), None)
    if said is not None:
        return said
    replies = [line for line in facts.dialogue.service if line.position > requested][:_REPLIES]
    done = performed(facts, replies, Act.DONE, least=_DONE)
    return next((cue for cue in done if _CONTACT.search(cue.line.text)), None)


def was_transferred(facts: Facts) -> bool:
    """Tell whether the customer was handed over, as known or else as the ledger states."""
    if facts.context.transferred is not None:
        return facts.context.transferred
    return stated_status(facts.ledger) == ESCALATED


def takeovers(facts: Facts) -> list[LineActs]:
    """Return the lines in which the customer is handed over, or somebody else takes over."""
    steps = [step for entry in facts.ledger.entries for step in entry.steps]
    places = {step.position for step in steps if step.state is State.TRANSFERRED}
    return [facts.acts.at(place) for place in sorted(places)]


def pleased_after(facts: Facts, entry: Entry) -> LineActs | None:
    """Return the customer's thanks or farewell after what was done for a request, if nothing disturbs it."""
    if not entry.steps or entry.state not in _WELL:
        return None
    # What the customer takes was told before.
    last = next(step for step in reversed(entry.steps) if step.state is not State.TAKEN)
    after = [line for line in facts.acts.customer if line.line.position >= last.position]
    if any(line.shows(*_DISTURBS) for line in after):
        return None
    return next((line for line in after if line.shows(*PLEASED)), None)


def worst_first(entries: Iterable[Entry]) -> list[Entry]:
    """Order requests by how little of them was fulfilled; those that were made first come first."""
    return sorted(entries, key=lambda entry: _FULFILLED[entry.state])


def effectiveness(facts: Facts) -> float:
    """Return how well the service side moved the requests forward, 0 to 1.

    Where no model tells, what became of them does; where all of them are closed, that counts a
    third. Each line in which something failed or was refused on the way lowers it.
    """
    entries = facts.ledger.matters
    if facts.opinion is None:
        share = sum(_FULFILLED[entry.state] for entry in entries) / max(1, len(entries))
    else:
        share = facts.opinion.share("effectiveness")
        if entries and all(entry.closed for entry in entries):
            share = (1 + 2 * share) / 3
    return share * smoothness(facts)


def smoothness(facts: Facts) -> float:
    """Return what lines in which something failed or was refused leave of the effectiveness, 0 to 1."""
    failed = facts.said_at("failure")
    missing = facts.said_at("no_result", "bad_news") - failed
    refused = {line.line.position for line in facts.acts.service if line.shows(*_REFUSES)}
    strain = _FAILED * len(failed) + _MISSING * len(missing)
    return math.exp(-strain - _REFUSED * len(refused - failed - missing))


def surely_told(facts: Facts, entry: Entry) -> Step | None:
    """Return the step that tells best what became of a request; None where no line tells it for sure.

    The last step does where its line shows it clearly, else an earlier one that ends alike.
    """
    for step in reversed(entry.steps):
        if step.state is State.TAKEN and entry.kind is not RequestKind.QUESTION:
            continue
        ends_alike = step.state in (CLOSED if entry.closed else _ENDED_BADLY)
        if step.state is not entry.state and not ends_alike:
            return None
        if _is_sure(facts, step):
            return step
    return None


def _best_told(facts: Facts, entry: Entry) -> Step:
    """Return the step that ends alike and whose line shows it best."""
    states = CLOSED if entry.closed else {entry.state}
    alike = [step for step in reversed(entry.steps) if step.state in states]
    return max(alike, key=lambda step: _likely(facts, step))


def _is_sure(facts: Facts, step: Step) -> bool:
    if step.state is State.OPEN or facts.read_by_model:
        return step.state is not State.OPEN
    shown = step_evidence(facts.acts.at(step.position), step.state)
    if is_opposed(facts, shown, SOLVED if step.state in CLOSED else step.state):
        return False
    return _likely(facts, step) >= SURE_OF.get(step.state, SURE)


def _likely(facts: Facts, step: Step) -> float:
    shown = facts.acts.at(step.position)
    # Whether somebody cannot or may not, a line says that it will not be done.
    acts = _NOT_DONE if step.state in (State.FAILED, State.REFUSED) else STATE_ACTS[step.state]
    return max(map(shown.of, acts))


def state_sentence(facts: Facts, entry: Entry) -> str:
    """Say what last became of a request, or else whether it was fulfilled; nothing if that is not sure."""
    step = surely_told(facts, entry)
    if step is None:
        if entry.closed:
            return facts.sentence("request.closed")
        return "" if entry.state in _WELL else facts.sentence("request.not_closed")
    return facts.sentence(f"request.{_name_of(facts, entry, step)}")


def _name_of(facts: Facts, entry: Entry, step: Step) -> str:
    """Name the template of what became of a request."""
    shown = facts.acts.at(step.position)
    if _is_told(entry, step):
        return State.ANSWERED
    if step.state is State.REFUSED and shown.shows(Act.REFUSE_REASON):
        tied = _CONDITION.search(step_evidence(shown, step.state).quote)
        return "refused_on_condition" if tied else "refused_for_reason"
    if step.state is State.FAILED and shown.best(*_NOT_DONE) == shown.marks.get(Act.UNDONE):
        return "undone"
    return step.state


def state_sentences(facts: Facts, entries: Iterable[Entry]) -> list[str]:
    """Say what became of some requests, once each; what is said of one alone goes without a word on others."""
    told = dict.fromkeys(filter(None, (state_sentence(facts, entry) for entry in entries)))
    general = {facts.sentence(f"request.{key}") for key in ("closed", "not_closed")}
    texts = ([text for text in told if text not in general] or list(told))[:_MOST_TOLD]
    if len(texts) < 2:
        return texts
    return [
        sentence(f"request.{'another' if place else 'one'}", told=text[:1].lower() + text[1:])
        for place, text in enumerate(texts)
    ]


def state_advice(facts: Facts, entry: Entry) -> str:
    """Say what to do better about a request; nothing where it was fulfilled, or a time or a way was named."""
    step = surely_told(facts, entry)
    if step is None or entry.closed or _is_told(entry, step) or awaits_promise(facts, entry):
        return ""
    if step.state in (State.REFUSED, State.FAILED) and _names_way(facts, step):
        return ""
    return facts.sentence(f"request_advice.{_name_of(facts, entry, step)}")


def _names_way(facts: Facts, step: Step) -> bool:
    near = (line for line in facts.dialogue.service if abs(line.position - step.position) <= _NEAR)
    return any(_WAY.search(plain_of(line.text)) for line in near)


def awaits_promise(facts: Facts, entry: Entry) -> bool:
    """Tell whether a request is still open and the service side promised something by a time."""
    promised = any(line.of(Act.PROMISE_BY) >= _TIMED for line in facts.acts.service)
    return promised and entry.state in _WAITING


def state_evidence(facts: Facts, entry: Entry) -> Evidence:
    """Quote the sentence that shows what last became of a request; the request itself where none does."""
    polarity = SUPPORTS if entry.state in _WELL else CONTRADICTS
    if not entry.steps:
        return shown_act(facts.acts.at(entry.position), STATE_ACTS[State.OPEN], polarity)
    step = surely_told(facts, entry) or _best_told(facts, entry)
    return step_evidence(facts.acts.at(step.position), step.state, polarity)


def step_evidence(line: LineActs, state: State, polarity: str = SUPPORTS) -> Evidence:
    """Quote the sentence of a line that shows a state: of something done, one that speaks of the past."""
    evidence = shown_act(line, STATE_ACTS[state], polarity)
    if state is State.DONE and not TELLS_DONE.search(evidence.quote):
        for start, end in sentence_spans(line.line.text):
            if TELLS_DONE.search(line.line.text[start:end]):
                return sentence_around(line.line.segment, start, end, polarity)
    return evidence


def _is_told(entry: Entry, step: Step) -> bool:
    # Where a fact was asked for, telling it answers.
    return entry.kind is RequestKind.QUESTION and step.state in (
        State.EXPLAINED,
        State.INSTRUCTED,
        State.TAKEN,
    )
