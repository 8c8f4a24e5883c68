"""Format of a scorecard document: its fields, enums, known rules and metric names."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

Kind: TypeAlias = type | tuple[type, ...]
Shape: TypeAlias = dict[str, Kind]
NUMBER = (int, float)
_HALF_FULL_SECONDS: Shape = {"fullSeconds": NUMBER, "halfSeconds": NUMBER}


@dataclass(frozen=True, slots=True)
class KnownRule:
    """The type of the criteria that a rule answers, and the parameters that it takes."""

    answers: str
    parameters: Shape
    optional: Shape


def _rule(answers: str, parameters: Shape | None = None, **optional: Kind) -> KnownRule:
    return KnownRule(answers, parameters or {}, optional)


_binary, _scale, _metric = (partial(_rule, answers) for answers in ("binary", "scale", "metric"))

# The rules of the embedded engine. Those of the last group are for criteria of an author's own.
KNOWN_RULES: dict[str, KnownRule] = {
    "abuse": _scale(),
    "bot_identity": _binary({"agentTurns": int, "automationDisclosureRequired": bool}),
    "clarity": _scale(),
    "clean_close": _binary({"lastTurns": int}),
    "completeness": _scale(halfAt=NUMBER, weights=dict),
    "courtesy": _scale(),
    "data_handling": _binary({"minWords": int}),
    "third_party": _binary(),
    "dead_air": _metric({"maxDeadAirCount": int}),
    "disclosure": _binary({"requiredStatements": list}),
    "empathy": _scale(),
    "first_response": _metric(_HALF_FULL_SECONDS),
    "gaps": _metric(_HALF_FULL_SECONDS),
    "greeting": _binary({"agentTurns": int, "requires": list}),
    "handoff": _binary(),
    "hold_silence": _metric({"maxDeadAirCount": int}),
    "latency": _metric({"fullMs": int, "halfMs": int}),
    "listening": _scale(),
    "no_repetition": _scale({"maxFallbacks": int, "maxRepeatedQuestions": int}),
    "opt_out": _binary(),
    "pace": _metric(
        {
            "minWpm": NUMBER,
            "maxWpm": NUMBER,
            "interruptionsPer10MinBelow": NUMBER,
            "minSpeechMs": int,
        }
    ),
    "probing": _scale(),
    "purpose": _binary({"agentTurns": int}),
    "recap": _scale({"lastTurns": int, "fullElements": int, "halfElements": int}),
    "resolution_confirmed": _binary({"lastTurns": int}),
    "respect": _scale(),
    "turn_taking": _metric({"maxPer5Min": NUMBER, "stopsWithinMs": int}),
    "understanding": _scale(),
    "verification": _binary(),
    "required_phrases": _binary({"statements": list}, by=str, within=dict, inOrder=bool),
    "forbidden_phrases": _binary({"anyOf": list}, by=str, within=dict),
    "metric_range": _metric({"metric": str, "full": dict}, half=dict),
}
# Parameters of completeness that earlier releases wrote into each version. They are still accepted, and
# count for nothing: what became of the requests is read from the ledger.
HALF_AT = 1.7329
WEIGHTS: Mapping[str, float] = {
    "failure": 2.0,
    "bareRefusal": 2.0,
    "profanity": 2.0,
    "apology": 0.1,
    "noResult": 1.0,
    "badNews": 0.3,
    "fallback": 0.5,
    "asksAgain": 0.4,
    "stillBroken": 0.6,
    "complaint": 0.5,
    "escalationRequest": 0.5,
    "givesUp": 2.0,
    "concession": 0.6,
    "endsOnFailure": 2.0,
    "endsOpen": 1.5,
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
SCORECARD: Shape = {
    "version": int,
    "name": str,
    "channel": str,
    "passThreshold": int,
    "bands": list,
    "maxFailedWeightPercent": NUMBER,
    "minimum": dict,
    "metrics": dict,
    "sections": list,
    "criteria": list,
}
SCORECARD_OPTIONAL: Shape = {
    "id": str,
    "description": (str, type(None)),
    "languages": list,
    "topics": list,
}
MINIMUM: Shape = {"words": int, "judgedWeightPercent": NUMBER}
MINIMUM_OPTIONAL: Shape = {"verdictWeightPercent": NUMBER}
METRICS: Shape = {
    "nonTalkGapMs": int,
    "deadAirMs": int,
    "longHoldMs": int,
    "holdLookbackSegments": int,
    "interruptionOverlapMs": int,
    "interruptionWords": int,
    "backChannels": list,
    "fillers": list,
    "paceWords": int,
    "monologueGapMs": int,
    "sentimentNeutral": NUMBER,
    "trendFlat": NUMBER,
    "trendClear": NUMBER,
    "trendSegments": int,
}
CRITERION: Shape = {
    "key": str,
    "title": str,
    "section": str,
    "question": str,
    "type": str,
    "weight": NUMBER,
    "criticality": str,
    "errorClass": str,
    "options": list,
    "judge": dict,
    "suggestion": str,
}
CRITERION_OPTIONAL: Shape = {
    "notApplicableWhen": (str, type(None)),
    "appliesWhen": dict,
    "failsAt": NUMBER,
    "dimension": (str, type(None)),
}
CONDITIONS: Shape = {
    "languages": list,
    "directions": list,
    "campaignIds": list,
    "labels": dict,
    "said": dict,
    "notSaid": dict,
    "events": list,
    "metric": dict,
}
TOPIC: Shape = {"name": str, "anyOf": list}
STATEMENT: Shape = {"key": str, "title": str, "anyOf": list}
OPTION: Shape = {"answer": (str, int), "score": NUMBER, "anchor": str}
SAID: Shape = {"anyOf": list}
SAID_OPTIONAL: Shape = {"by": str}
WITHIN: Shape = {"firstTurns": int, "lastTurns": int}
BOUNDS: Shape = {"atLeast": NUMBER, "atMost": NUMBER}

# Limits of a scorecard, so that judging with it stays fast.
MOST_CRITERIA = 100
MOST_SECTIONS = 30
MOST_TOPICS = 100
MOST_STATEMENTS = 20
MOST_PHRASES = 200
MOST_PHRASE_CHARS = 200
MOST_PHRASE_WORDS = 40
# Over all criteria and topics of a scorecard.
MOST_PHRASES_IN_ALL = 2_000
MOST_PHRASE_WORDS_IN_ALL = 10_000
MOST_OPTIONS = 10
MOST_WORDS = 200
MOST_NAMED = 100
MOST_CHARS = {
    "name": 120,
    "description": 2000,
    "title": 120,
    "question": 500,
    "anchor": 500,
    "suggestion": 500,
    "notApplicableWhen": 500,
    "key": 64,
    "section": 64,
    "answer": 64,
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
