"""The rules of time: pace, silence, latency, turn taking and how long a customer waits."""

from collections.abc import Iterable, Sized

from app.ai.dialogue.evidence import CONTRADICTS, SUPPORTS, Evidence, whole
from app.ai.dialogue.turns import Side
from app.ai.facts.gathering import Facts, quoted, segments_named
from app.ai.facts.timing import Gap, Interruption
from app.ai.scorecard.values import Criterion
from app.ai.scoring.answers import Answer, judged, not_applicable, unjudged

_MINUTE_MS = 60_000
_QUOTES = 5


def pace(facts: Facts, criterion: Criterion) -> Answer:
    """Judge the agent's words per minute and how often the agent interrupts."""
    parameters = criterion.parameters
    talk, wpm = facts.measures.get("agentTalkMs"), facts.measures.get("agentWpm")
    least = parameters["minSpeechMs"]
    if talk is None or wpm is None or talk < least:
        reason = f"The agent speaks for less than {least / 1000:g} seconds."
        return not_applicable(reason, by="metric")
    interruptions = _by(facts, Side.SERVICE)
    allowed = parameters["interruptionsPer10MinBelow"] * _units(facts, 10)
    calm, patient = (
        parameters["minWpm"] <= wpm <= parameters["maxWpm"],
        len(interruptions) < allowed,
    )
    return judged(
        round(wpm),
        (calm + patient) / 2,
        f"The agent speaks {wpm:.0f} words a minute (wanted: {parameters['minWpm']:g} to "
        f"{parameters['maxWpm']:g}) and {_often('interrupts the customer', interruptions)}.",
        confidence=0.9,
        by="metric",
        evidence=_interrupting(interruptions),
    )


def hold_silence(facts: Facts, criterion: Criterion) -> Answer:
    """Judge whether every long silence was announced."""
    silences, holds = facts.timing.long_silences(facts.settings), facts.timing.holds(facts.settings)
    if not silences and not holds:
        return not_applicable("There is no hold and no long silence.", by="metric")
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
        f"Nine in ten answers start within {waited / 1000:.1f} seconds "
        f"(full: {limits[0] / 1000:g}, half: {limits[1] / 1000:g}).",
        confidence=0.9,
        by="metric",
    )


def turn_taking(facts: Facts, criterion: Criterion) -> Answer:
    """Judge how often the bot talks over the caller, and whether it stops when barged into."""
    parameters = criterion.parameters
    if not facts.timing.of(Side.SERVICE) or not facts.timing.of(Side.CUSTOMER):
        return not_applicable("Only one side speaks.", by="metric")
    talked_over = _by(facts, Side.SERVICE)
    ignored = [
        item
        for item in _by(facts, Side.CUSTOMER)
        if item.end - item.start > parameters["stopsWithinMs"]
    ]
    polite = len(talked_over) <= parameters["maxPer5Min"] * _units(facts, 5)
    return judged(
        len(talked_over),
        (polite + (not ignored)) / 2,
        f"The bot {_often('talks over the caller', talked_over)} and "
        f"{_often('talks on when barged into', ignored)}.",
        confidence=0.85,
        by="metric",
        evidence=_interrupting(talked_over + ignored),
    )


def first_response(facts: Facts, criterion: Criterion) -> Answer:
    """Judge how long the customer waits for the first answer of a person."""
    return _wait(facts, criterion, "firstResponseSeconds", "A person first answers after")


def gaps(facts: Facts, criterion: Criterion) -> Answer:
    """Judge the 90th percentile of the reply times; asynchronous platforms promise none."""
    if facts.context.asynchronous:
        return not_applicable("The platform is asynchronous.", by="metric")
    return _wait(facts, criterion, "responseSecondsP90", "Nine in ten replies come within")


def _wait(facts: Facts, criterion: Criterion, metric: str, sentence: str) -> Answer:
    waited = facts.measures.get(metric)
    if waited is None:
        return not_applicable(_reason(facts, metric), by="metric")
    full, half = criterion.parameters["fullSeconds"], criterion.parameters["halfSeconds"]
    return judged(
        waited,
        _level(waited, full, half),
        f"{sentence} {waited:.0f} seconds (full: {full:g}, half: {half:g}).",
        confidence=0.95,
        by="metric",
    )


def _dead_air(facts: Facts, criterion: Criterion, silences: list[Gap]) -> Answer:
    if any(gap.announced is None for gap in silences):
        return unjudged(
            f"Whether a silence was announced can't be told. {facts.dialogue.unread}", by="metric"
        )
    dead = [gap for gap in silences if not gap.announced]
    limit_s = facts.settings.dead_air_ms / 1000
    if dead:
        longest = max(gap.length for gap in dead) / 1000
        explanation = (
            f"There is unexplained dead air of {limit_s:g} seconds or more{_times(dead)}, the "
            f"longest {longest:.1f} seconds, after {segments_named(gap.before for gap in dead)}."
        )
    elif silences or facts.timing.holds(facts.settings):
        explanation = f"Every silence of {limit_s:g} seconds or more is announced."
    else:
        explanation = f"There is no silence of {limit_s:g} seconds or more."
    fulfilled = len(dead) <= criterion.parameters["maxDeadAirCount"]
    return judged(
        len(dead),
        float(fulfilled),
        explanation,
        confidence=facts.sure(0.9),
        by="metric",
        evidence=_around(facts, dead),
    )


def _around(facts: Facts, dead: list[Gap]) -> Iterable[Evidence]:
    if not dead:
        lines = {gap.before.position: gap.before for gap in facts.timing.holds(facts.settings)}
        return quoted(facts.cues.of("hold", list(lines.values())), SUPPORTS)
    return tuple(whole(gap.before.segment, CONTRADICTS) for gap in dead[:_QUOTES])


def _interrupting(items: Iterable[Interruption]) -> tuple[Evidence, ...]:
    return tuple(whole(item.line.segment, CONTRADICTS) for item in list(items)[:_QUOTES])


def _by(facts: Facts, side: Side) -> list[Interruption]:
    return [item for item in facts.timing.interruptions if item.line.side is side]


def _units(facts: Facts, minutes: int) -> float:
    # A limit per 10 minutes holds in full for a call of 3, or one slip would be a high rate.
    return max(1.0, facts.timing.duration / (minutes * _MINUTE_MS))


def _level(value: float, full: float, half: float) -> float:
    return 1.0 if value <= full else 0.5 if value <= half else 0.0


def _often(does: str, times: Sized) -> str:
    return f"{does}{_times(times)}" if times else f"never {does}"


def _times(times: Sized) -> str:
    return {1: " once", 2: " twice"}.get(len(times), f" {len(times)} times")


def _reason(facts: Facts, metric: str) -> str:
    return facts.measures.missing.get(metric, "It was not measured.")
