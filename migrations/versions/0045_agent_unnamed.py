"""evaluations whose agent is to be named

Revision ID: 0045
Revises: 0044
Created: 2026-11-29 00:20:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None
kind = "expand"

_INDEX = "ix_evaluations_agent_unnamed"


def upgrade() -> None:
    op.add_column(
        "evaluations",
        sa.Column("agent_unnamed", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
    op.create_index(
        _INDEX,
        "evaluations",
        ["conversation_at", "id", "is_current"],
        sqlite_where=sa.text("agent_unnamed = 1"),
        postgresql_where=sa.text("agent_unnamed"),
    )


def downgrade() -> None:
    op.drop_index(_INDEX, "evaluations")
    op.drop_column("evaluations", "agent_unnamed")
