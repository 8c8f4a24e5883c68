"""index of webhook subscriptions that are not deleted

Revision ID: 0004
Revises: 0003
Created: 2026-11-22 06:20:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "ix_webhook_subscriptions_not_deleted",
        "webhook_subscriptions",
        ["id"],
        sqlite_where=sa.text("deleted_at IS NULL"),
        postgresql_where=sa.text("deleted_at IS NULL"),
    )


def downgrade() -> None:
    op.drop_index("ix_webhook_subscriptions_not_deleted", "webhook_subscriptions")
