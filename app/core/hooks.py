"""Hooks: functions of higher packages that lower packages call inside their own transactions."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy.orm import Session


class CampaignMerge(NamedTuple):
    """A merge: the id of the campaign that goes, and of the one that gets all that it had."""

    former_id: str
    into_id: str


SessionHook = Callable[[Session, Any], Any]


def _as_judged(judgement: Any, **_: Any) -> Any:
    return judgement


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks of a process, set once by `app.wiring`; each tuple is called in its order.

    Attributes:
        on_publish: receives published events, so that their deliveries commit with them.
        on_evaluation_changed: receives the current evaluations of sources after they were opened,
            have ended or got another score.
        on_results_changed: receives the same evaluations, each with its results document or None.
        on_campaign_merged: receives each `CampaignMerge`, to replace the id of the campaign that goes.
        campaign_batches: each moves or renames some rows of campaigns that were merged or renamed,
            and returns something false if there were none.
        on_job_ended: receives jobs that end, for the metrics of the host.
        late_metrics: each returns a metric that only time decides, when results are read.
        sealed_reviews: returns the ids of an evaluation's reviews whose answers may not be shown.
        turns_of_recording: returns the masked transcripts of the calls that have this recording.
        lessons: returns what people have taught the judge of an engagement.
        calibration: returns the function that calibrates the judgements of an engagement.
        coaching_sessions: yields coaching sessions as exports show them.
    """

    on_publish: tuple[SessionHook, ...] = ()
    on_evaluation_changed: tuple[SessionHook, ...] = ()
    on_results_changed: tuple[SessionHook, ...] = ()
    on_campaign_merged: tuple[SessionHook, ...] = ()
    campaign_batches: tuple[Callable[[Session], object], ...] = ()
    on_job_ended: tuple[SessionHook, ...] = ()
    late_metrics: tuple[SessionHook, ...] = ()
    sealed_reviews: Callable[[Session, str], Sequence[str]] = lambda *_: ()
    turns_of_recording: Callable[[Session, str], Sequence[Any]] = lambda *_: ()
    lessons: Callable[[Session, str | None], tuple[Any, ...]] = lambda *_: ()
    calibration: Callable[[Session, str | None], Callable[..., Any]] = lambda *_: _as_judged
    coaching_sessions: Callable[..., Iterator[Any]] = lambda *_, **__: iter(())


def hooks_of(session: Session) -> Hooks:
    """Return the hooks of the database that opened this session."""
    hooks: Hooks = session.info["hooks"]
    return hooks
