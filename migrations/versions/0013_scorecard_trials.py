"""trials of scorecards, and the trial of a draft

Revision ID: 0013
Revises: 0012
Created: 2026-11-22 11:50:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "scorecard_trials",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("baseline_id", sa.String(), nullable=False),
        sa.Column("baseline_version", sa.Integer(), nullable=False),
        sa.Column("progress", sa.Integer(), nullable=False),
        sa.Column("result", sa.JSON(), nullable=True),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("lease_token", sa.String(), nullable=True),
        sa.Column("lease_owner", sa.String(), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("queued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("error", sa.JSON(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_scorecard_trials")),
    )
    op.create_index(
        "ix_scorecard_trials_due", "scorecard_trials", ["state", "priority", "queued_at", "id"]
    )
    with op.batch_alter_table("scorecard_drafts") as batch_op:
        batch_op.add_column(sa.Column("trial_id", sa.String(), nullable=True))
        batch_op.add_column(sa.Column("trial_version", sa.Integer(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("scorecard_drafts") as batch_op:
        batch_op.drop_column("trial_version")
        batch_op.drop_column("trial_id")
    op.drop_table("scorecard_trials")
