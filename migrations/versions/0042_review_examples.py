"""examples that overrides give to the judge

Revision ID: 0042
Revises: 0041
Created: 2026-11-28 21:55:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None
kind = "expand"


def upgrade() -> None:
    op.create_table(
        "review_examples",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column(
            "engagement_id", sa.String(), sa.ForeignKey("engagements.id"), nullable=False
        ),
        sa.Column(
            "evaluation_id", sa.String(), sa.ForeignKey("evaluations.id"), nullable=False
        ),
        sa.Column("criterion_key", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("counts", sa.Boolean(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("reviewer", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
    )
    op.create_index(
        "ix_review_examples_engagement", "review_examples", ["engagement_id", "created_at"]
    )
    op.create_index("ix_review_examples_evaluation", "review_examples", ["evaluation_id"])


def downgrade() -> None:
    raise NotImplementedError("restore the backup that was made before the upgrade")
