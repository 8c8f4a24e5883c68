"""calibration rounds

Revision ID: 0016
Revises: 0015
Created: 2026-11-22 11:50:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "calibration_rounds",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("evaluation_ids", sa.JSON(), nullable=False),
        sa.Column("reviewers", sa.JSON(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_calibration_rounds")),
    )
    op.create_index("ix_calibration_rounds_created", "calibration_rounds", ["created_at", "id"])


def downgrade() -> None:
    op.drop_table("calibration_rounds")
