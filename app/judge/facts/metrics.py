"""Every metric of a conversation (docs/metrics.md), with the reason for each that is missing."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any

from app.judge.context import Context
from app.judge.dialogue.cues import Cues
from app.judge.dialogue.turns import Dialogue, Line, Side
from app.judge.facts.sentiment import Sentiment
from app.judge.facts.timing import (
    Stretch,
    Timing,
    is_back_channel,
    percentile,
    total_length,
    words_of,
)
from app.judge.scorecard.values import MetricSettings
from app.judge.wording import sentence

_TALK = ("agentTalkMs", "customerTalkMs", "agentTalkPercent", "talkRatio")
_OVERTALK = ("overtalkMs", "overtalkPercent", "overtalkCount")
_INTERRUPTIONS = ("interruptionsByAgent", "interruptionsByCustomer")
_SILENCE = ("silenceMs", "silencePercent", "nonTalkMs", "longestSilenceMs")
_HOLD = ("holdMs", "deadAirCount", "deadAirMs")
_PACE = ("agentWpm", "customerWpm", "fillerPerMinute")
_FLOW = ("longestMonologueMs",)
# Turns that span pauses make these too large or too small. Silences and delays can only be longer
# than between such turns, so that a criterion may fail on those.
DOUBTFUL_OF_TURNS = frozenset(_TALK + _OVERTALK + _INTERRUPTIONS + _PACE + _FLOW)
_LATENCY = ("latencyMsP50", "latencyMsP90", "latencyMsP95", "latencyMsMax", "latencyMsCount")
_RESPONSE_GAP = ("responseGapMsP50", "responseGapMsP90")
_FIRST = "firstResponseSeconds"
_RESPONSES = ("responseSecondsAvg", "responseSecondsP50", "responseSecondsP90")
_RESOLUTION = "resolutionSeconds"
NO_TIMES = sentence("not_measured.no_times")
_NO_ROLES = sentence("not_measured.no_roles")
NO_SERVICE = sentence("not_measured.no_agent")
NO_CUSTOMER = sentence("not_measured.no_customer")
# The question marks of Latin, Indic, Arabic and East Asian writing.
_QUESTION = re.compile("[?\u061f\uff1f]+")


@dataclass
class Measures:
    """`values` holds every metric, None where it can't be measured; `missing` the reasons.

    `uncertain` are those that were measured on whole turns, for want of the times of words.
    """

    values: dict[str, float | int | None] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    uncertain: tuple[str, ...] = ()

    def set(self, metric: str, value: float | None, why_missing: str = "") -> None:
        """Set a metric, fractions rounded to four places, or record why it can't be measured."""
        self.values[metric] = round(value, 4) if isinstance(value, float) else value
        if value is None:
            self.missing[metric] = why_missing

    def set_missing(self, reason: str, *metrics: str) -> None:
        """Record that metrics can't be measured, and why."""
        for metric in metrics:
            self.set(metric, None, reason)

    def get(self, metric: str) -> float | int | None:
        return self.values.get(metric)

    def missing_as_json(self) -> list[dict[str, Any]]:
        return [{"metric": name, "reason": reason} for name, reason in self.missing.items()]


def measure(
    dialogue: Dialogue,
    timing: Timing,
    cues: Cues,
    sentiment: Sentiment,
    context: Context,
    settings: MetricSettings,
) -> Measures:
    """Measure a conversation as docs/metrics.md defines.

    The metrics of the channel are always all there: None with a reason where one can't be measured.
    Lengths are whole ms or seconds as the name says, ratios 0 to 1, percents 0 to 100.
    """
    measures = Measures()
    measures.set("durationSeconds", _duration_s(dialogue, timing), NO_TIMES)
    measures.set("wordCount", dialogue.word_count)
    if dialogue.attributed:
        measures.set("turnCount", len(dialogue.turns))
        # "Really??" is one question.
        questions = sum(len(_QUESTION.findall(line.text)) for line in dialogue.service)
        measures.set("questionsAsked", questions)
    else:
        measures.set_missing(_NO_ROLES, "turnCount", "questionsAsked")
    measure_speech(measures, dialogue, timing, settings)
    measure_responses(measures, dialogue, context)
    if dialogue.channel == "voice_bot":
        _bot(measures, dialogue, cues, context)
    _handling(measures, dialogue, context)
    _feelings(measures, dialogue, sentiment)
    return measures


