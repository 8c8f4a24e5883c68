"""Hits of a criterion that somebody is writing: its answers for the newest conversations of a channel."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from app.core.errors import NotFound
from app.core.runtime import Runtime
from app.evaluations import service as evaluations
from app.evaluations import sources, transcripts
from app.evaluations.judging import bulk
from app.judge.judge import CpuLimitExceeded
from app.judge.rule_judge import RuleJudge
from app.judge.scorecard.values import scorecard_from


def hits(runtime: Runtime, document: Mapping[str, Any], *, limit: int) -> list[dict[str, Any]]:
    """Answer the only criterion of a scorecard document for the newest conversations of its channel.

    English is read without the encoder, so that an answer takes some milliseconds.
    """
    card = scorecard_from(document)
    judge = RuleJudge(runtime.settings.evaluation_cpu_s, fast=True)
    answered = []
    with runtime.db.reading() as session:
        for evaluation_id in bulk.newest_ids(session, channel=card.channel, limit=limit):
            evaluation = evaluations.find(session, evaluation_id)
            with suppress(NotFound, CpuLimitExceeded):
                transcript = transcripts.load_stored(session, evaluation.transcript_id or "")
                judged = judge.judge(transcript, card, sources.context_of(session, evaluation))
                [criterion] = judged.results["criteria"]
                answered.append({"evaluation_id": evaluation_id, **criterion})
    return answered
