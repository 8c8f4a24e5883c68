"""The summary of a period: everything at a glance (contract B11)."""

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy.orm import Session

from app.analytics import contacts, layouts, measures, reading
from app.analytics.figures import CHANNELS
from app.analytics.lanes import LaneMeans, means_of
from app.analytics.reading import Question
from app.analytics.statistics import rounded, share
from app.analytics.tallies import Detail, Tally
from app.analytics.views import CHANNEL

_PENDING = ("queued", "transcribing", "evaluating")
_DETAILS = (Detail.SCORES, Detail.WAITS, Detail.TOPICS, Detail.SHARES)
_COUNTED = {
    "conversations": "conversation",
    "voice_calls": "voice_call",
    "audio_files": "audio_file",
}


def summarize(
    session: Session, question: Question, *, min_evaluations: int, compare: bool
) -> dict[str, Any]:
    """Summarize the current evaluations that are meant.

    Args:
        min_evaluations: how often a criterion must have applied to count among the weakest.
        compare: also tell the change since the period before.
    """
    by_channel = _tallies(session, question, _DETAILS)
    tally = Tally()
    for each in by_channel.values():
        tally.add(each)
    totals = _totals(tally, contacts.unevaluated(session, question))
    return {
        "period": question.period.shown(),
        "totals": totals,
        "coverage": _coverage(totals),
        "score": {**measures.scores(tally), "distribution": measures.distribution(tally)},
        "sentiment": measures.sentiment(tally),
        "resolution": _resolution(tally),
        "speech": _speech(tally),
        "response": {
            "first_response_seconds_median": measures.wait(tally, 0.5),
            "first_response_seconds_p90": measures.wait(tally, 0.9),
        },
        "by_channel": _by_channel(by_channel),
        "top_topics": _top_topics(tally),
        "weakest_criteria": _weakest(
            means_of(tally.shares, layouts.lanes_by_layout(session)), min_evaluations
        ),
        "change": _change(session, question, tally) if compare else None,
    }


def _tallies(
    session: Session, question: Question, details: Collection[Detail] = ()
) -> dict[int, Tally]:
    """Tally the period by the codes of channels."""
    whole = [reading.whole(question)]
    found = reading.tallies(session, question, whole, CHANNEL, details=details)
    return {channel: each for (_, channel), each in found.items()}


def _totals(tally: Tally, others: Mapping[str, int]) -> dict[str, int]:
    sources, statuses = tally.words("source_type"), tally.words("status")
    return {
        **{name: sources[source] + others[name] for name, source in _COUNTED.items()},
        "evaluations": tally.number("evaluations"),
        "completed": tally.completed,
        "failed": statuses["failed"],
        "pending": sum(statuses[each] for each in _PENDING),
    }


def _coverage(totals: Mapping[str, int]) -> float | None:
    contacts = sum(totals[name] for name in _COUNTED)
    return rounded(share(totals["completed"], contacts), measures.SHARE_PLACES)


def _resolution(tally: Tally) -> dict[str, int]:
    counted = tally.words("resolution")
    # An engine that cannot tell leaves it out.
    counted["unknown"] += tally.completed - sum(counted.values())
    return counted


def _speech(tally: Tally) -> dict[str, float | None]:
    return {
        "talk_ratio": measures.mean(tally, "talk_ratio"),
        "silence_percent": measures.mean(tally, "silence_percent", 2),
        "dead_air_per_call": measures.mean(tally, "dead_air_count"),
        "interruptions_per_call": measures.mean(tally, "interruptions"),
        "agent_wpm": measures.mean(tally, "agent_wpm", 2),
    }


def _by_channel(tallies: Mapping[int, Tally]) -> list[dict[str, Any]]:
    return [
        {"channel": CHANNELS[channel], "evaluations": own.completed, **_headline(own)}
        for channel, own in sorted(tallies.items())
        if own.completed
    ]


def _headline(tally: Tally) -> dict[str, Any]:
    return {
        "mean_score": measures.mean(tally, "score", measures.SCORE_PLACES),
        "pass_rate": measures.pass_rate(tally),
        "auto_fail_rate": measures.mean(tally, "auto_failed"),
        "compliance_mean": measures.mean(tally, "compliance_score", measures.SCORE_PLACES),
        "mean_customer_sentiment": measures.mean(tally, "customer_sentiment"),
    }


def _top_topics(tally: Tally) -> list[dict[str, Any]]:
    top = sorted(tally.topics.items(), key=lambda each: (-each[1], each[0]))[:10]
    return [
        {
            "topic": topic,
            "count": count,
            "share": rounded(share(count, tally.completed), measures.SHARE_PLACES),
        }
        for topic, count in top
    ]


def _weakest(means: LaneMeans, at_least: int) -> list[dict[str, Any]]:
    return [
        {
            "key": each.key,
            "title": each.title,
            "section": each.section,
            "mean_score": rounded(each.mean, measures.SCORE_PLACES),
            "evaluations": each.count,
        }
        for each in means.weakest(at_least=at_least, limit=5)
    ]


def _change(session: Session, question: Question, tally: Tally) -> dict[str, Any]:
    former, before = question.former(), Tally()
    for each in _tallies(session, former).values():
        before.add(each)
    return {
        "period": former.period.shown(),
        "evaluations": tally.completed - before.completed,
        **measures.change(_headline(tally), _headline(before)),
    }