def _duration_s(dialogue: Dialogue, timing: Timing) -> int | None:
    if dialogue.channel != "chat" and timing.duration:
        return round(timing.duration / 1000)
    times = [line.segment.sent_at for line in dialogue.lines]
    known = [time for time in times if time is not None]
    if known and len(known) == len(times):
        return round((max(known) - min(known)).total_seconds())
    return None


def _bot(measures: Measures, dialogue: Dialogue, cues: Cues, context: Context) -> None:
    turns = len(dialogue.service_turns)
    fallbacks = context.fallback_count
    if fallbacks is None and dialogue.readable:
        fallbacks = len(cues.positions("fallback", side=Side.SERVICE))
    if not turns:
        measures.set_missing(NO_SERVICE if dialogue.attributed else _NO_ROLES, "fallbackRate")
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
    at_once = context.first_contact_resolution
    measures.set(
        "firstContactResolution",
        None if at_once is None else int(at_once),
        sentence("not_measured.first_contact"),
    )
    if dialogue.channel != "chat":
        seconds = measures.get("durationSeconds")
        handled = None if seconds is None else seconds + (context.after_call_seconds or 0)
        measures.set("handleSeconds", handled, NO_TIMES)


def _feelings(measures: Measures, dialogue: Dialogue, sentiment: Sentiment) -> None:
    # Overall -1 to 1, and its shift over the conversation, -2 to 2.
    customer = sentiment.customer
    if customer.overall is None:
        reason = NO_CUSTOMER if dialogue.attributed else _NO_ROLES
        reason = reason if dialogue.readable else dialogue.unread_reason
        measures.set_missing(reason, "sentiment.overall", "sentiment.shift")
        return
    measures.set("sentiment.overall", customer.overall)
    measures.set("sentiment.shift", customer.shift, sentence("not_measured.one_quarter"))


def measure_speech(
    measures: Measures, dialogue: Dialogue, timing: Timing, settings: MetricSettings
) -> None:
    """Add the metrics that come from the times of speech; none in a chat."""
    if dialogue.channel == "chat":
        return
    answer_gaps = (_LATENCY if dialogue.channel == "voice_bot" else _RESPONSE_GAP) + (
        "responseOverlapCount",
    )
    of_roles = _TALK + _OVERTALK + _INTERRUPTIONS + _PACE + _FLOW + answer_gaps
    if not timing.spoken:
        measures.set_missing(NO_TIMES, *of_roles, *_SILENCE, *_HOLD)
        return
    _silences(measures, dialogue, timing, settings)
    if dialogue.attributed:
        _talk(measures, timing)
        _interruptions(measures, timing)
        _pace(measures, dialogue, timing, settings)
        measures.set("longestMonologueMs", _longest_monologue(timing.spoken, settings))
        _answer_gaps(measures, dialogue.channel, timing)
    else:
        measures.set_missing(_NO_ROLES, *of_roles)
    if not timing.of_words:
        of_times = of_roles + _SILENCE + _HOLD
        measures.uncertain = tuple(name for name in of_times if measures.get(name) is not None)


