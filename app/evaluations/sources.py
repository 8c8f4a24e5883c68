"""Sources of evaluations: what they refer to, their scorecard, and the context for the judge."""

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, cast

from sqlalchemy.orm import Session

from app.campaigns import service as campaigns
from app.campaigns.service import CAMPAIGNS
from app.core.clock import iso_utc, utc_now
from app.core.database.rows import NamedTable
from app.core.errors import InvalidInput
from app.core.hooks import hooks_of
from app.directory.service import CALL_CENTERS, EXECUTIVES
from app.engagements.service import ENGAGEMENTS
from app.evaluations.models import Evaluation
from app.judge.context import Context
from app.scorecards import service as scorecards
from app.scorecards.service import ResolvedScorecard

REFERENCES: tuple[NamedTable[Any], ...] = (ENGAGEMENTS, CAMPAIGNS, CALL_CENTERS, EXECUTIVES)
COLUMNS = tuple(table.column for table in REFERENCES)
# Those whose names an evaluation keeps.
_NAMED = REFERENCES[1:]
_LOOKED_UP = ("lessons", "former_campaign_ids")
_FACTS = tuple(field.name for field in fields(Context) if field.name not in _LOOKED_UP)
_MOMENTS = frozenset(field.name for field in fields(Context) if "datetime" in str(field.type))


def resolve(session: Session, *sources: dict[str, Any]) -> None:
    """Replace the ids of merged campaigns, and raise for ids that do not exist."""
    named = {source.get(CAMPAIGNS.column) for source in sources} - {None}
    into = campaigns.into_ids(session, cast(set[str], named)) if named else {}
    for source in sources:
        if (former := source.get(CAMPAIGNS.column)) in into:
            source[CAMPAIGNS.column] = into[former]
    for table in REFERENCES:
        ids = {source.get(table.column) for source in sources}
        table.require_all(session, {row_id for row_id in ids if row_id is not None})


def follow_merges(session: Session, evaluations: Sequence[Evaluation]) -> None:
    """Take evaluations to the campaigns that theirs were merged into, before their job does it."""
    ids = {row.campaign_id for row in evaluations if row.campaign_id}
    into = campaigns.into_ids(session, ids) if ids else {}
    for row in evaluations:
        row.campaign_id = into.get(row.campaign_id or "", row.campaign_id)


def named(session: Session, sources: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the referenced ids of each source and their current names, for its evaluation."""
    names = {
        table: table.names(session, ids)
        for table in _NAMED
        if (ids := {value for source in sources if (value := getattr(source, table.column))})
    }
    of_campaigns = names.get(CAMPAIGNS, {})
    campaign_ids = {source.campaign_id for source in sources if source.campaign_id}
    if unmoved := campaign_ids - of_campaigns.keys():
        of_campaigns |= campaigns.merged_names(session, unmoved)
    return [
        {
            **{column: getattr(source, column) for column in COLUMNS},
            **{
                table.name: names.get(table, {}).get(getattr(source, table.column))
                for table in _NAMED
            },
        }
        for source in sources
    ]


def scorecard_for(
    session: Session,
    scorecard_id: str | None,
    campaign_id: str | None,
    channel: str,
    platform: str | None = None,
) -> ResolvedScorecard:
    """Return the requested scorecard, else the campaign's, else the channel's default.

    A scorecard that an import has named for a campaign is for one channel; its contacts over others
    get their defaults.
    """
    if scorecard_id is None and campaign_id is not None:
        own = campaigns.scorecard_of(session, campaign_id, channel)
        try:
            return scorecards.resolve(session, scorecard_id=own, channel=channel, platform=platform)
        except InvalidInput:
            return scorecards.resolve(session, channel=channel, platform=platform)
    return scorecards.resolve(
        session, scorecard_id=scorecard_id, channel=channel, platform=platform
    )


def context_document(context: Context) -> dict[str, Any]:
    return {
        name: iso_utc(value) if isinstance(value, datetime) else value
        for name in _FACTS
        if (value := getattr(context, name)) is not None
    }


def context_of(session: Session, evaluation: Evaluation) -> Context:
    """Return the context of an evaluation: from its document, its columns, and what people have taught."""
    known: dict[str, Any] = {
        name: datetime.fromisoformat(value) if name in _MOMENTS else value
        for name, value in (evaluation.context or {}).items()
    }
    known["brand_names"] = tuple(known.get("brand_names", ()))
    columns: dict[str, Any] = {
        "evaluation_id": evaluation.id,
        "generated_at": utc_now(),
        "revision": evaluation.revision,
        "direction": evaluation.direction,
        "campaign_id": evaluation.campaign_id,
        "labels": evaluation.labels,
        "former_campaign_ids": tuple(
            campaigns.former_ids(session, evaluation.campaign_id) if evaluation.campaign_id else ()
        ),
        "lessons": hooks_of(session).lessons(session, evaluation.engagement_id),
    }
    return Context(**{**known, **columns})
