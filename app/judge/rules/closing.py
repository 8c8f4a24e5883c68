"""Rules of how a conversation ends: solution confirmed, recap, clean close, hand-off, opt-out."""

from collections.abc import Iterable
from operator import attrgetter

from app.judge.acts.catalogue import Act
from app.judge.dialogue.cues import Cue
from app.judge.dialogue.evidence import CONTRADICTS, Evidence
from app.judge.dialogue.turns import Line, Side
from app.judge.facts.conversation_facts import Facts, examined, performed, quoted, shown_act
from app.judge.facts.requests import (
    PLEASED,
    SURE,
    asks_nothing,
    awaits_promise,
    opt_out_confirmation,
    pleased_after,
    state_evidence,
    unanswered_calls,
    was_transferred,
    worst_first,
)
from app.judge.ledger.entries import State
from app.judge.rules.second_look import ACTS_OF, ENDING, is_missing, seen_by_reader
from app.judge.scorecard.values import Criterion
from app.judge.scoring.answers import Answer, judged, not_applicable, unjudged, yes_or_no
from app.judge.wording import listed, sentence

# The parts of a close, as explanations name them.
_PARTS = {
    "recap": "a recap",
    "next_step": "a next step with a time",
    "offer_help": "an offer of more help",
}
_COURTESIES = {"thanks": "thanks", "offer_help": "an offer of more help", "closing": "a goodbye"}
_LAST_LINES = 4
_QUOTED_LINES = 2
_FAREWELLS = ("thanks", "praise", "nothing_more")
_TELLS = (Act.SOLVED, Act.UNSOLVED, Act.PARTLY)


def resolution_confirmed(facts: Facts, criterion: Criterion) -> Answer:
    """Answer yes when near the end it is asked or said that the issue is solved, and not denied.

    A customer who closes content once something was done or answered says so as well. A customer whose
    request was refused, or waits for what was promised, has nothing to confirm.
    """
    no_occasion = _no_occasion(facts)
    if no_occasion is not None:
        return no_occasion
    ending = facts.ending(criterion.parameters["lastTurns"])
    if not facts.dialogue.attributed:
        return _confirmed_by_anybody(facts, ending)
    return _denied(facts) or _asked_or_said(facts, ending)


def _denied(facts: Facts) -> Answer | None:
    entries = worst_first(facts.ledger.matters)
    worst = entries[0].state if entries else None
    if worst in (State.DENIED, State.PARTLY):
        return _unconfirmed(facts, "denied", [state_evidence(facts, entries[0])])
    if any(entry.last(State.REFUSED) and not entry.closed for entry in entries):
        return not_applicable(sentence("confirmed.refused"))
    if worst is State.GIVEN_UP:
        return _unconfirmed(facts, "given_up", [state_evidence(facts, entries[0])])
    return None


def _asked_or_said(facts: Facts, ending: tuple[Line, ...]) -> Answer:
    entries = worst_first(facts.ledger.matters)
    lines = [line for line in facts.acts.lines if line.line in ending]
    told = [line for line in lines if line.line.side is Side.CUSTOMER and line.shows(*_TELLS)][-1:]
    solved = [line for line in told if line.of(Act.SOLVED) >= SURE]
    checks = [
        line for line in lines if line.line.side is Side.SERVICE and line.of(Act.CHECK) >= SURE
    ]
    for found, act, key in ((solved, Act.SOLVED, "solved"), (checks, Act.CHECK, "asked")):
        if found:
            return _confirmed(facts, key, [shown_act(found[-1], (act,))])
    pleased = [(entry, pleased_after(facts, entry)) for entry in entries]
    if entries and all(line for _, line in pleased):
        entry, line = pleased[-1]
        evidence = [state_evidence(facts, entry), shown_act(line, PLEASED)] if line else []
        return _confirmed(facts, "content", evidence)
    if any(awaits_promise(facts, entry) for entry in entries):
        return not_applicable(sentence("confirmed.promised"))
    thanked = any(line.shows(Act.THANK) and not line.shows(Act.DECLINE) for line in lines)
    return _unconfirmed(
        facts,
        "only_thanks" if thanked else "missing",
        examined(ending[-_QUOTED_LINES:]),
    )


def _confirmed_by_anybody(facts: Facts, ending: tuple[Line, ...]) -> Answer:
    for kind, key in (("solved", "solved"), ("solved_check", "asked")):
        if cues := facts.cues.of(kind, lines=ending):
            return _confirmed(facts, key, quoted(cues))
    done = max(facts.cues.of("done", "success"), key=attrgetter("place"), default=None)
    content = [
        cue for cue in facts.cues.of(*_FAREWELLS, lines=ending) if done and cue.place > done.place
    ]
    if done and content:
        return _confirmed(facts, "content", quoted([done, content[-1]]))
    return _unconfirmed(facts, "missing", examined(ending[-_QUOTED_LINES:]))


def _confirmed(facts: Facts, key: str, evidence: Iterable[Evidence]) -> Answer:
    return yes_or_no(
        True,
        facts.sentence(f"confirmed.{key}"),
        confidence=facts.confidence(0.85),
        evidence=evidence,
    )


def _unconfirmed(facts: Facts, key: str, evidence: Iterable[Evidence]) -> Answer:
    return yes_or_no(
        False,
        facts.sentence(f"confirmed.{key}"),
        confidence=facts.confidence(0.7),
        evidence=evidence,
        advice=sentence("advice.confirmed"),
    )


