"""Every metric of a conversation in one map, with the reason for each that is missing."""

import re

from app.ai.context import Context
from app.ai.dialogue.cues import Cues
from app.ai.dialogue.turns import Dialogue, Side
from app.ai.facts.measures import NO_CUSTOMER, NO_ROLES, NO_SERVICE, NO_TIMES, Measures
from app.ai.facts.response_times import measure_responses
from app.ai.facts.sentiment import Sentiment
from app.ai.facts.speech_metrics import measure_speech
from app.ai.facts.timing import Timing
from app.ai.scorecard.values import MetricSettings
from app.ai.wording.sentences import sentence

# The question marks of Latin, Indic, Arabic and East Asian writing.
_QUESTION = re.compile("[?\u061f\uff1f]+")


def measure(
    dialogue: Dialogue, timing: Timing, cues: Cues, context: Context, settings: MetricSettings
) -> Measures:
    """Measure a conversation as docs/metrics.md defines.

    The metrics of the channel are always all there: None with a reason where one can't be measured.
    Lengths are whole ms or seconds as the name says, ratios 0 to 1, percents 0 to 100.
    """
    measures = Measures()
    measures.set("durationSeconds", _duration_s(dialogue, timing))
    if measures.get("durationSeconds") is None:
        measures.set_missing(NO_TIMES, "durationSeconds")
    measures.set("wordCount", dialogue.word_count)
    if dialogue.attributed:
        measures.set("turnCount", len(dialogue.turns))
        measures.set("questionsAsked", sum(_questions(line.text) for line in dialogue.service))
    else:
        measures.set_missing(NO_ROLES, "turnCount", "questionsAsked")
    measure_speech(measures, dialogue, timing, settings)
    measure_responses(measures, dialogue, context)
    if dialogue.channel == "voice_bot":
        _bot(measures, dialogue, cues, context)
    _handling(measures, dialogue, context)
    return measures


def measure_feelings(measures: Measures, dialogue: Dialogue, sentiment: Sentiment) -> None:
    """Add the customer's overall sentiment, -1 to 1, and its shift over the conversation, -2 to 2."""
    customer = sentiment.customer
    if customer.overall is None:
        reason = NO_CUSTOMER if dialogue.attributed else NO_ROLES
        reason = reason if dialogue.readable else dialogue.unread_reason
        measures.set_missing(reason, "sentiment.overall", "sentiment.shift")
        return
    measures.set("sentiment.overall", customer.overall)
    if customer.shift is None:
        measures.set_missing(sentence("not_measured.one_quarter"), "sentiment.shift")
    else:
        measures.set("sentiment.shift", customer.shift)


def _duration_s(dialogue: Dialogue, timing: Timing) -> int | None:
    if dialogue.channel != "chat" and timing.duration:
        return round(timing.duration / 1000)
    times = [line.segment.sent_at for line in dialogue.lines]
    known = [time for time in times if time is not None]
    if known and len(known) == len(times):
        return round((max(known) - min(known)).total_seconds())
    return None


def _questions(text: str) -> int:
    # "Really??" is one question.
    return len(_QUESTION.findall(text))


def _bot(measures: Measures, dialogue: Dialogue, cues: Cues, context: Context) -> None:
    turns = sum(turn.side is Side.SERVICE for turn in dialogue.turns)
    fallbacks = context.fallback_count
    if fallbacks is None and dialogue.readable:
        fallbacks = len(cues.positions("fallback", side=Side.SERVICE))
    if not turns:
        measures.set_missing(NO_SERVICE if dialogue.attributed else NO_ROLES, "fallbackRate")
    elif fallbacks is None:
        measures.set_missing(dialogue.unread_reason, "fallbackRate")
    else:
        measures.set("fallbackRate", min(1.0, fallbacks / turns))
    if context.completed is None or context.transferred is None:
        measures.set_missing(sentence("not_measured.end_unknown"), "containment")
    elif not context.completed:
        measures.set_missing(sentence("not_measured.not_completed"), "containment")
    else:
        measures.set("containment", int(not context.transferred))


def _handling(measures: Measures, dialogue: Dialogue, context: Context) -> None:
    resolved_at_once = context.first_contact_resolution
    if resolved_at_once is None:
        measures.set_missing(sentence("not_measured.first_contact"), "firstContactResolution")
    else:
        measures.set("firstContactResolution", int(resolved_at_once))
    duration = measures.get("durationSeconds")
    if dialogue.channel == "chat":
        return
    if duration is None:
        measures.set_missing(NO_TIMES, "handleSeconds")
    else:
        measures.set("handleSeconds", duration + (context.after_call_seconds or 0))
