"""Rules of how the agent speaks: empathy, courtesy, clarity, repetition, abuse."""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise

from app.judge.acts.catalogue import Act
from app.judge.conduct.readings import (
    NEGATIVE_LABELS,
    SHOWN,
    AgentLine,
    CustomerLine,
    SpokenLine,
)
from app.judge.dialogue.cues import Cue
from app.judge.dialogue.evidence import CONTRADICTS, Evidence, sentence_spans
from app.judge.dialogue.turns import Line
from app.judge.facts.conversation_facts import (
    Facts,
    breach_evidence,
    distinct,
    examined,
    quoted,
    said_again,
    shown,
)
from app.judge.facts.timing import words_of
from app.judge.languages.lexicon import plain_of
from app.judge.scorecard.values import Criterion
from app.judge.scoring.answers import (
    Answer,
    judged,
    needs_model,
    not_applicable,
    scaled,
    unjudged,
    yes_or_no,
)
from app.judge.wording import listed, part, sentence, times

_NEEDED = 0.6
_VOICED = ("problem", "complaint", "still_broken")
_ACKNOWLEDGING = ("empathy", "apology")
_WELCOME = 0.25
_CONFUSING, _REPEATED = 0.4, 0.35
_LEAST_WORDS = 4
# Words that are surely friendly, in a line that is nothing else; a greeting and an offer are routine.
_KIND = 0.75
_KINDNESS = ("warm", "empathy")
# The score of an agent who is never rude and never friendly.
_CORRECT = 0.9
_BREACHES = (Act.THREATEN, Act.MOCK, Act.PRESS)
# Two breaches, or one that three signs show.
_NO_SLIP = 3
# Mockery, threats and pressure are no good manners, but no abuse.
_LEAST_BREACHING, _MOST_BREACHING = 0.25, 0.5
# An apology that would fit any problem shows no sympathy for this one.
_STOCK = re.compile(
    r"\W*(?:oh,? )?(?:(?:we|i)(?:'re| are|'m| am) )?(?:(?:so|very|really|truly|terribly) )*"
    r"(?:sorry|apologi[sz]e|apologies)(?: (?:for|about) (?:that|this|it|(?:the|any|your|all) "
    r"(?:inconvenience|trouble|delay|issue|problem)s?)(?: caused)?)?\W*",
    re.IGNORECASE,
)
# A death in the family calls for sympathy, however calmly it is told.
_LOSS = re.compile(r"\b(?:passed away|died|dying)\b", re.IGNORECASE)
_ASKED_LAST = re.compile(r"(?:^|,)[^,]*\?$")
_QUESTION = re.compile(r"[^.!?]{1,400}\?")


def empathy(facts: Facts, criterion: Criterion) -> Answer:
    """Judge whether the agent acknowledges a problem or a feeling that the customer voices."""
    last = max((line.line.position for line in facts.readings.agent), default=-1)
    upset = [
        line
        for line in facts.readings.customer
        if line.negative >= _NEEDED or any(map(_is_loss, _problems(facts, line)))
    ]
    replied_to = [line for line in upset if line.line.position < last]
    replied_to = replied_to or _comforted(facts)
    if not replied_to:
        key = "empathy.no_reply" if upset else "empathy.no_occasion"
        return not_applicable(facts.sentence(key))
    return _acknowledged(facts, replied_to)


def _comforted(facts: Facts) -> list[CustomerLine]:
    # Sympathy is never out of place: where it was shown, there was an occasion for it.
    for line in facts.readings.customer:
        if max(line.negative, line.shows("conf") / 2) >= _WELCOME or _problems(facts, line):
            return [line] if _best(_replies(facts, line), "empathy") else []
    return []


def _is_loss(problem: Cue) -> bool:
    return _LOSS.search(problem.quote) is not None


def _replies(facts: Facts, to: CustomerLine) -> list[AgentLine]:
    return [line for line in facts.readings.agent if line.line.position > to.line.position]


def _best(replies: list[AgentLine], label: str) -> AgentLine | None:
    likely = [line for line in replies if line.shows(label) >= SHOWN]
    return max(likely, key=lambda line: line.shows(label), default=None)


