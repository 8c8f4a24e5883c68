"""Scorecards: find the one to judge by, list and show them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import delete, func, literal, select
from sqlalchemy.orm import Session

from app.core.database.paging import Page, PageRequest, cut_page
from app.core.errors import InvalidInput, NotFound
from app.judge.scorecard.values import Scorecard, scorecard_from
from app.scorecards import default_scorecards as defaults
from app.scorecards.models import ChannelScorecard, ScorecardVersion, StoredScorecard

_NO_SCORECARD = "There is no such scorecard."
_NO_VERSION = "There is no such version of the scorecard."
_LISTED = select(
    StoredScorecard.id,
    ScorecardVersion.name,
    ScorecardVersion.description,
    StoredScorecard.channel,
    ScorecardVersion.languages,
    ScorecardVersion.version,
    literal(False).label("is_default"),
    ScorecardVersion.pass_threshold,
    ScorecardVersion.criteria_count,
    StoredScorecard.created_at,
    ScorecardVersion.created_at.label("updated_at"),
).join(ScorecardVersion, ScorecardVersion.scorecard_id == StoredScorecard.id)


@dataclass(frozen=True, slots=True)
class ResolvedScorecard:
    """A version of a scorecard, as evaluations use it."""

    id: str
    version: int
    name: str
    scorecard: Scorecard


def current_default(channel: str) -> ResolvedScorecard:
    return _default(channel, defaults.CURRENT)


@cache
def _default(channel: str, version: int) -> ResolvedScorecard:
    return _resolved(defaults.document_of(channel, version))


def resolve(
    session: Session,
    *,
    scorecard_id: str | None = None,
    version: int | None = None,
    channel: str,
    platform: str | None = None,
) -> ResolvedScorecard:
    """Return the requested scorecard (see `find`), or else the one that judges its channel by default.

    E-mail has a default of its own where none was chosen for the channel.

    Raises:
        InvalidInput: as `find`, or it is for another channel; the field is `scorecardId`.
    """
    if scorecard_id is None:
        chosen = session.get(ChannelScorecard, channel)
        if chosen is None:
            return current_default(defaults.EMAIL if platform == defaults.EMAIL else channel)
        scorecard_id, version = chosen.scorecard_id, None
    resolved = find(session, scorecard_id, version=version)
    if resolved.scorecard.channel != channel:
        made_for = resolved.scorecard.channel
        message = f"This scorecard is for the channel {made_for}, not for {channel}."
        raise InvalidInput.field("scorecardId", message)
    return resolved


def find(session: Session, scorecard_id: str, *, version: int | None = None) -> ResolvedScorecard:
    """Return a version of a scorecard, by default the current one.

    Raises:
        InvalidInput: it does not exist; the field is `scorecardId` or `scorecardVersion`.
    """
    current = _current_version(session, scorecard_id)
    if current is None:
        raise InvalidInput.field("scorecardId", _NO_SCORECARD)
    try:
        return version_of(session, scorecard_id, version or current)
    except NotFound as error:
        raise InvalidInput.field("scorecardVersion", error.message) from error


def require(session: Session, scorecard_id: str | None) -> None:
    """Check a reference to a scorecard; None is allowed. Raises as `find` does."""
    if scorecard_id is not None:
        find(session, scorecard_id)


def require_for(session: Session, channel: str, scorecard_id: str | None, *, field: str) -> None:
    """Check a reference to a scorecard of a channel; None is allowed.

    Raises:
        InvalidInput: it does not exist or is for another channel; the error names the field.
    """
    if scorecard_id is None:
        return
    try:
        resolve(session, scorecard_id=scorecard_id, channel=channel)
    except InvalidInput as error:
        raise InvalidInput.field(field, error.details[0]["message"]) from error


def defaults_in_use(session: Session) -> dict[str, str]:
    """Return the ids of the scorecards that judge by default, by channel."""
    rows = session.execute(select(ChannelScorecard.channel, ChannelScorecard.scorecard_id))
    return {**defaults.IDS, **dict(rows.all())}


def set_defaults(session: Session, chosen: Mapping[str, str | None]) -> dict[str, str]:
    """Set the default scorecards of these channels, None for the one that ships; return all of them.

    Raises:
        InvalidInput: there is no such scorecard, or it is for another channel.
    """
    for channel, scorecard_id in chosen.items():
        require_for(session, channel, scorecard_id, field=channel)
        session.execute(delete(ChannelScorecard).where(ChannelScorecard.channel == channel))
        if scorecard_id not in (None, defaults.IDS[channel]):
            session.add(ChannelScorecard(channel=channel, scorecard_id=scorecard_id))
    session.flush()
    return defaults_in_use(session)


def version_of(session: Session, scorecard_id: str, version: int) -> ResolvedScorecard:
    """Return one version, current or not; raise `NotFound` if it does not exist."""
    channel = defaults.channel_of(scorecard_id)
    if channel is not None and version in defaults.versions_of(channel):
        return _default(channel, version)
    row = session.get(ScorecardVersion, (scorecard_id, version))
    if row is None:
        raise NotFound(_NO_VERSION)
    return _resolved({**row.document, "id": scorecard_id, "version": version})


def get(session: Session, scorecard_id: str, *, version: int | None = None) -> dict[str, Any]:
    """Show a version of a scorecard with its definition, by default the current one.

    Raises:
        NotFound: there is no such scorecard or version.
    """
    channel = defaults.channel_of(scorecard_id)
    if channel is not None:
        if version is not None and version not in defaults.versions_of(channel):
            raise NotFound(_NO_VERSION)
        return _with_use(session, [_default_record(channel, version or defaults.CURRENT)])[0]
    row = session.get(StoredScorecard, scorecard_id)
    if row is None:
        raise NotFound(_NO_SCORECARD)
    stored = session.get(ScorecardVersion, (scorecard_id, version or row.version))
    if stored is None:
        raise NotFound(_NO_VERSION)
    record = {
        "id": row.id,
        "version": stored.version,
        "is_default": False,
        "created_at": row.created_at,
        "updated_at": stored.created_at,
        **_definition_of(stored.document),
    }
    return _with_use(session, [record])[0]


def list_page(session: Session, request: PageRequest, *, channel: str | None = None) -> Page[Any]:
    """List the default and the custom scorecards.

    There are dozens at most, so the page is taken in memory.
    """
    current = _LISTED.where(ScorecardVersion.version == StoredScorecard.version)
    records = [_default_record(key, defaults.CURRENT) for key in defaults.ALL]
    records += [dict(row) for row in session.execute(current).mappings()]
    records = _with_use(
        session, [record for record in records if channel in (None, record["channel"])]
    )
    name, descending = request.sort.lstrip("-"), request.sort.startswith("-")
    records.sort(key=lambda record: (record[name], record["id"]), reverse=descending)
    return cut_page(records, request)


def list_versions(session: Session, scorecard_id: str, request: PageRequest) -> Page[Any]:
    """List the versions of a scorecard, the newest first; raise `NotFound` if it does not exist."""
    channel = defaults.channel_of(scorecard_id)
    if channel is not None:
        versions = defaults.versions_of(channel)
        records = _with_use(session, [_default_record(channel, version) for version in versions])
        return cut_page(records, request)
    of_scorecard = ScorecardVersion.scorecard_id == scorecard_id
    total = session.scalar(select(func.count()).where(of_scorecard)) or 0
    if total == 0:
        raise NotFound(_NO_SCORECARD)
    result = session.execute(
        _LISTED.where(of_scorecard)
        .order_by(ScorecardVersion.version.desc())
        .limit(request.page_size)
        .offset(request.offset)
    )
    records = _with_use(session, [dict(row) for row in result.mappings()])
    return Page(records, request.page, request.page_size, total)


def listed_of(document: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": document["name"],
        "description": document.get("description"),
        "languages": document.get("languages", []),
        "pass_threshold": document["passThreshold"],
        "criteria_count": len(document["criteria"]),
    }


def _with_use(session: Session, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    chosen = defaults_in_use(session)
    in_use = set(chosen.values())
    if chosen["chat"] == defaults.IDS["chat"]:
        in_use.add(defaults.ALL[defaults.EMAIL])
    return [{**record, "judges_by_default": record["id"] in in_use} for record in records]


def _current_version(session: Session, scorecard_id: str) -> int | None:
    channel = defaults.channel_of(scorecard_id)
    if channel is not None:
        return defaults.CURRENT
    current = select(StoredScorecard.version).where(StoredScorecard.id == scorecard_id)
    return session.scalar(current)


def _resolved(document: Mapping[str, Any]) -> ResolvedScorecard:
    scorecard = scorecard_from(document)
    return ResolvedScorecard(document["id"], scorecard.version, scorecard.name, scorecard)


def _default_record(channel: str, version: int) -> dict[str, Any]:
    document = defaults.document_of(channel, version)
    return {
        "id": document["id"],
        "version": document["version"],
        "is_default": True,
        "created_at": defaults.SHIPPED_AT[min(defaults.versions_of(channel))],
        "updated_at": defaults.SHIPPED_AT[version],
        **_definition_of(document),
    }


def _definition_of(document: Mapping[str, Any]) -> dict[str, Any]:
    # Fields outside of the definition are not repeated in it, so that it can be edited and sent.
    definition = {name: document[name] for name in document if name not in ("id", "version")}
    return {
        **listed_of(document),
        "channel": document["channel"],
        "definition": definition,
    }
