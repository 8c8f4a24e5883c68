"""The metrics of spoken conversations, as docs/metrics.md defines."""

from collections.abc import Iterable

from app.ai.dialogue.turns import Dialogue, Side
from app.ai.facts.intervals import length, percentile
from app.ai.facts.measures import (
    NO_CUSTOMER,
    NO_ROLES,
    NO_SERVICE,
    NO_TIMES,
    Measures,
)
from app.ai.facts.timing import TimedLine, Timing, is_back_channel, words_of
from app.ai.scorecard.values import MetricSettings
from app.ai.wording.sentences import sentence

_TALK = ("agentTalkMs", "customerTalkMs", "agentTalkPercent", "talkRatio")
_OVERTALK = ("overtalkMs", "overtalkPercent", "overtalkCount")
_INTERRUPTIONS = ("interruptionsByAgent", "interruptionsByCustomer")
_SILENCE = ("silenceMs", "silencePercent", "nonTalkMs", "longestSilenceMs")
_HOLD = ("holdMs", "deadAirCount", "deadAirMs")
_PACE = ("agentWpm", "customerWpm", "fillerPerMinute")
_FLOW = ("longestMonologueMs",)
_LATENCY = ("latencyMsP50", "latencyMsP90", "latencyMsP95", "latencyMsMax", "latencyMsCount")
_GAP = ("responseGapMsP50", "responseGapMsP90")


def measure_speech(
    measures: Measures, dialogue: Dialogue, timing: Timing, settings: MetricSettings
) -> None:
    """Add the metrics that come from the times of speech; none in a chat."""
    if dialogue.channel == "chat":
        return
    answer_gaps = (_LATENCY if dialogue.channel == "voice_bot" else _GAP) + (
        "responseOverlapCount",
    )
    of_roles = _TALK + _OVERTALK + _INTERRUPTIONS + _PACE + _FLOW + answer_gaps
    if not timing.spoken:
        measures.set_missing(NO_TIMES, *of_roles, *_SILENCE, *_HOLD)
        return
    _silence(measures, dialogue, timing, settings)
    if not dialogue.attributed:
        measures.set_missing(NO_ROLES, *of_roles)
        return
    _talk(measures, timing)
    _interruptions(measures, timing)
    _pace(measures, dialogue, timing, settings)
    measures.set("longestMonologueMs", _longest_monologue(timing.spoken, settings))
    _answer_gaps(measures, dialogue.channel, timing)


def _silence(
    measures: Measures, dialogue: Dialogue, timing: Timing, settings: MetricSettings
) -> None:
    silent = timing.duration - length(timing.speech)
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
    agent, customer = length(timing.of(Side.SERVICE)), length(timing.of(Side.CUSTOMER))
    overtalk = length(timing.overlaps)
    measures.set("agentTalkMs", agent)
    measures.set("customerTalkMs", customer)
    _give_percent(measures, "agentTalkPercent", agent, timing.duration)
    if agent + customer:
        measures.set("talkRatio", agent / (agent + customer))
    else:
        measures.set_missing(sentence("not_measured.no_speech"), "talkRatio")
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
        talk = length(timing.of(side))
        if words < settings.pace_words or not talk:
            measures.set_missing(
                sentence("not_measured.few_words", least=settings.pace_words), metric
            )
        else:
            measures.set(metric, 60_000 * words / talk)
    talk = length(timing.of(Side.SERVICE))
    if not talk:
        measures.set_missing(NO_SERVICE, "fillerPerMinute")
        return
    fillers = sum(
        word in settings.fillers for line in dialogue.service for word in words_of(line.text)
    )
    measures.set("fillerPerMinute", 60_000 * fillers / talk)


def _longest_monologue(spoken: Iterable[TimedLine], settings: MetricSettings) -> int:
    longest = start = end = 0
    side: Side | None = None
    for item in spoken:
        if item.start < end and is_back_channel(item.line, settings):
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
    if whole:
        measures.set(metric, 100 * part / whole)
    else:
        measures.set_missing(sentence("not_measured.no_length"), metric)