def _acknowledged(facts: Facts, upset: list[CustomerLine]) -> Answer:
    # Sympathy for the customer's first account counts even if the anger comes later.
    replies = _replies(facts, facts.readings.customer[0])
    rude = [line for line in replies if line.is_rude]
    for level, label, key in ((2, "empathy", "empathy.given"), (1, "apology", "empathy.stock")):
        reply = _best(replies, label)
        if reply is None or len(rude) > 1 or (level == 2 and _is_stock(reply)):
            continue
        before = [line for line in upset if line.line.position < reply.line.position]
        before = before or [
            line for line in facts.readings.customer if line.line.position < reply.line.position
        ]
        return judged(
            level,
            level / 2,
            facts.sentence(key),
            confidence=0.7,
            evidence=(shown(before[-1], NEGATIVE_LABELS), shown(reply, (label,))),
        )
    passed_over = distinct(_passed_over(facts))
    dismissive = distinct(shown(line, ("dismissive",), CONTRADICTS) for line in rude)
    return judged(
        0,
        0.0,
        facts.sentence("empathy.undone" if _best(replies, "empathy") else "empathy.missing"),
        confidence=0.5,
        evidence=passed_over + dismissive
        if dismissive
        else distinct([*passed_over, *examined(line.line for line in replies)]),
    )


def _is_stock(reply: AgentLine) -> bool:
    text = plain_of(shown(reply, ("empathy",)).quote)
    sentences = [_ASKED_LAST.sub("", text[start:end]) for start, end in sentence_spans(text)]
    said = [sentence for sentence in sentences if sentence]
    return bool(said) and all(_STOCK.fullmatch(sentence) for sentence in said)


def _passed_over(facts: Facts) -> Iterator[Evidence]:
    """Quote, in order, the problems and complaints that the next reply does not acknowledge."""
    turns = [tuple(lines) for _, lines in groupby(facts.readings.lines, type)]
    for turn, reply in pairwise(turns):
        replies = [line for line in reply if isinstance(line, AgentLine)]
        if replies and not any(_best(replies, label) for label in _ACKNOWLEDGING):
            for line in turn:
                yield from _voiced(facts, line)


def _voiced(facts: Facts, line: SpokenLine) -> Iterable[Evidence]:
    if isinstance(line, CustomerLine) and line.negative >= _NEEDED:
        return (shown(line, NEGATIVE_LABELS, CONTRADICTS),)
    return quoted(_problems(facts, line)[:1], CONTRADICTS)


def _problems(facts: Facts, line: SpokenLine) -> list[Cue]:
    return facts.heard(*_VOICED, lines=[line.line])


def courtesy(facts: Facts, criterion: Criterion) -> Answer:
    """Answer with the lowest level on abuse; otherwise lower it with mockery, threats, pressure, rude and cold lines."""
    if facts.said("profanity"):
        return abuse(facts, criterion)
    rude = sorted(
        (line for line in facts.readings.agent if line.is_rude), key=lambda line: -line.rude
    )
    cold = facts.readings.cold_replies
    for act in _BREACHES:
        if breaches := breach_evidence(facts, act):
            return scaled(
                min(_MOST_BREACHING, max(_LEAST_BREACHING, facts.readings.manners)),
                facts.sentence(f"courtesy.{act}"),
                confidence=0.75,
                evidence=breaches,
            )
    if rude or cold:
        faulty = [(line, "dismissive") for line in rude] + [(line, "stall") for line in cold]
        return scaled(
            facts.readings.manners,
            facts.sentence("courtesy.rude" if rude else "courtesy.cold"),
            confidence=0.7,
            evidence=distinct(shown(line, (label,), CONTRADICTS) for line, label in faulty),
        )
    courteous = sorted(
        (line for line in facts.readings.agent if _is_kind(line)), key=lambda line: -line.courteous
    )
    if not courteous:
        # An agent who is never rude and never friendly is correct, which nobody has to be told.
        return unjudged(sentence("not_judged.estimated"), estimate=_CORRECT)
    return scaled(
        1.0,
        facts.sentence("courtesy.courteous"),
        confidence=0.7,
        evidence=distinct(shown(line, _KINDNESS) for line in courteous[:2]),
    )


def _is_kind(line: AgentLine) -> bool:
    kind = max(map(line.shows, _KINDNESS))
    return kind >= _KIND > line.unhelpful + line.rude


