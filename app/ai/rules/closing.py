"""The rules of how a conversation ends: solution confirmed, recap, clean close, hand-off, opt-out."""

from app.ai.dialogue.cues import Cue
from app.ai.dialogue.evidence import CONTRADICTS
from app.ai.facts.gathering import Facts, capital, places, quoted
from app.ai.scorecard.values import Criterion
from app.ai.scoring.answers import Answer, judged, not_applicable, yes_or_no

_ELEMENTS = {
    "recap": "a recap",
    "next_step": "a next step with a time",
    "offer_help": "an offer of more help",
}
_LAST_LINES = 4


def resolution_confirmed(facts: Facts, criterion: Criterion) -> Answer:
    """Answer yes when near the end it is asked or said that the issue is solved, and not denied.

    That the customer closes content says so as well, with thanks or nothing more to ask; but where
    something failed, thanks alone are courtesy. Who is refused on a stated ground has nothing to
    confirm.
    """
    if is_transferred(facts):
        return not_applicable("The customer was transferred.")
    ending = facts.ending(criterion.parameters["lastTurns"])
    solved, checks = facts.heard("solved", ending), facts.said("solved_check", ending)
    content = _content(facts)
    denied = facts.heard("still_broken", ending) + facts.heard("gives_up", ending)
    last = _last(solved + checks + content)
    if denied and (last is None or _place(_latest(denied)) > _place(last)):
        return yes_or_no(
            False,
            f"Near the end it is said that the issue remains ({places(denied)}).",
            confidence=facts.sure(0.75),
            evidence=quoted(denied, CONTRADICTS),
        )
    who = "the customer says" if facts.dialogue.attributed else "it is said"
    for cues, explanation in (
        (solved, f"{capital(who)} that it is solved ({places(solved)})."),
        (content, f"The customer closes content ({places(content)})."),
        (checks, f"{capital(facts.agent)} asks whether it is solved ({places(checks)})."),
    ):
        if cues:
            return yes_or_no(True, explanation, confidence=facts.sure(0.85), evidence=quoted(cues))
    if _ends_refused(facts):
        return not_applicable("What is asked for is refused on a stated ground.")
    return yes_or_no(
        False,
        "Near the end nobody asks or says whether the issue is solved.",
        confidence=facts.sure(0.6),
    )


def _content(facts: Facts) -> list[Cue]:
    # What was done last, and what the customer says to it.
    done = _last(_all_said(facts, "done", "success"))
    grounded = {cue.line.position for cue in _refusals(facts)}
    failed = _all_said(facts, "failure", "no_result")
    failed += [cue for cue in facts.said("bad_news") if done and _place(cue) > _place(done)]
    if any(cue.line.position not in grounded for cue in failed):
        return []
    said = [cue for kind in ("thanks", "praise", "nothing_more") for cue in facts.heard(kind)]
    after = [cue for cue in said if done is None or _place(cue) > _place(done)]
    if not after:
        return []
    return [*([] if done is None else [done]), _latest(after)]


def _refusals(facts: Facts) -> tuple[Cue, ...]:
    return () if facts.reading is None else facts.reading.friction.refusals


def _ends_refused(facts: Facts) -> bool:
    refused, done = _last(list(_refusals(facts))), _last(_all_said(facts, "done", "success"))
    return refused is not None and (done is None or _place(refused) > _place(done))


def _all_said(facts: Facts, *kinds: str) -> list[Cue]:
    return [cue for kind in kinds for cue in facts.said(kind)]


