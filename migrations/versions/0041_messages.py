"""messages for people: alert rules, digests, their targets and the mail server

Revision ID: 0041
Revises: 0040
Created: 2026-11-28 21:00:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None
kind = "expand"


def _record_columns() -> list[sa.Column]:
    moment = sa.DateTime(timezone=True)
    return [
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("updated_at", moment, nullable=False),
        sa.Column("version", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
    ]


def upgrade() -> None:
    moment = sa.DateTime(timezone=True)
    op.add_column(
        "webhook_subscriptions",
        sa.Column("kind", sa.String(), nullable=False, server_default="webhook"),
    )
    op.create_table(
        "mail_servers",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("port", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("security", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=True),
        sa.Column("password", sa.String(), nullable=True),
        sa.Column("sender", sa.String(), nullable=False),
        sa.Column("updated_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mail_servers")),
    )
    op.create_table(
        "alert_rules",
        *_record_columns(),
        sa.Column("trigger", sa.String(), nullable=False),
        sa.Column("criterion", sa.String(), nullable=True),
        sa.Column("below", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("filters", sa.JSON(), nullable=False),
        sa.Column("target_ids", sa.JSON(), nullable=False),
        sa.Column("with_words", sa.Boolean(), nullable=False),
        sa.Column("sent_at", moment, nullable=True),
        sa.Column("checked_at", moment, nullable=True),
        sa.Column("is_firing", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_rules")),
    )
    op.create_table(
        "alert_matches",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("rule_id", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("source_id", sa.String(), nullable=True),
        sa.Column("evaluation_id", sa.String(), nullable=True),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("words", sa.String(), nullable=True),
        sa.Column("at", moment, nullable=False),
        sa.Column("event_id", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["rule_id"], ["alert_rules.id"], name=op.f("fk_alert_matches_rule_id_alert_rules")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_matches")),
    )
    op.create_index("uq_alert_matches_subject", "alert_matches", ["rule_id", "subject"], unique=True)
    op.create_index("ix_alert_matches_at", "alert_matches", ["at"])
    op.create_index("ix_alert_matches_source", "alert_matches", ["source_id"])
    waiting = sa.text("event_id IS NULL")
    op.create_index(
        "ix_alert_matches_waiting",
        "alert_matches",
        ["rule_id", "id"],
        sqlite_where=waiting,
        postgresql_where=waiting,
    )
    op.create_table(
        "digests",
        *_record_columns(),
        sa.Column("target_id", sa.String(), nullable=False),
        sa.Column("filters", sa.JSON(), nullable=False),
        sa.Column("every", sa.String(), nullable=False),
        sa.Column("weekday", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("hour", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("timezone", sa.String(), nullable=False),
        sa.Column("next_at", moment, nullable=False),
        sa.Column("sent_at", moment, nullable=True),
        sa.Column("unsubscribed_at", moment, nullable=True),
        sa.ForeignKeyConstraint(
            ["target_id"],
            ["webhook_subscriptions.id"],
            name=op.f("fk_digests_target_id_webhook_subscriptions"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_digests")),
    )
    op.create_index("ix_digests_next_at", "digests", ["next_at"])


def downgrade() -> None:
    raise NotImplementedError("restore the backup that was made before the upgrade")
