"""reviewers of evaluations, and an index of the judge's confidence

Revision ID: 0011
Revises: 0010
Created: 2026-11-22 11:20:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "evaluation_reviewers",
        sa.Column("reviewer", sa.String(), nullable=False),
        sa.Column("evaluation_id", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["evaluation_id"],
            ["evaluations.id"],
            name=op.f("fk_evaluation_reviewers_evaluation_id"),
        ),
        sa.PrimaryKeyConstraint(
            "reviewer", "evaluation_id", name=op.f("pk_evaluation_reviewers")
        ),
    )
    op.execute(
        "INSERT INTO evaluation_reviewers (reviewer, evaluation_id) "
        "SELECT DISTINCT rater, evaluation_id FROM reviews WHERE action <> 'request'"
    )
    op.create_index(
        "ix_evaluations_confidence",
        "evaluations",
        ["is_current", "confidence", "id", "created_at", "status", "review_status"],
    )


def downgrade() -> None:
    op.drop_index("ix_evaluations_confidence", "evaluations")
    op.drop_table("evaluation_reviewers")
