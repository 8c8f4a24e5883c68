"""Context of a conversation besides its words: its channel, its times and its end."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Lesson:
    """A line that people say is of a kind (see `app.judge.acts.lessons`), or only looks like it."""

    kind: str
    counts: bool
    text: str


@dataclass(frozen=True, slots=True)
class Context:
    """Facts that the judgement may use; None where it is not known.

    `language` overrides the transcript's. `brand_names` count as the brand in a greeting.
    `transferred` says that the customer was handed to someone else (in a bot call: to a person),
    `ended_by` who ended it (customer, agent, bot, system). `asynchronous` platforms promise no
    reply times. `first_contact_resolution` needs the other conversations of the customer, so it is
    worked out elsewhere. `direction` is inbound, outbound or unknown, `platform` that of a
    conversation, such as email. `former_campaign_ids` are of campaigns that were merged into this
    one. `lessons` are what people have taught by their overrides. `evaluation_id`, `generated_at` and `revision` are only copied.
    """

    language: str | None = None
    brand_names: tuple[str, ...] = ()
    starts_mid_call: bool | None = None
    transferred: bool | None = None
    completed: bool | None = None
    ended_by: str | None = None
    asynchronous: bool = False
    handed_off_at: datetime | None = None
    reopened_at: datetime | None = None
    closed_at: datetime | None = None
    after_call_seconds: float | None = None
    first_contact_resolution: bool | None = None
    fallback_count: int | None = None
    direction: str = "unknown"
    platform: str | None = None
    campaign_id: str | None = None
    former_campaign_ids: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    lessons: tuple[Lesson, ...] = ()
    evaluation_id: str | None = None
    generated_at: datetime | None = None
    revision: int = 1
