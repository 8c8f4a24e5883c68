"""Rules of metrics: pace, silence, latency, turn taking, waiting times, and an author's ranges."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.judge.dialogue.evidence import CONTRADICTS, SUPPORTS, Evidence
from app.judge.dialogue.turns import Side
from app.judge.facts.conversation_facts import Facts, examined, quoted
from app.judge.facts.metrics import DOUBTFUL_OF_TURNS
from app.judge.facts.timing import Gap, Interruption
from app.judge.scorecard.values import Criterion, Parameters
from app.judge.scoring.answers import Answer, judged, not_applicable, unjudged
from app.judge.wording import part, sentence, times

_MINUTE_MS = 60_000
_HOUR_S = 3600
_LEVELS = (("full", 1.0), ("half", 0.5))


def pace(facts: Facts, criterion: Criterion) -> Answer:
    """Judge the agent's words per minute and how often the agent interrupts."""
    parameters = criterion.parameters
    talk, wpm = facts.measures.get("agentTalkMs"), facts.measures.get("agentWpm")
    least = parameters["minSpeechMs"]
    if talk is None or wpm is None or talk < least:
        reason = sentence("pace.too_little", seconds=f"{least / 1000:g}")
        return not_applicable(reason, by="metric")
    interruptions = _by(facts, Side.SERVICE)
    allowed = parameters["interruptionsPer10MinBelow"] * _units(facts, 10)
    calm = parameters["minWpm"] <= wpm <= parameters["maxWpm"]
    patient = len(interruptions) < allowed
    answer = judged(
        round(wpm),
        (calm + patient) / 2,
        sentence(
            "pace.measured",
            wpm=f"{wpm:.0f}",
            least=f"{parameters['minWpm']:g}",
            most=f"{parameters['maxWpm']:g}",
            interruptions=_often("pace.interrupted", "pace.patient", interruptions),
        ),
        confidence=0.9,
        by="metric",
        evidence=_interrupting(interruptions),
        advice=_pace_advice(parameters, wpm, patient=patient),
    )
    return unless_of_turns(facts, answer)


def _pace_advice(parameters: Parameters, wpm: float, *, patient: bool) -> str:
    advice = []
    if wpm > parameters["maxWpm"]:
        advice.append(sentence("advice.slower", most=f"{parameters['maxWpm']:g}"))
    if wpm < parameters["minWpm"]:
        advice.append(sentence("advice.faster", least=f"{parameters['minWpm']:g}"))
    if not patient:
        advice.append(sentence("advice.let_finish"))
    return " ".join(advice)


def hold_silence(facts: Facts, criterion: Criterion) -> Answer:
    """Judge whether every long silence was announced."""
    silences, holds = facts.timing.long_silences(facts.settings), facts.timing.holds(facts.settings)
    if not silences and not holds:
        return not_applicable(sentence("silence.none_to_judge"), by="metric")
    return _dead_air(facts, criterion, silences)


def dead_air(facts: Facts, criterion: Criterion) -> Answer:
    """Judge whether there are gaps that nothing explains."""
    return _dead_air(facts, criterion, facts.timing.long_silences(facts.settings))


def latency(facts: Facts, criterion: Criterion) -> Answer:
    """Judge the 90th percentile of the bot's time to answer."""
    waited = facts.measures.get("latencyMsP90")
    if waited is None:
        return not_applicable(_reason(facts, "latencyMsP90"), by="metric")
    limits = (criterion.parameters["fullMs"], criterion.parameters["halfMs"])
    return judged(
        round(waited),
        _level(waited, *limits),
        sentence(
            "latency.measured",
            seconds=f"{waited / 1000:.1f}",
            full=f"{limits[0] / 1000:g}",
            half=f"{limits[1] / 1000:g}",
        ),
        confidence=0.9,
        by="metric",
    )


def turn_taking(facts: Facts, criterion: Criterion) -> Answer:
    """Judge how often the bot talks over the caller, and whether it stops when barged into."""
    parameters = criterion.parameters
    if not facts.timing.of(Side.SERVICE) or not facts.timing.of(Side.CUSTOMER):
        return not_applicable(sentence("no_occasion.one_side"), by="metric")
    talked_over = _by(facts, Side.SERVICE)
    ignored = [
        item
        for item in _by(facts, Side.CUSTOMER)
        if item.end - item.start > parameters["stopsWithinMs"]
    ]
    polite = len(talked_over) <= parameters["maxPer5Min"] * _units(facts, 5)
    answer = judged(
        len(talked_over),
        (polite + (not ignored)) / 2,
        sentence(
            "turn_taking.measured",
            talked_over=_often(
                "turn_taking.talked_over", "turn_taking.never_talked_over", talked_over
            ),
            talked_on=_often("turn_taking.talked_on", "turn_taking.always_stopped", ignored),
        ),
        confidence=0.85,
        by="metric",
        evidence=_interrupting(talked_over + ignored),
    )
    return unless_of_turns(facts, answer)


def first_response(facts: Facts, criterion: Criterion) -> Answer:
    """Judge how long the customer waits for the first answer of a person."""
    return _wait(facts, criterion, "firstResponseSeconds", "wait.first_response")


def gaps(facts: Facts, criterion: Criterion) -> Answer:
    """Judge the 90th percentile of the reply times."""
    return _wait(facts, criterion, "responseSecondsP90", "wait.replies")


