"""What a scorecard document is made of: its fields, its closed lists and the known rules."""

from typing import TypeAlias

Shape: TypeAlias = dict[str, type | tuple[type, ...]]
NUMBER = (int, float)
HALF_FULL_SECONDS: Shape = {"fullSeconds": NUMBER, "halfSeconds": NUMBER}

# The rules of the embedded engine and the parameters each must be given.
KNOWN_RULES: dict[str, Shape] = {
    "abuse": {},
    "bot_identity": {"agentTurns": int, "automationDisclosureRequired": bool},
    "clean_close": {"lastTurns": int},
    "completeness": {},
    "data_handling": {"minWords": int},
    "dead_air": {"maxDeadAirCount": int},
    "disclosure": {"requiredStatements": list},
    "empathy": {},
    "first_response": HALF_FULL_SECONDS,
    "gaps": HALF_FULL_SECONDS,
    "greeting": {"agentTurns": int, "requires": list},
    "handoff": {},
    "hold_silence": {"maxDeadAirCount": int},
    "latency": {"fullMs": int, "halfMs": int},
    "listening": {},
    "no_repetition": {"maxFallbacks": int, "maxRepeatedQuestions": int},
    "opt_out": {},
    "pace": {
        "minWpm": NUMBER,
        "maxWpm": NUMBER,
        "interruptionsPer10MinBelow": NUMBER,
        "minSpeechMs": int,
    },
    "purpose": {"agentTurns": int},
    "recap": {"lastTurns": int, "fullElements": int, "halfElements": int},
    "resolution_confirmed": {"lastTurns": int},
    "respect": {},
    "turn_taking": {"maxPer5Min": NUMBER, "stopsWithinMs": int},
    "understanding": {},
    "verification": {},
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
WORDS = {
    "channel": ("voice", "chat", "voice_bot"),
    "type": ("binary", "scale", "metric"),
    "criticality": ("none", "section", "evaluation"),
    "errorClass": ("customer", "business", "compliance", "none"),
    "method": ("rule", "metric", "model"),
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
MINIMUM: Shape = {"words": int, "judgedWeightPercent": NUMBER}
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
TOPIC: Shape = {"name": str, "anyOf": list}
STATEMENT: Shape = {"key": str, "title": str, "anyOf": list}
OPTION: Shape = {"answer": (str, int), "score": NUMBER, "anchor": str}
