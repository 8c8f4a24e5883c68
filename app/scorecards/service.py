"""What is done with scorecards: find the one to judge by, and show them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.ai.scorecard import Scorecard, scorecard_from
from app.core.errors import InvalidInput, NotFound
from app.core.paging import Page, PageRequest
from app.scorecards import default_scorecards as defaults
from app.scorecards.models import ScorecardVersion, StoredScorecard


@dataclass(frozen=True, slots=True)
class ResolvedScorecard:
    """The version of a scorecard that an evaluation uses."""

    id: str
    version: int
    name: str
    scorecard: Scorecard


@cache
def current_default(channel: str) -> ResolvedScorecard:
    """Return the scorecard that ships for a channel."""
    return _resolved(defaults.document_of(channel))


def resolve(
    session: Session, *, scorecard_id: str | None = None, channel: str
) -> ResolvedScorecard:
    """Return the current version of the scorecard that was asked for, or the channel's default.

    Raises:
        InvalidInput: there is no such scorecard, or it is made for another channel; the field is
            `scorecardId`.
    """
    if scorecard_id is None or scorecard_id == defaults.IDS.get(channel):
        return current_default(channel)
    document = _current_document(session, scorecard_id)
    if document is None:
        raise InvalidInput.field("scorecardId", "There is no such scorecard.")
    if document["channel"] != channel:
        message = f"This scorecard is for the channel {document['channel']}, not for {channel}."
        raise InvalidInput.field("scorecardId", message)
    return _resolved(document)


def version_of(session: Session, scorecard_id: str, version: int) -> ResolvedScorecard:
    """Return one version, current or not; `NotFound` where it is not kept.

    Of a default only the version that ships is kept.
    """
    channel = defaults.channel_of(scorecard_id)
    if channel is not None and current_default(channel).version == version:
        return current_default(channel)
    row = session.get(ScorecardVersion, (scorecard_id, version))
    if row is None:
        raise NotFound("There is no such version of the scorecard.")
    return _resolved({**row.document, "id": scorecard_id, "version": version})


def get(session: Session, scorecard_id: str) -> dict[str, Any]:
    """Show a scorecard with the definition of its current version.

    Raises:
        NotFound: there is none.
    """
    channel = defaults.channel_of(scorecard_id)
    if channel is not None:
        return _default_record(channel)
    row = session.get(StoredScorecard, scorecard_id)
    document = _current_document(session, scorecard_id)
    if row is None or document is None:
        raise NotFound("There is no such scorecard.")
    return _own_record(row, document)


def list_page(session: Session, request: PageRequest, *, channel: str | None = None) -> Page[Any]:
    """List the scorecards: those that ship, and the organisation's own.

    There are dozens at the most: the page is cut in memory.
    """
    statement = select(StoredScorecard, ScorecardVersion.document).join(
        ScorecardVersion,
        (ScorecardVersion.scorecard_id == StoredScorecard.id)
        & (ScorecardVersion.version == StoredScorecard.current_version),
    )
    records = [_default_record(each) for each in defaults.IDS]
    records += [_own_record(row, document) for row, document in session.execute(statement)]
    wanted = [each for each in records if channel in (None, each["channel"])]
    name, descending = request.sort.lstrip("-"), request.sort.startswith("-")
    wanted.sort(key=lambda each: (each[name], each["id"]), reverse=descending)
    offset = (request.page - 1) * request.page_size
    shown = wanted[offset : offset + request.page_size]
    return Page(shown, request.page, request.page_size, len(wanted))


def _current_document(session: Session, scorecard_id: str) -> dict[str, Any] | None:
    channel = defaults.channel_of(scorecard_id)
    if channel is not None:
        return defaults.document_of(channel)
    row = session.scalar(
        select(ScorecardVersion)
        .join(StoredScorecard, StoredScorecard.id == ScorecardVersion.scorecard_id)
        .where(
            StoredScorecard.id == scorecard_id,
            ScorecardVersion.version == StoredScorecard.current_version,
        )
    )
    return {**row.document, "id": row.scorecard_id, "version": row.version} if row else None


def _resolved(document: Mapping[str, Any]) -> ResolvedScorecard:
    scorecard = scorecard_from(document)
    return ResolvedScorecard(document["id"], scorecard.version, scorecard.name, scorecard)


def _default_record(channel: str) -> dict[str, Any]:
    document = defaults.document_of(channel)
    return {
        "id": document["id"],
        "description": document.get("description"),
        "is_default": True,
        "created_at": defaults.SHIPPED_AT,
        "updated_at": defaults.SHIPPED_AT,
        **_told_by(document),
    }


def _own_record(row: StoredScorecard, document: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": row.id,
        "description": row.description,
        "is_default": False,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        **_told_by({**document, "version": row.current_version}),
    }


def _told_by(document: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": document["name"],
        "channel": document["channel"],
        "version": document["version"],
        "pass_threshold": document["passThreshold"],
        "criteria_count": len(document["criteria"]),
        "definition": document,
    }
