"""Enums of a scorecard, the rules of the rule judge with their parameters, and the metrics of each channel."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any


@dataclass(frozen=True, slots=True)
class KnownRule:
    """The type of the criteria that a rule answers, and the names of its parameters."""

    answers: str
    required: tuple[str, ...]
    optional: tuple[str, ...]


def _rule(answers: str, *required: str, optional: tuple[str, ...] = ()) -> KnownRule:
    return KnownRule(answers, required, optional)


_binary, _scale, _metric = (partial(_rule, answers) for answers in ("binary", "scale", "metric"))

# The last three are for criteria of an author's own.
KNOWN_RULES: dict[str, KnownRule] = {
    "abuse": _scale(),
    "bot_identity": _binary("agentTurns", "automationDisclosureRequired"),
    "clarity": _scale(),
    "clean_close": _binary("lastTurns"),
    "completeness": _scale(optional=("halfAt", "weights")),
    "courtesy": _scale(),
    "data_handling": _binary("minWords"),
    "third_party": _binary(),
    "dead_air": _metric("maxDeadAirCount"),
    "disclosure": _binary("requiredStatements"),
    "empathy": _scale(),
    "first_response": _metric("fullSeconds", "halfSeconds"),
    "gaps": _metric("fullSeconds", "halfSeconds"),
    "greeting": _binary("agentTurns", "requires"),
    "handoff": _binary(),
    "hold_silence": _metric("maxDeadAirCount"),
    "latency": _metric("fullMs", "halfMs"),
    "listening": _scale(),
    "no_repetition": _scale("maxFallbacks", "maxRepeatedQuestions"),
    "opt_out": _binary(),
    "pace": _metric("minWpm", "maxWpm", "interruptionsPer10MinBelow", "minSpeechMs"),
    "probing": _scale(),
    "purpose": _binary("agentTurns"),
    "recap": _scale("lastTurns", "fullElements", "halfElements"),
    "resolution_confirmed": _binary("lastTurns"),
    "respect": _scale(),
    "turn_taking": _metric("maxPer5Min", "stopsWithinMs"),
    "understanding": _scale(),
    "verification": _binary(),
    "required_phrases": _binary("statements", optional=("by", "within", "inOrder")),
    "forbidden_phrases": _binary("anyOf", optional=("by", "within")),
    "metric_range": _metric("metric", "full", optional=("half",)),
}
GREETING_PARTS = ("greeting", "brand", "name")
DIMENSIONS = (
    "resolution",
    "effort",
    "customerSentiment",
    "professionalism",
    "responsiveness",
    "procedure",
    "policyCompliance",
)
# Events that a condition may name: moments of the conversation.
WRITTEN_EVENTS = (
    *("escalation_request", "complaint", "commitment", "opt_out", "profanity"),
    *("rudeness", "danger"),
)
SPOKEN_EVENTS = ("interruption", "overlap", "dead_air", "long_hold")
WORDS = {
    "channel": ("voice", "chat", "voice_bot"),
    "type": ("binary", "scale", "metric"),
    "criticality": ("none", "section", "evaluation"),
    "errorClass": ("customer", "business", "compliance", "none"),
    "method": ("rule", "metric", "model"),
    "band": ("exceeds", "meets", "needs_improvement", "critical"),
    "by": ("agent", "customer", "anyone"),
    "direction": ("inbound", "outbound", "unknown"),
    "event": (*WRITTEN_EVENTS, *SPOKEN_EVENTS),
    "dimension": DIMENSIONS,
    "part": GREETING_PARTS,
}


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
