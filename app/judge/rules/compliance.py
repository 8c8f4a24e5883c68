"""Rules of what must be said and what must not: disclosure, claims, and private data."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from operator import attrgetter
from typing import NamedTuple

from app.judge.acts.catalogue import Act
from app.judge.acts.reading import LineActs
from app.judge.dialogue.cues import Cue
from app.judge.dialogue.evidence import CONTRADICTS, SUPPORTS, sentence_spans
from app.judge.facts.conversation_facts import (
    Facts,
    breach_evidence,
    distinct,
    examined,
    performed,
    quoted,
)
from app.judge.facts.manner import Manner, is_question
from app.judge.languages.detection import ENGLISH
from app.judge.languages.words import phrase_pattern
from app.judge.scorecard.values import Criterion
from app.judge.scoring.answers import Answer, not_applicable, unjudged, yes_or_no
from app.judge.wording import in_quotes, listed, sentence

# How likely a line asks for a secret where a person should look.
_PERHAPS, _SURELY = 0.15, 0.7
# How surely a line asks who the customer is, so that more could have been asked.
_VERIFIES = 0.65
# How surely a line changes something before it is held against the agent.
_CHANGED = 0.6
_MOST_BETWEEN = 3
# A question of so few words may leave out the verb; the models have to read it so, too.
_ELLIPTIC_WORDS, _READ_SO = 7, 0.3
# The digits of a card, by figures or words, and how many lines may be between them and the question.
_CARD_DIGITS, _LINES_BETWEEN = 13, 5
_DIGIT = re.compile(
    r"\d|\b(?:zero|oh|one|two|three|four|five|six|seven|eight|nine)\b", re.IGNORECASE
)
# Who says that it is not wanted asks for nothing, unless something else is asked for after that.
_UNWANTED = re.compile(
    r"\b(?:(?:do|does|did|ca|wo|would|should|must|need)n\W?t|cannot|not|never|no need|without|nobody|no one)"
    r"(?:\W+(?:please|ever|even|also|actually|to|need|have|want|for|you|me|us|i|we|will|be|going)){0,5}\W+"
    r"(?:read|tell|give|say|send|share|show|type|write|spell|ask|need|take|want|email|text|post)(?:ing)?\b",
    re.IGNORECASE,
)


class Slots(NamedTuple):
    """Patterns of what fills the slots of acts: secrets by name, and lines that ask, except and change."""

    secrets: Mapping[str, re.Pattern[str]]
    lines: Mapping[str, re.Pattern[str]]


@cache
def slots() -> Slots:
    """Read the phrases of the package."""
    document = tomllib.loads((files("app.judge.rules") / "compliance.toml").read_text("utf-8"))
    return Slots(
        *(
            {name: _any_of(phrases) for name, phrases in document[part].items()}
            for part in ("secrets", "lines")
        )
    )


def _any_of(phrases: Iterable[str]) -> re.Pattern[str]:
    patterns = (phrase_pattern(phrase, most_between=_MOST_BETWEEN) for phrase in phrases)
    return re.compile("|".join(patterns), re.IGNORECASE)


def secrets_asked(facts: Facts) -> dict[str, list[Cue]]:
    """Find where the agent asks to be told a secret in other words than the lexicon's, by its name."""
    secrets = slots().secrets
    asked: dict[str, list[Cue]] = {}
    for acts in facts.acts.service:
        line, text = acts.line, acts.line.text
        if Act.ASK_SECRET not in acts.marks or line.language != ENGLISH or _is_excepted(text):
            continue
        asking = [span for span in sentence_spans(text) if _asks(acts, *span)]
        for name, pattern in secrets.items():
            for start, end in asking:
                if match := pattern.search(text, start, end):
                    asked.setdefault(name, []).append(Cue("asks_secret", line, *match.span()))
    if cards := list(_cards_taken(facts)):
        asked.setdefault("a whole card number", cards)
    return asked


