"""Coaching sessions and goals: made, changed, listed, erased, and what agents see of them."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import inspect, select
from sqlalchemy.orm import Session

from app.coaching.enums import NotesFor, SessionState
from app.coaching.models import CoachingSession, Goal
from app.core.database.filters import Filters, at_least, before, conditions, equal
from app.core.database.locks import one_at_a_time
from app.core.database.paging import Page, PageRequest
from app.core.database.records import Records
from app.core.errors import Conflict, InsufficientScope, InvalidInput, NotFound
from app.core.jobs.purging import delete_older
from app.core.principal import Principal, current_teams
from app.directory.service import CALL_CENTERS, EXECUTIVES
from app.evaluations import service as evaluations
from app.evaluations import transcripts
from app.evaluations.models import Evaluation
from app.scorecards import service as scorecards

Row = TypeVar("Row", CoachingSession, Goal)
_BATCH = 500
_ERASE = "data:erase"
_STATES = list(SessionState)


class CoachingRecords(Records[Row]):
    """Records about an agent, or a call centre, that have a date."""

    def purge(self, session: Session, *, before: datetime) -> int:
        """Delete a batch of records whose date was before this moment; return how many."""
        return delete_older(session, self.table.at, before=before)


def _check_goal(session: Session, row: Goal) -> None:
    if inspect(row).persistent:
        # Only its numbers and its date can change.
        return
    if (row.executive_id is None) is (row.call_center_id is None):
        raise InvalidInput.field("executiveId", "Give executiveId or callCenterId, one of them.")
    EXECUTIVES.require(session, row.executive_id)
    CALL_CENTERS.require(session, row.call_center_id)
    if (row.criterion is None) is not (row.scorecard_id is None):
        raise InvalidInput.field("scorecardId", "Give criterion and scorecardId together.")
    if row.criterion and row.scorecard_id:
        _check_criteria(session, row.scorecard_id, [row.criterion], "criterion")
    if row.executive_id is not None:
        row.call_center_id = EXECUTIVES.get(session, row.executive_id).call_center_id


def _filters(table: type[CoachingSession] | type[Goal]) -> Filters:
    columns = table.__table__.c
    names = ("executive_id", "call_center_id", "state")
    return {name: equal(columns[name]) for name in names if name in columns}


SESSIONS = CoachingRecords(
    CoachingSession,
    "coach",
    "coaching session",
    1_000,
    # `add_session` and `change_session` check what is given; what is stored may be gone by now.
    lambda session, row: None,
    filters=_filters(CoachingSession),
    sortable=("at",),
    of_each="executive_id",
)
GOALS = CoachingRecords(
    Goal,
    "goal",
    "goal",
    500,
    _check_goal,
    filters=_filters(Goal),
    sortable=("at",),
    of_each="executive_id",
)


def add_session(
    session: Session, values: Mapping[str, Any], *, coach: str, created_by: str
) -> dict[str, Any]:
    """Plan a session of a coach with an agent.

    Raises:
        Conflict: the agent has too many.
        InvalidInput: only the agent can acknowledge it, there is no such agent, scorecard, criterion
            or evaluation of the agent, or a quote does not occur in the conversation.
    """
    _refuse_acknowledged(values)
    _lock_evidence(session)
    EXECUTIVES.require(session, values["executive_id"])
    _check(session, values["executive_id"], values["scorecard_id"], values)
    executive = EXECUTIVES.get(session, values["executive_id"])
    state = SessionState(values.get("state", SessionState.PLANNED))
    row = SESSIONS.create(
        session,
        {**values, "coach": coach, "state": state, "call_center_id": executive.call_center_id},
        created_by=created_by,
    )
    return shown(session, [_mapping(row)])[0]


def change_session(session: Session, session_id: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Change a session; its state only advances, and a closed one stays as it is.

    Raises:
        NotFound: there is no such session.
        Conflict: it is closed, or its state would go back.
        InvalidInput: as `add_session`.
    """
    _refuse_acknowledged(changes)
    _lock_evidence(session)
    row = SESSIONS.find(session, session_id, for_update=True)
    if row.state == SessionState.CLOSED:
        raise Conflict("A closed session cannot be changed: plan another.")
    advanced = SessionState(changes.get("state", row.state))
    if _STATES.index(advanced) < _STATES.index(SessionState(row.state)):
        raise Conflict(f"The session is {row.state}; it cannot become {advanced} again.")
    _check(session, row.executive_id, row.scorecard_id, changes)
    SESSIONS.change(session, session_id, changes)
    session.flush()
    return shown(session, [_mapping(row)])[0]


def acknowledge(session: Session, session_id: str) -> None:
    """Note that the agent has acknowledged a session that was held."""
    row = SESSIONS.find(session, session_id, for_update=True)
    if row.state != SessionState.HELD:
        raise Conflict(f"The session is {row.state}: only one that was held is acknowledged.")
    SESSIONS.change(session, session_id, {"state": SessionState.ACKNOWLEDGED})


def may_remove(coaching: Mapping[str, Any], principal: Principal) -> bool:
    """Return whether they recorded it and the agent has not acknowledged it, or they may erase data."""
    is_own = coaching["created_by"] == principal.key_id
    is_open = coaching["state"] in (SessionState.PLANNED, SessionState.HELD)
    return (is_own and is_open) or _ERASE in principal.scopes


def remove_session(session: Session, session_id: str, principal: Principal) -> None:
    row = SESSIONS.find(session, session_id, for_update=True)
    if not may_remove(_mapping(row), principal):
        raise InsufficientScope(
            "Whoever recorded a session can delete it until it is acknowledged or closed; "
            f"after that, and for all others, it needs the scope {_ERASE}."
        )
    SESSIONS.remove(session, session_id)