def recap(facts: Facts, criterion: Criterion) -> Answer:
    """Count recap, next step with a time and offer of more help in the last turns."""
    parameters = criterion.parameters
    if left_first(facts):
        return not_applicable("The customer leaves before the close.")
    ending = facts.ending(parameters["lastTurns"])
    found = {kind: facts.said(kind, ending) for kind in _ELEMENTS}
    present = [kind for kind in _ELEMENTS if found[kind]]
    cues = [found[kind][0] for kind in present]
    named = " and ".join(_ELEMENTS[kind] for kind in present)
    if len(present) >= parameters["fullElements"]:
        level, score = 2, 1.0
    elif len(present) >= parameters["halfElements"]:
        level, score = 1, 0.5
    else:
        level, score = 0, 0.0
    return judged(
        level,
        score,
        f"The close holds {named} ({places(cues)})."
        if present
        else "The close holds neither a recap nor a next step with a time nor an offer of more help.",
        confidence=facts.sure(0.75 if present else 0.65),
        evidence=quoted(cues),
    )


def clean_close(facts: Facts, criterion: Criterion) -> Answer:
    """Answer yes when the last turns thank, offer more help or say goodbye."""
    if is_transferred(facts):
        return not_applicable("The caller was transferred.")
    if left_first(facts):
        return not_applicable("The caller leaves before the close.")
    ending = facts.ending(criterion.parameters["lastTurns"])
    found = [
        cue for kind in ("closing", "thanks", "offer_help") for cue in facts.said(kind, ending)
    ]
    if found:
        explanation = f"{capital(facts.agent)} closes the call in {places(found)}."
    else:
        explanation = f"At the end {facts.agent} neither thanks nor offers help nor says goodbye."
    return yes_or_no(
        bool(found), explanation, confidence=0.8 if found else 0.7, evidence=quoted(found)
    )


def handoff(facts: Facts, criterion: Criterion) -> Answer:
    """Answer yes when a person takes over after the customer has asked for one."""
    asked = facts.heard("escalation_request")
    if not asked:
        return not_applicable("Nobody asks for a human.")
    met = facts.context.transferred
    after = [line for line in facts.dialogue.lines if line.position > asked[0].line.position]
    announced = facts.said("transfer", after)
    if met is None:
        met = bool(announced) or any(line.by_human for line in after)
    where = asked[0].line.segment.id
    if met:
        explanation = f"A human is asked for in {where}, and the call is handed over."
    else:
        explanation = f"A human is asked for in {where}, and the call is not handed over."
    evidence = quoted(asked[:1] + announced[:1]) if met else quoted(asked, CONTRADICTS)
    return yes_or_no(met, explanation, confidence=0.85 if met else 0.75, evidence=evidence)


def opt_out(facts: Facts, criterion: Criterion) -> Answer:
    """Answer yes when a request not to be called again is confirmed after it."""
    asked = facts.heard("opt_out")
    if not asked:
        return not_applicable("Nobody asks not to be called again.")
    first = asked[0]
    done = [cue for cue in facts.said("opt_out_done") if cue.line.position > first.line.position]
    if done:
        explanation = f"The request in {first.line.segment.id} is confirmed in {places(done)}."
        return yes_or_no(True, explanation, confidence=0.85, evidence=quoted([first, *done[:1]]))
    return yes_or_no(
        False,
        f"The request in {first.line.segment.id} not to be called again is not confirmed.",
        confidence=0.75,
        evidence=quoted(asked, CONTRADICTS),
    )


def is_transferred(facts: Facts) -> bool:
    """Tell whether the customer was handed over, as known or else as announced."""
    if facts.context.transferred is not None:
        return facts.context.transferred
    return bool(facts.said("transfer"))


def left_first(facts: Facts) -> bool:
    """Tell whether the customer ended the conversation without any closing words."""
    if facts.context.ended_by != "customer":
        return False
    last = facts.dialogue.lines[-_LAST_LINES:]
    said = ("closing", "thanks", "solved", "nothing_more")
    return not any(facts.cues.of(kind, last) for kind in said)


def _last(cues: list[Cue]) -> Cue | None:
    return max(cues, key=_place, default=None)


def _latest(cues: list[Cue]) -> Cue:
    return max(cues, key=_place)


def _place(cue: Cue) -> tuple[int, int]:
    return (cue.line.position, cue.start)
