"""Rules of how a conversation ends: solution confirmed, recap, clean close, hand-off, opt-out."""

import re
from collections.abc import Iterator
from itertools import pairwise
from operator import attrgetter

from app.ai.conduct.readings import SHOWN
from app.ai.dialogue.cues import Cue
from app.ai.dialogue.evidence import CONTRADICTS
from app.ai.dialogue.turns import Line, Side
from app.ai.facts.conversation_facts import Facts, examined, quoted
from app.ai.rules.course import (
    asks_nothing,
    last_request_for_person,
    mood_at_end,
    opt_out_confirmation,
    standing_refusal,
    unanswered_calls,
)
from app.ai.scorecard.values import Criterion
from app.ai.scoring.answers import Answer, judged, not_applicable, yes_or_no
from app.ai.wording import listed, no, sentence

# The parts of a close, as explanations name them.
_PARTS = {
    "recap": "a recap",
    "next_step": "a next step with a time",
    "offer_help": "an offer of more help",
}
_COURTESIES = {"thanks": "thanks", "offer_help": "an offer of more help", "closing": "a goodbye"}
_LAST_LINES = 4
# Without a completed action, only thanks in the customer's last lines count.
_LAST_THANKS = 3
# Praise in a line that sounds like this or worse is none.
_GRUDGING = -0.2
_NO_BEFORE = re.compile(r"\b(?:no|nope)\W{1,3}\Z", re.IGNORECASE)
_BARE_NO = re.compile(r"\W*(?:no|nope|nah)(?:\W+(?:thanks|thank you|thx))?\W*", re.IGNORECASE)
_QUOTED_LINES = 2
_REQUEST = re.compile(
    r"\W*(?:just|only|please|i (?:just |only )?(?:want|need)|can|could)\b", re.IGNORECASE
)


def resolution_confirmed(facts: Facts, criterion: Criterion) -> Answer:
    """Answer yes when near the end it is asked or said that the issue is solved, and not denied.

    A customer who closes content says so as well, with thanks or nothing more to ask; but where
    something failed and was not done later, thanks alone are courtesy. A customer whose request was refused for a stated
    reason has nothing to confirm.
    """
    no_occasion = _no_occasion(facts)
    if no_occasion is not None:
        return no_occasion
    ending = facts.ending(criterion.parameters["lastTurns"])
    solved, checks = facts.heard("solved", lines=ending), facts.said("solved_check", lines=ending)
    content = _content(facts)
    denied = facts.heard("still_broken", "gives_up", lines=ending)
    last = _last(solved + checks + content)
    denies = denied and (
        last is None or max(denied, key=attrgetter("place")).line.position >= last.line.position
    )
    if denies and _refusals(facts) and _denial(denied) == "given_up":
        return not_applicable(sentence("confirmed.refused"))
    if denies:
        return yes_or_no(
            False,
            facts.sentence(f"confirmed.{_denial(denied)}"),
            confidence=facts.confidence(0.75),
            evidence=quoted(denied, CONTRADICTS),
            advice=sentence("advice.confirmed"),
        )
    end = mood_at_end(facts)
    is_bad = end is not None and end.is_bad
    refused = standing_refusal(facts) is not None
    for cues, key in (
        (solved, "confirmed.solved"),
        ([] if is_bad or refused else content, _content_key(content)),
        ([] if is_bad else checks, "confirmed.asked"),
    ):
        if cues:
            return yes_or_no(
                True, facts.sentence(key), confidence=facts.confidence(0.85), evidence=quoted(cues)
            )
    if refused:
        return not_applicable(sentence("confirmed.refused"))
    if end is not None and end.is_bad:
        return yes_or_no(
            False,
            facts.sentence(f"resolution.ends_{end.mood}"),
            confidence=0.7,
            evidence=[end.evidence],
            advice=sentence("advice.confirmed"),
        )
    thanked = any(not _declines(cue) for cue in facts.heard("thanks", lines=ending))
    return yes_or_no(
        False,
        facts.sentence("confirmed.only_thanks" if thanked else "confirmed.missing"),
        confidence=facts.confidence(0.6),
        evidence=examined(ending[-_QUOTED_LINES:]),
    )


