"""Enumerations of analytics, as the API spells them."""

from app.core.enums import LabelledEnum


class Granularity(LabelledEnum):
    """The length of one point of a trend."""

    HOUR = "hour", "Hours"
    DAY = "day", "Days"
    WEEK = "week", "Weeks"
    MONTH = "month", "Months"


class TrendMetric(LabelledEnum):
    """The metric of a trend; each is a mean or a rate, except the count of evaluations."""

    SCORE = "score", "Score"
    PASS_RATE = "passRate", "Passed"
    AUTO_FAIL_RATE = "autoFailRate", "Auto-failed"
    COMPLIANCE_SCORE = "complianceScore", "Compliance"
    CUSTOMER_SENTIMENT = "customerSentiment", "Customer sentiment"
    EVALUATIONS = "evaluations", "Evaluations"
    TALK_RATIO = "talkRatio", "Talk ratio"
    SILENCE_PERCENT = "silencePercent", "Silence"
    INTERRUPTIONS = "interruptions", "Interruptions"
    AGENT_WPM = "agentWpm", "Agent's words a minute"
    FIRST_RESPONSE_SECONDS = "firstResponseSeconds", "First response"
    RESOLUTION_RATE = "resolutionRate", "Resolved"
    DURATION_SECONDS = "durationSeconds", "Length"


class GroupBy(LabelledEnum):
    """The groups that a trend shows one series for; sections have scores only."""

    NONE = "none", "Everything together"
    CAMPAIGN = "campaign", "Campaigns"
    CALL_CENTER = "callCenter", "Call centres"
    EXECUTIVE = "executive", "Agents"
    CHANNEL = "channel", "Channels"
    SECTION = "section", "Sections"
    TOPIC = "topic", "Topics"


class Dataset(LabelledEnum):
    EVALUATIONS = "evaluations", "Evaluations"
    CRITERIA = "criteria", "Criteria"
    SEGMENTS = "segments", "Segments of conversations"
    COACHING = "coaching", "Strengths and improvements"
    MOMENTS = "moments", "Moments"
    COACHING_SESSIONS = "coaching_sessions", "Coaching sessions"
    EXECUTIVES = "executives", "Agents"
    CAMPAIGNS = "campaigns", "Campaigns"
    CALL_CENTERS = "call_centers", "Call centres"
    TRENDS = "trends", "Trends"
    USAGE = "usage", "Usage"


class Format(LabelledEnum):
    CSV = "csv", "CSV"
    JSON = "json", "JSON"
    JSONL = "jsonl", "JSON Lines"
    XLSX = "xlsx", "Excel (XLSX)"
    PARQUET = "parquet", "Parquet"


class ExportStatus(LabelledEnum):
    """The state of an export as the API shows it."""

    QUEUED = "queued", "Waiting"
    RUNNING = "running", "Running"
    READY = "ready", "Ready"
    FAILED = "failed", "Failed"
    CANCELED = "canceled", "Canceled"
    EXPIRED = "expired", "File deleted"
