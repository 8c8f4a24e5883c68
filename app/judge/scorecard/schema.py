"""Enums of a scorecard with their labels, and the metrics of each channel."""

from collections.abc import Iterator, Mapping
from typing import Any

from app.judge.acts.catalogue import CUSTOMER_ACTS, SERVICE_ACTS, Act

# Parameters of completeness that earlier releases wrote into each version: still accepted, and without effect.
RETIRED_PARAMETERS = ("halfAt", "weights")
# The parts of a greeting, as explanations name them.
GREETING_PARTS = {"greeting": "a greeting", "brand": "the company name", "name": "a personal name"}
# Values with their labels.
DIMENSIONS = {
    "resolution": "Resolution",
    "effort": "Customer effort",
    "customerSentiment": "Customer sentiment",
    "professionalism": "Professionalism",
    "responsiveness": "Responsiveness",
    "procedure": "Procedure",
    "policyCompliance": "Compliance with policies",
}
DIRECTIONS = {
    "inbound": "Inbound",
    "outbound": "Outbound",
    "unknown": "Direction not known",
}
BANDS = {
    "exceeds": "Exceeds",
    "meets": "Meets",
    "needs_improvement": "Needs improvement",
    "critical": "Critical",
}
TYPES = {
    "binary": "Yes or no",
    "scale": "Scale",
    "metric": "Measured",
}
CRITICALITIES = {
    "none": "Not critical",
    "section": "Fails its section",
    "pass": "Keeps it from passing",
    "evaluation": "Fails the evaluation",
}
ERROR_CLASSES = {
    "customer": "Customer",
    "business": "Business",
    "compliance": "Compliance",
    "none": "None",
}
SPEAKERS = {
    "agent": "the agent",
    "customer": "the customer",
    "anyone": "anyone",
}
SAID = {
    "either": "either",
    "statement": "a statement",
    "question": "a question",
}
NEGATED = {
    "either": 'also where it is denied, as in "no fee"',
    "never": "only where it is not denied",
    "only": "only where it is denied",
}
# What may stand for many words in a phrase.
SLOTS = ("number", "amount", "date", "time", "name", "letter", "letters")
# What is known of a conversation, as it is written in a phrase: `{customerName}`.
KNOWN_VALUES = ("customerName", "agentName")
# Acts of a line that rules may ask for; training/handbook.md defines each.
_ACT_WORDS = {
    Act.REASK: "asks what was answered before",
    Act.VERIFY: "asks who the customer is",
    Act.CHECK: "asks whether it is solved",
    Act.DONE: "has done something",
    Act.DOING: "is doing something",
    Act.PROMISE_BY: "promises something by a time",
    Act.HYPOTHETICAL: "says what would or could be",
    Act.UNDONE: "has not done something",
    Act.RETRACT: "takes something back",
    Act.REFUSE_REASON: "refuses with a reason",
    Act.STALL: "puts off",
    Act.ELSEWHERE: "sends elsewhere",
    Act.NEXT: "says the next step",
    Act.OFFER_MORE: "offers more help",
    Act.COURTESY: "is courteous",
    Act.PRESS: "puts pressure on",
    Act.ASK_SECRET: "asks for a secret",
    Act.TELL_SECRET: "tells a secret",
    Act.TELL_OTHER: "tells the matter of somebody else",
    Act.ADD: "adds something",
    Act.PARTLY: "answers in part",
    Act.SOLVED: "says that it is solved",
    Act.UNSOLVED: "says that it is not solved",
    Act.ANGRY: "is angry",
    Act.DISAPPOINTED: "is disappointed",
    Act.SARCASTIC: "is sarcastic",
    Act.CONFUSED: "is confused",
    Act.OK: "says okay",
    Act.GIVE_UP: "gives up",
    Act.LEAVE: "wants to leave",
    Act.OPT_OUT: "opts out",
    Act.ASK_PERSON: "asks for a person",
    Act.NAME: "says the own name",
    Act.COMPANY: "names the company",
    Act.YES: "says yes",
    Act.NO: "says no",
    Act.CANNOT: "cannot do something",
}


def act_in_words(name: str) -> str:
    """Return what somebody who performs an act does."""
    return _ACT_WORDS.get(Act(name)) or f"{name}s"


ACTS = {act.value: act_in_words(act) for act in Act}
ANYONE = "anyone"
ACTS_OF = {"agent": frozenset(SERVICE_ACTS), "customer": frozenset(CUSTOMER_ACTS)}
# Events that a condition may name: moments of the conversation.
WRITTEN_EVENTS = {
    "escalation_request": "the customer asks for a supervisor",
    "complaint": "a complaint",
    "commitment": "a promise",
    "opt_out": "an opt-out",
    "profanity": "profanity",
    "rudeness": "rudeness",
    "danger": "danger",
}
SPOKEN_EVENTS = {
    "interruption": "an interruption",
    "overlap": "both talk at once",
    "dead_air": "dead air",
    "long_hold": "a long hold",
}
EVENTS = {**WRITTEN_EVENTS, **SPOKEN_EVENTS}
METHODS = ("rule", "metric", "model")


def phrases_in(part: Any) -> Iterator[str]:
    """Yield every phrase of a part of a scorecard document: the members of each `anyOf`."""
    if isinstance(part, Mapping):
        for name, inner in part.items():
            yield from inner if name == "anyOf" else phrases_in(inner)
    elif isinstance(part, list | tuple):
        for inner in part:
            yield from phrases_in(inner)


_EVERYWHERE = (
    "durationSeconds",
    "firstContactResolution",
    "questionsAsked",
    "sentiment.overall",
    "sentiment.shift",
    "turnCount",
    "wordCount",
)
_SPOKEN = (
    "agentTalkMs",
    "agentTalkPercent",
    "agentWpm",
    "customerTalkMs",
    "customerWpm",
    "deadAirCount",
    "deadAirMs",
    "fillerPerMinute",
    "handleSeconds",
    "holdMs",
    "interruptionsByAgent",
    "interruptionsByCustomer",
    "longestMonologueMs",
    "longestSilenceMs",
    "nonTalkMs",
    "overtalkCount",
    "overtalkMs",
    "overtalkPercent",
    "responseOverlapCount",
    "silenceMs",
    "silencePercent",
    "talkRatio",
)
_WRITTEN = (
    "firstResponseSeconds",
    "resolutionSeconds",
    "responseSecondsAvg",
    "responseSecondsP50",
    "responseSecondsP90",
)
_OF_BOTS = (
    "containment",
    "fallbackRate",
    "latencyMsCount",
    "latencyMsMax",
    "latencyMsP50",
    "latencyMsP90",
    "latencyMsP95",
)
METRICS_OF: dict[str, frozenset[str]] = {
    "voice": frozenset((*_EVERYWHERE, *_SPOKEN, "responseGapMsP50", "responseGapMsP90")),
    "chat": frozenset((*_EVERYWHERE, *_WRITTEN)),
    "voice_bot": frozenset((*_EVERYWHERE, *_SPOKEN, *_OF_BOTS)),
}
KNOWN_METRICS = frozenset().union(*METRICS_OF.values())