def _no_occasion(facts: Facts) -> Answer | None:
    """Return why a close cannot be judged: a transfer, no request, or a customer who has left."""
    if is_transferred(facts):
        return not_applicable(facts.sentence("no_occasion.transferred"))
    if asks_nothing(facts):
        return not_applicable(facts.sentence("no_occasion.praise"))
    if unanswered_calls(facts):
        return not_applicable(facts.sentence("no_occasion.left_first"))
    return None


def _denial(denied: list[Cue]) -> str:
    remains = any(cue.kind == "still_broken" for cue in denied)
    return "denied" if remains else "given_up"


def _content_key(content: list[Cue]) -> str:
    kinds = {"nothing_more" if _declines(cue) else cue.kind for cue in content}
    said = next((kind for kind in ("thanks", "praise") if kind in kinds), "nothing_more")
    return f"confirmed.{said}{'_after_done' * (len(content) > 1)}"


def _content(facts: Facts) -> list[Cue]:
    # The last completed action and the customer's reply to it.
    done = _last(facts.said("done", "success"))
    remaining = _last(facts.heard("still_broken"))
    if remaining is not None and (done is None or done.place < remaining.place):
        return []
    reasoned = {cue.line.position for cue in _refusals(facts)}
    failed = facts.said("failure", "no_result", *(["bad_news"] if done else []))
    failed = [cue for cue in failed if cue.line.position not in reasoned]
    if last_request_for_person(facts) or not _made_up_for(facts, failed, done):
        return []
    lines = facts.dialogue.customer[-_LAST_THANKS:] if facts.dialogue.attributed else None
    replies = facts.heard("thanks", "praise", "nothing_more", lines=None if done else lines)
    replies += _declined_offers(facts) if done else ()
    after = [
        cue
        for cue in replies
        if (not _asks_on(facts, cue) if done is None else cue.place > done.place)
        and not _is_grudging(facts, cue)
    ]
    if not after:
        return []
    thanks = [cue for cue in after if cue.kind != "nothing_more" and not _declines(cue)]
    if any(cue.kind != "bad_news" for cue in failed) and not thanks:
        return []
    return [*([] if done is None else [done]), max(thanks or after, key=attrgetter("place"))]


def _made_up_for(facts: Facts, failed: list[Cue], done: Cue | None) -> bool:
    # What failed at first counts no more once it is done, unless the customer got something else.
    if facts.model_input is not None and facts.model_input.friction.concessions and failed:
        return False
    return all(
        done is not None and cue.kind != "no_result" and cue.place < done.place for cue in failed
    )


def _declined_offers(facts: Facts) -> Iterator[Cue]:
    # Once something was done, a bare "no" to an offer of more help also means that nothing is left.
    for before, reply in pairwise(facts.dialogue.turns):
        if reply.side is not Side.CUSTOMER or not facts.said("offer_help", lines=before.lines[-1:]):
            continue
        if bare := _BARE_NO.fullmatch(reply.lines[0].text):
            yield Cue("nothing_more", reply.lines[0], *bare.span())


def _declines(cue: Cue) -> bool:
    # "No, thanks" has nothing more to ask.
    return _NO_BEFORE.search(cue.line.text[: cue.start]) is not None


def _asks_on(facts: Facts, cue: Cue) -> bool:
    # "No thanks, just cancel it."
    return _declines(cue) and (
        cue.line not in facts.dialogue.customer[-1:]
        or _REQUEST.match(cue.line.text[cue.end :]) is not None
    )


def _is_grudging(facts: Facts, cue: Cue) -> bool:
    # "That's two hours away. Great.", or a bare "Great." of a customer who was upset just before.
    return cue.kind == "praise" and any(
        line.line is cue.line and (line.score <= _GRUDGING or line.tension >= SHOWN > line.positive)
        for line in facts.readings.customer
    )


def _refusals(facts: Facts) -> tuple[Cue, ...]:
    return () if facts.model_input is None else facts.model_input.friction.refusals


