"""Enumerations of analytics, as the API spells them."""

from enum import StrEnum


class Granularity(StrEnum):
    """The length of one point of a trend."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"


class TrendMetric(StrEnum):
    """The metric of a trend; each is a mean or a rate, except the count of evaluations."""

    SCORE = "score"
    PASS_RATE = "passRate"  # noqa: S105 - no password
    AUTO_FAIL_RATE = "autoFailRate"
    COMPLIANCE_SCORE = "complianceScore"
    CUSTOMER_SENTIMENT = "customerSentiment"
    EVALUATIONS = "evaluations"
    TALK_RATIO = "talkRatio"
    SILENCE_PERCENT = "silencePercent"
    INTERRUPTIONS = "interruptions"
    AGENT_WPM = "agentWpm"
    FIRST_RESPONSE_SECONDS = "firstResponseSeconds"
    RESOLUTION_RATE = "resolutionRate"
    DURATION_SECONDS = "durationSeconds"


class GroupBy(StrEnum):
    """The groups that a trend shows one series for; sections have scores only."""

    NONE = "none"
    CAMPAIGN = "campaign"
    CALL_CENTER = "callCenter"
    EXECUTIVE = "executive"
    CHANNEL = "channel"
    SECTION = "section"
    TOPIC = "topic"


class Dataset(StrEnum):
    """The datasets that can be exported."""

    EVALUATIONS = "evaluations"
    CRITERIA = "criteria"
    SEGMENTS = "segments"
    COACHING = "coaching"
    MOMENTS = "moments"
    EXECUTIVES = "executives"
    CAMPAIGNS = "campaigns"
    CALL_CENTERS = "call_centers"
    TRENDS = "trends"
    USAGE = "usage"


class Format(StrEnum):
    """The formats of export files."""

    CSV = "csv"
    JSON = "json"
    JSONL = "jsonl"
    XLSX = "xlsx"
    PARQUET = "parquet"


class ExportStatus(StrEnum):
    """The state of an export as the API shows it."""

    QUEUED = "queued"
    RUNNING = "running"
    READY = "ready"
    FAILED = "failed"
    CANCELED = "canceled"
    EXPIRED = "expired"
