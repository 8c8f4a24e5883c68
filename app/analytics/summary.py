"""The summary of a period: everything at a glance (contract B11)."""

from typing import Any

from sqlalchemy.orm import Session

from app.analytics import lanes, measures, reading
from app.analytics.figures import CHANNELS, Columns
from app.analytics.reading import Question
from app.analytics.statistics import rounded, share

_PENDING = ("queued", "transcribing", "evaluating")
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
    every = reading.columns(session, question)
    done = measures.completed(every)
    return {
        "period": question.period.shown(),
        "totals": _totals(every),
        "coverage": rounded(share(len(done), len(every)), measures.SHARE_PLACES),
        "score": {**measures.scores(done), "distribution": measures.distribution(done)},
        "sentiment": measures.sentiment(done),
        "resolution": _resolution(done),
        "speech": _speech(done),
        "response": {
            "first_response_seconds_median": measures.percentile(
                done, "first_response_seconds", 0.5
            ),
            "first_response_seconds_p90": measures.percentile(done, "first_response_seconds", 0.9),
        },
        "by_channel": _by_channel(done),
        "top_topics": _top_topics(session, question, len(done)),
        "weakest_criteria": _weakest(session, question, min_evaluations),
        "change": _change(session, question, done) if compare else None,
    }


def _totals(every: Columns) -> dict[str, int]:
    sources, statuses = every.words("source_type"), every.words("status")
    return {
        **{name: sources[source] for name, source in _COUNTED.items()},
        "evaluations": len(every),
        "completed": statuses["completed"],
        "failed": statuses["failed"],
        "pending": sum(statuses[each] for each in _PENDING),
    }


def _resolution(done: Columns) -> dict[str, int]:
    counted = done.words("resolution")
    # An engine that cannot tell leaves it out.
    counted["unknown"] += len(done) - sum(counted.values())
    return counted


def _speech(done: Columns) -> dict[str, float | None]:
    return {
        "talk_ratio": measures.mean(done, "talk_ratio"),
        "silence_percent": measures.mean(done, "silence_percent", 2),
        "dead_air_per_call": measures.mean(done, "dead_air_count"),
        "interruptions_per_call": measures.mean(done, "interruptions"),
        "agent_wpm": measures.mean(done, "agent_wpm", 2),
    }


def _by_channel(done: Columns) -> list[dict[str, Any]]:
    found = []
    for channel in CHANNELS:
        own = done.select("channel", channel)
        if len(own):
            found.append({"channel": channel, "evaluations": len(own), **_headline(own)})
    return found


def _headline(done: Columns) -> dict[str, Any]:
    return {
        "mean_score": measures.mean(done, "score", measures.SCORE_PLACES),
        "pass_rate": measures.pass_rate(done),
        "auto_fail_rate": measures.mean(done, "auto_failed"),
        "compliance_mean": measures.mean(done, "compliance_score", measures.SCORE_PLACES),
        "mean_customer_sentiment": measures.mean(done, "customer_sentiment"),
    }


def _top_topics(session: Session, question: Question, number: int) -> list[dict[str, Any]]:
    counted = reading.topics(session, question)
    top = sorted(counted.items(), key=lambda each: (-each[1], each[0]))[:10]
    return [
        {
            "topic": topic,
            "count": count,
            "share": rounded(share(count, number), measures.SHARE_PLACES),
        }
        for topic, count in top
    ]


def _weakest(session: Session, question: Question, at_least: int) -> list[dict[str, Any]]:
    return [
        {
            "key": each.key,
            "title": each.title,
            "section": each.section,
            "mean_score": rounded(each.mean, measures.SCORE_PLACES),
            "evaluations": each.count,
        }
        for each in lanes.means(session, question).weakest(at_least=at_least, limit=5)
    ]


def _change(session: Session, question: Question, done: Columns) -> dict[str, Any]:
    former = question.former()
    before = measures.completed(reading.columns(session, former))
    return {
        "period": former.period.shown(),
        "evaluations": len(done) - len(before),
        **measures.change(_headline(done), _headline(before)),
    }
