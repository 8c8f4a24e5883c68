"""Query parameters of all reports."""

from zoneinfo import ZoneInfo

from app.analytics.schemas.fields import Day
from app.evaluations.enums import Channel
from app.web.schemas.base import CamelSchema
from app.web.schemas.fields import Choice, Reference, Zone
from app.web.schemas.query_fields import Choices, QueryWhole


class AnalyticsQuery(CamelSchema):
    """The common parameters; `from` and `to` bound the createdAt of current evaluations."""

    start = Day(
        data_key="from",
        metadata={"description": "Inclusive; by default 30 days before `to`."},
    )
    end = Day(
        data_key="to",
        metadata={"description": "Exclusive; by default now. At most 400 days after `from`."},
    )
    timezone = Zone(
        load_default=lambda: ZoneInfo("UTC"), metadata={"description": "IANA name; by default UTC."}
    )
    engagement_id = Reference("eng")
    campaign_id = Reference("camp")
    call_center_id = Reference("cc")
    executive_id = Reference("exec")
    channel = Choices(list(Channel))
    scorecard_id = Reference("sc")
    min_evaluations = QueryWhole(
        low=1,
        high=1_000_000,
        load_default=5,
        metadata={"description": "With fewer evaluations with a verdict: shown, not ranked."},
    )
    compare = Choice(("none", "previous_period"), load_default="none")
