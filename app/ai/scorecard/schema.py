"""Enums of a scorecard, the rules of the rule judge with their parameters, and the metrics of each channel."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any


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

# The last three are for criteria of an author's own.
KNOWN_RULES: dict[str, KnownRule] = {
    "abuse": _scale("No abuse by the agent"),
    "bot_identity": _binary("The bot says who it is", "agentTurns", "automationDisclosureRequired"),
    "clarity": _scale("Clear wording"),
    "clean_close": _binary("The bot closes the call", "lastTurns"),
    "completeness": _scale("Every request is dealt with", optional=("halfAt", "weights")),
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
        "Phrases that must be said", "statements", optional=("by", "within", "inOrder")
    ),
    "forbidden_phrases": _binary(
        "Phrases that may not be said", "anyOf", optional=("by", "within")
    ),
    "metric_range": _metric("A metric within a range", "metric", "full", optional=("half",)),
}
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
