"""coaching sessions and goals

Revision ID: 0044
Revises: 0043
Created: 2026-11-28 22:00:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None
kind = "expand"


def upgrade() -> None:
    op.create_table(
        "coaching_sessions",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("executive_id", sa.String(), nullable=False),
        sa.Column("call_center_id", sa.String(), nullable=True),
        sa.Column("coach", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("scorecard_id", sa.String(), nullable=False),
        sa.Column("criteria", sa.JSON(), nullable=False),
        sa.Column("evidence", sa.JSON(), nullable=False),
        sa.Column("steps", sa.String(), nullable=True),
        sa.Column("due", sa.DateTime(timezone=True), nullable=True),
        sa.Column("notes", sa.String(), nullable=True),
        sa.Column("notes_for", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_coaching_sessions")),
    )
    op.create_index(
        "ix_coaching_sessions_executive", "coaching_sessions", ["executive_id", "at", "id"]
    )
    op.create_table(
        "goals",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("executive_id", sa.String(), nullable=True),
        sa.Column("call_center_id", sa.String(), nullable=True),
        sa.Column("scorecard_id", sa.String(), nullable=True),
        sa.Column("criterion", sa.String(), nullable=True),
        sa.Column("start_value", sa.Double(), nullable=False),
        sa.Column("target", sa.Double(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_goals")),
    )
    op.create_index("ix_goals_executive", "goals", ["executive_id", "at", "id"])


def downgrade() -> None:
    raise NotImplementedError("restore the backup that was made before the upgrade")
