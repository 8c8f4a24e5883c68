"""Enums of a scorecard, the rules of the rule judge with their parameters, and the metrics of each channel."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from app.judge.acts.catalogue import CUSTOMER_ACTS, SERVICE_ACTS, Act


@dataclass(frozen=True, slots=True)
class KnownRule:
    """The type of the criteria that a rule answers, its label, and the names of its parameters."""

    answers: str
    label: str
    required: tuple[str, ...]
    optional: tuple[str, ...]


def _rule(answers: str, label: str, *required: str, optional: tuple[str, ...] = ()) -> KnownRule:
    return KnownRule(answers, label, required, optional)


_binary, _scale, _metric = (partial(_rule, answers) for answers in ("binary", "scale", "metric"))

# The last four are for criteria of an author's own.
KNOWN_RULES: dict[str, KnownRule] = {
    "abuse": _scale("No abuse by the agent"),
    "bot_identity": _binary("The bot says who it is", "agentTurns", "automationDisclosureRequired"),
    "clarity": _scale("Clear wording"),
    "clean_close": _binary("The bot closes the call", "lastTurns"),
    "completeness": _scale("Every request is dealt with"),
    "courtesy": _scale("Courteous wording"),
    "data_handling": _binary("No card numbers, PINs or codes are asked for", "minWords"),
    "third_party": _binary("No personal details for other people"),
    "dead_air": _metric("No long silence", "maxDeadAirCount"),
    "disclosure": _binary("Required statements", "requiredStatements"),
    "empathy": _scale("Problems and feelings are acknowledged"),
    "first_response": _metric("Time to the first response", "fullSeconds", "halfSeconds"),
    "gaps": _metric("Time between replies", "fullSeconds", "halfSeconds"),
    "greeting": _binary("Greeting in the first turns", "agentTurns", "requires"),
    "handoff": _binary("A person is offered when asked for"),
    "hold_silence": _metric("Holds are announced", "maxDeadAirCount"),
    "latency": _metric("Time until the bot answers", "fullMs", "halfMs"),
    "listening": _scale("The customer need not repeat the request"),
    "no_repetition": _scale("The bot asks nothing twice", "maxFallbacks", "maxRepeatedQuestions"),
    "opt_out": _binary("Opt-outs are respected"),
    "pace": _metric(
        "Speed of speech, and interruptions",
        "minWpm",
        "maxWpm",
        "interruptionsPer10MinBelow",
        "minSpeechMs",
    ),
    "probing": _scale("Questions come before a proposal"),
    "purpose": _binary("The purpose is said in the first turns", "agentTurns"),
    "recap": _scale(
        "Recap, next step and an offer of more help", "lastTurns", "fullElements", "halfElements"
    ),
    "resolution_confirmed": _binary("The customer confirms the solution", "lastTurns"),
    "respect": _scale("Respectful wording"),
    "turn_taking": _metric(
        "The bot does not talk over the customer", "maxPer5Min", "stopsWithinMs"
    ),
    "understanding": _scale("The request is understood"),
    "verification": _binary("The customer is verified first"),
    "required_phrases": _binary(
        "Phrases that must be said",
        "statements",
        optional=("by", "within", "inOrder", "said", "negated"),
    ),
    "forbidden_phrases": _binary(
        "Phrases that may not be said", "anyOf", optional=("by", "within", "said", "negated")
    ),
    "act": _binary(
        "Something that somebody does or says, counted",
        optional=(
            *("acts", "anyOf", "by", "said", "negated", "within", "before", "after"),
            *("atLeast", "atMost"),
        ),
    ),
    "metric_range": _metric("A metric within a range", "metric", "full", optional=("half",)),
}
# Parameters of completeness that earlier releases wrote into each version: still accepted, and without effect.
RETIRED_PARAMETERS = ("halfAt", "weights")
GREETING_PARTS = ("greeting", "brand", "name")
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
