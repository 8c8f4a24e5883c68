"""Wiring: the one place that says which packages react to what happens in others."""

from functools import partial

from app.alerts import matching
from app.analytics.engine import facts
from app.coaching import service as coaching
from app.conversations import service as conversations
from app.conversations.first_contact import first_contact_resolution
from app.core.hooks import Hooks
from app.core.jobs.runner import count_ended
from app.core.metrics import ProcessCounts
from app.core.runtime import Runtime, open_runtime
from app.core.secrets.encryption import load_keyring
from app.core.settings import Settings
from app.packages import load_tables
from app.people import team_rows
from app.reviews import examples
from app.reviews.calibration import profiles
from app.reviews.rounds import sealed_reviews
from app.voice_calls import evaluation
from app.webhooks.deliveries import fan_out


def build_runtime(settings: Settings) -> Runtime:
    """Build the runtime of this process; every process of the service begins with it."""
    load_tables()
    keyring = load_keyring(settings)
    counts = ProcessCounts(settings.data_dir, enabled=settings.metrics_listen is not None)
    hooks = Hooks(
        on_publish=(fan_out, matching.note_events),
        on_evaluation_changed=(conversations.note_evaluations, evaluation.note_evaluations),
        on_results_changed=(facts.record, matching.note_results),
        on_job_ended=(partial(count_ended, counts),),
        late_metrics=(first_contact_resolution,),
        sealed_reviews=sealed_reviews,
        turns_of_recording=evaluation.masked_turns_of,
        lessons=examples.lessons_of,
        calibration=profiles.calibration,
        coaching_sessions=coaching.exported,
    )
    runtime = open_runtime(settings, keyring, hooks, counts)
    team_rows.install(runtime.db.engine)
    return runtime