def recap(facts: Facts, criterion: Criterion) -> Answer:
    """Count recap, next step with a time and offer of more help in the last turns."""
    parameters = criterion.parameters
    no_occasion = _no_occasion(facts)
    if no_occasion is not None:
        return no_occasion
    if _left_first(facts):
        return not_applicable(facts.sentence("no_occasion.left_first"))
    ending = facts.ending(parameters["lastTurns"])
    cues_of_kind = {kind: facts.said(kind, lines=ending) for kind in _PARTS}
    present = [kind for kind in _PARTS if cues_of_kind[kind]]
    if len(present) >= parameters["fullElements"]:
        level, score, key = 2, 1.0, "recap.complete"
    elif len(present) >= parameters["halfElements"]:
        level, score, key = 1, 0.5, "recap.partial"
    else:
        level, score, key = 0, 0.0, "recap.partial" if present else "recap.missing"
    return judged(
        level,
        score,
        facts.sentence(
            key,
            given=listed([_PARTS[kind] for kind in present]),
            missing=listed([no(name) for kind, name in _PARTS.items() if kind not in present]),
        ),
        confidence=facts.confidence(0.75 if present else 0.65),
        evidence=quoted(cues_of_kind[kind][0] for kind in present)
        or examined(_said_last(facts, ending)),
        advice=_recap_advice(present),
    )


def _recap_advice(present: list[str]) -> str | None:
    missing = [_PARTS[kind] for kind in _PARTS if kind not in present]
    return sentence("advice.recap", missing=listed(missing)) if present else None


def clean_close(facts: Facts, criterion: Criterion) -> Answer:
    """Answer yes when the last turns thank, offer more help or say goodbye."""
    if is_transferred(facts):
        return not_applicable(facts.sentence("no_occasion.transferred"))
    if _left_first(facts):
        return not_applicable(facts.sentence("no_occasion.left_first"))
    ending = facts.ending(criterion.parameters["lastTurns"])
    cues_of_kind = {kind: facts.said(kind, lines=ending) for kind in _COURTESIES}
    present = [kind for kind in _COURTESIES if cues_of_kind[kind]]
    return yes_or_no(
        bool(present),
        facts.sentence(
            "close.clean" if present else "close.missing",
            given=listed([_COURTESIES[kind] for kind in present]),
        ),
        confidence=0.8 if present else 0.7,
        evidence=quoted(cues_of_kind[kind][0] for kind in present)
        or examined(_said_last(facts, ending)),
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
    return yes_or_no(
        done is not None,
        facts.sentence("opt_out.confirmed" if done else "opt_out.missing"),
        confidence=0.85 if done else 0.75,
        evidence=quoted([requests[0], done]) if done else quoted(requests, CONTRADICTS),
    )


def _said_last(facts: Facts, ending: tuple[Line, ...]) -> list[Line]:
    # The last lines of the service side; anybody's where the sides are unknown.
    attributed = facts.dialogue.attributed
    lines = [line for line in ending if line.side is Side.SERVICE or not attributed]
    return lines[-_QUOTED_LINES:]


def is_transferred(facts: Facts) -> bool:
    """Tell whether the customer was handed over, as known or else as announced.

    Nobody was where somebody who took over did something, and the customer replied to it.
    """
    if facts.context.transferred is not None:
        return facts.context.transferred
    announced = _last(facts.said("transfer"))
    if announced is None:
        return False
    done = _last(facts.said("done", "success"))
    replied = max((line.position for line in facts.dialogue.customer), default=-1)
    return done is None or not announced.line.position < done.line.position < replied


def _left_first(facts: Facts) -> bool:
    """Tell whether the customer ended the conversation, or stopped replying, without closing words."""
    if unanswered_calls(facts):
        return True
    if facts.context.ended_by != "customer":
        return False
    last = facts.dialogue.lines[-_LAST_LINES:]
    kinds = ("closing", "thanks", "solved", "nothing_more")
    return not facts.cues.of(*kinds, lines=last)


def _last(cues: list[Cue]) -> Cue | None:
    return max(cues, key=attrgetter("place"), default=None)