def _silences(
    measures: Measures, dialogue: Dialogue, timing: Timing, settings: MetricSettings
) -> None:
    silent = timing.duration - total_length(timing.speech)
    measures.set("silenceMs", silent)
    _give_percent(measures, "silencePercent", silent, timing.duration)
    # A hold is heard as a gap, so that adding holds and gaps would count it twice.
    measures.set(
        "nonTalkMs", sum(gap.length for gap in timing.gaps if gap.length > settings.non_talk_gap_ms)
    )
    measures.set("longestSilenceMs", max((gap.length for gap in timing.gaps), default=0))
    long_silences = timing.long_silences(settings)
    if long_silences and not dialogue.readable:
        measures.set_missing(dialogue.unread_reason, *_HOLD)
        return
    dead = [gap.length for gap in long_silences if not gap.announced]
    measures.set("holdMs", sum(gap.length for gap in timing.holds(settings)))
    measures.set("deadAirCount", len(dead))
    measures.set("deadAirMs", sum(dead))


def _talk(measures: Measures, timing: Timing) -> None:
    agent, customer = total_length(timing.of(Side.SERVICE)), total_length(timing.of(Side.CUSTOMER))
    overtalk = total_length(timing.overlaps)
    measures.set("agentTalkMs", agent)
    measures.set("customerTalkMs", customer)
    _give_percent(measures, "agentTalkPercent", agent, timing.duration)
    ratio = agent / (agent + customer) if agent + customer else None
    measures.set("talkRatio", ratio, sentence("not_measured.no_speech"))
    measures.set("overtalkMs", overtalk)
    _give_percent(measures, "overtalkPercent", overtalk, timing.duration)
    measures.set("overtalkCount", len(timing.overlaps))


def _interruptions(measures: Measures, timing: Timing) -> None:
    sides = [item.line.side for item in timing.interruptions]
    measures.set("interruptionsByAgent", sides.count(Side.SERVICE))
    measures.set("interruptionsByCustomer", sides.count(Side.CUSTOMER))


def _pace(measures: Measures, dialogue: Dialogue, timing: Timing, settings: MetricSettings) -> None:
    for metric, side, lines in (
        ("agentWpm", Side.SERVICE, dialogue.service),
        ("customerWpm", Side.CUSTOMER, dialogue.customer),
    ):
        words = sum(len(line.text.split()) for line in lines)
        talk = total_length(timing.of(side))
        enough = words >= settings.pace_words and talk
        too_few = sentence("not_measured.few_words", least=settings.pace_words)
        measures.set(metric, 60_000 * words / talk if enough else None, too_few)
    talk = total_length(timing.of(Side.SERVICE))
    if not talk:
        measures.set_missing(NO_SERVICE, "fillerPerMinute")
        return
    fillers = sum(
        word in settings.fillers for line in dialogue.service for word in words_of(line.text)
    )
    measures.set("fillerPerMinute", 60_000 * fillers / talk)


def _longest_monologue(spoken: Iterable[Stretch], settings: MetricSettings) -> int:
    longest = start = end = 0
    side: Side | None = None
    for item in spoken:
        if item.start < end and is_back_channel(item.text, item.line.language, settings):
            continue
        if item.line.side is not side or item.start - end >= settings.monologue_gap_ms:
            side, start, end = item.line.side, item.start, item.end
        end = max(end, item.end)
        longest = max(longest, end - start)
    return longest


def _answer_gaps(measures: Measures, channel: str, timing: Timing) -> None:
    gaps_ms = _answer_gaps_ms(timing)
    measures.set("responseOverlapCount", sum(gap_ms < 0 for gap_ms in gaps_ms))
    gaps_ms = [gap_ms for gap_ms in gaps_ms if gap_ms >= 0]
    percents = {"responseGapMsP50": 50, "responseGapMsP90": 90}
    if channel == "voice_bot":
        measures.set("latencyMsCount", len(gaps_ms))
        percents = {"latencyMsP50": 50, "latencyMsP90": 90, "latencyMsP95": 95, "latencyMsMax": 100}
    if not gaps_ms:
        reason = NO_SERVICE if not timing.of(Side.SERVICE) else NO_CUSTOMER
        both = timing.of(Side.SERVICE) and timing.of(Side.CUSTOMER)
        measures.set_missing(sentence("not_measured.no_answer") if both else reason, *percents)
        return
    for name, percent in percents.items():
        measures.set(name, percentile(gaps_ms, percent))


