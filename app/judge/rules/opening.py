"""Rules of how a conversation opens: greeting, verification, identity and purpose."""

import re
from collections.abc import Mapping, Sequence
from operator import attrgetter

from app.judge.acts.catalogue import Act
from app.judge.dialogue.cues import Cue
from app.judge.dialogue.evidence import CONTRADICTS
from app.judge.dialogue.turns import Line
from app.judge.facts.conversation_facts import Facts, examined, performed, quoted
from app.judge.facts.requests import asks_nothing
from app.judge.languages.words import words_in
from app.judge.rules.compliance import account_changes
from app.judge.rules.second_look import OPENING, is_missing, seen_by_reader
from app.judge.scorecard.schema import GREETING_PARTS
from app.judge.scorecard.values import Criterion
from app.judge.scoring.answers import Answer, not_applicable, unjudged, yes_or_no
from app.judge.wording import first, listed, no, sentence

_IDENTITY = {"brand": "which company it speaks for", "automated": "that it is automated"}
# How surely a greeting, and the name of a company, are read that no phrase shows.
_CLEARLY, _SURELY = 0.7, 0.9
# All that somebody says who names a department and no company.
_NO_COMPANY = re.compile(
    r"\b(?:(?:member|customer|client|guest|patient|technical|help|front|service|sales?|billing|account|claim|order"
    r"|booking|reservation|part|tax|complaint)s?|services?|support|desk|team|line|hotline|helpdesk|department|office"
    r"|reception|this is|you(?: a|')re(?: through to| speaking with)?|hi|hello|good (?:morning|afternoon|evening)"
    r"|\w+ (?:speaking|here))\b",
    re.IGNORECASE,
)


def greeting(facts: Facts, criterion: Criterion) -> Answer:
    """Answer yes when every required part is in the first turns of the service side."""
    if facts.context.starts_mid_call:
        return not_applicable(sentence("no_occasion.mid_call"))
    turns = criterion.parameters["agentTurns"]
    opening = facts.opening(turns)
    cues_of_part = seen_by_reader(facts, OPENING, opening_parts(facts, opening), opening)
    required = criterion.parameters["requires"]
    missing = [part for part in required if not cues_of_part[part]]
    if not all(is_missing(facts, OPENING[part]) for part in missing):
        return unjudged(sentence("not_judged.unsure"))
    cues = [cues_of_part[part][0] for part in required if cues_of_part[part]]
    present = listed(_told(facts, {part: cues_of_part[part] for part in required}))
    kind = "complete" if not missing else "partial" if cues else "missing"
    return yes_or_no(
        not missing,
        facts.sentence(
            f"greeting.{kind}",
            turns=_first_turns(facts, turns),
            given=present,
            missing=listed([no(GREETING_PARTS[part]) for part in missing]),
        ),
        confidence=0.75 if missing else 0.9,
        evidence=examined(opening) if missing else quoted(cues),
        advice=sentence(
            "advice.greeting", missing=listed([GREETING_PARTS[part] for part in missing])
        ),
    )


def _told(facts: Facts, cues_of_part: Mapping[str, Sequence[Cue]]) -> list[str]:
    """Name the parts that are there: a place that was named is no greeting, and a department no company."""
    told = {part: GREETING_PARTS[part] for part, cues in cues_of_part.items() if cues}
    for part, cue in ((part, cues_of_part[part][0]) for part in list(told)):
        acts = facts.acts.at(cue.line.position)
        if cue.kind == Act.GREET and acts.of(Act.COMPANY) >= _CLEARLY > acts.of(Act.GREET):
            del told[part]
        elif cue.kind == Act.COMPANY and not words_in(_NO_COMPANY.sub("", cue.line.text)):
            told[part] = "the department"
    return list(told.values()) or [
        GREETING_PARTS[part] for part in cues_of_part if cues_of_part[part]
    ]


def opening_parts(facts: Facts, opening: tuple[Line, ...]) -> dict[str, list[Cue]]:
    """Find each part of a greeting in these lines."""
    return {
        "greeting": _greetings(facts, opening),
        "brand": _brand(facts, opening) or performed(facts, opening, Act.COMPANY, least=_SURELY),
        "name": facts.said("introduction", lines=opening)
        or _in_greeting(facts, "name_in_greeting", opening),
    }