def _no_occasion(facts: Facts) -> Answer | None:
    """Return why a close cannot be judged: a transfer, no request, or a customer who has left."""
    if was_transferred(facts):
        return not_applicable(facts.sentence("no_occasion.transferred"))
    if asks_nothing(facts):
        return not_applicable(facts.sentence("no_occasion.praise"))
    if unanswered_calls(facts):
        return not_applicable(facts.sentence("no_occasion.left_first"))
    return None


def recap(facts: Facts, criterion: Criterion) -> Answer:
    """Count recap, next step with a time and offer of more help in the last turns."""
    parameters = criterion.parameters
    no_occasion = _no_occasion(facts)
    if no_occasion is not None:
        return no_occasion
    if _left_first(facts):
        return not_applicable(facts.sentence("no_occasion.left_first"))
    ending = facts.ending(parameters["lastTurns"])
    found = ending_parts(facts, ending)
    cues_of_kind = seen_by_reader(facts, ENDING, found, ending)
    present = [kind for kind in _PARTS if cues_of_kind[kind]]
    # What words show and a reader would hardly see is neither there nor missing.
    absent = [
        kind
        for kind in _PARTS
        if not (found[kind] or cues_of_kind[kind]) and is_missing(facts, ENDING[kind])
    ]
    if len(present) < parameters["fullElements"] and len(present) + len(absent) < len(_PARTS):
        return unjudged(sentence("not_judged.unsure"))
    if len(present) >= parameters["fullElements"]:
        level, score = 2, 1.0
    elif len(present) >= parameters["halfElements"]:
        level, score = 1, 0.5
    else:
        level, score = 0, 0.0
    if not present:
        # Not every conversation needs a close in form: the score counts it, and no words claim it.
        return unjudged(sentence("not_judged.estimated"), estimate=score)
    return judged(
        level,
        score,
        facts.sentence("recap.given", given=listed([_PARTS[kind] for kind in present])),
        confidence=facts.confidence(0.75),
        evidence=quoted(cues_of_kind[kind][0] for kind in present),
        advice=_recap_advice(present),
    )


def ending_parts(facts: Facts, ending: tuple[Line, ...]) -> dict[str, list[Cue]]:
    return {
        kind: facts.said(kind, lines=ending) or performed(facts, ending, *ACTS_OF[ENDING[kind]])
        for kind in _PARTS
    }


def _recap_advice(present: list[str]) -> str:
    missing = [_PARTS[kind] for kind in _PARTS if kind not in present]
    return sentence("advice.recap", missing=listed(missing))


def clean_close(facts: Facts, criterion: Criterion) -> Answer:
    """Answer yes when the last turns thank, offer more help or say goodbye."""
    if was_transferred(facts):
        return not_applicable(facts.sentence("no_occasion.transferred"))
    if _left_first(facts):
        return not_applicable(facts.sentence("no_occasion.left_first"))
    ending = facts.ending(criterion.parameters["lastTurns"])
    cues_of_kind = {kind: facts.said(kind, lines=ending) for kind in _COURTESIES}
    present = [kind for kind in _COURTESIES if cues_of_kind[kind]]
    if not present:
        return unjudged(sentence("not_judged.estimated"), estimate=0.0)
    return yes_or_no(
        True,
        facts.sentence("close.clean", given=listed([_COURTESIES[kind] for kind in present])),
        confidence=0.8,
        evidence=quoted(cues_of_kind[kind][0] for kind in present),
    )


def handoff(facts: Facts, criterion: Criterion) -> Answer:
    """Answer yes when a person takes over after the customer has asked for one."""
    requests = facts.heard("escalation_request")
    if not requests:
        return not_applicable(facts.sentence("handoff.not_asked"))
    handed_over = facts.context.transferred
    after = [line for line in facts.dialogue.lines if line.position > requests[0].line.position]
    announced = facts.said("transfer", lines=after)
    if handed_over is None:
        handed_over = bool(announced) or any(line.by_human for line in after)
    return yes_or_no(
        handed_over,
        facts.sentence("handoff.done" if handed_over else "handoff.missing"),
        confidence=0.85 if handed_over else 0.75,
        evidence=quoted(requests[:1] + announced[:1])
        if handed_over
        else quoted(requests, CONTRADICTS),
    )


def opt_out(facts: Facts, criterion: Criterion) -> Answer:
    """Answer yes when a request not to be called again is confirmed after it."""
    requests = facts.heard("opt_out")
    if not requests:
        return not_applicable(facts.sentence("opt_out.not_asked"))
    done = opt_out_confirmation(facts)
    replies = [line for line in facts.dialogue.service if line.position > requests[0].line.position]
    if done is None and performed(facts, replies[:1], Act.DONE):
        return unjudged(sentence("not_judged.unsure"))
    return yes_or_no(
        done is not None,
        facts.sentence("opt_out.confirmed" if done else "opt_out.missing"),
        confidence=0.85 if done else 0.75,
        evidence=quoted([requests[0], done]) if done else quoted(requests, CONTRADICTS),
    )


def _left_first(facts: Facts) -> bool:
    """Tell whether the customer ended the conversation, or stopped replying, without closing words."""
    if unanswered_calls(facts):
        return True
    if facts.context.ended_by != "customer":
        return False
    last = facts.dialogue.lines[-_LAST_LINES:]
    kinds = ("closing", "thanks", "solved", "nothing_more")
    return not facts.cues.of(*kinds, lines=last)