def _answer_gaps_ms(timing: Timing) -> list[int]:
    """List the ms from the end of a customer's turn to the service's next; overlaps are negative."""
    gaps_ms = []
    customer_end: int | None = None
    for item in timing.spoken:
        if item.line.side is Side.CUSTOMER:
            customer_end = item.end if customer_end is None else max(customer_end, item.end)
        else:
            if item.line.side is Side.SERVICE and customer_end is not None:
                gaps_ms.append(item.start - customer_end)
            customer_end = None
    return gaps_ms


def _give_percent(measures: Measures, metric: str, part: int, whole: int) -> None:
    percent = 100 * part / whole if whole else None
    measures.set(metric, percent, sentence("not_measured.no_length"))


def measure_responses(measures: Measures, dialogue: Dialogue, context: Context) -> None:
    """Add the metrics that come from when messages were sent; only in a chat."""
    if dialogue.channel != "chat":
        return
    sent = sent_times(dialogue)
    if sent is None:
        measures.set_missing(NO_TIMES, _FIRST, *_RESPONSES, _RESOLUTION)
    elif not dialogue.attributed:
        measures.set_missing(_NO_ROLES, _FIRST, *_RESPONSES, _RESOLUTION)
    elif not dialogue.customer:
        measures.set_missing(NO_CUSTOMER, _FIRST, *_RESPONSES, _RESOLUTION)
    else:
        _measure_waits(measures, dialogue, sent, context)


def _measure_waits(
    measures: Measures, dialogue: Dialogue, sent: Sequence[datetime], context: Context
) -> None:
    first_asked_at = min(sent[line.position] for line in dialogue.customer)
    start = max(
        time
        for time in (first_asked_at, context.handed_off_at, context.reopened_at)
        if time is not None
    )
    answers = [
        sent[line.position]
        for line in dialogue.lines
        if line.by_human and sent[line.position] >= start
    ]
    no_person = sentence("not_measured.no_person")
    measures.set(_FIRST, _seconds(start, min(answers)) if answers else None, no_person)
    waits = [seconds for _, seconds in answer_times(dialogue.lines, sent)]
    if waits:
        measures.set("responseSecondsAvg", sum(waits) / len(waits))
        measures.set("responseSecondsP50", percentile(waits, 50))
        measures.set("responseSecondsP90", percentile(waits, 90))
    else:
        measures.set_missing(no_person, *_RESPONSES)
    closed_at = context.closed_at
    resolved = None if closed_at is None else max(0.0, _seconds(first_asked_at, closed_at))
    measures.set(_RESOLUTION, resolved, sentence("not_measured.close_unknown"))


def answer_times(lines: Sequence[Line], sent: Sequence[datetime]) -> list[tuple[Line, float]]:
    """List the lines with which a person answers, and the seconds that the customer had waited.

    A run of customer messages is answered once, and its first message has waited longest; what a
    bot says in between is no answer.
    """
    answers = []
    waiting_since: datetime | None = None
    for line in lines:
        if line.side is Side.CUSTOMER:
            waiting_since = waiting_since or sent[line.position]
        elif line.by_human and waiting_since is not None:
            answers.append((line, _seconds(waiting_since, sent[line.position])))
            waiting_since = None
    return answers


def sent_times(dialogue: Dialogue) -> list[datetime] | None:
    """Return when each line was sent; None unless every line has a time, and they are in order."""
    times = [line.segment.sent_at for line in dialogue.lines]
    if not times or any(time is None for time in times):
        return None
    known_times = [time for time in times if time is not None]
    in_order = all(before <= after for before, after in pairwise(known_times))
    return known_times if in_order else None


def _seconds(start: datetime, end: datetime) -> float:
    return round((end - start).total_seconds(), 3)
