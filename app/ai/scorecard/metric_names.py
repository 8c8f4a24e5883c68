"""Metric names of each channel: the keys of `metrics` in results."""

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
