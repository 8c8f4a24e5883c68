"""Summary of a period."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from app.analytics.engine.aggregates import Aggregate, Groups, ScoreMeans
from app.analytics.engine.reader import Aggregation, FactReader
from app.analytics.engine.selection import Selection
from app.analytics.reports import measures
from app.analytics.reports.measures import rounded, share
from app.audio_files.enums import AudioStatus
from app.audio_files.models import AudioFile
from app.conversations.models import Conversation
from app.evaluations.enums import RESOLUTIONS, ByDay, Channel
from app.voice_calls.enums import CallStatus
from app.voice_calls.models import VoiceCall

_PENDING = ("queued", "transcribing", "evaluating")
_COUNTED = {
    "conversations": "conversation",
    "voice_calls": "voice_call",
    "audio_files": "audio_file",
}

# Contacts without an evaluation, and the channel by which a filter finds them. Unanswered calls and
# uploads that were never completed are none.
_CONTACTS: dict[str, tuple[Channel, Any, tuple[ColumnElement[bool], ...]]] = {
    "conversations": (Channel.CHAT, Conversation, (Conversation.evaluation_id.is_(None),)),
    "voice_calls": (
        Channel.VOICE_BOT,
        VoiceCall,
        (VoiceCall.evaluation_id.is_(None), VoiceCall.status == CallStatus.COMPLETED),
    ),
    "audio_files": (Channel.VOICE, AudioFile, (AudioFile.status == AudioStatus.UPLOADED,)),
}
_SCORES = {
    "mean": "mean_score",
    "median": "median_score",
    "p10": "p10",
    "p90": "p90",
    "stdev": "stdev",
    "pass_rate": "pass_rate",
    "auto_fail_rate": "auto_fail_rate",
    "compliance_mean": "compliance_mean",
}
_HEADLINE = (
    *("mean_score", "pass_rate", "auto_fail_rate", "compliance_mean"),
    "mean_customer_sentiment",
)


def summarize(
    facts: FactReader, selection: Selection, *, min_evaluations: int, compare: bool
) -> dict[str, Any]:
    by_channel = Groups(facts, selection, "channel").aggregates()
    overall = _sum(by_channel)
    Groups(facts, selection).add_details({None: overall})
    totals = _totals(facts, selection, overall)
    return {
        "period": selection.period.shown(),
        "totals": totals,
        "coverage": rounded(
            share(totals["completed"], sum(totals[name] for name in _COUNTED)),
            measures.SHARE_PLACES,
        ),
        "score": {
            **{name: measures.LEADERBOARD[key](overall) for name, key in _SCORES.items()},
            "distribution": measures.distribution(overall.scores),
        },
        "sentiment": measures.sentiment(overall),
        "resolution": {name: overall.resolutions[name] for name in RESOLUTIONS},
        "speech": _speech(overall),
        "response": {
            "first_response_seconds_median": rounded(overall.first_response_median, 2),
            "first_response_seconds_p90": rounded(overall.first_response_p90, 2),
        },
        "by_channel": _by_channel(by_channel),
        "top_topics": _top_topics(facts, selection, overall),
        "weakest_criteria": _weakest(overall.score_means, min_evaluations),
        "change": _change(facts, selection, overall) if compare else None,
    }


def _sum(aggregates: Mapping[Any, Aggregate]) -> Aggregate:
    total = Aggregate()
    for aggregate in aggregates.values():
        total.add(aggregate)
    return total


def _totals(facts: FactReader, selection: Selection, overall: Aggregate) -> dict[str, int]:
    groups = facts.aggregate(selection, Aggregation(("source_type", "status"), condition="true"))
    sources: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    for (source_type, status), (count,) in groups.items():
        sources[source_type] += count
        statuses[status] += count
    others = _unevaluated(facts.session, selection)
    return {
        **{name: sources[source] + others[name] for name, source in _COUNTED.items()},
        "evaluations": statuses.total(),
        "completed": statuses["completed"],
        "without_verdict": overall.evaluations - overall.with_verdict,
        "failed": statuses["failed"],
        "pending": sum(statuses[status] for status in _PENDING),
    }


def _unevaluated(session: Session, selection: Selection) -> dict[str, int]:
    """Count the selected contacts without an evaluation; a scorecard filter excludes them all."""
    if selection.scorecard_id is not None:
        return dict.fromkeys(_CONTACTS, 0)
    return {
        name: _count(session, selection, table, where)
        if channel in (selection.channel or Channel)
        else 0
        for name, (channel, table, where) in _CONTACTS.items()
    }


def _count(
    session: Session, selection: Selection, table: Any, where: tuple[ColumnElement[bool], ...]
) -> int:
    is_judgement = selection.by_day == ByDay.JUDGEMENT
    moment = table.created_at if is_judgement else table.conversation_at
    statement = select(func.count()).where(
        moment >= selection.period.start,
        moment < selection.period.end,
        *where,
        *(getattr(table, name) == key for name, key in selection.ids().items()),
    )
    return session.scalar(statement) or 0


def _speech(aggregate: Aggregate) -> dict[str, float | None]:
    return {
        "talk_ratio": measures.mean(aggregate, "talk_ratio"),
        "silence_percent": measures.mean(aggregate, "silence_percent", 2),
        "dead_air_per_call": measures.mean(aggregate, "dead_air_count"),
        "interruptions_per_call": measures.mean(aggregate, "interruptions"),
        "agent_wpm": measures.mean(aggregate, "agent_wpm", 2),
    }


def _by_channel(aggregates: Mapping[str, Aggregate]) -> list[dict[str, Any]]:
    return [
        {
            "channel": channel,
            "evaluations": aggregates[channel].evaluations,
            **_headline(aggregates[channel]),
        }
        for channel in Channel
        if channel in aggregates
    ]


def _headline(aggregate: Aggregate) -> dict[str, Any]:
    return {name: measures.LEADERBOARD[name](aggregate) for name in _HEADLINE}


def _top_topics(
    facts: FactReader, selection: Selection, overall: Aggregate
) -> list[dict[str, Any]]:
    groups = facts.aggregate(selection, Aggregation(("topic",), by_topic=True))
    counted = [(topic, count) for (topic,), (count,) in groups.items()]
    return [
        {
            "topic": topic,
            "count": count,
            "share": rounded(share(count, overall.evaluations), measures.SHARE_PLACES),
        }
        for topic, count in sorted(counted, key=lambda item: (-item[1], item[0]))[:10]
    ]


def _weakest(means: ScoreMeans, at_least: int) -> list[dict[str, Any]]:
    return [
        {
            "key": criterion.key,
            "title": criterion.title,
            "section": criterion.section,
            "mean_score": rounded(criterion.mean, measures.SCORE_PLACES),
            "evaluations": criterion.count,
        }
        for criterion in means.weakest(at_least=at_least, limit=5)
    ]


def _change(facts: FactReader, selection: Selection, overall: Aggregate) -> dict[str, Any]:
    former = selection.before()
    before = _sum(Groups(facts, former, "channel").aggregates())
    return {
        "period": former.period.shown(),
        "evaluations": overall.evaluations - before.evaluations,
        **measures.change(_headline(overall), _headline(before)),
    }
