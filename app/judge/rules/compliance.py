"""Rules of what must be said and what must not: disclosure, and private data."""

from operator import attrgetter

from app.judge.acts.catalogue import Act
from app.judge.dialogue.evidence import CONTRADICTS
from app.judge.facts.conversation_facts import Facts, distinct, examined, performed, quoted
from app.judge.scorecard.values import Criterion
from app.judge.scoring.answers import Answer, not_applicable, unjudged, yes_or_no
from app.judge.wording import in_quotes, listed, sentence

# How likely a line asks for a secret where a person should look.
_PERHAPS, _SURELY = 0.15, 0.7
# How surely a line asks who the customer is, so that more could have been asked.
_VERIFIES = 0.65


def disclosure(facts: Facts, criterion: Criterion) -> Answer:
    """Answer yes when each required statement is made, in one of its phrases."""
    statements = criterion.parameters["requiredStatements"]
    if not statements:
        return not_applicable(sentence("disclosure.none_required"))
    evidence_of_statement = {
        item["key"]: facts.phrases.statement_evidence(item) for item in statements
    }
    missing = [item["title"] for item in statements if not evidence_of_statement[item["key"]]]
    evidence = [item for pieces in evidence_of_statement.values() for item in pieces]
    return yes_or_no(
        not missing,
        sentence(
            "disclosure.missing" if missing else "disclosure.complete",
            titles=listed([in_quotes(title) for title in missing]),
        ),
        confidence=facts.confidence(0.7 if missing else 0.95),
        evidence=distinct(evidence) or examined(facts.opening(2)),
    )


def data_handling(facts: Facts, criterion: Criterion) -> Answer:
    """Answer no when the agent asks to be told a full card number, CVV, PIN, code or password.

    Keying them in, unheard, is the secure way and no fault.
    """
    requests = facts.said("asks_secret") or [
        cue
        for line in facts.acts.service
        if line.of(Act.ASK_SECRET) >= _SURELY and not line.shows(Act.VERIFY)
        for cue in performed(facts, [line.line], Act.ASK_SECRET)
    ]
    if requests:
        return yes_or_no(
            False,
            facts.sentence("data_handling.asked"),
            confidence=facts.confidence(0.85),
            evidence=quoted(requests, CONTRADICTS),
        )
    if any(line.of(Act.ASK_SECRET) >= _PERHAPS for line in facts.acts.service):
        return unjudged(facts.sentence("data_handling.perhaps"))
    # In a very short conversation, a missing request proves little.
    least = criterion.parameters["minWords"]
    lines = facts.dialogue.service if facts.dialogue.attributed else facts.dialogue.lines
    if sum(len(line.text.split()) for line in lines) < least:
        return unjudged(facts.sentence("not_judged.few_words", least=least))
    checks = facts.said("identity_check") or performed(facts, lines, Act.VERIFY, least=_VERIFIES)
    if not checks:
        return not_applicable(facts.sentence("data_handling.no_occasion"))
    return yes_or_no(
        True,
        facts.sentence("data_handling.clean"),
        confidence=facts.confidence(0.8),
        evidence=quoted(checks),
    )


def third_party(facts: Facts, criterion: Criterion) -> Answer:
    """Answer no when details of another person are told to someone who speaks for that person.

    Answer yes when the agent refuses, or asks for the authority first. Where the customer speaks
    for somebody else and neither is said, nothing was disclosed.
    """
    claims = facts.heard("third_party")
    if not claims:
        return not_applicable(facts.sentence("third_party.no_occasion"))
    if facts.heard("authority_check"):
        return unjudged(facts.sentence("third_party.authority_claimed"))
    claim = claims[0]
    after = [line for line in facts.dialogue.service if line.position > claim.line.position]
    details = facts.said("third_party_detail", lines=after)
    checks = facts.said("authority_check", lines=after)
    detail = min(details, key=attrgetter("place"), default=None)
    if checks and (detail is None or checks[0].line.position <= detail.line.position):
        return yes_or_no(
            True,
            facts.sentence("third_party.protected"),
            confidence=0.7,
            evidence=quoted([claim, checks[0]]),
        )
    if detail is None:
        return not_applicable(facts.sentence("third_party.nothing_told"))
    return yes_or_no(
        False,
        facts.sentence("third_party.disclosed"),
        confidence=0.7,
        evidence=quoted([claim, detail], CONTRADICTS),
    )
