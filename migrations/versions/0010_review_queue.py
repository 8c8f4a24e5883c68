"""index of the queue of reviews

Revision ID: 0010
Revises: 0009
Created: 2026-11-22 09:10:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "ix_evaluations_review_queue",
        "evaluations",
        ["review_status", "created_at", "id"],
        sqlite_where=sa.text("review_status <> 'none'"),
        postgresql_where=sa.text("review_status <> 'none'"),
    )


def downgrade() -> None:
    op.drop_index("ix_evaluations_review_queue", "evaluations")
