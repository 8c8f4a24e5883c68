"""Every table of the service, named so that migrations and tests know them all."""

from app.analytics import models as analytics
from app.api_keys import models as api_keys
from app.audio_files import models as audio_files
from app.calibration import models as calibration
from app.campaigns import models as campaigns
from app.conversations import models as conversations
from app.core.database import idempotency
from app.dashboard import models as dashboard
from app.directory import models as directory
from app.engagements import models as engagements
from app.evaluations import models as evaluations
from app.evaluations.judging import model_answers
from app.events import models as events
from app.imports import models as imports
from app.people import models as people
from app.privacy import models as privacy
from app.redaction import models as redaction
from app.reviews import models as reviews
from app.scorecards import models as scorecards
from app.usage import models as usage
from app.voice_calls import models as voice_calls
from app.webhooks import models as webhooks

ROOMS = (
    analytics,
    api_keys,
    audio_files,
    calibration,
    campaigns,
    conversations,
    dashboard,
    directory,
    idempotency,
    engagements,
    evaluations,
    events,
    imports,
    model_answers,
    people,
    privacy,
    redaction,
    reviews,
    scorecards,
    usage,
    voice_calls,
    webhooks,
)
