"""Everything that the page of one evaluation shows, read from the services in one snapshot."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from app.ai.scorecard.values import Scorecard
from app.audio_files import queries as audio_files
from app.core.database.paging import PageRequest
from app.core.errors import Conflict, NotFound
from app.core.secrets.encryption import Keyring
from app.dashboard.views.revision_changes import AnswerChange, changes_between
from app.evaluations import listing, outcome, results, service
from app.evaluations import shown_transcripts as transcripts
from app.evaluations.enums import ENDED, SourceType, Status
from app.people import audit
from app.people import service as people
from app.people.audit import Action
from app.scorecards import service as scorecards
from app.voice_calls import epa
from app.voice_calls import queries as voice_calls

_MOST_REVISIONS = _MOST_SCORECARDS = 100


@dataclass(frozen=True, slots=True)
class EvaluationDetails:
    """One evaluation with its words, its source and its history.

    Attributes:
        scorecard: the version that it was judged with; None where it is not kept any more.
        recording: the recording, if there is one and its file is kept.
        call: the call of a voice bot, with its assessment.
        revisions: every revision of the source, the newest first.
        changes: what differs from the revision before; None where nothing can be compared.
        scorecards: current scorecards of the channel, to judge again with.
        listeners: the names of those who have played the recording.
    """

    evaluation: Mapping[str, Any]
    results: Mapping[str, Any]
    transcript: Mapping[str, Any]
    scorecard: Scorecard | None
    recording: Mapping[str, Any] | None
    call: Mapping[str, Any] | None
    revisions: list[Mapping[str, Any]]
    changes: list[AnswerChange] | None
    scorecards: Sequence[Mapping[str, Any]]
    listeners: list[str]

    @property
    def is_open(self) -> bool:
        """Whether the evaluation still waits or runs."""
        return self.evaluation["status"] not in ENDED

    @property
    def duration_ms(self) -> int | None:
        """The length of the conversation, if it is known."""
        seconds = self.evaluation["duration_seconds"]
        return 1000 * seconds if seconds else None


def read(
    session: Session, keyring: Keyring, evaluation_id: str, *, raw: bool, as_judged: bool
) -> EvaluationDetails:
    """Read an evaluation; raises `NotFound` where there is none.

    Args:
        raw: read the unmasked words; the caller has checked that this is allowed.
        as_judged: read the results without reviews.
    """
    evaluation = service.get(session, evaluation_id)
    row = service.find(session, evaluation_id)
    document = results.results_of(session, row, as_judged=as_judged)
    scorecard = None
    with suppress(NotFound):
        scorecard = outcome.scorecard_of(session, row)
    call = _voice_call(session, evaluation)
    recording = _recording(session, evaluation, call)
    return EvaluationDetails(
        evaluation=evaluation,
        results=document,
        transcript=transcripts.of_evaluation(
            session, keyring, row, include_words=True, redacted=not raw
        ),
        scorecard=scorecard,
        recording=recording,
        call=call,
        revisions=_revisions(session, evaluation),
        changes=_changes(session, evaluation, document),
        scorecards=scorecards.list_page(
            session,
            PageRequest(page_size=_MOST_SCORECARDS, sort="name"),
            channel=evaluation["channel"],
        ).items,
        listeners=_listeners(session, recording),
    )


def _voice_call(session: Session, evaluation: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the call of a voice bot, with its assessment."""
    if evaluation["source_type"] != SourceType.VOICE_CALL:
        return None
    call = voice_calls.get(session, evaluation["source_id"])
    return {**call, "assessment": epa.assess(session, evaluation["source_id"])}


def _recording(
    session: Session, evaluation: Mapping[str, Any], call: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Return the recording of the conversation, if its file is kept."""
    is_recording = evaluation["source_type"] == SourceType.AUDIO_FILE
    recording_id = call["recording_id"] if call else None
    if is_recording:
        recording_id = evaluation["source_id"]
    if recording_id is None:
        return None
    with suppress(NotFound, Conflict):
        audio_files.find_stored(session, recording_id)
        return dict(audio_files.show(session, recording_id))
    return None


def _revisions(session: Session, evaluation: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return every revision of the source, the newest first."""
    page = listing.list_page(
        session,
        PageRequest(page_size=_MOST_REVISIONS),
        current=False,
        source_id=evaluation["source_id"],
    )
    return sorted(page.items, key=lambda revision: -revision["revision"])


def _changes(
    session: Session, evaluation: Mapping[str, Any], document: Mapping[str, Any]
) -> list[AnswerChange] | None:
    """Return what differs from the revision before, None where there is none to compare with."""
    if evaluation["supersedes_id"] is None or evaluation["status"] != Status.COMPLETED:
        return None
    before = service.find(session, evaluation["supersedes_id"])
    if before.status != Status.COMPLETED:
        return None
    earlier = results.results_of(session, before)
    return changes_between(earlier["criteria"], document["criteria"])


def _listeners(session: Session, recording: Mapping[str, Any] | None) -> list[str]:
    """Return the names of those who have played the recording."""
    if recording is None:
        return []
    listeners = audit.users_who(session, Action.RECORDING_PLAYED, recording["id"])
    names = people.display_names(session, listeners)
    return [names[user_id] for user_id in listeners if user_id in names]
