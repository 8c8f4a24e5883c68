"""Enumerations of alerts."""

from app.core.enums import LabelledEnum


class AlertTrigger(LabelledEnum):
    """Occasion that a rule waits for: conversations, the mean score, or the service itself."""

    AUTO_FAIL = "auto_fail", "A conversation fails by a critical criterion"
    CRITERION_FAILED = "criterion_failed", "A conversation fails one criterion"
    SCORE_BELOW = "score_below", "A conversation scores below a limit"
    COMPLIANCE_FAILED = "compliance_failed", "A conversation fails a compliance criterion"
    DISPUTE_OPENED = "dispute_opened", "A judgement is disputed"
    DISPUTE_DECIDED = "dispute_decided", "A dispute is decided"
    MEAN_DOWN = "mean_down", "The mean score of a week falls beyond chance"
    WORKER_SILENT = "worker_silent", "A worker is silent"
    WEBHOOK_OFF = "webhook_off", "A webhook is switched off, because all fails"
    DISK_FULL = "disk_full", "The disk is nearly full"
    FAILURES = "failures", "More than 2 % of a day's conversations cannot be judged"
    USAGE = "usage", "80 % of what the plan includes is used"


# Known from the result of one conversation.
OF_RESULTS = (
    AlertTrigger.AUTO_FAIL,
    AlertTrigger.CRITERION_FAILED,
    AlertTrigger.SCORE_BELOW,
    AlertTrigger.COMPLIANCE_FAILED,
)
OF_DISPUTES = (AlertTrigger.DISPUTE_OPENED, AlertTrigger.DISPUTE_DECIDED)
OF_SERVICE = (
    AlertTrigger.WORKER_SILENT,
    AlertTrigger.WEBHOOK_OFF,
    AlertTrigger.DISK_FULL,
    AlertTrigger.FAILURES,
    AlertTrigger.USAGE,
)


class Every(LabelledEnum):
    DAY = "day", "Every working day"
    WEEK = "week", "Every week"
