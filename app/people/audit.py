"""Audit trail: entries are only added, and deleted when they expire."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.filters import Filters, at_least, before, conditions, equal
from app.core.database.paging import Page, PageRequest, select_page
from app.core.database.upserts import insert_missing
from app.core.ids import new_id
from app.core.jobs.purging import delete_older
from app.people.models import AuditEntry


class Action(StrEnum):
    """Action that is recorded; docs/accounts.md sums them up."""

    SIGNED_IN = "signed_in"
    SIGN_IN_FAILED = "sign_in_failed"
    SIGNED_OUT = "signed_out"
    SESSION_ENDED = "session_ended"
    PASSWORD_CHANGED = "password_changed"  # noqa: S105 - an action's name
    PASSWORD_RESET = "password_reset"  # noqa: S105 - an action's name
    SECOND_FACTOR_SET = "second_factor_set"
    SECOND_FACTOR_REMOVED = "second_factor_removed"
    RECOVERY_CODES_MADE = "recovery_codes_made"
    RECOVERY_CODE_USED = "recovery_code_used"
    USER_CREATED = "user_created"
    ACCOUNT_LINKED = "account_linked"
    EMAIL_CHANGED = "email_changed"
    ROLE_CHANGED = "role_changed"
    USER_DISABLED = "user_disabled"
    USER_ENABLED = "user_enabled"
    KEY_CREATED = "key_created"
    KEY_ROTATED = "key_rotated"
    KEY_REVOKED = "key_revoked"
    WEBHOOK_CREATED = "webhook_created"
    WEBHOOK_CHANGED = "webhook_changed"
    WEBHOOK_TESTED = "webhook_tested"
    WEBHOOK_RECOVERED = "webhook_recovered"
    WEBHOOK_SECRET_ROTATED = "webhook_secret_rotated"  # noqa: S105 - an action's name
    WEBHOOK_DELETED = "webhook_deleted"
    SOURCE_CHANGED = "source_changed"
    SOURCE_RETRIED = "source_retried"
    ALERT_RULE_SAVED = "alert_rule_saved"
    ALERT_RULE_DELETED = "alert_rule_deleted"
    DIGEST_SAVED = "digest_saved"
    DIGEST_DELETED = "digest_deleted"
    MAIL_SERVER_SET = "mail_server_set"
    PLAN_SAVED = "plan_saved"
    ASSIGNMENT_REPLACED = "assignment_replaced"
    EVALUATION_OPENED = "evaluation_opened"
    RECORDING_PLAYED = "recording_played"
    ORIGINAL_PLAYED = "original_played"
    RAW_TEXTS_READ = "raw_texts_read"
    COACHED = "coached"
    COACHING_DELETED = "coaching_deleted"
    GOAL_SET = "goal_set"
    GOAL_DELETED = "goal_deleted"
    REVIEWED = "reviewed"
    ACKNOWLEDGED = "acknowledged"
    ANSWERED = "answered"
    DISPUTED = "disputed"
    EXAMPLE_REVOKED = "example_revoked"
    RE_EVALUATED = "re_evaluated"
    RECORDING_ADDED = "recording_added"
    RECORDING_RETRIED = "recording_retried"
    IMPORT_REQUESTED = "import_requested"
    EXPORT_REQUESTED = "export_requested"
    EXPORT_CANCELED = "export_canceled"
    EXPORT_DOWNLOADED = "export_downloaded"
    SCORECARD_PUBLISHED = "scorecard_published"
    SCORECARD_USED = "scorecard_used"
    SCORECARD_RELEASED = "scorecard_released"
    CAMPAIGN_CHANGED = "campaign_changed"
    CAMPAIGNS_MERGED = "campaigns_merged"


@dataclass(frozen=True, slots=True)
class Actor:
    """The person of a request, or None before they have signed in, and the address of the client."""

    user_id: str | None
    address: str
    request_id: str


_FILTERS: Filters = {
    "user_id": equal(AuditEntry.user_id),
    "action": equal(AuditEntry.action),
    "object_id": equal(AuditEntry.object_id),
    "start": at_least(AuditEntry.at),
    "end": before(AuditEntry.at),
}

COMMAND_LINE = Actor(user_id=None, address="command line", request_id="")


def record(session: Session, actor: Actor, action: Action, object_id: str | None = None) -> None:
    session.add(AuditEntry(**_entry(actor, action, object_id)))


def record_daily(session: Session, actor: Actor, action: Action, object_id: str) -> None:
    """Add an entry unless this person has one today for the same action and object."""
    entry = _entry(actor, action, object_id)
    entry["day"] = entry["at"].date().isoformat()
    insert_missing(session, AuditEntry, **entry)


def list_page(session: Session, request: PageRequest, **filters: Any) -> Page[Any]:
    """List entries as mappings; `start` is inclusive, `end` is not."""
    statement = select(*AuditEntry.__table__.c).where(*conditions(_FILTERS, filters))
    return select_page(
        session, statement, request, sortable={"at": AuditEntry.at}, tail=AuditEntry.id
    )


def entries_before(
    session: Session, entry_id: str | None, *, limit: int, **filters: Any
) -> Sequence[AuditEntry]:
    """Return the next entries of the whole list, the newest first, after the one with this id."""
    statement = select(AuditEntry).where(*conditions(_FILTERS, filters))
    if entry_id is not None:
        statement = statement.where(AuditEntry.id < entry_id)
    return session.scalars(statement.order_by(AuditEntry.id.desc()).limit(limit)).all()


def users_who(session: Session, action: Action, object_id: str) -> list[str]:
    """Return the ids of the people who have done this to an object, in order of their first time."""
    user_ids = session.scalars(
        select(AuditEntry.user_id)
        .where(AuditEntry.object_id == object_id, AuditEntry.action == action)
        .order_by(AuditEntry.at)
    )
    return list(dict.fromkeys(user_id for user_id in user_ids if user_id))


def purge(session: Session, *, before: datetime) -> int:
    return delete_older(session, AuditEntry.at, before=before)


def _entry(actor: Actor, action: Action, object_id: str | None) -> dict[str, Any]:
    return {
        "id": new_id("aden"),
        "at": utc_now(),
        "user_id": actor.user_id,
        "action": action,
        "object_id": object_id,
        "address": actor.address,
        "request_id": actor.request_id,
        "day": None,
    }
