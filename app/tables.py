"""Every table of the service, named so that migrations and tests know them all."""

from app.api_keys import models as api_keys
from app.audio_files import models as audio_files
from app.core import idempotency
from app.engagements import models as engagements
from app.events import models as events
from app.usage import models as usage
from app.webhooks import models as webhooks

ROOMS = (api_keys, audio_files, idempotency, engagements, events, usage, webhooks)