def _asks(acts: LineActs, start: int, end: int) -> bool:
    """Tell whether a sentence asks to be told what it names."""
    text, lines = acts.line.text, slots().lines
    if lines["asks"].search(text, start, end):
        return True
    if _asks_whether(text, start, end):
        return False
    few = len(text[start:end].split()) <= _ELLIPTIC_WORDS and acts.of(Act.ASK_SECRET) >= _READ_SO
    return few or is_question(text, start, end)


def _asks_whether(text: str, start: int, end: int) -> bool:
    return slots().lines["whether"].match(text[start:end].lstrip()) is not None


def _cards_taken(facts: Facts) -> Iterator[Cue]:
    """Yield where the customer tells all digits of a card after the agent has spoken of its number."""
    lines = slots().lines
    for told in facts.dialogue.customer:
        if len(_DIGIT.findall(told.text)) < _CARD_DIGITS or told.language != ENGLISH:
            continue
        before = [
            line
            for line in facts.dialogue.service
            if told.position - _LINES_BETWEEN <= line.position < told.position
        ]
        text = " ".join(line.text for line in before)
        asked = next((line for line in before if lines["card"].search(line.text)), None)
        if asked and not lines["other_cards"].search(text) and not _is_excepted(text):
            yield Cue("asks_secret", asked, 0, len(asked.text))
            yield Cue("asks_secret", told, 0, len(told.text))


def account_changes(facts: Facts) -> list[Cue]:
    """List where the agent has changed something that needs a check of identity before."""
    pattern = slots().lines["account_changes"]
    return [
        Cue("account_detail", acts.line, *match.span())
        for acts in facts.acts.service
        if acts.of(Act.DONE) >= _CHANGED and (match := pattern.search(acts.line.text))
    ]


def _is_excepted(text: str) -> bool:
    lines = slots().lines
    unwanted = _UNWANTED.search(text)
    return lines["excepts"].search(text) is not None or (
        unwanted is not None and not lines["asks"].search(text, unwanted.end())
    )


def misleading_claims(facts: Facts, criterion: Criterion) -> Answer:
    """Answer no when the agent makes one of the scorecard's claims, without denying it."""
    claims, window = criterion.parameters["claims"], facts.phrases.window("agent")
    if not facts.dialogue.attributed:
        return unjudged(sentence("not_judged.one_channel"))
    made = [
        (claim, match)
        for claim in claims
        if (match := window.first_said(claim["anyOf"], manner=Manner(negated="never"))) is not None
    ]
    return yes_or_no(
        not made,
        facts.sentence(
            "claims.made" if made else "claims.none",
            titles=listed([in_quotes(claim["title"]) for claim, _ in made]),
        ),
        confidence=0.85,
        evidence=distinct(piece for _, match in made for piece in match.evidence(CONTRADICTS))
        or examined(window.lines, SUPPORTS),
    )


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
    if asked := secrets_asked(facts):
        return yes_or_no(
            False,
            facts.sentence("data_handling.asked_for", what=listed(list(asked))),
            confidence=facts.confidence(0.85),
            evidence=quoted([cue for cues in asked.values() for cue in cues], CONTRADICTS),
        )
    requests = facts.said("asks_secret") or [
        cue
        for line in facts.acts.service
        if line.of(Act.ASK_SECRET) >= _SURELY
        and not (line.shows(Act.VERIFY) or _is_excepted(line.line.text))
        for cue in performed(facts, [line.line], Act.ASK_SECRET)
        if not _asks_whether(line.line.text, cue.start, cue.end)
    ]
    if requests:
        return yes_or_no(
            False,
            facts.sentence("data_handling.asked"),
            confidence=facts.confidence(0.85),
            evidence=quoted(requests, CONTRADICTS),
        )
    if any(
        line.of(Act.ASK_SECRET) >= _PERHAPS and not _is_excepted(line.line.text)
        for line in facts.acts.service
    ):
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
    """Answer no when somebody else's matter is told, also to someone who speaks for that person.

    Answer yes when the agent refuses, or asks for the authority first. Where the customer speaks
    for somebody else and neither is said, nothing was disclosed.
    """
    if told := breach_evidence(facts, Act.TELL_OTHER):
        return yes_or_no(
            False, facts.sentence("incident.told_other"), confidence=0.75, evidence=told
        )
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
