"""index of automatically failed evaluations

Revision ID: 0015
Revises: 0014
Created: 2026-11-22 11:55:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "ix_evaluations_auto_failed",
        "evaluations",
        ["auto_failed", "created_at", "id", "is_current", "status", "review_status"],
        sqlite_where=sa.text("auto_failed = 1"),
        postgresql_where=sa.text("auto_failed"),
    )


def downgrade() -> None:
    op.drop_index("ix_evaluations_auto_failed", "evaluations")
