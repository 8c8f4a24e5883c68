"""Labels of every enum that pages show, by the name of the field in the API."""

from collections.abc import Mapping
from typing import Any

from app.agents.enums import ReceiptAction
from app.analytics import enums as analytics
from app.api_keys.enums import SignaturePolicy
from app.audio_files.enums import AudioStatus
from app.coaching.enums import NotesFor, SessionState
from app.evaluations import enums as evaluations
from app.evaluations.schemas.trials import TRIAL_STATUSES
from app.imports.schemas import requests as imports
from app.judge.rules.catalogue import RULES
from app.judge.scorecard import schema
from app.scorecards.enums import ReleaseRule
from app.usage.plan import UsageMetric
from app.voice_calls.enums import OUTCOMES
from app.webhooks.enums import DeliveryState, TargetKind

UNKNOWN = "not known"

WORDS: Mapping[str, Mapping[str, str]] = {
    "channel": evaluations.Channel.labels(),
    "platform": {
        "web": "Chat",
        "whatsapp": "WhatsApp",
        "sms": "Text messages",
        "email": "E-mail",
        "app": "Chat in an app",
    },
    "sourceType": evaluations.SourceType.labels(),
    "byDay": evaluations.ByDay.labels(),
    "status": evaluations.Status.labels(),
    "reviewStatus": evaluations.ReviewStatus.labels(),
    "receiptAction": ReceiptAction.labels(),
    "reviewAction": evaluations.ReviewAction.labels(),
    "band": evaluations.BANDS,
    "sentimentTrend": evaluations.TRENDS,
    "resolution": evaluations.RESOLUTIONS,
    "direction": evaluations.DIRECTIONS,
    "role": evaluations.ROLES,
    "errorCode": evaluations.FailureCode.labels(),
    "momentType": evaluations.MOMENT_TYPES,
    "judgedBy": evaluations.JUDGED_BY,
    "criterionType": schema.TYPES,
    "criticality": schema.CRITICALITIES,
    "errorClass": schema.ERROR_CLASSES,
    "dimension": schema.DIMENSIONS,
    "speaker": schema.SPEAKERS,
    "act": schema.ACTS,
    "said": schema.SAID,
    "negated": schema.NEGATED,
    "event": schema.EVENTS,
    "rule": {name: rule.label for name, rule in RULES.items()},
    "audioStatus": AudioStatus.labels(),
    "deliveryStatus": DeliveryState.labels(),
    "targetKind": TargetKind.labels(),
    "signaturePolicy": SignaturePolicy.labels(),
    "dataset": analytics.Dataset.labels(),
    "exportFormat": analytics.Format.labels(),
    "exportStatus": analytics.ExportStatus.labels(),
    "metric": analytics.TrendMetric.labels(),
    "granularity": analytics.Granularity.labels(),
    "groupBy": analytics.GroupBy.labels(),
    "usageMetric": UsageMetric.labels(),
    "releaseRule": ReleaseRule.labels(),
    "coachingState": SessionState.labels(),
    "notesFor": NotesFor.labels(),
    "trialStatus": TRIAL_STATUSES,
    "importStatus": imports.STATUSES,
    "outcome": OUTCOMES,
    "intakeState": {"queued": "Waiting", "running": "Running", "failed": "Failed"},
    "intakeOutcome": {
        "created": "Stored",
        "updated": "Stored again, changed",
        "skipped": "Stored before",
        "empty": "No speech",
    },
    "workKind": {
        "recordings": "Recordings",
        "evaluations": "Evaluations",
        "imports": "Imports",
        "intake": "Deliveries of sources",
        "exports": "Exports",
        "waveforms": "Waveforms",
        "erasures": "Erasures",
        "trials": "Trials of scorecards",
        "deliveries": "Webhook deliveries",
    },
    # What a form does, for `reviewAction`.
    "reviewForm": {
        "request": "Ask for a review",
        "start": "Start the review",
        "confirm": "Confirm the judgement",
        "override": "Change answers",
        "dispute": "Dispute the judgement",
        "accept_dispute": "Accept the dispute",
        "reject_dispute": "Reject the dispute",
        "comment": "Comment",
    },
    "dryRunStatus": {
        "awaiting_upload": "Waiting for its file",
        "queued": "Waiting",
        "running": "Running",
        "completed": "Checked",
        "completed_with_errors": "Checked, with errors",
        "failed": "Failed",
    },
    "importFormat": {
        "auto": "Detected in the file",
        "native": "JSON Lines",
        "openai": "Chat completions",
        "csv": "CSV",
        "vtt": "WebVTT",
        "srt": "SubRip",
        "contact_lens": "Contact Lens",
        "vcon": "vCon",
    },
    # All other actions read as they are stored.
    "auditAction": {"raw_texts_read": "originals read", "re_evaluated": "judged again"},
}


def text_of(name: str, value: str | None) -> str:
    """Return the text for a value of a field; a value of an older version reads as it is stored."""
    if value is None:
        return UNKNOWN
    return WORDS[name].get(value) or value.replace("_", " ")


def kind_of(evaluation: Any) -> str:
    """Return the name of the conversation's platform, or of its channel where that has none."""
    platform = (evaluation.context or {}).get("platform", "")
    return WORDS["platform"].get(platform) or text_of("channel", evaluation.channel)
