"""Enum of the rules of releases, as the API spells them."""

from app.core.enums import LabelledEnum

MOST_DAYS = 365


class ReleaseRule(LabelledEnum):
    """Time at which an agent sees an evaluation. Until then, there is no such evaluation for them."""

    AT_ONCE = "at_once", "At once"
    AFTER_REVIEW = "after_review", "After a review confirmed or changed it"
    AFTER_DAYS = "after_days", "Some days after it was judged"
    NEVER = "never", "Never"