def list_sessions(session: Session, request: PageRequest, **filters: Any) -> Page[Any]:
    """List sessions as the caller may see them."""
    page = SESSIONS.list_page(session, request, **filters)
    return Page(shown(session, page.items), page.page, page.page_size, page.total_count)


def get_session(session: Session, session_id: str) -> dict[str, Any]:
    """Return a session as the caller may see it; raise `NotFound` if it does not exist."""
    return shown(session, [_mapping(SESSIONS.find(session, session_id))])[0]


def shown(session: Session, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return sessions without what is not for an agent: notes of the coach, evidence that is not released."""
    found = [dict(row) for row in rows]
    teams = current_teams()
    if teams is None:
        return found
    named = {item["evaluation_id"] for row in found for item in row["evidence"]}
    visible = set(session.scalars(select(Evaluation.id).where(Evaluation.id.in_(named))))
    for row in found:
        row["evidence"] = [item for item in row["evidence"] if item["evaluation_id"] in visible]
        if teams.released_only and row["notes_for"] == NotesFor.COACH:
            row["notes"] = None
    return found


def exported(session: Session, **filters: Any) -> Iterator[dict[str, Any]]:
    """Yield sessions as the caller may see them, with the agent's name, the oldest first."""
    column = CoachingSession.__table__.c
    bounds = {"start": at_least(column.at), "end": before(column.at)}
    given = {name: value for name, value in filters.items() if value is not None}
    known = {**bounds, **SESSIONS.filters}
    statement = select(*column).where(*conditions(known, given)).order_by(column.at, column.id)
    for batch in session.execute(statement).mappings().partitions(_BATCH):
        names = EXECUTIVES.names(session, {row["executive_id"] for row in batch})
        for row in shown(session, [dict(row) for row in batch]):
            yield {**row, "executive": names.get(row["executive_id"])}


def words_of(session: Session, *rows: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names of agents and call centres, and the titles of criteria by scorecard and key."""
    ids = {row["scorecard_id"] for row in rows if row["scorecard_id"]}
    titles = {
        (scorecard_id, criterion.key): criterion.title
        for scorecard_id in ids
        for criterion in scorecards.find(session, scorecard_id).scorecard.criteria
    }
    executive_ids = {row["executive_id"] for row in rows if row["executive_id"]}
    center_ids = {row["call_center_id"] for row in rows if row["executive_id"] is None}
    names = EXECUTIVES.names(session, executive_ids) | CALL_CENTERS.names(session, center_ids)
    return {"names": names, "titles": titles}


def erase(session: Session, source_ids: Sequence[str]) -> None:
    """Take the quotes of these conversations out of the sessions of their agents."""
    _lock_evidence(session)
    of_sources = select(Evaluation.id, Evaluation.executive_id)
    rows = session.execute(of_sources.where(Evaluation.source_id.in_(source_ids))).all()
    erased = {row.id for row in rows}
    agents = {row.executive_id for row in rows if row.executive_id}
    for row in session.scalars(
        select(CoachingSession).where(CoachingSession.executive_id.in_(agents))
    ):
        if erased.intersection(item["evaluation_id"] for item in row.evidence):
            row.evidence = [
                {**item, "quote": None} if item["evaluation_id"] in erased else item
                for item in row.evidence
            ]


def _lock_evidence(session: Session) -> None:
    """Let an erasure find the quotes of other transactions, and these what it has erased."""
    one_at_a_time(session, CoachingSession.__tablename__)


def _refuse_acknowledged(given: Mapping[str, Any]) -> None:
    if given.get("state") == SessionState.ACKNOWLEDGED:
        raise InvalidInput.field("state", "Only the agent acknowledges a session.")


def _mapping(row: CoachingSession) -> dict[str, Any]:
    return {column.key: getattr(row, column.key) for column in CoachingSession.__table__.c}


def _check(
    session: Session, executive_id: str, scorecard_id: str, given: Mapping[str, Any]
) -> None:
    """Check what is given; what is stored may be gone by now, and stays."""
    if "criteria" in given:
        _check_criteria(session, scorecard_id, given["criteria"], "criteria")
    for index, item in enumerate(given.get("evidence", ())):
        place = f"evidence[{index}]"
        try:
            evaluation = evaluations.find(session, item["evaluation_id"])
        except NotFound as missing:
            raise InvalidInput.field(f"{place}.evaluationId", missing.message) from missing
        if evaluation.executive_id != executive_id:
            message = "This must be an evaluation of the agent."
            raise InvalidInput.field(f"{place}.evaluationId", message)
        if item["quote"] and not _is_said(session, evaluation, item["quote"]):
            message = "The quote must occur in a turn, character for character."
            raise InvalidInput.field(f"{place}.quote", message)


def _check_criteria(session: Session, scorecard_id: str, keys: Sequence[str], field: str) -> None:
    known = {
        criterion.key for criterion in scorecards.find(session, scorecard_id).scorecard.criteria
    }
    if not known.issuperset(keys):
        raise InvalidInput.field(field, "The scorecard has no such criterion.")


def _is_said(session: Session, evaluation: Evaluation, quote: str) -> bool:
    if evaluation.transcript_id is None:
        return False
    # An erased one has no words.
    known = transcripts.load_all(session, [evaluation.transcript_id]).values()
    return any(quote in segment.text for transcript in known for segment in transcript.segments)
