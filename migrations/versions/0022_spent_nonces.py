"""nonces that several hosts share

Revision ID: 0022
Revises: 0021
Created: 2026-11-22 15:30:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None
kind = "expand"


def upgrade() -> None:
    op.create_table(
        "spent_nonces",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_spent_nonces")),
    )
    op.create_index(op.f("ix_spent_nonces_expires_at"), "spent_nonces", ["expires_at"])


def downgrade() -> None:
    op.drop_table("spent_nonces")
