"""The rules of what must be said and what must not: disclosure, data handling, abuse."""

from app.ai.dialogue.evidence import CONTRADICTS
from app.ai.facts.gathering import Facts, capital, places, quoted
from app.ai.facts.spoken_phrases import statement_evidence
from app.ai.scorecard.values import Criterion
from app.ai.scoring.answers import (
    NOT_JUDGED_YET,
    Answer,
    judged,
    not_applicable,
    unjudged,
    yes_or_no,
)


def disclosure(facts: Facts, criterion: Criterion) -> Answer:
    """Answer yes when each required statement is made, in one of its phrases."""
    statements = criterion.parameters["requiredStatements"]
    if not statements:
        return not_applicable("The list of required statements is empty.")
    found = {item["key"]: statement_evidence(facts, item) for item in statements}
    missing = [item["title"] for item in statements if not found[item["key"]]]
    evidence = [item for pieces in found.values() for item in pieces]
    if missing:
        explanation = f"Not said: {'; '.join(missing)}."
    else:
        ids = ", ".join(dict.fromkeys(item.segment_id for item in evidence))
        explanation = f"Every required statement is made ({ids})."
    return yes_or_no(
        not missing,
        explanation,
        confidence=facts.sure(0.7 if missing else 0.95),
        evidence=evidence,
    )


def data_handling(facts: Facts, criterion: Criterion) -> Answer:
    """Answer no when the agent asks to be told a full card number, CVV, PIN, code or password.

    Keying them in, unheard, is the secure way and no fault.
    """
    asked = facts.said("asks_secret")
    if asked:
        return yes_or_no(
            False,
            f"{capital(facts.agent)} asks for what must not be asked for ({places(asked)}).",
            confidence=facts.sure(0.85),
            evidence=quoted(asked, CONTRADICTS),
        )
    # That something is not said means little where hardly anything is.
    least = criterion.parameters["minWords"]
    lines = facts.dialogue.service if facts.dialogue.attributed else facts.dialogue.lines
    if sum(len(line.text.split()) for line in lines) < least:
        return unjudged(f"Fewer than {least} words are said.")
    nobody = f"{facts.agent} never asks" if facts.dialogue.attributed else "nobody asks"
    return yes_or_no(
        True,
        f"{capital(nobody)} to be told a full card number, CVV, PIN, one-time code or password.",
        confidence=facts.sure(0.8),
    )


def abuse(facts: Facts, criterion: Criterion) -> Answer:
    """Answer with the lowest level on abuse; without it, how clear the rest is is not judged."""
    found = facts.said("profanity")
    if not found:
        return unjudged(NOT_JUDGED_YET)
    return judged(
        0,
        0.0,
        f"{capital(facts.agent)} is abusive ({places(found)}).",
        confidence=0.85,
        evidence=quoted(found, CONTRADICTS),
    )
