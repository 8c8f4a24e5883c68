"""The rules of how a conversation opens: greeting, verification, identity and purpose."""

import re

from app.ai.dialogue.cues import Cue
from app.ai.dialogue.evidence import CONTRADICTS
from app.ai.dialogue.turns import Line
from app.ai.facts.gathering import Facts, capital, places, quoted
from app.ai.scorecard.values import Criterion
from app.ai.scoring.answers import Answer, not_applicable, yes_or_no

_PARTS = {"greeting": "a greeting", "brand": "the brand", "name": "the own name"}
_MID_CALL = "The conversation starts in the middle."


def greeting(facts: Facts, criterion: Criterion) -> Answer:
    """Answer yes when every required part is in the first turns of the service side."""
    if facts.context.starts_mid_call:
        return not_applicable(_MID_CALL)
    turns = criterion.parameters["agentTurns"]
    opening = facts.opening(turns)
    found = {
        "greeting": facts.said("greeting", opening),
        "brand": _brand(facts, opening),
        "name": facts.said("introduction", opening),
    }
    wanted = criterion.parameters["requires"]
    missing = [_PARTS[part] for part in wanted if not found[part]]
    cues = [found[part][0] for part in wanted if found[part]]
    named = " and ".join(missing) or " and ".join(_PARTS[part] for part in wanted)
    verb = "lacks" if missing else "holds"
    where = f" ({places(cues)})" if cues else ""
    return yes_or_no(
        not missing,
        f"The opening, the first {turns} turns of {facts.agent}, {verb} {named}{where}.",
        confidence=0.75 if missing else 0.9,
        evidence=quoted(cues),
    )


def verification(facts: Facts, criterion: Criterion) -> Answer:
    """Answer yes when an identity check comes in a line before the first account detail."""
    details = facts.said("account_detail")
    if not details:
        return not_applicable("No account detail is touched.")
    first = details[0]
    checks = [
        cue for cue in facts.said("identity_check") if cue.line.position < first.line.position
    ]
    if checks:
        return yes_or_no(
            True,
            f"{capital(facts.agent)} verifies the customer in {places(checks)}, before the first "
            f"account detail in {first.line.segment.id}.",
            confidence=0.8,
            evidence=quoted(checks[:3]),
        )
    return yes_or_no(
        False,
        f"Account detail is given in {first.line.segment.id} without an identity check before it.",
        confidence=0.7,
        evidence=quoted([first], CONTRADICTS),
    )


def bot_identity(facts: Facts, criterion: Criterion) -> Answer:
    """Answer yes when the brand and, where required, the automation is named in the first turns."""
    if facts.context.starts_mid_call:
        return not_applicable(_MID_CALL)
    opening = facts.opening(criterion.parameters["agentTurns"])
    brand, automated = _brand(facts, opening), facts.said("automated", opening)
    required = criterion.parameters["automationDisclosureRequired"]
    missing = [] if brand else ["for whom it speaks"]
    if required and not automated:
        missing.append("that it is automated")
    said = brand[:1] + automated[:1]
    if missing:
        explanation = f"In its first turns {facts.agent} does not say {' or '.join(missing)}."
    else:
        explanation = f"{capital(facts.agent)} says who it is in {places(said)}."
    return yes_or_no(
        not missing, explanation, confidence=0.7 if missing else 0.85, evidence=quoted(said)
    )


def purpose(facts: Facts, criterion: Criterion) -> Answer:
    """Answer yes when the purpose of the call is stated or asked in the first turns."""
    if facts.context.starts_mid_call:
        return not_applicable(_MID_CALL)
    found = facts.said("purpose", facts.opening(criterion.parameters["agentTurns"]))
    if found:
        explanation = f"{capital(facts.agent)} states or asks the purpose in {places(found)}."
    else:
        explanation = f"{capital(facts.agent)} neither states nor asks the purpose at first."
    return yes_or_no(
        bool(found), explanation, confidence=0.8 if found else 0.65, evidence=quoted(found)
    )


def _brand(facts: Facts, lines: tuple[Line, ...]) -> list[Cue]:
    found = facts.said("brand", lines)
    for name in facts.context.brand_names:
        pattern = re.compile(rf"\b{re.escape(name)}\b", re.IGNORECASE)
        for line in lines:
            match = pattern.search(line.text)
            if match:
                found.append(Cue("brand", line, *match.span()))
    return sorted(found, key=lambda cue: (cue.line.position, cue.start))