def conduct(facts: Facts, criterion: Criterion) -> Answer:
    """Answer no on mockery, threats or pressure that a reader could not take for a slip."""
    breaches = [breach for breach in facts.readings.breaches if breach.act in _BREACHES]
    threatens = any(breach.act is Act.THREATEN for breach in breaches)
    if not threatens and sum(breach.weight for breach in breaches) < _NO_SLIP:
        return not_applicable(facts.sentence("conduct.none"))
    acts = {breach.act for breach in breaches}
    kinds = [part(f"conduct.{act}") for act in _BREACHES if act in acts]
    lines = {breach.line.line.position for breach in breaches}
    return yes_or_no(
        False,
        sentence("conduct.found", what=listed(kinds), times=times(len(lines))),
        confidence=0.75,
        evidence=breach_evidence(facts, *_BREACHES)[:1],
    )


def clarity(facts: Facts, criterion: Criterion) -> Answer:
    """Judge whether the agent's lines can be understood, and are understood by the customer."""
    faults = list(_unclear(facts))
    score = 1 / (1 + sum(weight for _, weight, _ in faults))
    if not faults:
        # That nobody asked what was meant says little, so that only the score counts it.
        return unjudged(sentence("not_judged.estimated"), estimate=score)
    kinds = dict.fromkeys(kind for kind, _, _ in faults)
    return scaled(
        score,
        facts.obstacles(kinds),
        confidence=0.5,
        evidence=distinct(evidence for _, _, evidence in faults),
    )


def _unclear(facts: Facts) -> Iterator[tuple[str, float, Evidence]]:
    repeated = said_again(facts)
    for line in facts.readings.agent:
        if line.line.position in repeated and line.shows("offer") < SHOWN:
            (evidence,) = examined([line.line])
            yield "repeated_answer", _REPEATED, evidence
    for reply in facts.readings.replies:
        agent, after = reply.agent, reply.after
        if after is None or not reply.confuses or after.positive >= SHOWN:
            continue
        # After a rude reply the customer protests, and asks on after a helpful one.
        if agent.is_rude or max(agent.helpful, agent.shows("greet")) >= SHOWN:
            continue
        if len(agent.line.text.split()) >= _LEAST_WORDS:
            yield "confusing_reply", _CONFUSING, shown(after, ("conf",), CONTRADICTS)


def no_repetition(facts: Facts, criterion: Criterion) -> Answer:
    """Count the bot's fallbacks and the questions that it asks twice in the same words."""
    fallbacks = facts.said("fallback")
    count = facts.context.fallback_count
    if count is None:
        count = len({cue.line.position for cue in fallbacks})
    repeated = _repeated_questions(facts)
    parameters = criterion.parameters
    fulfilled = (
        count <= parameters["maxFallbacks"] and len(repeated) <= parameters["maxRepeatedQuestions"]
    )
    missed = [cue.line for cue in fallbacks] + repeated
    if not missed and not count:
        return unjudged(sentence("not_judged.estimated"), by="metric", estimate=1.0)
    return judged(
        2 if fulfilled else 0,
        float(fulfilled),
        _repetition_text(facts, count, len(repeated)),
        confidence=0.75,
        by="metric",
        evidence=examined(missed),
    )


def _repetition_text(facts: Facts, fallbacks: int, repeats: int) -> str:
    counts = {"fallbacks": fallbacks, "repeats": repeats}
    told = [part(f"no_repetition.{name}", times=times(n)) for name, n in counts.items() if n]
    return facts.sentence("no_repetition.found", what=listed(told))


def _repeated_questions(facts: Facts) -> list[Line]:
    # Offering help again is no repetition.
    polite = facts.said_at("offer_help", "purpose")
    asked_before: set[tuple[str, ...]] = set()
    repeated = []
    for line in facts.dialogue.service:
        for question in _QUESTION.findall(line.text):
            words = tuple(words_of(question))
            if words in asked_before and line.position not in polite and len(words) > 2:
                repeated.append(line)
            asked_before.add(words)
    return repeated


def abuse(facts: Facts, criterion: Criterion) -> Answer:
    """Answer with the lowest level on abuse, which is all that rules can tell of such criteria."""
    abusive = facts.said("profanity")
    if not abusive:
        return needs_model()
    return judged(
        0,
        0.0,
        facts.sentence("abuse.found"),
        confidence=0.85,
        evidence=quoted(abusive, CONTRADICTS),
    )