def metric_range(facts: Facts, criterion: Criterion) -> Answer:
    """Answer with a metric: in the full range 1, in the half range 0.5, else 0."""
    parameters = criterion.parameters
    metric = parameters["metric"]
    value = facts.measures.get(metric)
    if value is None:
        reason = facts.measures.missing.get(metric, sentence("metric_range.other_channel"))
        return not_applicable(
            sentence("metric_range.missing", metric=part(f"metric.{metric}"), reason=reason),
            by="metric",
        )
    levels = [(name, score) for name, score in _LEVELS if name in parameters]
    reached = (score for name, score in levels if is_within(parameters[name], value))
    ranges = [
        part(f"metric_range.{name}", range=range_in_words(parameters[name])) for name, _ in levels
    ]
    answer = judged(
        value,
        next(reached, 0.0),
        sentence(
            "metric_range.measured",
            metric=part(f"metric.{metric}"),
            value=f"{value:g}",
            wanted="; ".join(ranges),
        ),
        confidence=0.9,
        by="metric",
    )
    return unless_of_turns(facts, answer) if metric in DOUBTFUL_OF_TURNS else answer


def unless_of_turns(facts: Facts, answer: Answer) -> Answer:
    """Withhold an answer below the full score where only the times of whole turns are known."""
    if facts.timing.of_words or answer.score in (None, 1.0):
        return answer
    return unjudged(sentence("not_judged.no_word_times"), by="metric")


def is_within(bounds: Mapping[str, Any], value: float) -> bool:
    """Tell whether a value is within a range, including its limits."""
    return bool(bounds.get("atLeast", value) <= value <= bounds.get("atMost", value))


def range_in_words(bounds: Mapping[str, Any]) -> str:
    words = (("atLeast", "at least"), ("atMost", "at most"))
    return " and ".join(f"{word} {bounds[name]:g}" for name, word in words if name in bounds)


def _wait(facts: Facts, criterion: Criterion, metric: str, key: str) -> Answer:
    waited = facts.measures.get(metric)
    if waited is None:
        return not_applicable(_reason(facts, metric), by="metric")
    full, half = criterion.parameters["fullSeconds"], criterion.parameters["halfSeconds"]
    # Limits of minutes are those of chats: nobody waits in front of an e-mail.
    if facts.context.asynchronous and half < _HOUR_S:
        return not_applicable(sentence("wait.asynchronous"), by="metric")
    return judged(
        waited,
        _level(waited, full, half),
        sentence(key, waited=_long(waited), full=_long(full), half=_long(half)),
        confidence=0.95,
        by="metric",
    )


def _long(seconds: float) -> str:
    """Spell a time in seconds, or from an hour on in hours."""
    if seconds < _HOUR_S:
        return f"{seconds:.0f} seconds"
    hours = f"{seconds / _HOUR_S:.1f}".removesuffix(".0")
    return f"{hours} hour" if hours == "1" else f"{hours} hours"


def _dead_air(facts: Facts, criterion: Criterion, silences: list[Gap]) -> Answer:
    if any(gap.announced is None for gap in silences):
        reason = sentence("not_judged.silence_unread", reason=facts.dialogue.unread_reason)
        return unjudged(reason, by="metric")
    dead = [gap for gap in silences if not gap.announced]
    fulfilled = len(dead) <= criterion.parameters["maxDeadAirCount"]
    return judged(
        len(dead),
        float(fulfilled),
        _silence_text(facts, dead, silences),
        confidence=facts.confidence(0.9),
        by="metric",
        evidence=_around(facts, dead),
    )


def _silence_text(facts: Facts, dead: list[Gap], silences: list[Gap]) -> str:
    limit = f"{facts.settings.dead_air_ms / 1000:g}"
    if dead:
        longest = f"{max(gap.length for gap in dead) / 1000:.1f}"
        key = "silence.unexplained_once" if len(dead) == 1 else "silence.unexplained"
        return sentence(key, limit=limit, longest=longest, times=times(len(dead)))
    announced = silences or facts.timing.holds(facts.settings)
    return sentence("silence.announced" if announced else "silence.none", limit=limit)


def _around(facts: Facts, dead: list[Gap]) -> Iterable[Evidence]:
    if dead:
        return examined(gap.before for gap in dead)
    lines = {gap.before.position: gap.before for gap in facts.timing.holds(facts.settings)}
    return quoted(facts.cues.of("hold", lines=list(lines.values())), SUPPORTS)


def _interrupting(items: Iterable[Interruption]) -> tuple[Evidence, ...]:
    return examined((item.line for item in items), CONTRADICTS)


def _by(facts: Facts, side: Side) -> list[Interruption]:
    return [item for item in facts.timing.interruptions if item.line.side is side]


def _units(facts: Facts, minutes: int) -> float:
    # A limit per 10 minutes applies in full to a call of 3, or one slip would be a high rate.
    return max(1.0, facts.timing.duration / (minutes * _MINUTE_MS))


def _level(value: float, full: float, half: float) -> float:
    return 1.0 if value <= full else 0.5 if value <= half else 0.0


def _often(key: str, never: str, items: Sequence[Interruption]) -> str:
    return part(key, times=times(len(items))) if items else part(never)


def _reason(facts: Facts, metric: str) -> str:
    return facts.measures.missing.get(metric, sentence("wait.not_measured"))