def verification(facts: Facts, criterion: Criterion) -> Answer:
    """Answer yes when an identity check comes in a line before the first account detail."""
    details = sorted(
        [*facts.said("account_detail"), *account_changes(facts)], key=attrgetter("place")
    )
    if not details:
        return not_applicable(sentence("verification.no_detail"))
    first_detail = details[0]
    checks = [
        cue
        for cue in facts.said("identity_check")
        if cue.line.position < first_detail.line.position
    ]
    if checks:
        return yes_or_no(
            True,
            facts.sentence("verification.checked"),
            confidence=0.8,
            evidence=quoted([*checks[:2], first_detail]),
        )
    return yes_or_no(
        False,
        facts.sentence("verification.missing"),
        confidence=0.7,
        evidence=quoted([first_detail], CONTRADICTS),
    )


def bot_identity(facts: Facts, criterion: Criterion) -> Answer:
    """Answer yes when the brand and, where required, the automation is named in the first turns."""
    if facts.context.starts_mid_call:
        return not_applicable(sentence("no_occasion.mid_call"))
    turns = criterion.parameters["agentTurns"]
    opening = facts.opening(turns)
    cues_of_part = {
        "brand": _brand(facts, opening) or performed(facts, opening, Act.COMPANY, least=_SURELY),
        "automated": facts.said("automated", lines=opening),
    }
    automation_required = criterion.parameters["automationDisclosureRequired"]
    required = ["brand", "automated"] if automation_required else ["brand"]
    missing = [part for part in required if not cues_of_part[part]]
    if "brand" in missing and not is_missing(facts, OPENING["brand"]):
        return unjudged(sentence("not_judged.unsure"))
    return yes_or_no(
        not missing,
        facts.sentence(
            "bot_identity.missing" if missing else "bot_identity.complete",
            turns=_first_turns(facts, turns),
            said=listed([_IDENTITY[part] for part in cues_of_part if cues_of_part[part]]),
            missing=listed([_IDENTITY[part] for part in missing], "or"),
        ),
        confidence=0.7 if missing else 0.85,
        evidence=examined(opening)
        if missing
        else quoted(cue for cues in cues_of_part.values() for cue in cues[:1]),
    )


def purpose(facts: Facts, criterion: Criterion) -> Answer:
    """Answer yes when the purpose of the call is stated or asked in the first turns."""
    if facts.context.starts_mid_call:
        return not_applicable(sentence("no_occasion.mid_call"))
    turns = criterion.parameters["agentTurns"]
    opening = facts.opening(turns)
    cues = facts.said("purpose", lines=opening)
    if not cues and facts.reader is not None:
        return unjudged(sentence("not_judged.unsure"))
    return yes_or_no(
        bool(cues),
        facts.sentence(
            "purpose.given" if cues else "purpose.missing", turns=_first_turns(facts, turns)
        ),
        confidence=0.8 if cues else 0.65,
        evidence=quoted(cues) if cues else examined(opening),
    )


def _first_turns(facts: Facts, most: int) -> str:
    return first(min(most, len(facts.dialogue.service_turns)), "turn")


def _greetings(facts: Facts, lines: tuple[Line, ...]) -> list[Cue]:
    greetings = facts.said("greeting", lines=lines)
    if greetings:
        return greetings
    # Who says where one has called opens, too, and so does a warm reply to praise.
    opens = [Act.GREET, Act.COMPANY, *([Act.COURTESY] if asks_nothing(facts) else [])]
    return performed(facts, lines, *opens, least=_CLEARLY)


def _in_greeting(facts: Facts, kind: str, lines: tuple[Line, ...]) -> list[Cue]:
    # These patterns match a name in lower case, too, and outside of a greeting words that are no name.
    # A caller may ask for the customer before saying who is calling.
    greeting = {cue.line.position for cue in _greetings(facts, lines)}
    greeting |= facts.said_at("purpose")
    return [cue for cue in facts.said(kind, lines=lines) if cue.line.position in greeting]


def _brand(facts: Facts, lines: tuple[Line, ...]) -> list[Cue]:
    cues = facts.said("brand", lines=lines) or _in_greeting(facts, "brand_in_greeting", lines)
    for name in facts.context.brand_names:
        pattern = re.compile(rf"\b{re.escape(name)}\b", re.IGNORECASE)
        for line in lines:
            match = pattern.search(line.text)
            if match:
                cues.append(Cue("brand", line, *match.span()))
    return sorted(cues, key=attrgetter("place"))
