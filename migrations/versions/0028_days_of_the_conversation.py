"""days of the conversation

Conversations, recordings, calls and their evaluations get the time that reports count them at, and
the facts of analytics are filed anew by it.

Revision ID: 0028
Revises: 0026
Created: 2026-11-23 23:10:00
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

from migrations.batches import update_in_batches
from migrations.indexes import create_index

revision = "0028"
down_revision = "0026"
branch_labels = None
depends_on = None
kind = "contract"

# Stands for a time that is not filled in yet.
_NO_TIME = "1970-01-01 00:00:00.000000"
_STARTS = {
    "conversations": "started_at",
    "voice_calls": "started_at",
    "audio_files": "recorded_at",
}
_OF_SOURCES = ", ".join(
    f"(SELECT conversation_at FROM {table} WHERE {table}.id = evaluations.source_id)"
    for table in _STARTS
)
_REFERENCES = ("engagement", "campaign", "call_center", "executive")
_FACETS = {
    "conversations": [
        *("status", "platform", "language"),
        *("message_count", "score", "evaluation_id"),
    ],
    "voice_calls": [
        *("status", "direction", "outcome"),
        *("transferred_to_human", "recording_id", "score"),
    ],
    "audio_files": [],
    "evaluations": [
        *("is_current", "status", "channel", "score", "passed", "auto_failed"),
        *("review_status", "sentiment_trend", "resolution"),
    ],
}


def upgrade() -> None:
    for table in (*_STARTS, "evaluations", "evaluation_facts"):
        _add_column(table)
    # The files lack the new time.
    op.execute("DELETE FROM evaluation_fact_parts")
    for table, start in _STARTS.items():
        _fill(table, f"coalesce({start}, created_at)")
    _fill("evaluations", f"coalesce(started_at, {_OF_SOURCES}, created_at)")
    update_in_batches(
        "evaluation_facts",
        "UPDATE evaluation_facts SET is_pending = true, part = NULL, conversation_at = coalesce("
        "(SELECT conversation_at FROM evaluations WHERE evaluations.id = evaluation_id), created_at"
        f") WHERE id > :after AND id <= :last AND conversation_at = '{_NO_TIME}'",
        first=0,
    )
    for table in _STARTS:
        _index_source(table)
    _index_evaluations()
    create_index(
        "ix_evaluation_facts_pending", "evaluation_facts", ["conversation_at"], **_where("is_pending")
    )


def downgrade() -> None:
    raise NotImplementedError("restore the backup that was made before the upgrade")


def _add_column(table: str) -> None:
    columns = {column["name"] for column in sa.inspect(op.get_bind()).get_columns(table)}
    if "conversation_at" not in columns:
        time = sa.DateTime(timezone=True)
        op.add_column(
            table, sa.Column("conversation_at", time, nullable=False, server_default=_NO_TIME)
        )


def _fill(table: str, value: str) -> None:
    update_in_batches(
        table,
        f"UPDATE {table} SET conversation_at = {value} "
        f"WHERE id > :after AND id <= :last AND conversation_at = '{_NO_TIME}'",
    )


def _index_source(table: str) -> None:
    facets = _FACETS[table]
    create_index(f"ix_{table}_conversation", table, ["conversation_at", "id", *facets])
    create_index(f"ix_{table}_created", table, ["created_at", "id"])
    for column in _REFERENCES:
        _index_reference(table, column)
    if table == "voice_calls":
        _index_reference(table, "bot")
    if table == "audio_files":
        create_index(f"ix_{table}_status", table, ["status", "conversation_at", "id"])
    else:
        unevaluated = _where("evaluation_id IS NULL")
        create_index(f"ix_{table}_unevaluated", table, ["conversation_at"], **unevaluated)
    create_index(f"ix_{table}_kept", table, ["conversation_at", "id"], **_where("erased_at IS NULL"))


def _index_reference(table: str, column: str) -> None:
    columns = [f"{column}_id", "conversation_at", "id", *_FACETS[table]]
    create_index(f"ix_{table}_{column}", table, columns)


def _index_evaluations() -> None:
    for column in _REFERENCES:
        _index_reference("evaluations", column)
    facets = [*_FACETS["evaluations"][1:], "source_type", "language", "scorecard_id"]
    columns: dict[str, list[str]] = {
        "facets": ["is_current", "conversation_at", "id", *facets],
        "status": ["is_current", "status", "conversation_at", "id"],
        "confidence": [
            *("is_current", "confidence", "id"),
            *("conversation_at", "status", "review_status"),
        ],
        "conversation": ["conversation_at", "id"],
    }
    for name, indexed in columns.items():
        create_index(f"ix_evaluations_{name}", "evaluations", indexed)
    reviewed = _where("review_status <> 'none'")
    partial: dict[str, tuple[list[str], dict[str, Any]]] = {
        "reviewed": (
            ["executive_id", "conversation_at", "is_current", "status", "review_status"],
            reviewed,
        ),
        "review_queue": (["review_status", "conversation_at", "id"], reviewed),
        "auto_failed": (
            ["auto_failed", "conversation_at", "id", "is_current", "status", "review_status"],
            _where("auto_failed"),
        ),
    }
    for name, (indexed, where) in partial.items():
        create_index(f"ix_evaluations_{name}", "evaluations", indexed, **where)


def _where(condition: str) -> dict[str, Any]:
    on_sqlite = f"{condition} = 1" if " " not in condition else condition
    return {"sqlite_where": sa.text(on_sqlite), "postgresql_where": sa.text(condition)}
