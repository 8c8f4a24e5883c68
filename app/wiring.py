"""Wiring: the one place that says which packages react to what happens in others."""

from functools import partial

from app.alerts import matching
from app.alerts.models import AlertRule, Digest
from app.analytics.engine import facts
from app.analytics.models import ExportJob
from app.api_keys.models import ApiKey
from app.audio_files.models import AudioFile
from app.campaigns.merging import move_some, replace_ids, replace_in_teams
from app.coaching import service as coaching
from app.conversations import service as conversations
from app.conversations.first_contact import first_contact_resolution
from app.conversations.models import Conversation
from app.core.hooks import Hooks
from app.core.jobs.runner import count_ended
from app.core.metrics import ProcessCounts
from app.core.runtime import Runtime, open_runtime
from app.core.secrets.encryption import load_keyring
from app.core.settings import Settings
from app.evaluations import campaign_changes
from app.evaluations.models import ReEvaluation
from app.intake.models import IntakeSource
from app.packages import load_tables
from app.people import team_rows
from app.people.models import SavedView, User
from app.reviews import examples
from app.reviews.calibration import profiles
from app.reviews.models import ReviewPlan
from app.reviews.rounds import sealed_reviews
from app.voice_calls import evaluation
from app.voice_calls.models import VoiceCall
from app.webhooks.deliveries import fan_out

# Filters, limits and settings in which the ids of campaigns are written.
_CAMPAIGN_COLUMNS = (
    *(AlertRule.filters, Digest.filters, SavedView.query, IntakeSource.defaults),
    *(User.campaign_ids, ApiKey.campaign_ids),
    *(ReviewPlan.filters, ReEvaluation.filters, ExportJob.request),
)
_TEAM_COLUMNS = (ReviewPlan.teams, ReEvaluation.teams, ExportJob.teams)


def build_runtime(settings: Settings) -> Runtime:
    """Build the runtime of this process; every process of the service begins with it."""
    load_tables()
    keyring = load_keyring(settings)
    counts = ProcessCounts(settings.data_dir, enabled=settings.metrics_listen is not None)
    hooks = Hooks(
        on_publish=(fan_out, matching.note_events),
        on_evaluation_changed=(conversations.note_evaluations, evaluation.note_evaluations),
        on_results_changed=(facts.record, matching.note_results),
        on_campaign_merged=(
            *(partial(replace_ids, column) for column in _CAMPAIGN_COLUMNS),
            *(partial(replace_in_teams, column) for column in _TEAM_COLUMNS),
        ),
        campaign_batches=(
            *(partial(move_some, table) for table in (AudioFile, Conversation, VoiceCall)),
            campaign_changes.move_some,
            campaign_changes.rename_some,
            facts.move_some,
        ),
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
